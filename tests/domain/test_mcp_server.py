from __future__ import annotations

import pytest

from awf.domain.mcp_server import McpOAuth, McpServer, problems_with, transport_of


def oauth(**changes):
    return McpOAuth(**{"token_url": "https://t/", "client_id": "me", "client_secret": "s", **changes})


@pytest.mark.parametrize(
    "server",
    [
        McpServer(command="uvx", args=["x"], env={"A_1": "{{ env.B }}"}, cwd="/tmp", transport="stdio"),
        McpServer(url="http://127.0.0.1:9000/mcp", headers={"Authorization": "Bearer x"}, transport="http"),
        McpServer(url="https://example.org/mcp?a=1", transport="streamableHttp", tools=["read_*"]),
        McpServer(url="{{ inputs.server }}"),
        McpServer(url="http://[::1]:80/"),
        McpServer(url="https://a/sse", transport="sse", oauth=oauth(scope="a b", resource="https://a/sse")),
        McpServer(url="wss://a/", transport="websocket"),
        McpServer(url="ws://a/", oauth=oauth(token_url="{{ inputs.x }}", resource="{{ inputs.y }}")),
    ],
)
def test_a_sound_description_has_no_problems(server):
    assert problems_with(server) == []


@pytest.mark.parametrize(
    ("server", "fields"),
    [
        (McpServer(), ["command"]),
        (McpServer(command="a", url="http://b/"), ["url"]),
        (McpServer(command=" "), ["command"]),
        (McpServer(command="a", transport="http"), ["transport"]),
        (McpServer(url="http://a/", transport="stdio"), ["transport"]),
        (McpServer(command="a", env={"1A": "x", "B-C": "y", "": "z"}), ["env.1A", "env.B-C", "env."]),
        (McpServer(command="a", headers={"X": "y"}), ["headers"]),
        (McpServer(url="http://a/", args=["x"], env={"A": "b"}, cwd="c"), ["args", "env", "cwd"]),
        (McpServer(url="ftp://a/"), ["url"]),
        (McpServer(url="/mcp"), ["url"]),
        (McpServer(url="http://"), ["url"]),
        (McpServer(url="http://[::"), ["url"]),
        (McpServer(url="http://a:99999/"), ["url"]),
        (McpServer(url="http://a/\r\nX: y"), ["url"]),
        (McpServer(url="http://u:p@a/"), ["url"]),
        (McpServer(url="http://a/", headers={"X Y": "z"}), ["headers.X Y"]),
        (McpServer(url="http://a/", headers={"X": "a\r\nB: c"}), ["headers.X"]),
        (McpServer(url="http://a/", headers={"Mcp-Session-Id": "1"}), ["headers.Mcp-Session-Id"]),
        (McpServer(url="http://a/", headers={"mcp-param-x": "1"}), ["headers.mcp-param-x"]),
        (McpServer(url="http://a/", headers={"Content-Length": "1"}), ["headers.Content-Length"]),
        (McpServer(command="a", timeout=0.0), ["timeout"]),
        (McpServer(command="a", transport="sse"), ["transport"]),
        (McpServer(command="a", transport="websocket"), ["transport"]),
        (McpServer(url="http://a/", transport="websocket"), ["url"]),
        (McpServer(url="ws://a/", transport="sse"), ["url"]),
        (McpServer(url="wss://a/", transport="http"), ["url"]),
        (McpServer(url="ws://u:p@a/"), ["url"]),
        (McpServer(url="ws://a/", headers={"Sec-WebSocket-Key": "1"}), ["headers.Sec-WebSocket-Key"]),
        (McpServer(command="a", oauth=oauth()), ["oauth"]),
        (McpServer(url="http://a/", oauth=oauth(), headers={"authorization": "x"}), ["oauth"]),
        (McpServer(url="http://a/", oauth=oauth(token_url="t")), ["oauth.token_url"]),
        (McpServer(url="http://a/", oauth=oauth(token_url="https://u:p@t/")), ["oauth.token_url"]),
        (
            McpServer(url="http://a/", oauth=oauth(client_id="", client_secret=" ")),
            ["oauth.client_id", "oauth.client_secret"],
        ),
        (McpServer(url="http://a/", oauth=oauth(resource="a/b")), ["oauth.resource"]),
        (McpServer(url="http://a/", oauth=oauth(resource="https://a/#b")), ["oauth.resource"]),
        (McpServer(command="a", tools=["", "b"]), ["tools"]),
    ],
)
def test_each_problem_names_its_field_and_says_what_to_do(server, fields):
    found = problems_with(server)

    assert [field for field, _, _ in found] == fields
    assert all(message.endswith(".") and hint for _, message, hint in found)


@pytest.mark.parametrize(
    ("server", "transport"),
    [
        (McpServer(command="a"), "stdio"),
        (McpServer(url="http://a/"), "http"),
        (McpServer(url="http://a/", transport="streamableHttp"), "http"),
        (McpServer(url="http://a/", transport="sse"), "sse"),
        (McpServer(url="WSS://a/"), "websocket"),
        (McpServer(url="{{ inputs.x }}", transport="websocket"), "websocket"),
    ],
)
def test_the_transport_follows_from_what_is_given(server, transport):
    assert transport_of(server) == transport


@pytest.mark.parametrize(
    ("server", "cwd"),
    [
        (McpServer(command="a"), "/project"),
        (McpServer(command="a", cwd="tools"), "/project/tools"),
        (McpServer(command="a", cwd="/else"), "/else"),
        (McpServer(url="http://a/"), None),
    ],
)
def test_a_program_works_in_its_project_unless_it_is_told_another_folder(server, cwd):
    assert server.working_in("/project").cwd == cwd
    assert McpServer(command="a").working_in("/").cwd == "/"
