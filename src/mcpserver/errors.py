"""What can go wrong, and whose fault it is: the peer's, ours, or the tool's.

A protocol error becomes a JSON-RPC error answer. A tool error becomes a *result* with `isError`, because only results
reach the model.
"""

from __future__ import annotations

from mcpserver.messages import INTERNAL_ERROR, MISSING

TYPE_CHECKING = False  # importing `typing` for it would cost a third of a bare start
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "DuplicateToolError",
    "NotJsonError",
    "OwnError",
    "PeerError",
    "ProtocolError",
    "ToolError",
    "UnknownToolError",
]


class ProtocolError(Exception):
    """One side broke the protocol. Raise PeerError or OwnError, which say which side."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class PeerError(ProtocolError):
    """The client sent something that cannot be served."""


class OwnError(ProtocolError):
    """The server could not do what it should have done."""

    def __init__(self, message: str) -> None:
        super().__init__(INTERNAL_ERROR, message)


class NotJsonError(ValueError):
    """A value of ours cannot be written as JSON."""


class ToolError(Exception):
    """The tool could not do what it was asked; the message is for the model."""

    def __init__(self, message: str, meta: dict[str, Any] | None = None, structured: Any = MISSING) -> None:
        super().__init__(message)
        self.message = message
        self.meta = meta or {}
        self.structured = structured


class UnknownToolError(LookupError):
    """No tool has this name. The client's mistake, so it is answered with a protocol error."""

    def __init__(self, name: str, message: str = "") -> None:
        super().__init__(message or f"Unknown tool: {name}")
        self.name = name


class DuplicateToolError(ValueError):
    """A second tool of the same name: one of the two would never be called."""

    def __init__(self, name: str) -> None:
        super().__init__(f"A tool named {name!r} is registered already. Give this one another name.")
        self.name = name
