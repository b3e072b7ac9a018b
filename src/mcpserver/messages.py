"""The words of the protocol: versions, methods, error codes, and the shapes every message shares."""

from __future__ import annotations

import enum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

__all__ = [
    "ACKNOWLEDGED",
    "CALL",
    "CANCELLED",
    "DISCOVER",
    "INITIALIZE",
    "INITIALIZED",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "LEGACY_VERSIONS",
    "LIST",
    "LISTEN",
    "LIST_CHANGED",
    "META_CAPABILITIES",
    "META_CLIENT",
    "META_SERVER",
    "META_SUBSCRIPTION",
    "META_VERSION",
    "METHOD_NOT_FOUND",
    "MISSING",
    "MODERN_VERSIONS",
    "NEWEST_LEGACY",
    "PARSE_ERROR",
    "PING",
    "PROGRESS",
    "PROTOCOL_VERSIONS",
    "SHUTDOWN",
    "UNSUPPORTED_VERSION",
    "Missing",
    "failure",
    "notification",
    "success",
]

MODERN_VERSIONS: Final = ("2026-07-28",)
LEGACY_VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
NEWEST_LEGACY: Final = LEGACY_VERSIONS[0]
PROTOCOL_VERSIONS: Final = MODERN_VERSIONS + LEGACY_VERSIONS  # newest first

INITIALIZE: Final = "initialize"
INITIALIZED: Final = "notifications/initialized"
PING: Final = "ping"
SHUTDOWN: Final = "shutdown"
DISCOVER: Final = "server/discover"
LIST: Final = "tools/list"
CALL: Final = "tools/call"
LISTEN: Final = "subscriptions/listen"
CANCELLED: Final = "notifications/cancelled"
PROGRESS: Final = "notifications/progress"
LIST_CHANGED: Final = "notifications/tools/list_changed"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"

META_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
META_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
META_CLIENT: Final = "io.modelcontextprotocol/clientInfo"
META_SERVER: Final = "io.modelcontextprotocol/serverInfo"
META_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
UNSUPPORTED_VERSION: Final = -32022


class Missing(enum.Enum):
    """Stands for "not given" where None is a value of its own."""

    MISSING = "missing"

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing.MISSING


def success(request_id: str | int, result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def failure(request_id: str | int | None, code: int, message: str, data: Any = None) -> dict[str, Any]:
    error: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


def notification(method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
    if params is None:
        return {"jsonrpc": "2.0", "method": method}
    return {"jsonrpc": "2.0", "method": method, "params": params}
