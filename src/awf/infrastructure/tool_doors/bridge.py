"""A toolbox as MCP shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.tool import UnknownTool
from mcpserver import Result, UnknownToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from awf.domain.ports.tools import Toolbox
    from awf.domain.tool import ToolDefinition, ToolResult
    from mcpserver import Call

__all__ = ["McpToolbox", "as_mcp_tool"]


class McpToolbox:
    """`mcpserver` asks, a toolbox answers."""

    def __init__(self, toolbox: Toolbox, on_list: Callable[[], None] | None = None) -> None:
        self._toolbox = toolbox
        self._on_list = on_list
        self._listed: list[dict[str, Any]] | None = None

    async def list_tools(self) -> Sequence[dict[str, Any]]:
        if self._on_list is not None:
            self._on_list()
        if self._listed is None:
            self._listed = [as_mcp_tool(tool) for tool in self._toolbox.definitions()]
        return self._listed

    async def call_tool(self, name: str, arguments: dict[str, Any], call: Call) -> Result:
        try:
            result = await self._toolbox.call(name, arguments, meta=call.meta, progress=call.progress)
        except UnknownTool as error:
            raise UnknownToolError(name, str(error)) from error
        return _as_mcp_result(result)


def as_mcp_tool(tool: ToolDefinition) -> dict[str, Any]:
    shown: dict[str, Any] = {**tool.more, "name": tool.name, "inputSchema": tool.input_schema}
    if tool.description:
        shown["description"] = tool.description
    if tool.title:
        shown["title"] = tool.title
    if tool.annotations:
        shown["annotations"] = tool.annotations
    if tool.output_schema is not None:
        shown["outputSchema"] = tool.output_schema
    return shown


def _as_mcp_result(result: ToolResult) -> Result:
    more = {} if result.structured is msgspec.UNSET else {"structured": result.structured}
    return Result(content=result.content, is_error=result.is_error, meta=result.meta, **more)
