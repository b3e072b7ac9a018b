"""A tour of a server with the official Python SDK, 2.x line: the task comes as JSON, what was seen goes out as JSON."""

import asyncio
import contextlib
import json
import sys
import traceback

import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

SECONDS = 20  # for one step
ROOT = types.Root(uri="file:///home/somebody", name="home")


class Tour:
    def __init__(self, answer):
        self.answer = answer
        self.heard = []
        self.news = asyncio.Event()
        self.client = None

    def hear(self, *event):
        self.heard.append(list(event))
        self.news.set()

    async def until(self, event):
        while event not in self.heard:
            self.news.clear()
            await self.news.wait()

    # What servers ask

    async def elicited(self, _, params):
        self.hear("elicitation", params.message, sorted(params.requested_schema["properties"]))
        return types.ElicitResult(action="accept", content=self.answer)

    async def sampled(self, _, params):
        self.hear("sampling", params.messages[0].content.text)
        answer = types.TextContent(type="text", text="42")
        return types.CreateMessageResult(role="assistant", content=answer, model="oracle")

    async def rooted(self, _):
        self.hear("roots")
        return types.ListRootsResult(roots=[ROOT])

    # What servers tell

    async def logged(self, params):
        self.hear("log", params.level, params.data)

    async def told(self, message):
        if isinstance(message, types.ToolListChangedNotification):
            self.hear("tools changed")
        elif isinstance(message, types.ResourceUpdatedNotification):
            self.hear("updated", message.params.uri)

    async def progressed(self, progress, total, message):
        self.hear("progress", progress, total, message)

    # What there is to do

    async def hear_of(self, event):
        await self.until(event)

    async def list_tools(self):
        return plain((await self.client.list_tools()).tools)

    async def call(self, name, arguments=None):
        result = await self.client.call_tool(name, arguments or {}, progress_callback=self.progressed)
        return plain(result)

    async def cancel(self, name, arguments):
        call = asyncio.get_running_loop().create_task(self.call(name, arguments))
        await self.until(["progress", 1, None, "begun"])
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await call
        return "cancelled"

    async def level(self, level):
        if not self.modern:  # there it was said when the client was made
            await self.client.set_logging_level(level)

    async def watch(self, uri):
        if self.modern:
            listening = self.client.listen(tools_list_changed=True, resource_subscriptions=[uri])
            await self.ears.enter_async_context(listening)
        else:
            await self.client.subscribe_resource(uri)

    async def unwatch(self, uri):
        if not self.modern:
            await self.client.unsubscribe_resource(uri)

    async def resources(self):
        return plain((await self.client.list_resources()).resources)

    async def templates(self):
        return plain((await self.client.list_resource_templates()).resource_templates)

    async def read(self, uri):
        return plain((await self.client.read_resource(uri)).contents)

    async def prompts(self):
        return plain((await self.client.list_prompts()).prompts)

    async def prompt(self, name, arguments):
        return plain((await self.client.get_prompt(name, arguments)).messages)

    async def complete(self, prompt, argument):
        ref = types.PromptReference(type="ref/prompt", name=prompt)
        return plain(await self.client.complete(ref, argument))["completion"]["values"]

    async def go(self, steps):
        done = []
        for step in steps:
            verb = step.pop("do")
            try:
                async with asyncio.timeout(SECONDS):
                    done.append(await getattr(self, verb)(**step))
            except TimeoutError:
                done.append({"error": {"code": None, "message": f"{verb} took too long"}})
            except MCPError as error:
                done.append({"error": {"code": error.code, "message": error.message}})
        return done


def plain(value):
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def visit(target, steps):
    tour = Tour(target.get("answer", {"name": target.get("person", "Ada")}))
    talking = {
        "elicitation_callback": tour.elicited,
        "sampling_callback": tour.sampled,
        "list_roots_callback": tour.rooted,
        "logging_callback": tour.logged,
        "message_handler": tour.told,
        "log_level": "info",
    }
    answering = talking if target.get("answers", True) else {}
    place = target.get("url")
    if place is None:
        command, *arguments = target["command"]
        place = StdioServerParameters(command=command, args=arguments, env=target["env"])
    elif "headers" in target:
        place = streamable_http_client(place, http_client=create_mcp_http_client(target["headers"]))
    async with (
        Client(place, mode=target["mode"], **answering) as tour.client,
        contextlib.AsyncExitStack() as tour.ears,
    ):
        protocol = tour.client.protocol_version
        tour.modern = protocol >= "2026-07-28"
        return {"protocol": protocol, "steps": await tour.go(steps), "heard": tour.heard}


async def main(task):
    """One tour after the other. A failure is told, and does not keep the next one from being made."""
    seen = {}
    for name, target in task["targets"].items():
        try:
            seen[name] = await visit(target, [dict(step) for step in task["steps"]])
        except Exception:
            seen[name] = {"failed": traceback.format_exc()}
    return seen


print(json.dumps(asyncio.run(main(json.loads(sys.argv[1])))))
