"""A server on the official Python SDK, 2.x line: `python_v2.py stdio` or `python_v2.py PORT [json]`."""

import asyncio
import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import ToolAnnotations

server = MCPServer("v2")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail(why: str) -> str:
    """Fail."""
    raise ValueError(why)


@server.tool()
async def count(steps: int, ctx: Context) -> str:
    """Count, telling of it."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
    return "counted"


@server.tool()
async def wait() -> str:
    """Wait until cancelled."""
    print("the wait has begun", file=sys.stderr, flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        print("the wait was cancelled", file=sys.stderr, flush=True)
    return ""


@server.tool()
def large(size: int) -> str:
    """A long text."""
    return "x" * size


@server.tool()
async def grow(ctx: Context) -> str:
    """Add a tool."""
    server.add_tool(lambda: "new", name="new")
    await ctx.notify_tools_changed()
    return "grown"


if sys.argv[1] == "stdio":
    server.run(transport="stdio")
else:
    server.run(transport="streamable-http", port=int(sys.argv[1]), json_response="json" in sys.argv)
