"""A tool as an agent sees it, one call of it, and what came of it.

Content blocks and schemas are plain JSON values: what a server sends passes unharmed, also what this version of AWF
has never heard of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

__all__ = [
    "ERROR_KEY",
    "Behind",
    "CallContext",
    "ToolDefinition",
    "ToolErrorCode",
    "ToolFailure",
    "ToolResult",
    "UnknownTool",
    "text_result",
    "words_of_server",
]

ERROR_KEY = "awf/error"  # in the _meta of a result: {code: …}

ToolErrorCode = Literal[
    "EXECUTION_FAILED",
    "TIMEOUT",
    "PERMISSION_DENIED",
    "INVALID_ARGUMENTS",
    "SANDBOX_VIOLATION",
    "RESOURCE_NOT_FOUND",
    "RATE_LIMITED",
    "CONFLICT",
]

# What a call may come to at a server that was asked. All others say that AWF itself, or its walls, stopped it.
_OF_SERVERS = frozenset({"EXECUTION_FAILED", "TIMEOUT", "RESOURCE_NOT_FOUND", "RATE_LIMITED", "CONFLICT"})


class Behind(NamedTuple):
    """What is behind a tool of a provider, for the gate."""

    tool_id: str = ""  # empty: it follows from its source and its name
    folders: tuple[str, ...] = ()  # where its relative paths may start, if not in the project
    sent: Callable[[Any], Any] | None = None  # what it gets of given arguments; None: just those


class ToolDefinition(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    description: str = ""
    input_schema: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object"})
    source: str  # `builtin`, `plugin:<name>` or `mcp:<server>`
    title: str = ""
    output_schema: dict[str, Any] | None = None
    annotations: dict[str, Any] = {}
    more: dict[str, Any] = {}  # whatever else its server says of it: icons, _meta, keys of later versions


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    content: list[dict[str, Any]] = []
    is_error: bool = False
    structured: Any = msgspec.UNSET
    meta: dict[str, Any] = {}
    raw: dict[str, Any] | None = None  # as its server wrote it, for doors that pass it on to the letter

    @property
    def text(self) -> str:
        """The text blocks, for people and for agents that know nothing else."""
        return "\n".join(str(block.get("text", "")) for block in self.content if block.get("type") == "text")


class CallContext(msgspec.Struct, frozen=True, kw_only=True):
    """What comes with a call beside its arguments."""

    call_id: str
    meta: Mapping[str, Any] = {}  # the `_meta` of the request
    trace: dict[str, str] = {}  # W3C trace context to hand on: traceparent, tracestate
    progress: Callable[[float, float | None, str], None] | None = None  # done so far, of how much, in words
    timeout: float | None = None  # seconds, instead of what is usual for the tool's server


class ToolFailure(Exception):  # noqa: N818  an outcome of the call that the model is told, not a fault of ours
    """The tool could not do what it was asked; the text says what the model can do about it."""

    def __init__(self, code: ToolErrorCode, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code: ToolErrorCode = code
        self.message = message
        self.details = details or {}  # the same for programs


class UnknownTool(Exception):  # noqa: N818
    """No tool has this name. The caller's mistake, not the tool's."""


def text_result(text: str, *, is_error: bool = False, structured: Any = msgspec.UNSET) -> ToolResult:
    return ToolResult(content=[{"type": "text", "text": text}], is_error=is_error, structured=structured)


def words_of_server(meta: dict[str, Any]) -> dict[str, Any]:
    """The `_meta` of a server's result as it is understood here. Its code of an error is recorded and counted."""
    said = meta.get(ERROR_KEY)
    if not isinstance(said, dict):
        return meta
    code = said.get("code")
    if isinstance(code, str) and code in _OF_SERVERS:
        return meta
    return {**meta, ERROR_KEY: {**said, "code": "EXECUTION_FAILED"}}
