from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from awf.domain.tool import CallContext, ToolDefinition, ToolResult

__all__ = ["ToolProvider"]


class ToolProvider(Protocol):
    """A source of tools: the built-in ones, a plugin's operations, another MCP server."""

    async def list_tools(self) -> Sequence[ToolDefinition]: ...

    async def call_tool(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> ToolResult:
        """Do it. Raises `ToolFailure` for what the model should hear; ends what it started when it is cancelled.

        The arguments fit the tool's schema: whoever calls has checked them.
        """
        ...

    async def close(self) -> None:
        """Let go of everything. May be called more than once."""
        ...
