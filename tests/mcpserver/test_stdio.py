"""The standard streams as the wire, with real processes."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from awf.testing.mcp_wire import WireChecker

SCHEMAS = Path(__file__).parents[1] / "protocols" / "mcp"
PATIENCE = 30

TOOLS = """
import asyncio, os, subprocess, sys
from pathlib import Path
from mcpserver import Result, Server, run_stdio, serve_stdio

async def echo(arguments, call):
    return arguments.get("text", "") * arguments.get("times", 1)

async def noise(arguments, call):
    print("stray print")
    sys.stdout.write("stray write\\n"); sys.stdout.flush()
    os.write(1, b"stray descriptor\\n")
    subprocess.run([sys.executable, "-c", "import sys; print('stray child', repr(sys.stdin.read()))"], check=True)
    return "quiet"

async def hang(arguments, call):
    Path(arguments["mark"]).write_text("started")
    call.progress(1)
    try:
        await asyncio.Event().wait()
    finally:
        Path(arguments["mark"]).write_text("cancelled")

async def nap(arguments, call):
    await asyncio.sleep(0.2)
    return "rested"

def build():
    server = Server("child", "1")
    for handler in (echo, noise, hang, nap):
        server.register_tool(handler.__name__, {"type": "object"}, handler, description="d")
    return server
"""
RUN = TOOLS + "print('before the server')\nsys.exit(run_stdio(build))\n"
SERVE = TOOLS + "asyncio.run(serve_stdio(build()))\nprint('after the server')\n"
FILES = TOOLS + "asyncio.run(build().serve(sys.stdin, sys.stdout))\n"


class Child:
    """A server process, spoken to line by line; all traffic is checked."""

    def __init__(self, code, **pipes):
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | pipes
        env = {
            name: value for name, value in os.environ.items() if name != "PYTHONASYNCIODEBUG"
        }  # it talks on stderr
        self.process = subprocess.Popen([sys.executable, "-c", code], env=env, **streams)
        self.wire = WireChecker(SCHEMAS)
        self.buffer = b""

    def send(self, *messages):
        lines = [json.dumps(message).encode() + b"\n" for message in messages]
        for line in lines:
            self.wire.client_sent(line)
        os.write(self.process.stdin.fileno(), b"".join(lines))

    def line(self):
        deadline = time.monotonic() + PATIENCE
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            assert ready, "no answer in time"
            data = os.read(self.process.stdout.fileno(), 1 << 20)
            if not data:
                return None
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line + b"\n"

    def receive(self):
        line = self.line()
        return None if line is None else self.wire.server_sent(line)

    def ask(self, message):
        self.send(message)
        return self.receive()

    def end(self):
        """Close its input; its exit status and what it said on stderr."""
        self.process.stdin.close()
        return self.wait()

    def wait(self):
        status = self.process.wait(PATIENCE)
        errors = self.process.stderr.read().decode()
        return status, errors

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


@pytest.fixture
def start():
    children = []

    def start(code, **pipes):
        children.append(Child(code, **pipes))
        return children[-1]

    yield start
    for child in children:
        child.close()


def request(method, request_id, **params):
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def call(name, request_id, **arguments):
    return request("tools/call", request_id, name=name, arguments=arguments)


INITIALIZE = request(
    "initialize", 0, protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "1"}
)


def text(answer):
    return answer["result"]["content"][0]["text"]


@pytest.mark.parametrize("code", [RUN, SERVE, FILES])
def test_a_conversation_ends_with_the_input(start, code):
    child = start(code)
    if code is RUN:
        assert child.line() == b"before the server\n"
    assert child.ask(INITIALIZE)["result"]["serverInfo"]["name"] == "child"
    assert len(child.ask(request("tools/list", 1))["result"]["tools"]) == 4
    assert text(child.ask(call("echo", 2, text="hi"))) == "hi"
    status, errors = child.end()
    assert (status, errors) == (0, "")
    assert child.line() == (b"after the server\n" if code is SERVE else None)


@pytest.mark.parametrize("code", [RUN.replace("print('before the server')", ""), SERVE])
def test_stray_output_never_reaches_the_wire(start, code):
    child = start(code)
    assert text(child.ask(call("noise", 1))) == "quiet"
    status, errors = child.end()
    assert status == 0
    for stray in ("stray print", "stray write", "stray descriptor", "stray child ''"):
        assert stray in errors


def quiet(start, **pipes):
    return start(TOOLS + "sys.exit(run_stdio(build))", **pipes)


def wait_for_text(path, wanted):
    deadline = time.monotonic() + PATIENCE
    while not (path.exists() and path.read_text() == wanted):
        assert time.monotonic() < deadline
        time.sleep(0.005)


def hanging(start, tmp_path, **pipes):
    """A child in the middle of a call that would never end."""
    child, mark = quiet(start, **pipes), tmp_path / "mark"
    child.send(INITIALIZE, request("ping", 1))
    child.receive(), child.receive()
    child.send(call("hang", 2, mark=str(mark)))
    wait_for_text(mark, "started")
    return child, mark


@pytest.mark.race
def test_the_end_of_input_in_the_middle_of_a_call_cancels_it_and_ends_the_process(start, tmp_path):
    child, mark = hanging(start, tmp_path)
    status, errors = child.end()
    assert (status, errors) == (0, "")
    assert mark.read_text() == "cancelled"


@pytest.mark.race
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_in_the_middle_of_a_call_cancels_it_and_says_so_by_the_status(start, tmp_path, number):
    child, mark = hanging(start, tmp_path)
    child.process.send_signal(number)
    status, errors = child.wait()
    assert (status, errors) == (128 + number, "")
    assert mark.read_text() == "cancelled"


def test_an_interrupt_before_any_tool_was_needed_ends_the_process_without_a_trace(start):
    child = quiet(start)
    child.ask(INITIALIZE)
    child.process.send_signal(signal.SIGINT)
    status, errors = child.wait()
    assert (status, errors) == (130, "")


@pytest.mark.race
def test_a_client_that_no_longer_reads_ends_the_process_quietly(start, tmp_path):
    child, mark = hanging(start, tmp_path)
    child.process.stdout.close()
    child.send(request("ping", 3))
    status, errors = child.wait()
    assert (status, errors) == (0, "")
    assert mark.read_text() == "cancelled"


PATIENT = TOOLS + "sys.exit(run_stdio(build, drain=1e6))"


@pytest.mark.race
@pytest.mark.parametrize("wire", ["pipe", "socket"])
def test_a_client_that_goes_away_is_not_waited_for_however_patient_the_server_is(start, tmp_path, wire):
    """Some clients start their servers on sockets."""
    ours, theirs = socket.socketpair()
    child, mark = start(PATIENT, **({"stdout": theirs} if wire == "socket" else {})), tmp_path / "mark"
    theirs.close()
    child.send(call("hang", 1, mark=str(mark)))
    wait_for_text(mark, "started")
    ours.close() if wire == "socket" else child.process.stdout.close()
    status, errors = child.end()
    ours.close()
    assert (status, errors) == (0, "")
    assert mark.read_text() == "cancelled"


@pytest.mark.race
def test_a_client_that_only_says_no_more_on_the_socket_it_reads_is_answered(start, tmp_path):
    ours, theirs = socket.socketpair()
    with ours, start(PATIENT, stdout=theirs).process as process:
        theirs.close()
        ours.shutdown(socket.SHUT_WR)
        process.stdin.write(json.dumps(call("nap", 1)).encode())
        process.stdin.close()
        assert text(json.loads(ours.makefile().readline())) == "rested"


def test_a_client_that_no_longer_reads_before_any_tool_ends_the_process_quietly(start):
    child = quiet(start)
    child.ask(INITIALIZE)
    child.process.stdout.close()
    child.send(request("ping", 1))
    assert child.wait() == (0, "")


def test_an_answer_larger_than_any_pipe_arrives_whole(start):
    child = quiet(start)
    big = child.ask(call("echo", 1, text="0123456789", times=800_000))
    assert len(text(big)) == 8_000_000
    assert child.end() == (0, "")


def test_what_was_read_before_the_first_tool_call_is_not_lost(start):
    child = quiet(start)
    lines = b"".join(
        json.dumps(message).encode() + b"\n"
        for message in (INITIALIZE, request("ping", 1), call("echo", 2, text="a"), request("ping", 3))
    )
    last = json.dumps(call("echo", 4, text="b")).encode() + b"\n"
    for line in (lines + last).splitlines():
        child.wire.client_sent(line)
    os.write(child.process.stdin.fileno(), lines + last[:20])
    early = {child.receive()["id"] for _ in range(4)}
    assert early == {0, 1, 2, 3}
    os.write(child.process.stdin.fileno(), last[20:])
    assert text(child.receive()) == "b"
    assert child.end() == (0, "")


@pytest.mark.parametrize("kind", ["file", "null"])
def test_files_serve_as_streams(start, tmp_path, kind):
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_bytes(
        b"".join(json.dumps(each).encode() + b"\n" for each in (INITIALIZE, call("echo", 1, text="x")))
    )
    given = source if kind == "file" else Path(os.devnull)
    with given.open("rb") as stdin, target.open("wb") as stdout:
        child = quiet(start, stdin=stdin, stdout=stdout)
        assert child.wait() == (0, "")
    answers = [json.loads(line)["id"] for line in target.read_bytes().splitlines()]
    assert answers == ([0, 1] if kind == "file" else [])


def test_one_socket_may_be_both_streams(start):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = quiet(start, stdin=theirs, stdout=theirs)
        theirs.close()
        ours.settimeout(PATIENCE)
        with ours.makefile("rwb") as stream:
            for number in range(20):
                stream.write(json.dumps(call("echo", number, text=str(number))).encode() + b"\n")
                stream.flush()
                assert text(json.loads(stream.readline())) == str(number)
            ours.shutdown(socket.SHUT_WR)
            assert stream.read() == b""
        assert child.wait() == (0, "")


def test_streams_that_the_parent_left_non_blocking_work_from_the_start(start):
    (read_in, write_in), (read_out, write_out) = os.pipe(), os.pipe()
    os.set_blocking(read_in, False)
    os.set_blocking(write_out, False)
    child = quiet(start, stdin=read_in, stdout=write_out)
    os.close(read_in)
    os.close(write_out)
    with open(write_in, "wb", buffering=0) as stdin, open(read_out, "rb") as stdout:
        for message in (INITIALIZE, request("ping", 1), call("echo", 2, text="x")):
            stdin.write(json.dumps(message).encode() + b"\n")
            assert json.loads(stdout.readline())["id"] == message["id"]
        stdin.close()
        assert child.wait() == (0, "")


LAZY = """
import sys
from mcpserver import Server, run_stdio

def make():
    print("made", "asyncio" in sys.modules, file=sys.stderr)
    from mcpserver.tools import Registry
    return Registry()

status = run_stdio(lambda: Server("lazy", "1", toolbox=make))
heavy = {"asyncio", "logging", "dataclasses", "typing", "inspect", "ssl", "mcpserver.tools"} & sys.modules.keys()
print("loaded", sorted(heavy), file=sys.stderr)
sys.exit(status)
"""


def test_nothing_heavy_is_loaded_to_answer_a_handshake(start):
    child = start(LAZY)
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    assert child.ask(INITIALIZE)["result"]
    assert child.ask(request("ping", 1))["result"] == {}
    assert child.ask(request("server/discover", 2))["result"]
    assert child.ask(request("server/discover", 3, _meta=meta))["result"]
    child.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    listening = child.ask(
        request("subscriptions/listen", 4, _meta=meta, notifications={"toolsListChanged": True})
    )
    assert listening["method"] == "notifications/subscriptions/acknowledged"
    assert child.end() == (0, "loaded []\n")
    assert child.receive()["id"] == 4  # the stream that was open is closed in good order


def test_the_toolbox_is_made_when_the_first_tool_is_needed(start):
    child = start(LAZY)
    child.ask(INITIALIZE)
    assert child.ask(request("tools/list", 1))["result"]["tools"] == []
    status, errors = child.end()
    assert status == 0
    assert errors.startswith("made True\nloaded ['asyncio'")


def test_importing_the_package_loads_none_of_it():
    code = "import sys, mcpserver; print([name for name in sys.modules if name.startswith('mcpserver.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_public_names_are_all_there():
    import mcpserver

    assert dir(mcpserver) == sorted(mcpserver.__all__)
    for name in mcpserver.__all__:
        assert getattr(mcpserver, name) is not None
    with pytest.raises(AttributeError):
        _ = mcpserver.nonsense
