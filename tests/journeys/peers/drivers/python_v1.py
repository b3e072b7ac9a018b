"""The official Python SDK, 1.x line: list, call, and print what was seen. Runs in the environment of that SDK."""

import asyncio
import json
import sys

from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client


async def answer(session, call):
    try:
        result = await session.call_tool(call["name"], call["arguments"])
    except McpError as error:
        return {"error": {"code": error.error.code, "message": error.error.message}}
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


async def main(task):
    command, *arguments = task["command"]
    server = StdioServerParameters(command=command, args=arguments, env=task["env"], cwd=task["cwd"])
    async with stdio_client(server) as (incoming, outgoing), ClientSession(incoming, outgoing) as session:
        hello = await session.initialize()
        tools = (await session.list_tools()).tools
        return {
            "protocol": hello.protocolVersion,
            "tools": [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools],
            "results": [await answer(session, call) for call in task["calls"]],
        }


print(json.dumps(asyncio.run(main(json.loads(sys.argv[1])))))
