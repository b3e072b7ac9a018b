"""Another MCP server as a source of tools."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from awf.domain.mcp import RpcError
from awf.domain.mirroring import mirrored_headers
from awf.domain.tool import Behind, ToolFailure, UnknownTool
from awf.infrastructure.upstreams.background import Background
from awf.infrastructure.upstreams.failures import ServerFault, nonsense, unavailable
from awf.infrastructure.upstreams.tool_list import KeptList, fetch_tools, is_chosen
from awf.infrastructure.upstreams.tool_shapes import failure, request_meta, result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from awf.domain.mcp_server import McpServer
    from awf.domain.tool import CallContext, ToolDefinition, ToolResult
    from awf.infrastructure.upstreams.client import McpClient

__all__ = ["McpServerTools"]

LISTENING_PAUSES = (0.0, 1.0, 2.0, 5.0, 10.0, 30.0)
_log = logging.getLogger("awf.upstreams")


class McpServerTools:
    """`connect` makes the client that speaks to the server; nothing is started before it is needed.

    `on_change` hears that the list is no longer what it was.
    """

    def __init__(
        self,
        name: str,
        config: McpServer,
        connect: Callable[[Callable[[dict[str, Any], object], None]], McpClient],
        on_change: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self.client = connect(self._notified)
        self._config = config
        self._on_change = on_change
        self._kept: KeptList | None = None
        self._fetching = asyncio.Lock()
        self._changes = 0
        self._background = Background()
        self._listening: asyncio.Task[None] | None = None

    async def list_tools(self) -> Sequence[ToolDefinition]:
        """Raises `AwfError` when the server cannot be asked."""
        if not self._config.enabled:
            return ()
        async with self._fetching:
            if self._kept is None or self._is_old(self._kept):
                self._kept = await self._fetch()
            return self._kept.tools if self._kept else ()

    def behind(self, name: str) -> Behind:
        del name
        return Behind(folders=self._config.folders)

    async def call_tool(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> ToolResult:
        if not self._config.enabled or not is_chosen(name, self._config.tools):
            raise UnknownTool(name)
        params: dict[str, Any] = {"name": name, "arguments": dict(arguments)}
        if meta := request_meta(context):
            params["_meta"] = meta
        try:
            headers = await self._headers(name, arguments)
            progress = _progress(context)
            raw = await self.client.request(
                "tools/call", params, on_progress=progress, headers=headers, timeout=context.timeout
            )
        except TimeoutError as reason:
            seconds = f"{context.timeout or self._config.timeout:g} s"
            raise ToolFailure(
                "TIMEOUT", f'MCP server "{self.name}" did not answer within {seconds}.'
            ) from reason
        except RpcError as reason:
            raise failure(reason, self.name) from reason
        except ServerFault as reason:
            raise ToolFailure(reason.tool_code, f"{reason.message} {reason.hint}".strip()) from reason
        return result(raw, self.name)

    async def close(self) -> None:
        await self._background.close()
        await self.client.close()

    async def _headers(self, name: str, arguments: Mapping[str, Any]) -> dict[str, str] | None:
        """Arguments that the tool wants in headers too. The list says which, so it has to be known."""
        if self._config.url is None or not (self.client.era or await self.client.connect()).modern:
            return None
        if self._kept is None:
            await self.list_tools()
        mirrored = self._kept.mirrored.get(name) if self._kept else None
        return mirrored_headers(mirrored, arguments) if mirrored else None

    async def _fetch(self) -> KeptList | None:
        """Again when the list changes meanwhile, but not for ever."""
        try:
            for _ in range(3):
                changes = self._changes
                kept = await fetch_tools(self.client, self._config.tools, _now())
                if changes == self._changes:
                    break
        except RpcError as reason:
            message = f'MCP server "{self.name}" does not list its tools: {reason.message}'
            raise nonsense(message, hint="Look at its log.") from reason
        except TimeoutError as reason:
            seconds = f"{self._config.timeout:g} s"
            message = f'MCP server "{self.name}" did not list its tools within {seconds}.'
            raise unavailable(message, hint="Raise its `timeout`.") from reason
        self._listen()
        return kept

    def _is_old(self, kept: KeptList) -> bool:
        if kept.connection != self.client.connections:
            return True
        return kept.lifetime is not None and _now() - kept.fetched >= kept.lifetime

    def _notified(self, message: dict[str, Any], _tag: object) -> None:
        if message["method"] != "notifications/tools/list_changed":
            _log.debug("MCP server %s says %s", self.name, self.client.as_logged(message["method"]))
            return
        self._changes += 1
        self._kept = None
        if self._on_change is not None:
            self._on_change()

    def _listen(self) -> None:
        era = self.client.era
        if era is None or (era.modern and not era.announces_tool_changes):
            return
        # Over a pipe the older era needs no stream; over HTTP its servers use one without announcing it.
        needed = era.modern or self._config.url is not None
        if needed and (self._listening is None or self._listening.done()):
            self._listening = self._background.start(self._hear(), f"listening to MCP server {self.name}")

    async def _hear(self) -> None:
        """Hear of changes; what was missed between two streams is not known, so the list is fetched anew then."""
        for pause in LISTENING_PAUSES:
            await asyncio.sleep(pause)
            try:
                await self.client.hear({"toolsListChanged": True})
            except (ServerFault, RpcError) as reason:
                why = self.client.as_logged(reason)
                _log.debug("MCP server %s cannot be listened to: %s", self.name, why)
            self._kept = None


def _progress(context: CallContext) -> Callable[[dict[str, Any]], None] | None:
    tell = context.progress
    if tell is None:
        return None

    def on_progress(params: dict[str, Any]) -> None:
        done, total, message = params.get("progress"), params.get("total"), params.get("message")
        if isinstance(done, int | float):
            of = float(total) if isinstance(total, int | float) else None
            tell(float(done), of, message if isinstance(message, str) else "")

    return on_progress


def _now() -> float:
    return asyncio.get_running_loop().time()
