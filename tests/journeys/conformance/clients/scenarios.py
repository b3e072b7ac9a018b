"""What a client has to do in each client scenario of the suite, whatever SDK it is built on.

A client here has `tools()`, `call(name, arguments)`, `resources()`, `read(uri)`, `prompts()` and `get(name)`; it answers
every question of a server with the defaults that come with it, and `yes` where there are none.
"""

import asyncio
import json
import os

SCENARIO = os.environ["MCP_CONFORMANCE_SCENARIO"]
VERSION = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "2025-11-25")
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
GATEWAY = json.loads(os.environ.get("CONFORMANCE_GATEWAY", "null"))
"""How to start a gateway: the command, up to the name of its configuration; and its environment. None: go there directly."""

STRANGE = 3  # the exit status for scenarios that these clients have nothing for


def answers(schema):
    """To a form."""
    return {
        name: described.get("default", True)
        for name, described in schema["properties"].items()
        if "default" in described or described.get("type") == "boolean"
    }


def something(schema):
    """Arguments that a tool would take."""
    return dict.fromkeys(schema.get("required", []), "something")


async def look(client):
    await client.tools()


async def add(client):
    tools = await client.tools()
    await client.call(tools[0]["name"], {"a": 2, "b": 3})


async def call_all(client):
    for tool in await client.tools():
        await client.call(tool["name"], something(tool["inputSchema"]))


async def visit_everything(client):
    await call_all(client)
    for resource in await client.resources():
        await client.read(resource["uri"])
    for prompt in await client.prompts():
        await client.get(prompt["name"])


async def call_as_told(client):
    await client.tools()
    for call in CONTEXT["toolCalls"]:
        await client.call(call["name"], call["arguments"])


async def call_side_by_side(client):
    tools = await client.tools()
    # One of them answers without `resultType`, which a client may refuse; that is no reason to drop the others.
    calls = (client.call(tool["name"], {}) for tool in tools)
    await asyncio.gather(*calls, return_exceptions=True)


async def call_test_tool(client):
    await client.tools()
    await client.call("test-tool", {})


async def echo_schema(client):
    schemas = {tool["name"]: tool["inputSchema"] for tool in await client.tools()}
    await client.call("json_schema_echo", {"schema": schemas["json_schema_2020_12_tool"]})


BEHAVIOURS = {
    "initialize": look,
    "tools_call": add,
    "elicitation-sep1034-client-defaults": call_all,
    "sse-retry": call_all,
    "request-metadata": look,
    "http-standard-headers": visit_everything,
    "http-custom-headers": call_as_told,
    "http-invalid-tool-headers": call_all,
    "json-schema-ref-no-deref": look,
    "json-schema-2020-12-preservation": echo_schema,
    "sep-2322-client-request-state": call_side_by_side,
    "auth/client-credentials-basic": call_test_tool,
}
