"""The official Python SDK, 2.x line: list, call, and print what was seen. Runs in the environment of that SDK."""

import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters


async def answer(client, call):
    try:
        result = await client.call_tool(call["name"], call["arguments"])
    except MCPError as error:
        return {"error": {"code": error.code, "message": error.message}}
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


async def main(task):
    command, *arguments = task["command"]
    server = StdioServerParameters(command=command, args=arguments, env=task["env"], cwd=task["cwd"])
    async with Client(server, mode=task["mode"]) as client:
        tools = (await client.list_tools()).tools
        return {
            "protocol": client.protocol_version,
            "tools": [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools],
            "results": [await answer(client, call) for call in task["calls"]],
        }


print(json.dumps(asyncio.run(main(json.loads(sys.argv[1])))))
