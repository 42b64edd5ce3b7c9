"""OMI's security tool: whether the memory is as it was left."""

from __future__ import annotations

from typing import Any

from fastmcp import FastMCP
from fastmcp.tools import ToolResult

from holdfast.engine.integrity import Scope, integrity_check
from holdfast.tools.agent import READS, Desk
from holdfast.tools.errors import answered
from holdfast.tools.fitting import Room
from holdfast.tools.results import IntegrityResult, schema_of
from holdfast.tools.shapes import omi_object

INTEGRITY_CHECK = """Check whether the NOW file, MEMORY.md or the daily logs were changed outside of the tools, and \
whether notes stand alone or got many links within a day. Call it when memory looks tampered with, or for an audit; \
not before every task. It repairs nothing: tell the user what it reports."""

LIST_TOKENS = 3000  # of each list in the report


def _fitting(shape: dict[str, Any]) -> dict[str, Any]:
    """The report with as many warnings, problems and names of files as there is room for."""
    topology, details = dict(shape["topology"]), dict(shape["details"])
    for told, name in ((topology, "warnings"), (details, "problems"), (details, "checked")):
        room = Room(LIST_TOKENS)
        told[name] = [item for item in told[name] if room.take_json(item)]
    return {**shape, "topology": topology, "details": details}


def add_security_tools(server: FastMCP, desk: Desk) -> None:
    """Put the integrity check on a server."""

    @server.tool(
        name="integrity_check",
        description=INTEGRITY_CHECK,
        annotations=READS,
        output_schema=schema_of(IntegrityResult),
    )
    async def _integrity_check(scope: Scope = "all") -> ToolResult:
        report = await answered(desk.memory.attend(lambda ports: integrity_check(ports, scope)))
        return omi_object(_fitting(report.shape()), (), stored=True)  # it names files
