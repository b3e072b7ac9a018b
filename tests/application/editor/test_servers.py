"""MCP servers of an editor: taken literally, named fit for tools, their secrets known."""

from __future__ import annotations

import pytest

from awf.application.editor.servers import ServersGiven, servers_from
from awf.application.tools.naming import publish
from awf.domain.mcp_server import McpServer, problems_with
from awf.domain.tool import ToolDefinition


def pairs(**values):
    return [{"name": name, "value": value} for name, value in values.items()]


def program(name="fs", command="server", args=(), env=()):
    return {"name": name, "command": command, "args": list(args), "env": list(env)}


def address(name="web", url="https://example.com/mcp", headers=()):
    return {"type": "http", "name": name, "url": url, "headers": list(headers)}


def test_both_kinds_become_servers_and_nothing_is_left_to_fill_in():
    literal = "{{ inputs.x }} ${env:HOME} {% if %}"
    given = servers_from(
        [
            program(command="run {{ x }}", args=[literal, ""], env=pairs(MODE=literal)),
            address(url="https://example.com/{{x}}?a=${env:X}", headers=pairs(Greeting=literal)),
        ],
        cwd="/home/{{ x }}",
    )
    assert given.problems == ()
    assert given.servers == {
        "fs": McpServer(
            command="run {{ x }}", args=[literal, ""], env={"MODE": literal}, cwd="/home/{{ x }}"
        ),
        "web": McpServer(url="https://example.com/{{x}}?a=${env:X}", headers={"Greeting": literal}),
    }


def test_missing_lists_and_an_explicit_kind_are_fine():
    given = servers_from(
        [
            {"type": "stdio", "name": "a", "command": "x"},
            {"name": "b", "command": "y", "args": None, "env": None},
            {"type": "http", "name": "c", "url": "http://localhost:1/", "headers": None},
        ]
    )
    assert given == ServersGiven(
        {"a": McpServer(command="x"), "b": McpServer(command="y"), "c": McpServer(url="http://localhost:1/")}
    )


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (
            {"type": "sse", "name": "old", "url": "http://x/", "headers": []},
            "The MCP server 'old' is left out: it speaks SSE, which is outdated; awf speaks stdio and http.",
        ),
        (
            {"type": "acp", "name": "new", "id": "1"},
            "The MCP server 'new' is left out: it speaks 'acp'; awf speaks stdio and http.",
        ),
        (program(command="  "), "The MCP server 'fs' is left out. The command is empty."),
        (program(args=["a\0b"]), "The MCP server 'fs' is left out. Its command line holds a NUL character."),
        (
            address(url="example.com"),
            "The MCP server 'web' is left out. \"example.com\" is not an HTTP address.",
        ),
        (
            address(url="ftp://{{x}}/"),
            "The MCP server 'web' is left out. \"ftp://%7B%7Bx}}/\" is not an HTTP address.",
        ),
        (
            address(url="https://me:hush@example.com/"),
            "The MCP server 'web' is left out. The address holds a user name or password, which logs would show.",
        ),
    ],
)
def test_a_server_that_cannot_be_used_is_left_out_with_a_sentence(entry, problem):
    given = servers_from([program("good"), entry])
    assert list(given.servers) == ["good"]
    assert given.problems == (problem,)


def test_a_header_or_variable_that_cannot_be_sent_costs_only_itself():
    web = address(headers=pairs(Accept="text/html", Authorization="Bearer abcdef", Broken="a\nb"))
    given = servers_from([program(env=pairs(**{"NOT-ONE": "1", "FINE": "2"})), web])
    assert given.servers["fs"].env == {"FINE": "2"}
    assert given.servers["web"].headers == {"Authorization": "Bearer abcdef"}
    assert given.problems == (
        "The MCP server 'fs' goes without it: \"NOT-ONE\" cannot be the name of an environment variable.",
        "The MCP server 'web' goes without it: The header Accept is set by the connection itself.",
        "The MCP server 'web' goes without it: The value of the header Broken has a line break in it.",
    )
    assert [trouble for server in given.servers.values() for trouble in problems_with(server)] == []


def test_of_two_with_one_name_the_last_counts():
    given = servers_from([program("a", "first"), program("b"), program("a", "second")])
    assert given.servers == {"b": McpServer(command="server"), "a": McpServer(command="second")}
    assert given.problems == ("The editor gives two MCP servers called 'a'; the last one counts.",)


def test_of_one_header_written_twice_the_last_counts():
    headers = [*pairs(authorization="one-secret"), *pairs(Authorization="two-secret")]
    given = servers_from([address(headers=headers)])
    assert given.servers["web"].headers == {"Authorization": "two-secret"}
    assert set(given.secrets.values()) == {"one-secret", "two-secret"}


def test_secrets_are_known_whether_or_not_the_server_can_be_used():
    given = servers_from(
        [
            program(env=pairs(GITHUB_TOKEN="gh-123", MODE="fast", EMPTY_SECRET="")),
            address(
                "web",
                "https://example.com/?api_key=query-1&page=2",
                pairs(Authorization="Bearer head-1", Flag="true", Trace="long-enough", **{"X-Api-Key": "k"}),
            ),
            {"type": "sse", "name": "old", "url": "http://x/", "headers": pairs(Authorization="sse-secret")},
            address("own", "https://me:pass-1@example.com/"),
        ]
    )
    assert given.secrets == {
        "mcp:fs:GITHUB_TOKEN": "gh-123",
        "mcp:web:Authorization": "Bearer head-1",
        "mcp:web:Authorization Bearer": "head-1",
        "mcp:web:Trace": "long-enough",
        "mcp:web:X-Api-Key": "k",
        "mcp:web:api_key": "query-1",
        "mcp:old:Authorization": "sse-secret",
        "mcp:own:password": "pass-1",
    }


def test_secrets_of_servers_with_one_name_are_all_kept():
    given = servers_from([program(env=pairs(TOKEN="one-1")), program(env=pairs(TOKEN="two-2"))])
    assert given.secrets == {"mcp:fs:TOKEN": "one-1", "mcp:fs:TOKEN_2": "two-2"}


def test_names_are_made_fit_for_tools_and_stay_apart():
    names = ["My Server", "my_server", "my-server", "7up", "", "größe", "io.x/y"]
    given = servers_from([program(name, f"run-{number}") for number, name in enumerate(names)])
    assert {server.command: name for name, server in given.servers.items()} == {
        "run-0": "My_Server_3",
        "run-1": "my_server_2",
        "run-2": "my-server",
        "run-3": "_7up",
        "run-4": "server",
        "run-5": "gr__e",
        "run-6": "io_x_y",
    }
    tools = [
        ToolDefinition(name="read", description="", input_schema={}, source=f"mcp:{name}")
        for name in given.servers
    ]
    assert publish(tools) == [f"{name}__read" for name in given.servers]


def test_names_do_not_depend_on_the_order_of_the_entries():
    names = ["a.b", "a_b", "a b", "c"]
    forwards = servers_from([program(name, f"run {name}") for name in names]).servers
    backwards = servers_from([program(name, f"run {name}") for name in reversed(names)]).servers
    assert forwards == backwards
    assert forwards["a_b"].command == "run a_b"


def test_no_servers_are_no_problem():
    assert servers_from([]) == ServersGiven()
