"""One registered server: started when it is first needed, and its list of tools watched from then on.

What it offers beside its manifest is not for anyone here. What it defines otherwise than the manifest is told.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from awf.application.running.tasks import end_task, spawn
from awf.domain.canonical import canonical
from awf.domain.errors import AwfError
from awf.domain.manifest import GatewayEvent
from awf.domain.plain_sight import spelled_out
from awf.domain.tool import ToolFailure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from awf.domain.manifest import McpManifest, MCPTool
    from awf.domain.ports.tool_provider import ToolProvider
    from awf.domain.tool import CallContext, ToolDefinition, ToolResult

    Hook = Callable[[str], Awaitable[None] | None]

__all__ = ["Hooks", "OpenedServer", "ServerLink"]

_OURS = "awf/"  # keys of `_meta` that only we write
_log = logging.getLogger("awf.gateway")
State = Literal["", "changed", "vanished"]


class Hooks(NamedTuple):
    """Called with the id of the server: before it is first used, and after it was let go."""

    initialize: Hook | None = None
    cleanup: Hook | None = None


class OpenedServer(NamedTuple):
    tools: ToolProvider
    sandboxed: bool
    mask: Callable[[str], str]  # what it says of itself is for the log without secrets


class ServerLink:
    def __init__(
        self,
        manifest: McpManifest,
        open_server: Callable[[Callable[[], None]], OpenedServer],
        hooks: Hooks,
        tell: Callable[[GatewayEvent], None],
    ) -> None:
        """Starts nothing yet. Raises what `open_server` does."""
        self._manifest = manifest
        self._hooks = hooks
        self._tell = tell
        self._provider, self.sandboxed, self._mask = open_server(self._list_changed)
        self._readying: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._begun = False
        self._changed = False
        self._states: dict[str, State] = {tool.name: "" for tool in manifest.tools}

    async def call(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> ToolResult:
        """Raises `ToolFailure`."""
        await self._ready()
        if self._states[name] == "vanished":
            message = f"The server “{self._manifest.server_id}” does not offer {name} any more."
            raise ToolFailure("RESOURCE_NOT_FOUND", message)
        result = await self._provider.call_tool(name, arguments, context)
        if any(key.startswith(_OURS) for key in result.meta):
            meta = {key: value for key, value in result.meta.items() if not key.startswith(_OURS)}
            result = msgspec.structs.replace(result, meta=meta)
        return result

    async def close(self) -> None:
        for task in (self._readying, self._watching):
            if task is not None:
                await end_task(task)
        await self._provider.close()
        if self._begun and self._hooks.cleanup is not None:
            try:
                await _run(self._hooks.cleanup, self._manifest.server_id)
            except Exception:  # noqa: BLE001  somebody else's code; what it should tidy up is theirs
                _log.exception("the clean-up of server %s failed", self._manifest.server_id)

    # -- the beginning -----------------------------------------------------------------------------------------------

    async def _ready(self) -> None:
        """One start for all that wait for it; who stops waiting does not stop it."""
        task = self._readying
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._readying = spawn(
                self._begin(), f"starting server {self._manifest.server_id}", awaited=True
            )
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.cancelled():
                raise
            message = f"The server “{self._manifest.server_id}” was closed."
            raise ToolFailure("EXECUTION_FAILED", message) from None

    async def _begin(self) -> None:
        if not self._begun and self._hooks.initialize is not None:
            try:
                await _run(self._hooks.initialize, self._manifest.server_id)
            except Exception as error:
                message = f"The server “{self._manifest.server_id}” could not be prepared: {error}"
                raise ToolFailure("EXECUTION_FAILED", message[:500]) from error
        self._begun = True
        await self._compare()

    # -- its list ----------------------------------------------------------------------------------------------------

    def _list_changed(self) -> None:
        self._changed = True
        if self._watching is None or self._watching.done():
            self._watching = spawn(self._follow(), f"the tools of server {self._manifest.server_id}")

    async def _follow(self) -> None:
        while self._changed:
            self._changed = False
            try:
                await self._compare()
            except (AwfError, ToolFailure) as error:
                told = spelled_out(self._mask(str(error)))
                _log.warning("the tools of server %s are not known now: %s", self._manifest.server_id, told)

    async def _compare(self) -> None:
        offered = {tool.name: tool for tool in await self._provider.list_tools()}
        for tool in self._manifest.tools:
            fields = _differing(tool, offered.get(tool.name))
            state: State = "vanished" if tool.name not in offered else "changed" if fields else ""
            if state != self._states[tool.name]:
                self._states[tool.name] = state
                self._report(tool, state, fields)

    def _report(self, tool: MCPTool, state: State, fields: list[str]) -> None:
        server_id = self._manifest.server_id
        self._tell(
            GatewayEvent(
                type="tool_changed",
                server_id=server_id,
                tool_id=f"{server_id}:{tool.name}",
                change=state or "returned",
                fields=fields,
            )
        )


def _differing(tool: MCPTool, offered: ToolDefinition | None) -> list[str]:
    if offered is None:
        return []
    pairs: dict[str, tuple[Any, Any]] = {
        "description": (tool.description, offered.description),
        "inputSchema": (tool.input_schema, offered.input_schema),
    }
    if tool.output_schema is not None:
        pairs["outputSchema"] = (tool.output_schema, offered.output_schema)
    return [name for name, (ours, theirs) in pairs.items() if canonical(ours) != canonical(theirs)]


async def _run(hook: Hook, server_id: str) -> None:
    done = hook(server_id)
    if inspect.isawaitable(done):
        await done
