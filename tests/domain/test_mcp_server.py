from __future__ import annotations

import pytest

from awf.domain.mcp_server import McpServer, problems_with


@pytest.mark.parametrize(
    "server",
    [
        McpServer(command="uvx", args=["x"], env={"A_1": "{{ env.B }}"}, cwd="/tmp", transport="stdio"),
        McpServer(url="http://127.0.0.1:9000/mcp", headers={"Authorization": "Bearer x"}, transport="http"),
        McpServer(url="https://example.org/mcp?a=1", transport="streamableHttp", tools=["read_*"]),
        McpServer(url="{{ inputs.server }}"),
        McpServer(url="http://[::1]:80/"),
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
        (McpServer(command="a", tools=["", "b"]), ["tools"]),
    ],
)
def test_each_problem_names_its_field_and_says_what_to_do(server, fields):
    found = problems_with(server)

    assert [field for field, _, _ in found] == fields
    assert all(message.endswith(".") and hint for _, message, hint in found)
