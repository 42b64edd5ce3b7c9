"""OMI's security tool: whether the memory is as it was left."""

from __future__ import annotations

from fastmcp import FastMCP
from fastmcp.tools import ToolResult
from mcp_types import TextContent

from holdfast.engine.integrity import Report, Scope, integrity_check
from holdfast.tools.agent import READS, Desk
from holdfast.tools.errors import answered
from holdfast.tools.fence import on_one_line
from holdfast.tools.results import IntegrityResult, schema_of

INTEGRITY_CHECK = """Check whether somebody else changed the NOW file, MEMORY.md or the daily logs, and whether notes \
stand alone or became hubs in haste. Call it when memory looks tampered with, or for an audit; not before every task. \
It repairs nothing: tell the user what it reports."""

_SHOWN = 20


def add_security_tools(server: FastMCP, desk: Desk) -> None:
    """Put the integrity check on a server."""

    @server.tool(
        name="integrity_check",
        description=INTEGRITY_CHECK,
        annotations=READS,
        output_schema=schema_of(IntegrityResult),
    )
    async def _integrity_check(scope: Scope = "all") -> ToolResult:
        return _told(await answered(desk.memory.attend(lambda ports: integrity_check(ports, scope))))


def _told(report: Report) -> ToolResult:
    topology = report.topology
    summary = _summary(report)
    structured: IntegrityResult = {
        "now_md": report.now_md,
        "memory_md": report.memory_md,
        "topology": {
            "orphan_nodes": topology.orphan_nodes,
            "sudden_cores": topology.sudden_cores,
            "warnings": list(topology.warnings),
        },
        "overall_safe": report.overall_safe,
        "details": {
            "checked": list(report.checked),
            "problems": [{"where": problem.where, "what": problem.what} for problem in report.problems],
            "summary": summary,
        },
    }
    lines = [summary, f"Checked: {', '.join(report.checked)}."]
    lines += [f"- {on_one_line(problem.where)}: {problem.what}" for problem in report.problems[:_SHOWN]]
    if len(report.problems) > _SHOWN:
        lines.append(f"- and {len(report.problems) - _SHOWN} more")
    return ToolResult(content=[TextContent(type="text", text="\n".join(lines))], structured_content=dict(structured))


def _summary(report: Report) -> str:
    if report.overall_safe:
        return "Safe." if not report.problems else "Safe, with something to look at."
    pages = "" if report.now_md and report.memory_md else " Somebody else changed files that only tools write."
    cores = f" {report.topology.sudden_cores} notes became hubs in haste." if report.topology.sudden_cores else ""
    return f"Not safe.{pages}{cores} Nothing was repaired; let the user look at it."
