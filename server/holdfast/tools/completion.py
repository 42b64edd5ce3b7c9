"""Completing a resource's variable while it is typed: ids by their beginning or a title's words, and spaces."""

from __future__ import annotations

from mcp_types import Completion, CompletionArgument, PromptReference, ResourceTemplateReference

from holdfast.engine.browse import days_logged
from holdfast.engine.ports import Ports
from holdfast.model.access import READ
from holdfast.tools.agent import Desk
from holdfast.tools.auth import asking, require
from holdfast.tools.errors import read
from holdfast.tools.resources import CONTEXT, DAILY, EVIDENCE, NOTE, SPACE

MOST = 50
LONGEST = 200  # characters that anybody would type


async def complete(
    desk: Desk, ref: PromptReference | ResourceTemplateReference, argument: CompletionArgument
) -> Completion:
    """What may stand where something is being typed; nothing where that is not known."""
    if not isinstance(ref, ResourceTemplateReference) or len(argument.value) > LONGEST:
        return Completion(values=[])
    if desk.guarded:
        require(asking(), READ)
    uri, name, typed = str(ref.uri), argument.name, argument.value
    found = await read(desk.memory.attend(lambda ports: _values(ports, uri, name, typed)))
    return Completion(values=found[:MOST], has_more=len(found) > MOST)


async def _values(ports: Ports, uri: str, name: str, typed: str) -> list[str]:
    if (uri, name) in ((NOTE, "id"), (EVIDENCE, "id")):
        only = "belief" if uri == EVIDENCE else None
        return await ports.index.read(lambda view: view.completing(typed, only, MOST + 1))
    if (uri, name) in ((SPACE, "space"), (CONTEXT, "space")):
        start = typed.strip().casefold()
        return [space for space in await ports.index.read(lambda view: view.spaces()) if space.startswith(start)]
    if (uri, name) == (DAILY, "date"):
        return [day for day in await days_logged(ports) if day.startswith(typed.strip())]
    return []
