"""Where a server has the View from: listed for clients that show Apps, made when it is first asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastmcp import FastMCP
from fastmcp.resources import Resource
from fastmcp.server.dependencies import get_context
from fastmcp.server.providers import LocalProvider, Provider
from fastmcp.tools import Tool
from fastmcp.utilities.components import FastMCPComponent
from fastmcp.utilities.versions import VersionSpec

from holdfast.tools.agent import ServedMemory
from holdfast.tools.server import shows_apps


def add_opening(server: FastMCP[Any], served: ServedMemory, setting: str) -> None:
    """Let a server have the View, unless the settings say `never`."""
    if setting != "never":
        server.add_provider(_Opening(served, setting))


class _Opening(Provider):
    """The View's tools and page. To clients that show no Apps they are not listed; they can be called all the same."""

    def __init__(self, served: ServedMemory, setting: str) -> None:
        super().__init__()
        self._served = served
        self._setting = setting
        self._made: LocalProvider | None = None

    async def _list_tools(self) -> Sequence[Tool]:
        return await self._provider().list_tools() if self._is_shown() else []

    async def _get_tool(self, name: str, version: VersionSpec | None = None) -> Tool | None:
        is_ours = name.startswith("view_") or name == "memory_view"
        return await self._provider().get_tool(name, version=version) if is_ours else None

    async def _list_resources(self) -> Sequence[Resource]:
        return await self._provider().list_resources() if self._is_shown() else []

    async def _get_resource(self, uri: str, version: VersionSpec | None = None) -> Resource | None:
        return await self._provider().get_resource(uri, version=version) if uri.startswith("ui://") else None

    async def get_tasks(self) -> Sequence[FastMCPComponent]:
        return []  # asked for at the start

    def _is_shown(self) -> bool:
        try:
            context = get_context()
        except RuntimeError:  # the server is looked at, and nobody asks
            context = None
        return shows_apps(context, self._setting)

    def _provider(self) -> LocalProvider:
        if self._made is None:
            from holdfast.tools.view.tools import add_view  # noqa: PLC0415 - no start waits for it

            self._made = LocalProvider()
            add_view(self._made, self._served, self._setting)
        return self._made
