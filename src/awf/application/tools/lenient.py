"""Tools that are welcome but not needed: a server that does not come up is told of, and the step goes on without it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError
from awf.domain.events import Warned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from awf.application.tools.router import Observers
    from awf.domain.ports.tool_provider import ToolProvider
    from awf.domain.tool import CallContext, ToolDefinition, ToolResult

__all__ = ["LenientTools"]

_log = logging.getLogger("awf.tools")


class LenientTools:
    def __init__(self, provider: ToolProvider, name: str, observers: Observers) -> None:
        self._provider = provider
        self._name = name
        self._observers = observers

    async def list_tools(self) -> Sequence[ToolDefinition]:
        try:
            return await self._provider.list_tools()
        except AwfError as error:
            message = f"The MCP server '{self._name}' of the editor is left out: {error.message}"
            _log.warning(message)
            if self._observers.record is not None:
                warned = Warned(path=self._observers.path, message=message, code=error.code)
                self._observers.record(warned)
            return []

    async def call_tool(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> ToolResult:
        return await self._provider.call_tool(name, arguments, context)

    async def close(self) -> None:
        await self._provider.close()
