"""Servers of a tool server's file, everything filled in."""

from __future__ import annotations

import re

import pytest

from awf.application.tools.offering import offered_tools, tools_of_file
from awf.application.tools.proxy import OfferedTools, ToolProxyService
from awf.application.tools.router import Observers
from awf.domain.errors import AwfError
from awf.domain.mcp_proxy import McpProxy, ToolServerFile
from awf.domain.mcp_server import McpOAuth, McpServer
from awf.domain.redaction import Masker
from awf.infrastructure.json_schemas.schemas import RustJsonSchemas
from awf.infrastructure.telemetry.tracing import NoTracer
from awf.testing.memory_tools import MemoryTools

OAUTH = McpOAuth(
    token_url="https://${env:HOST}/token",
    client_id="${env:ID}",
    client_secret="${env:SECRET}",
    scope="read ${env:SCOPE}",
    resource="https://${env:HOST}/",
)


def test_every_text_of_a_server_is_filled_in():
    server = McpServer(url="wss://${env:HOST}/mcp", headers={"X": "${env:ID}"}, oauth=OAUTH)
    file = ToolServerFile(mcp_servers={"far": server})
    offered = tools_of_file(file, "/", {"HOST": "h", "ID": "me", "SECRET": "s", "SCOPE": "write"})

    filled = McpOAuth(
        token_url="https://h/token",
        client_id="me",
        client_secret="s",
        scope="read write",
        resource="https://h/",
    )
    assert offered.servers == {"far": McpServer(url="wss://h/mcp", headers={"X": "me"}, oauth=filled)}


def test_a_variable_that_is_not_set_is_named():
    file = ToolServerFile(mcp_servers={"far": McpServer(url="http://h/", oauth=OAUTH)})

    with pytest.raises(AwfError, match="SECRET") as caught:
        tools_of_file(file, "/", {"HOST": "h", "ID": "me", "SCOPE": "x"})
    assert caught.value.code == "USER.INPUT.MISSING_ENV"


def test_a_block_that_cannot_work_is_refused_with_its_place():
    server = McpServer(url="http://h/", oauth=McpOAuth(token_url="t", client_id="me", client_secret="s"))

    with pytest.raises(AwfError, match=r"mcp_servers\.far\.oauth\.token_url"):
        tools_of_file(ToolServerFile(mcp_servers={"far": server}), "/", {})


class Sources:
    """Servers in memory."""

    def server(self, _name, _server, _environment):
        return MemoryTools()


def offered(way: str) -> OfferedTools:
    """The same servers of a tool server's file, of a step, and of an editor."""
    reference = "{{ %s }}" if way == "step" else "${env:%s}"
    given = {name: reference % name for name in ("KEY", "SCHEME", "CLIENT", "PLAIN")}
    oauth = McpOAuth(token_url="https://h/token", client_id="me", client_secret=given["CLIENT"])
    servers = {
        "near": McpServer(command="x", env={"API_KEY": given["KEY"], "MODE": given["PLAIN"]}),
        "far": McpServer(url="https://h/", headers={"Authorization": f"Bearer {given['SCHEME']}"}),
        "tokens": McpServer(url="https://h/", oauth=oauth),
    }
    values = {"KEY": "key-4711", "SCHEME": "scheme-4712", "CLIENT": "client-4713", "PLAIN": "plain-4714"}
    if way == "step":

        def render(text: str) -> str:
            return re.sub(r"\{\{ (\w+) \}\}", lambda found: values[found[1]], text)

        proxy = McpProxy(enable=True, intercept_builtins=False, mcp_servers=servers)
        return offered_tools(proxy, render, root="/", environment={}, short_names={})
    file = ToolServerFile(intercept_builtins=False, mcp_servers=servers)
    found = tools_of_file(file, "/", values)
    if way == "file":
        return found
    return OfferedTools(root="/", environment={}, builtins=False, optional=found.servers)


@pytest.mark.parametrize("way", ["file", "step", "editor"])
async def test_what_servers_are_given_under_the_name_of_a_secret_is_masked_whoever_offers_them(way):
    masker = Masker()
    service = ToolProxyService(Sources(), None, RustJsonSchemas())

    router = await service.router(offered(way), Observers(tracer=NoTracer(), masker=masker))
    await router.close()

    said = "key-4711 scheme-4712 client-4713 plain-4714"
    assert masker.mask(said) == "*** *** *** plain-4714"
