"""How an agent gets at its tools: called in this process, or over MCP from a program of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from awf.domain.tool import ToolDefinition, ToolResult

__all__ = ["PROXY_NAME", "OpenDoor", "StepTools", "ToolDoors", "ToolEndpoint", "Toolbox"]

PROXY_NAME = "awf-proxy"  # the name under which agents know our MCP server


class Toolbox(Protocol):
    """Tools that can be listed and called. Every call is traced, logged and recorded, whoever makes it."""

    def definitions(self) -> Sequence[ToolDefinition]: ...

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        meta: Mapping[str, Any] | None = None,
        progress: Callable[[float, float | None, str], None] | None = None,
    ) -> ToolResult:
        """Carry out one call. What goes wrong is in the result; only `UnknownTool` is raised."""
        ...


class ToolEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent program must start to reach the tools over MCP on its standard streams."""

    command: tuple[str, ...]
    name: str = PROXY_NAME


class OpenDoor(Protocol):
    @property
    def endpoint(self) -> ToolEndpoint: ...

    @property
    def used(self) -> bool:
        """Whether an agent has come in and asked for the list of tools."""
        ...

    async def close(self) -> None:
        """Nobody comes in any more; calls that still run are cancelled."""
        ...


class ToolDoors(Protocol):
    async def open(self, toolbox: Toolbox) -> OpenDoor: ...


class StepTools(Protocol):
    """The tools of one agent step."""

    @property
    def intercepts(self) -> bool:
        """Whether these are to be the agent's only tools."""
        ...

    @property
    def toolbox(self) -> Toolbox: ...

    async def endpoint(self) -> ToolEndpoint:
        """For agents that are programs of their own. Opened when it is first asked for."""
        ...

    @property
    def used(self) -> bool:
        """Whether the agent has asked for the tools over its endpoint."""
        ...
