"""OMI's result shapes: the documented value and nothing else, and beside it whatever else there is to say.

The first text block is the value as JSON, so that clients can parse it: stored text is delimited by JSON's own
escaping, not by a fence. Notices stand in a second block and in `_meta`, where the change that was made stands too. A
client that gets text alone gets one block, made for its model, with the value in a fence.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fastmcp.tools import ToolResult
from mcp_types import ContentBlock, TextContent

from holdfast.tools.fence import fenced, new_mark, trust_rule
from holdfast.tools.fitting import fitting_notices, notice_lines
from holdfast.tools.render import undo_hint

WRAPPED = "x-fastmcp-wrap-result"  # the framework's mark of a result that is no object


class StoredResult(ToolResult):
    """An answer in OMI's shape that holds what somebody stored."""

    @property
    def for_model(self) -> str:
        """The same as one text, with the value in a fence."""
        value, *notices = [block.text for block in self.content if isinstance(block, TextContent)]
        mark = new_mark()
        return "\n".join([trust_rule(mark), fenced(value, mark), *notices])


class ChangedResult(ToolResult):
    """An answer in OMI's shape to what changed notes: `_meta` has the change."""

    @property
    def for_model(self) -> str:
        """The same as one text, with the call that takes the change back."""
        said = [block.text for block in self.content if isinstance(block, TextContent)]
        return "\n".join([*said, *undo_hint((self.meta or {}).get("change_id"))])


def omi_change(shape: dict[str, Any], notices: Sequence[str], change_id: str | None) -> ToolResult:
    """A documented object that tells of a change; where nothing was changed there is no `change_id`."""
    notices = fitting_notices(notices)
    more = {"change_id": change_id} if change_id else {}
    return ChangedResult(content=_blocks(shape, notices), structured_content=shape, meta=_meta(notices, more) or None)


def omi_object(shape: dict[str, Any], notices: Sequence[str], *, stored: bool = False, **more: Any) -> ToolResult:
    """A documented object, with notices beside it; `stored` says that its texts were."""
    notices = fitting_notices(notices)
    result = StoredResult if stored and shape else ToolResult
    return result(content=_blocks(shape, notices), structured_content=shape, meta=_meta(notices, more) or None)


def omi_value(shape: object, notices: Sequence[str], *, stored: bool = False, **more: Any) -> ToolResult:
    """A documented array, or null: as such in the text, wrapped in `result` where an object is asked for."""
    notices = fitting_notices(notices)
    meta = {"fastmcp": {"wrap_result": True}, **_meta(notices, more)}
    result = StoredResult if stored and shape else ToolResult
    return result(content=_blocks(shape, notices), structured_content={"result": shape}, meta=meta)


def _blocks(shape: object, notices: Sequence[str]) -> list[ContentBlock]:
    texts = [json.dumps(shape, ensure_ascii=False)]
    if notices:
        texts.append("\n".join(notice_lines(notices)))
    return [TextContent(type="text", text=text) for text in texts]


def _meta(notices: Sequence[str], more: dict[str, Any]) -> dict[str, Any]:
    return {**more, "notices": list(notices)} if notices else more
