"""Everything a server can do, on the official Python SDK, 2.x line (both eras): `rich_v2.py stdio | PORT`."""

import asyncio
import os
import sys
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, ListRoots, Resolve, Sample
from mcp_types import (
    Completion,
    CreateMessageResult,
    EmptyResult,
    ListRootsResult,
    SamplingMessage,
    SetLevelRequestParams,
    SubscribeRequestParams,
    TextContent,
    UnsubscribeRequestParams,
)
from pydantic import BaseModel

TODAY = "note://today"
NEWER = "2026-07-28"
server = MCPServer("rich", instructions="Ask me anything.")
touched = 0


class Name(BaseModel):
    name: str


def note(text):
    with open(os.environ["RICH_LOG"], "a", encoding="utf-8") as log:
        log.write(f"{text}\n")


def whoever() -> Elicit[Name]:
    return Elicit("Who are you?", Name)


def thought(question: str) -> Sample:
    said = SamplingMessage(role="user", content=TextContent(type="text", text=question))
    return Sample([said], max_tokens=10)


def places() -> ListRoots:
    return ListRoots()


@server.tool()
async def ask_name(greeting: str, who: Annotated[ElicitationResult[Name], Resolve(whoever)]) -> str:
    """Ask the person for a name."""
    return f"{greeting}, {who.data.name}!" if who.action == "accept" else f"{who.action} it"


@server.tool()
async def ask_model(question: str, answer: Annotated[CreateMessageResult, Resolve(thought)]) -> str:
    """Ask the client's model."""
    return f"{answer.model} says {answer.content.text}"


@server.tool()
async def where(roots: Annotated[ListRootsResult, Resolve(places)]) -> str:
    """Ask for the client's roots."""
    return ", ".join(str(root.uri) for root in roots.roots)


@server.tool()
async def count(steps: int, ctx: Context) -> str:
    """Count, telling of it."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
    return "counted"


@server.tool()
async def talk(ctx: Context) -> str:
    """Log something."""
    await ctx.log("info", "something is going on")
    await ctx.log("warning", "something is wrong")
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
    await ctx.notify_resource_updated(TODAY)
    if ctx.protocol_version < NEWER:
        await ctx.session.send_resource_updated(TODAY)
    return "touched"


@server.tool()
async def change(ctx: Context) -> str:
    """Add a tool."""
    server.add_tool(lambda: "more", name=f"extra_{len(await server.list_tools())}")
    await ctx.notify_tools_changed()
    if ctx.protocol_version < NEWER:
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
    return Completion(values=words, total=len(words), has_more=False)


async def subscribe(ctx, params):
    note(f"subscribed to {params.uri}")
    return EmptyResult()


async def unsubscribe(ctx, params):
    note(f"unsubscribed from {params.uri}")
    return EmptyResult()


async def set_level(ctx, params):
    note(f"level {params.level}")
    return EmptyResult()


older = server._lowlevel_server
older.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
older.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, unsubscribe)
older.add_request_handler("logging/setLevel", SetLevelRequestParams, set_level)

if sys.argv[1] == "stdio":
    server.run(transport="stdio")
else:
    server.run(transport="streamable-http", port=int(sys.argv[1]))
