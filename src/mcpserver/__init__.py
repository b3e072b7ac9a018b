"""MCP spoken as a server. Standard library only; knows nothing of awf.

The public names are loaded when they are first used, so that a process which answers a handshake pays for no more.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcpserver.errors import DuplicateToolError, ToolError, UnknownToolError
    from mcpserver.messages import MISSING, PROTOCOL_VERSIONS
    from mcpserver.server import Server
    from mcpserver.stdio import run_stdio, serve_stdio
    from mcpserver.tools import Call, Result, Toolbox

__all__ = [
    "MISSING",
    "PROTOCOL_VERSIONS",
    "Call",
    "DuplicateToolError",
    "Result",
    "Server",
    "ToolError",
    "Toolbox",
    "UnknownToolError",
    "run_stdio",
    "serve_stdio",
]

_HOME = {
    "Call": "tools",
    "DuplicateToolError": "errors",
    "MISSING": "messages",
    "PROTOCOL_VERSIONS": "messages",
    "Result": "tools",
    "Server": "server",
    "ToolError": "errors",
    "Toolbox": "tools",
    "UnknownToolError": "errors",
    "run_stdio": "stdio",
    "serve_stdio": "stdio",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"mcpserver.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
