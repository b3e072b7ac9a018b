"""What can go wrong, and whose fault it is: the editor's (Complaint), the agent's (RequestError) or the editor's answer."""

from __future__ import annotations

from acpserver.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    one_line,
)

TYPE_CHECKING = False  # importing `typing` for it would cost a third of a bare start
if TYPE_CHECKING:
    from typing import Any, Final

__all__ = ["Complaint", "EditorError", "EditorGoneError", "NotJsonError", "RequestError"]

_KINDS: Final = {
    "parse": (PARSE_ERROR, "Parse error"),
    "invalid_request": (INVALID_REQUEST, "Invalid request"),
    "unknown_method": (METHOD_NOT_FOUND, "Method not found"),
    "invalid_params": (INVALID_PARAMS, "Invalid params"),
    "too_long": (INVALID_REQUEST, "Invalid request"),
    "internal": (INTERNAL_ERROR, "Internal error"),
}


class Complaint(Exception):  # noqa: N818  it is an answer as often as it is raised
    """What the engine itself has to say about a message. `kind` is one of a closed list."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.code, self.title = _KINDS[kind]

    @property
    def message(self) -> str:
        """An internal error is not worded for everyone; its text goes into the details."""
        return self.title if self.kind == "internal" else f"{self.title}: {self.text}"


class RequestError(Exception):
    """The agent cannot do what it was asked; this becomes the error answer."""

    def __init__(self, code: int, message: str, details: str = "") -> None:
        self.code = code
        self.message = one_line(message) or "Error"
        self.details = details or message or self.message
        super().__init__(self.message)


class EditorError(Exception):
    """The editor answered a request of ours with an error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class EditorGoneError(Exception):
    """The connection ended before the editor answered."""

    def __init__(self, message: str = "The editor went away before it answered.") -> None:
        super().__init__(message)


class NotJsonError(ValueError):
    """A value of ours cannot be written as JSON."""
