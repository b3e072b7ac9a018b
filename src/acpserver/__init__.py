"""ACP spoken as the agent. Standard library only; knows nothing of awf.

The public names are loaded when they are first used, so that a process which answers a handshake pays for no more.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from acpserver.agent import Agent
    from acpserver.client import Client
    from acpserver.errors import EditorError, EditorGoneError, RequestError
    from acpserver.messages import (
        AUTH_REQUIRED,
        INTERNAL_ERROR,
        INVALID_PARAMS,
        INVALID_REQUEST,
        METHOD_NOT_FOUND,
        NOT_FOUND,
        PARSE_ERROR,
        PROTOCOL_VERSION,
        REQUEST_CANCELLED,
    )
    from acpserver.server import Server
    from acpserver.stdio import run_stdio, serve_stdio

__all__ = [
    "AUTH_REQUIRED",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "NOT_FOUND",
    "PARSE_ERROR",
    "PROTOCOL_VERSION",
    "REQUEST_CANCELLED",
    "Agent",
    "Client",
    "EditorError",
    "EditorGoneError",
    "RequestError",
    "Server",
    "run_stdio",
    "serve_stdio",
]

_HOME = {
    "Agent": "agent",
    "Client": "client",
    "EditorError": "errors",
    "EditorGoneError": "errors",
    "RequestError": "errors",
    "Server": "server",
    "run_stdio": "stdio",
    "serve_stdio": "stdio",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = _HOME.get(name, "messages")
    value: object = getattr(import_module(f"acpserver.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
