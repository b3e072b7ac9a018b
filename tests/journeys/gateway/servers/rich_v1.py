"""Everything a server can do, on the official Python SDK, 1.x line (only the older era): `rich_v1.py stdio | PORT`."""

import asyncio
import os
import sys

from mcp.server.fastmcp import Context, FastMCP
from mcp.types import Completion, SamplingMessage, TextContent
from pydantic import AnyUrl, BaseModel

OVER_HTTP = sys.argv[1] != "stdio"
TODAY = "note://today"
server = FastMCP("rich", port=int(sys.argv[1]) if OVER_HTTP else 8000, instructions="Ask me anything.")
touched = 0


class Name(BaseModel):
    name: str


def note(text):
    with open(os.environ["RICH_LOG"], "a", encoding="utf-8") as log:
        log.write(f"{text}\n")


@server.tool()
async def ask_name(greeting: str, ctx: Context) -> str:
    """Ask the person for a name."""
    answer = await ctx.elicit("Who are you?", Name)
    return f"{greeting}, {answer.data.name}!" if answer.action == "accept" else f"{answer.action} it"


@server.tool()
async def ask_model(question: str, ctx: Context) -> str:
    """Ask the client's model."""
    said = SamplingMessage(role="user", content=TextContent(type="text", text=question))
    answer = await ctx.session.create_message([said], max_tokens=10, related_request_id=ctx.request_id)
    return f"{answer.model} says {answer.content.text}"


@server.tool()
async def where(ctx: Context) -> str:
    """Ask for the client's roots."""
    return ", ".join(str(root.uri) for root in (await ctx.session.list_roots()).roots)


@server.tool()
async def count(steps: int, ctx: Context) -> str:
    """Count, telling of it."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
    return "counted"


@server.tool()
async def talk(ctx: Context) -> str:
    """Log something."""
    await ctx.info("something is going on")
    await ctx.warning("something is wrong")
    return "talked"


@server.tool()
async def wait(mark: str, ctx: Context) -> str:
    """Wait until cancelled."""
    note(f"{mark} has begun")
    await ctx.report_progress(1, message="begun")
    try:
        await asyncio.Event().wait()
    finally:
        note(f"{mark} was cancelled")
    return ""


@server.tool()
async def touch(ctx: Context) -> str:
    """Change the note of today."""
    global touched
    touched += 1
    await ctx.session.send_resource_updated(AnyUrl(TODAY))
    return "touched"


@server.tool()
async def change(ctx: Context) -> str:
    """Add a tool."""
    server.add_tool(lambda: "more", name=f"extra_{len(await server.list_tools())}")
    await ctx.session.send_tool_list_changed()
    return "changed"


@server.resource(TODAY, mime_type="text/plain")
def today() -> str:
    return f"touched {touched > 0}"


@server.resource("note://days/{day}")
def that_day(day: str) -> str:
    return f"the note of {day}"


@server.prompt()
def poem(about: str) -> str:
    """A poem about something."""
    return f"Write a poem about {about}."


@server.completion()
async def complete(ref, argument, context):
    words = [word for word in ("rain", "roses", "snow") if word.startswith(argument.value)]
    return Completion(values=words, total=len(words), hasMore=False)


@server._mcp_server.subscribe_resource()
async def subscribe(uri):
    note(f"subscribed to {uri}")


@server._mcp_server.unsubscribe_resource()
async def unsubscribe(uri):
    note(f"unsubscribed from {uri}")


@server._mcp_server.set_logging_level()
async def set_level(level):
    note(f"level {level}")


server.run(transport="streamable-http" if OVER_HTTP else "stdio")
