"""Tools in memory, for tests: each is a function."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from awf.domain.tool import ToolDefinition, ToolResult, text_result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from awf.domain.tool import CallContext

__all__ = ["MemoryTools", "object_schema"]


def object_schema(**properties: str) -> dict[str, Any]:
    """`object_schema(path="string")`: an object whose fields are all required."""
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(properties),
        "additionalProperties": False,
    }


class MemoryTools:
    """A `ToolProvider`. A function gets the arguments and the context; what it returns, if text, becomes a result."""

    def __init__(self, source: str = "builtin") -> None:
        self._source = source
        self._tools: dict[str, tuple[ToolDefinition, Callable[..., Any]]] = {}
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.closed = 0

    def add(
        self, name: str, function: Callable[..., Any], schema: dict[str, Any] | None = None, **more: Any
    ) -> MemoryTools:
        definition = ToolDefinition(
            name=name, source=self._source, input_schema=schema or {"type": "object"}, **more
        )
        self._tools[name] = (definition, function)
        return self

    async def list_tools(self) -> Sequence[ToolDefinition]:
        return [definition for definition, _ in self._tools.values()]

    async def call_tool(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> ToolResult:
        self.calls.append((name, dict(arguments)))
        outcome = self._tools[name][1](arguments, context)
        if inspect.isawaitable(outcome):
            outcome = await outcome
        return outcome if isinstance(outcome, ToolResult) else text_result(str(outcome))

    async def close(self) -> None:
        self.closed += 1
