"""The tools of one agent step, from before the agent starts until after it has ended."""

from __future__ import annotations

import contextlib
import functools
import logging
from typing import TYPE_CHECKING, Protocol

import msgspec

from awf.domain.problem import as_note
from awf.domain.server_secrets import secrets_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from awf.application.tools.router import ArgumentChecks, Observers, ToolRouter
    from awf.domain.mcp_proxy import ExposedPlugin
    from awf.domain.mcp_server import McpServer
    from awf.domain.ports.tool_provider import ToolProvider
    from awf.domain.ports.tools import OpenDoor, ToolDoors, ToolEndpoint
    from awf.domain.problem import Problem

__all__ = ["OfferedTools", "ToolProxyService", "ToolSources"]

_log = logging.getLogger("awf.tools")


class OfferedTools(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be offered: everything filled in, nothing left to be looked up."""

    root: str
    environment: Mapping[str, str]
    builtins: bool = True
    plugins: Sequence[ExposedPlugin] = ()
    servers: Mapping[str, McpServer] = {}
    optional: Mapping[str, McpServer] = {}  # those that a step can do without
    gateway: bool | str = False  # all tools of the project's gateway, or those of a profile


class ToolSources(Protocol):
    """Makes providers. Nothing is started before a provider is asked for its tools."""

    def builtin(self, root: str, environment: Mapping[str, str]) -> ToolProvider: ...
    def plugin(self, name: str, operations: Sequence[str]) -> ToolProvider: ...
    def server(self, name: str, server: McpServer, environment: Mapping[str, str]) -> ToolProvider: ...
    def gateway(self, profile: str, warn: Callable[[Problem], None]) -> ToolProvider: ...

    def look_at_names(self, warn: Callable[[Problem], None]) -> None:
        """Tell which rules of the gate are about tools that nobody has, as far as no server has to be asked for that."""
        ...


class ToolProxyService:
    def __init__(self, sources: ToolSources, doors: ToolDoors, checks: ArgumentChecks) -> None:
        self._sources = sources
        self._doors = doors
        self._checks = checks

    async def router(self, offered: OfferedTools, observers: Observers) -> ToolRouter:
        """All tools in one list. Raises USER.MCP_PROXY.* where they cannot be had. What servers are given is masked from now on."""
        from awf.application.tools.router import ToolRouter

        for name, server in (*offered.servers.items(), *offered.optional.items()):
            for secret in secrets_of(name, server).values():
                observers.masker.learn(secret)
        sources = self._sources
        providers = [sources.builtin(offered.root, offered.environment)] if offered.builtins else []
        providers += [sources.plugin(one.plugin, one.expose) for one in offered.plugins]
        providers += [
            sources.server(name, server, offered.environment)
            for name, server in offered.servers.items()
            if server.enabled
        ]
        warn = functools.partial(_warn, observers)
        if offered.gateway:
            providers.append(sources.gateway("" if offered.gateway is True else offered.gateway, warn))
        elif observers.gate is not None:
            sources.look_at_names(warn)
        if offered.optional:
            from awf.application.tools.lenient import LenientTools

            providers += [
                LenientTools(sources.server(name, server, offered.environment), name, observers)
                for name, server in offered.optional.items()
            ]
        return await ToolRouter.open(providers, self._checks, observers)

    @contextlib.asynccontextmanager
    async def open(self, offered: OfferedTools, observers: Observers) -> AsyncIterator[ProxyTools]:
        """The tools for the time of one step. Whatever ends it, nothing is left afterwards."""
        router = await self.router(offered, observers)
        tools = ProxyTools(router, self._doors, intercepts=offered.builtins)
        try:
            yield tools
        finally:
            try:
                await tools.close()
            finally:
                await router.close()


def _warn(observers: Observers, problem: Problem) -> None:
    message = as_note(problem)
    _log.warning("%s", message)
    if observers.record is not None:
        from awf.domain.events import Warned

        observers.record(Warned(path=observers.path, message=message, code=problem.code))


class ProxyTools:
    """`StepTools` of a step with a proxy."""

    def __init__(self, router: ToolRouter, doors: ToolDoors, *, intercepts: bool) -> None:
        self.toolbox = router
        self.intercepts = intercepts
        self._doors = doors
        self._door: OpenDoor | None = None

    async def endpoint(self) -> ToolEndpoint:
        if self._door is None:
            self._door = await self._doors.open(self.toolbox)
        return self._door.endpoint

    @property
    def used(self) -> bool:
        return self._door is not None and self._door.used

    async def close(self) -> None:
        door, self._door = self._door, None
        if door is not None:
            await door.close()
