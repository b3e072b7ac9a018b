"""A client on the official Python SDK, 2.x line, in the era that the scenario is about."""

import contextlib

import mcp
import scenarios
from mcp.types import ElicitResult


async def elicited(_, params):
    return ElicitResult(action="accept", content=scenarios.answers(params.requested_schema))


class Client:
    def __init__(self, client):
        self._client = client

    async def tools(self):
        return _plain((await self._client.list_tools()).tools)

    async def call(self, name, arguments):
        await self._client.call_tool(name, arguments)

    async def resources(self):
        return _plain((await self._client.list_resources()).resources)

    async def read(self, uri):
        await self._client.read_resource(uri)

    async def prompts(self):
        return _plain((await self._client.list_prompts()).prompts)

    async def get(self, name):
        await self._client.get_prompt(name)


def _plain(values):
    return [value.model_dump(mode="json", by_alias=True, exclude_none=True) for value in values]


@contextlib.asynccontextmanager
async def opened(target):
    if not isinstance(target, str):
        target = mcp.StdioServerParameters(command=target[0], args=target[1:], env=scenarios.GATEWAY["env"])
    mode = "auto" if scenarios.VERSION >= "2026-07-28" else "legacy"
    async with mcp.Client(target, mode=mode, elicitation_callback=elicited) as client:
        yield Client(client)
