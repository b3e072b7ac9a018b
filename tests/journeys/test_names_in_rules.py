"""A rule whose tool is misspelt forbids nothing: whoever has asked the servers is told of it, once, and where it stands."""

from __future__ import annotations

import json
import signal
import sys

import pytest

pytestmark = pytest.mark.journey

SERVER = """
from mcpserver import Server, run_stdio

async def answer(arguments, call):
    return "done"

server = Server(name="fs", version="1")
server.register_tool("delete_file", {"type": "object"}, answer, description="Deletes.")
run_stdio(server)
"""
FILE = """\
mcpServers:
  fs: {{command: {python}, args: [fs.py]}}
  gone: {{command: no-such-program}}
overrides:
  "builtin:Raed": {{classification: secret}}
policy:
  rules:
    - id: no-delete
      action: "*"
      tools: ["fs:delete_file", "fs:delete_flie", "gone:anything", "fs:resources/read"]
      decision: deny
"""
RULE = "warning: .awf/gateway.yaml:10:33: The server “fs” has no tool “delete_flie”, so that “fs:delete_flie” is about nothing. did you mean “fs:delete_file”? [USER.GATEWAY.UNKNOWN_TOOL]"
OVERRIDE = "warning: .awf/gateway.yaml:5:3: There is no built-in tool “Raed”, so that “builtin:Raed” is about nothing. did you mean “builtin:Read”? [USER.GATEWAY.UNKNOWN_TOOL]"


@pytest.fixture(autouse=True)
def project(journey):
    journey.write("fs.py", SERVER)
    journey.write(".awf/gateway.yaml", FILE.format(python=sys.executable))


def warnings(text):
    return sorted(line for line in text.splitlines() if "is about nothing" in line)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["tools", "-o", "json"], 3),  # not all servers can be used
        (["explain-decision", "fs:delete_file", "-o", "json"], 0),
        (["call", "fs:delete_file"], 3),
        (["drift"], 0),
    ],
)
def test_every_look_at_the_servers_tells_it_beside_its_answer(journey, words, status):
    told = journey.awf("gateway", *words)
    assert told.status == status, told.stderr
    assert warnings(told.stderr) == [RULE, OVERRIDE]
    assert "about nothing" not in told.stdout


def test_built_in_tools_are_known_without_any_server(journey):
    told = journey.awf("gateway", "explain-decision", "builtin:Read", '{"file_path": "a"}')
    assert (told.status, warnings(told.stderr)) == (0, [OVERRIDE])


def test_a_gateway_tells_it_once_and_again_when_its_file_has_changed(journey, until):
    def heard():
        return running.err.read_text()

    running = journey.start("gateway", "serve", "--port", "0")
    try:
        until(lambda: " tools of " in heard(), "the tools of the servers")
        assert warnings(heard()) == [RULE, OVERRIDE]
        text = FILE.format(python=sys.executable).replace("fs:delete_flie", "fs:delete_fil")
        journey.write(".awf/gateway.yaml", text)
        until(lambda: "was taken over" in heard(), "the new file")
        assert "“fs:delete_fil” is about nothing" in heard()
        assert warnings(heard()).count(RULE) == 1
        assert warnings(heard()).count(OVERRIDE) == 2
    finally:
        running.send(signal.SIGTERM)
        assert running.wait().status == 143


@pytest.mark.parametrize(
    ("proxy", "told_of"),
    [
        ({"gateway": True, "intercept_builtins": False}, ["builtin:Raed", "fs:delete_flie"]),
        ({"intercept_builtins": True}, ["builtin:Raed"]),
    ],
)
def test_a_run_tells_it_once_however_many_steps_it_has(journey, proxy, told_of):
    step = {
        "type": "agent",
        "provider": "scripted",
        "prompt": "Go.",
        "options": {"process": True, "turns": [{"do": []}]},
        "mcp_proxy": {"enable": True, **proxy},
    }
    states = {
        "initial": "one",
        "one": {**step, "on_success": "two"},
        "two": {**step, "on_success": "done"},
        "done": {"type": "terminal", "status": "success"},
    }
    told = journey.awf("run", journey.workflow("asking", states), "-o", "ndjson")
    assert told.status == 0, told.stderr
    events = [json.loads(line) for line in told.stdout.splitlines()]
    warned = [one for one in events if one["type"] == "warning" and "about nothing" in one["message"]]
    named = [one["message"].partition("so that “")[2].partition("”")[0] for one in warned]
    assert sorted(named) == told_of
    assert {one["code"] for one in warned} == {"USER.GATEWAY.UNKNOWN_TOOL"}
    assert all(one["message"].startswith(".awf/gateway.yaml:") for one in warned)
