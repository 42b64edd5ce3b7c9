"""OMI's security tool: whether the memory is as it was left."""

from __future__ import annotations

from fastmcp import FastMCP
from fastmcp.tools import ToolResult

from holdfast.engine.integrity import Scope, integrity_check
from holdfast.tools.agent import READS, Desk
from holdfast.tools.errors import answered
from holdfast.tools.results import IntegrityResult, schema_of
from holdfast.tools.shapes import omi_object

INTEGRITY_CHECK = """Check whether the NOW file, MEMORY.md or the daily logs were changed outside of the tools, and \
whether notes stand alone or got many links within a day. Call it when memory looks tampered with, or for an audit; \
not before every task. It repairs nothing: tell the user what it reports."""


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
        return omi_object(report.shape(), (), stored=True)  # it names files
