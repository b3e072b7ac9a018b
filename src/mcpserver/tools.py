"""Tools, what they are called with, and what they give back.

A `Toolbox` is all the server knows of tools. The `Registry` behind `Server.register_tool` is the plain one: it keeps
the order of registration and refuses a second tool of the same name.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from mcpserver.errors import DuplicateToolError, ToolError, UnknownToolError
from mcpserver.messages import MISSING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    Handler = Callable[[dict[str, Any], "Call"], Awaitable["Result | str | dict[str, Any]"]]

__all__ = ["Call", "Registry", "Result", "Tool", "Toolbox", "failed", "result_of"]


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool gives back. Content blocks are raw MCP objects of any kind; they pass unharmed."""

    content: list[dict[str, Any]]
    is_error: bool = False
    structured: Any = MISSING
    meta: dict[str, Any] = field(default_factory=dict)


class Call:
    """What a handler knows of the request beside its arguments."""

    __slots__ = ("_done", "_report", "client", "id", "meta", "protocol_version")

    def __init__(
        self,
        request_id: str | int,
        *,
        meta: dict[str, Any] | None = None,
        client: dict[str, Any] | None = None,
        protocol_version: str = "",
        report: Callable[[float, float | None, str], None] | None = None,
    ) -> None:
        self.id = request_id
        self.meta: dict[str, Any] = meta if meta is not None else {}
        self.client: dict[str, Any] = client if client is not None else {}
        self.protocol_version = protocol_version
        self._report = report
        self._done = -math.inf

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Tell the client how far this call is. Nothing is sent unless it asked, and unless `done` has grown."""
        if self._report is None or not self._done < done < math.inf:
            return
        self._done = done
        self._report(done, total if total is not None and math.isfinite(total) else None, message)


class Toolbox(Protocol):
    """Where tools come from."""

    async def list_tools(self) -> Sequence[dict[str, Any]]:
        """Raw MCP Tool objects, in a fixed order."""
        ...

    async def call_tool(self, name: str, arguments: dict[str, Any], call: Call) -> Result:
        """Raises UnknownToolError for a name it does not have."""
        ...


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    definition: dict[str, Any]
    handler: Handler


class Registry:
    """Tools that were registered one by one; implements `Toolbox`."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    def add(self, name: str, schema: dict[str, Any], handler: Handler, more: dict[str, Any]) -> None:
        """Keep a tool. `more` holds the optional MCP fields; the empty ones are left out."""
        if not name:
            raise ValueError("A tool needs a name.")
        if name in self._tools:
            raise DuplicateToolError(name)
        if schema.get("type", "object") != "object":
            raise ValueError(f"The schema of {name!r} must be of type object, for arguments have names.")
        said = {key: value for key, value in more.items() if value not in (None, "")}
        definition = {"name": name, **said, "inputSchema": {"type": "object", **schema}}
        self._tools[name] = Tool(name, definition, handler)

    async def list_tools(self) -> Sequence[dict[str, Any]]:
        return [tool.definition for tool in self._tools.values()]

    async def call_tool(self, name: str, arguments: dict[str, Any], call: Call) -> Result:
        tool = self._tools.get(name)
        if tool is None:
            raise UnknownToolError(name)
        return result_of(await tool.handler(arguments, call))


def result_of(value: Result | str | dict[str, Any]) -> Result:
    if isinstance(value, Result):
        return value
    if isinstance(value, str):
        return Result([{"type": "text", "text": value}])
    if isinstance(value, dict):
        return Result([{"type": "text", "text": json.dumps(value, ensure_ascii=False)}], structured=value)
    raise TypeError(f"a handler returns a Result, a str or a dict, not {type(value).__name__}")


def failed(error: BaseException) -> Result:
    """What the model is told. Only a ToolError was written for it; any other text might hold what it must not see."""
    if isinstance(error, ToolError):
        text, structured, meta = error.message, error.structured, error.meta
    else:
        text, structured, meta = f"The tool failed with {type(error).__name__}.", MISSING, {}
    return Result([{"type": "text", "text": text}], is_error=True, structured=structured, meta=meta)
