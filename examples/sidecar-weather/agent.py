"""An agent's side on the official Python SDK (`pip install "mcp>=2"`), without a model: `python agent.py [URL] [CITY]`.

It speaks MCP to an address and takes the tools as they come. Nothing in here knows that they have been reshaped.
"""

from __future__ import annotations

import asyncio
import sys

from mcp import Client

URL = "http://127.0.0.1:8931/mcp"


async def main(url: str = URL, city: str = "Oslo") -> None:
    async with Client(url) as client:
        for tool in (await client.list_tools()).tools:
            print(f"{tool.name}({', '.join(tool.input_schema['properties'])}): {tool.description}")
        result = await client.call_tool("get_weather", {"city": city})
        print(result.content[0].text)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
