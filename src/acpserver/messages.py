"""The words of the protocol: its version, error codes, the engine's own methods, and the shapes every message shares."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    Id = str | int | float | None

__all__ = [
    "AUTHENTICATE",
    "AUTH_REQUIRED",
    "CANCEL_REQUEST",
    "INITIALIZE",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "NOT_FOUND",
    "PARSE_ERROR",
    "PROTOCOL_VERSION",
    "REQUEST_CANCELLED",
    "failure",
    "notification",
    "one_line",
    "question",
    "success",
]

PROTOCOL_VERSION: Final = 1

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
REQUEST_CANCELLED: Final = -32800
AUTH_REQUIRED: Final = -32000
NOT_FOUND: Final = -32002

INITIALIZE: Final = "initialize"
AUTHENTICATE: Final = "authenticate"
CANCEL_REQUEST: Final = "$/cancel_request"


def success(request_id: Id, result: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def failure(request_id: Id, code: int, message: str, details: str) -> dict[str, Any]:
    """Editors show the details only when they are the one thing in `data`."""
    error = {"code": code, "message": one_line(message) or "Error", "data": {"details": details}}
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


def notification(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def question(number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def one_line(text: str) -> str:
    return " ".join(text.split())
