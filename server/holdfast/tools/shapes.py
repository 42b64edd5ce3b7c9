"""OMI's result shapes: the documented value and nothing else, and beside it whatever else there is to say.

The first text block is the value as JSON, so that clients can parse it: stored text is delimited by JSON's own
escaping, not by a fence. Notices stand in a second block and in `_meta`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fastmcp.tools import ToolResult
from mcp_types import TextContent

from holdfast.tools.fence import on_one_line

WRAPPED = "x-fastmcp-wrap-result"  # the framework's mark of a result that is no object


def omi_object(shape: dict[str, Any], notices: Sequence[str], **more: Any) -> ToolResult:
    """A documented object, with notices beside it."""
    return ToolResult(content=_blocks(shape, notices), structured_content=shape, meta=_meta(notices, more) or None)


def omi_value(shape: object, notices: Sequence[str], **more: Any) -> ToolResult:
    """A documented array, or null: as such in the text, wrapped in `result` where an object is asked for."""
    meta = {"fastmcp": {"wrap_result": True}, **_meta(notices, more)}
    return ToolResult(content=_blocks(shape, notices), structured_content={"result": shape}, meta=meta)


def _blocks(shape: object, notices: Sequence[str]) -> list[TextContent]:
    texts = [json.dumps(shape, ensure_ascii=False)]
    if notices:
        texts.append("\n".join(f"Note: {on_one_line(notice, len(notice) + 1)}" for notice in notices))
    return [TextContent(type="text", text=text) for text in texts]


def _meta(notices: Sequence[str], more: dict[str, Any]) -> dict[str, Any]:
    return {**more, "notices": list(notices)} if notices else more
