"""Servers of a tool server's file, everything filled in."""

from __future__ import annotations

import pytest

from awf.application.tools.offering import tools_of_file
from awf.domain.errors import AwfError
from awf.domain.mcp_proxy import ToolServerFile
from awf.domain.mcp_server import McpOAuth, McpServer

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
