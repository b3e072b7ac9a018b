"""A server on the official Python SDK, 1.x line: `python_v1.py stdio` or `python_v1.py PORT [json | sse]`."""

import asyncio
import sys

from mcp.server.fastmcp import Context, FastMCP
from mcp.types import ToolAnnotations

over_http = sys.argv[1] != "stdio"
server = FastMCP("v1", port=int(sys.argv[1]) if over_http else 8000, json_response="json" in sys.argv)


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
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
    await ctx.session.send_tool_list_changed()
    return "grown"


over_address = "sse" if "sse" in sys.argv else "streamable-http"
server.run(transport=over_address if over_http else "stdio")
