"""A tour of a server with the official Python SDK, 1.x line: the task comes as JSON, what was seen goes out as JSON."""

import asyncio
import contextlib
import json
import sys
import traceback

import anyio
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from pydantic import AnyUrl

SECONDS = 20  # for one step
ROOT = types.Root(uri="file:///home/somebody", name="home")


class Tour:
    def __init__(self, answer):
        self.answer = answer
        self.heard = []
        self.news = asyncio.Event()
        self.session = None

    def hear(self, *event):
        self.heard.append(list(event))
        self.news.set()

    async def until(self, event):
        while event not in self.heard:
            self.news.clear()
            await self.news.wait()

    # What servers ask

    async def elicited(self, _, params):
        self.hear("elicitation", params.message, sorted(params.requestedSchema["properties"]))
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
        root = getattr(message, "root", None)
        if isinstance(root, types.ToolListChangedNotification):
            self.hear("tools changed")
        elif isinstance(root, types.ResourceUpdatedNotification):
            self.hear("updated", str(root.params.uri))

    async def progressed(self, progress, total, message):
        self.hear("progress", progress, total, message)

    # What there is to do

    async def hear_of(self, event):
        await self.until(event)

    async def list_tools(self):
        return plain((await self.session.list_tools()).tools)

    async def call(self, name, arguments=None):
        result = await self.session.call_tool(name, arguments or {}, progress_callback=self.progressed)
        return plain(result)

    async def cancel(self, name, arguments):
        number = self.session._request_id
        call = asyncio.get_running_loop().create_task(self.call(name, arguments))
        await self.until(["progress", 1, None, "begun"])
        params = types.CancelledNotificationParams(requestId=number, reason="enough")
        await self.session.send_notification(
            types.ClientNotification(types.CancelledNotification(params=params))
        )
        call.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await call
        return "cancelled"

    async def level(self, level):
        await self.session.set_logging_level(level)

    async def watch(self, uri):
        await self.session.subscribe_resource(AnyUrl(uri))

    async def unwatch(self, uri):
        await self.session.unsubscribe_resource(AnyUrl(uri))

    async def resources(self):
        return plain((await self.session.list_resources()).resources)

    async def templates(self):
        return plain((await self.session.list_resource_templates()).resourceTemplates)

    async def read(self, uri):
        return plain((await self.session.read_resource(AnyUrl(uri))).contents)

    async def prompts(self):
        return plain((await self.session.list_prompts()).prompts)

    async def prompt(self, name, arguments):
        return plain((await self.session.get_prompt(name, arguments)).messages)

    async def complete(self, prompt, argument):
        ref = types.PromptReference(type="ref/prompt", name=prompt)
        return plain(await self.session.complete(ref, argument))["completion"]["values"]

    async def go(self, steps):
        done = []
        for step in steps:
            verb = step.pop("do")
            try:
                async with asyncio.timeout(SECONDS):
                    done.append(await getattr(self, verb)(**step))
            except TimeoutError:
                done.append({"error": {"code": None, "message": f"{verb} took too long"}})
            except McpError as error:
                done.append({"error": {"code": error.error.code, "message": error.error.message}})
        return done


def plain(value):
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


def transport(target):
    if "command" in target:
        command, *arguments = target["command"]
        return stdio_client(StdioServerParameters(command=command, args=arguments, env=target["env"]))
    if "headers" in target:
        return streamable_http_client(target["url"], http_client=create_mcp_http_client(target["headers"]))
    return (sse_client if target["way"] == "sse" else streamable_http_client)(target["url"])


async def visit(target, steps):
    tour = Tour(target.get("answer", {"name": target.get("person", "Ada")}))
    talking = {
        "elicitation_callback": tour.elicited,
        "sampling_callback": tour.sampled,
        "list_roots_callback": tour.rooted,
        "logging_callback": tour.logged,
        "message_handler": tour.told,
    }
    answering = talking if target.get("answers", True) else {}
    seen = None
    try:
        async with transport(target) as streams, ClientSession(*streams[:2], **answering) as tour.session:
            hello = await tour.session.initialize()
            seen = {"protocol": hello.protocolVersion, "steps": await tour.go(steps), "heard": tour.heard}
    except ExceptionGroup as trouble:
        # Over standard streams its reader stumbles over what comes while it leaves.
        if seen is None or trouble.split(anyio.BrokenResourceError)[1] is not None:
            raise
    return seen


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
