"""A client on the official Python SDK, 1.x line."""

import contextlib

import scenarios
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult


async def elicited(_, params):
    return ElicitResult(action="accept", content=scenarios.answers(params.requestedSchema))


class Client:
    def __init__(self, session):
        self._session = session

    async def tools(self):
        return _plain((await self._session.list_tools()).tools)

    async def call(self, name, arguments):
        await self._session.call_tool(name, arguments)

    async def resources(self):
        return _plain((await self._session.list_resources()).resources)

    async def read(self, uri):
        await self._session.read_resource(uri)

    async def prompts(self):
        return _plain((await self._session.list_prompts()).prompts)

    async def get(self, name):
        await self._session.get_prompt(name)


def _plain(values):
    return [value.model_dump(mode="json", by_alias=True, exclude_none=True) for value in values]


@contextlib.asynccontextmanager
async def opened(target):
    if isinstance(target, str):
        transport = streamable_http_client(target)
    else:
        gateway = StdioServerParameters(command=target[0], args=target[1:], env=scenarios.GATEWAY["env"])
        transport = stdio_client(gateway)
    async with transport as streams, ClientSession(*streams[:2], elicitation_callback=elicited) as session:
        await session.initialize()
        yield Client(session)
