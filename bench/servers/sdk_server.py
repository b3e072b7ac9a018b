"""A server on the official SDK, 2.x line, as its users write one. Runs in the environment of that SDK."""

import sys
from pathlib import Path

from mcp.server import MCPServer

server = MCPServer("sdk")


@server.tool(structured_output=False)
def Read(file_path: str) -> str:  # noqa: N802
    """Read a file with line numbers."""
    lines = Path(file_path).read_text(encoding="utf-8").splitlines()
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, 1))


@server.tool(structured_output=False)
def echo(text: str) -> str:
    """Say it again."""
    return text


def more(number: int) -> None:
    @server.tool(name=f"tool_{number}", structured_output=False)
    def tool(path: str, pattern: str, limit: int = 10) -> str:
        """Look for a pattern below a path, and say where it was found."""
        return f"{path} {pattern} {limit}"


for number in range(int(sys.argv[1]) - 2):
    more(number)
server.run("stdio")
