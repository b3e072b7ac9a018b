"""Our protocol engine with nothing behind it but small tools: how much of a call is the engine's."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from mcpserver import Server
from mcpserver.stdio import run_stdio

if TYPE_CHECKING:
    from mcpserver import Call

_TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
_SEARCH = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "pattern": {"type": "string"},
        "limit": {"type": "integer", "default": 10},
    },
    "required": ["path", "pattern"],
}


async def _echo(arguments: dict[str, Any], _call: Call) -> str:
    return str(arguments["text"])


async def _search(arguments: dict[str, Any], _call: Call) -> str:
    return f"{arguments['path']} {arguments['pattern']}"


def main() -> None:
    server = Server(name="engine", version="1")
    server.register_tool("echo", _TEXT, _echo, description="Say it again.")
    for number in range(int(sys.argv[1]) - 1):
        about = "Look for a pattern below a path, and say where it was found."
        server.register_tool(f"tool_{number}", _SEARCH, _search, description=about)
    run_stdio(server)


main()
