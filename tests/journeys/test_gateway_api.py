"""`awf gateway api`: programs of other languages at the gate, over pipes and over a socket."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.journey

SERVER = Path(__file__).parents[1] / "contracts" / "tool_gateway" / "tool_server.py"
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
MANIFEST = {
    "serverId": "kb",
    "name": "KB",
    "version": "1",
    "tools": [
        {"name": "echo", "description": "Say it again", "inputSchema": TEXT},
        {"name": "slow", "description": "Never answer", "inputSchema": {"type": "object"}},
    ],
}
CONFIG = {
    "serverId": "kb",
    "transport": "stdio",
    "command": sys.executable,
    "args": [str(SERVER)],
    "manifest": MANIFEST,
}


def request(number, method, *params):
    return (
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": list(params)}).encode()
        + b"\n"
    )


def call(number, text):
    return request(number, "callTool", {"toolId": "kb:echo", "arguments": {"text": text}})


def answers(told):
    return {one["id"]: one for one in map(json.loads, told.out.splitlines()) if "id" in one}


def test_everything_that_was_asked_before_the_end_is_answered(journey):
    asked = (
        request(1, "registerServer", CONFIG)
        + call(2, "hello")
        + b"nonsense\n"
        + request(3, "getSnapshot").rstrip()
    )
    told = journey.awf("gateway", "api", "--stdio", input=asked, stdin=None)
    told.succeeded()
    found = answers(told)
    assert found[2]["result"]["content"] == [{"type": "text", "text": "hello"}]
    assert found[None]["error"]["code"] == -32700
    assert [one["toolId"] for one in found[3]["result"]["tools"]] == ["kb:echo", "kb:slow"]


def test_without_a_storage_nothing_is_kept_and_with_one_the_audit_is(journey):
    asked = request(1, "registerServer", CONFIG) + call(2, "hello")
    journey.awf("gateway", "api", "--stdio", input=asked, stdin=None).succeeded()
    assert journey.awf("audit", "list", "-o", "json").succeeded().json() == []
    journey.awf(
        "gateway", "api", "--stdio", "--storage", str(journey.storage), input=asked, stdin=None
    ).succeeded()
    (event,) = journey.awf("audit", "list", "-o", "json").succeeded().json()
    assert (event["toolId"], event["success"], event["door"]) == ("kb:echo", True, "api")
    journey.awf("audit", "verify").succeeded()


def test_a_question_can_be_answered_from_a_shell(journey):
    (echo, _) = MANIFEST["tools"]
    manifest = {**MANIFEST, "tools": [{**echo, "annotations": {"requiresConfirmation": True}}]}
    options = {"storage": str(journey.storage), "session": "mine"}
    asked = request(0, "open", options) + request(1, "registerServer", {**CONFIG, "manifest": manifest})
    told = journey.awf("gateway", "api", "--stdio", input=asked + call(2, "hello"), stdin=None).succeeded()
    approval = answers(told)[2]["result"]["error"]["details"]["approvalId"]
    journey.awf("gateway", "approve", approval).succeeded()
    grant = request(3, "grantCapability", {"grantId": "g", "capability": "x", "approvalId": approval})
    carried = {"toolId": "kb:echo", "arguments": {"text": "hello"}, "grantIds": ["g"]}
    # Answers come as they are ready, so that what needs the grant is asked once it is there.
    first = journey.awf("gateway", "api", "--stdio", input=asked + grant, stdin=None).succeeded()
    assert answers(first)[3]["result"] == "g"
    second = journey.awf(
        "gateway", "api", "--stdio", input=asked + request(4, "callTool", carried), stdin=None
    )
    assert answers(second.succeeded())[4]["result"]["success"] is True


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], "USER.INPUT.USAGE"),
        (["--stdio", "--unix", "x"], "USER.INPUT.USAGE"),
        (["--unix", "s", "--config", "none.yaml"], "USER.INPUT.MISSING_FILE"),
        (["--unix", "no/such/folder/s"], "SYSTEM.IO.LISTEN_FAILED"),
    ],
)
def test_what_cannot_begin_says_why(journey, arguments, code):
    journey.awf("gateway", "api", *arguments).one_error(code)


class Line:
    """One program on the socket."""

    def __init__(self, path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(60)
        self._socket.connect(str(path))
        self._file = self._socket.makefile("rb")

    def ask(self, number, method, *params):
        self._socket.sendall(request(number, method, *params))
        while True:
            message = json.loads(self._file.readline())
            if message.get("id") == number:
                return message

    def close(self):
        self._file.close()
        self._socket.close()


@pytest.fixture
def door(journey, until):
    path = journey.root / "door"
    running = journey.start("gateway", "api", "--unix", str(path))
    until(lambda: b"listening" in running.err.read_bytes(), "it listens")
    yield path, running
    if running.alive:
        running.send(signal.SIGTERM)
        assert running.wait().status == 128 + signal.SIGTERM
    assert not path.exists()


def test_each_connection_has_a_gateway_of_its_own(door):
    path, _ = door
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    one, other = Line(path), Line(path)
    sessions = {line.ask(1, "open", {})["result"]["session"] for line in (one, other)}
    assert len(sessions) == 2
    assert one.ask(2, "registerServer", CONFIG)["result"] is None
    assert other.ask(2, "listTools")["result"] == []
    assert other.ask(3, "registerServer", CONFIG)["result"] is None
    for line in (one, other):
        invocation = {"toolId": "kb:echo", "arguments": {"text": "hello"}}
        assert line.ask(4, "callTool", invocation)["result"]["success"] is True
        assert len(line.ask(5, "drainAuditEvents")["result"]) == 1
    one.close()
    assert other.ask(6, "listTools")["result"] != []
    other.close()


def test_a_program_that_leaves_takes_its_servers_with_it(door, journey, until):
    import psutil

    path, running = door
    line = Line(path)
    line.ask(1, "registerServer", CONFIG)
    line.ask(2, "callTool", {"toolId": "kb:echo", "arguments": {"text": "hello"}})

    def is_server(process):
        with contextlib.suppress(psutil.Error):  # it has just gone
            return str(SERVER) in process.cmdline()
        return False

    def servers():
        return list(filter(is_server, psutil.Process(running.pid).children(recursive=True)))

    assert len(servers()) == 1
    line.close()
    until(lambda: not servers(), "the server ends")
    assert running.alive


def test_it_can_be_stopped_in_a_call(journey, until):
    process = subprocess.Popen(
        journey.command("gateway", "api", "--stdio"),
        cwd=journey.project,
        env=journey.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdin.write(request(1, "registerServer", CONFIG) + request(2, "callTool", {"toolId": "kb:slow"}))
    process.stdin.flush()
    while json.loads(process.stdout.readline()).get("params", {}).get("type") != "tool_called":
        pass
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, b"Traceback" in said) == (128 + signal.SIGTERM, False), said
