"""What an agent on LangChain does with an MCP server: get the tools, and call one. The task and the answer are JSON."""

import asyncio
import json
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient


async def visit(target, steps):
    client = MultiServerMCPClient({"sidecar": {"transport": target["way"], "url": target["url"]}})
    tools = {tool.name: tool for tool in await client.get_tools()}
    done = []
    for step in steps:
        if step["do"] == "list_tools":
            done.append([described(tool) for tool in tools.values()])
        else:
            content = await tools[step["name"]].ainvoke(step["arguments"])
            done.append({"content": [{"type": "text", "text": block["text"]} for block in content]})
    return {"protocol": "2025-11-25", "steps": done, "heard": []}  # it speaks no other, and does not say


def described(tool):
    return {"name": tool.name, "description": tool.description, "inputSchema": tool.args_schema}


async def main(task):
    return {name: await visit(target, task["steps"]) for name, target in task["targets"].items()}


print(json.dumps(asyncio.run(main(json.loads(sys.argv[1])))))
