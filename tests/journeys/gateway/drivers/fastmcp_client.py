"""The client of fastmcp: list, call, and tell what was seen. The task and the answer are JSON."""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport


def transport(target):
    if "command" in target:
        command, *arguments = target["command"]
        return StdioTransport(command, arguments, env=target["env"])
    return (SSETransport if target["way"] == "sse" else StreamableHttpTransport)(target["url"])


async def visit(target, steps):
    async with Client(transport(target), mode=target["mode"]) as client:
        done = []
        for step in steps:
            if step["do"] == "list_tools":
                done.append([plain(tool) for tool in await client.list_tools()])
            else:
                done.append(plain(await client.call_tool_mcp(step["name"], step["arguments"])))
        return {"protocol": client.protocol_version, "steps": done, "heard": []}


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def main(task):
    return {name: await visit(target, task["steps"]) for name, target in task["targets"].items()}


print(json.dumps(asyncio.run(main(json.loads(sys.argv[1])))))
