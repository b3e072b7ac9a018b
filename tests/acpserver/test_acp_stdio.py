"""The standard streams as the wire, with real processes."""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

PATIENCE = 30

AGENT = """
import asyncio, os, subprocess, sys
from pathlib import Path
from acpserver import Server, run_stdio, serve_stdio

out = sys.stdout

class Child:
    def __init__(self, client):
        self.client = client
    def request(self, method, params):
        if method == "session/list":
            return self.listed()
        word, _, rest = params["prompt"][0]["text"].partition(" ")
        return getattr(self, word)(rest)
    def notification(self, method, params):
        pass
    async def close(self):
        mark("closed")
    async def listed(self):
        return {"sessions": []}
    async def echo(self, text):
        return {"text": text}
    async def long(self, text):
        return {"text": "0123456789" * int(text)}
    async def noise(self, text):
        print("stray print")
        sys.stdout.write("stray write\\n"); sys.stdout.flush()
        out.write("stray buffer\\n")
        os.write(1, b"stray descriptor\\n")
        subprocess.run([sys.executable, "-c", "import sys; print('stray child', repr(sys.stdin.read()))"], check=True)
        return {}
    async def hang(self, text):
        mark("started")
        try:
            await asyncio.Event().wait()
        finally:
            mark("cancelled")
    async def stubborn(self, text):
        mark("started")
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                mark("refused")
    async def generate(self, text):
        async def stuck():
            try:
                yield 1
            finally:
                await asyncio.Event().wait()
        self.kept = stuck()
        return {"got": await anext(self.kept)}

def mark(text):
    path = os.environ.get("MARK")
    if path:
        with open(path, "a") as file:
            file.write(text + "\\n")

def build():
    return Server(info={"name": "child", "version": "1"}, capabilities={}, agent=Child)
"""
RUN = AGENT + "print('before the server')\nsys.exit(run_stdio(build))\n"
QUIET = AGENT + "sys.exit(run_stdio(build(), patience=float(os.environ.get('WAIT', '8'))))\n"
SERVE = AGENT + "asyncio.run(serve_stdio(build()))\nprint('after the server')\n"


class Child:
    """An agent process, spoken to line by line."""

    def __init__(self, code, env=None, before=None, **pipes):
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | pipes
        changes = {"PYTHONASYNCIODEBUG", "PYTHONUNBUFFERED"}  # what is said on stderr, and when
        own = {name: value for name, value in os.environ.items() if name not in changes}
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            env={**own, **(env or {})},
            preexec_fn=before,  # noqa: PLW1509
            **streams,
        )
        self.buffer = b""

    def send(self, *messages):
        data = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
        os.write(self.process.stdin.fileno(), data)

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
        return None if line is None else json.loads(line)

    def ask(self, message):
        self.send(message)
        return self.receive()

    def end(self):
        """Close its input; its exit status and what it said on stderr."""
        self.process.stdin.close()
        return self.wait()

    def wait(self):
        status = self.process.wait(PATIENCE)
        return status, self.process.stderr.read().decode()

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

    def start(code=QUIET, **options):
        children.append(Child(code, **options))
        return children[-1]

    yield start
    for child in children:
        child.close()


def request(method, request_id, **params):
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def prompt(text, request_id):
    return request("session/prompt", request_id, sessionId="s", prompt=[{"type": "text", "text": text}])


INITIALIZE = request("initialize", 0, protocolVersion=1)


@pytest.mark.parametrize("code", [RUN, SERVE])
def test_a_conversation_ends_with_the_input(start, code):
    child = start(code)
    assert child.ask(INITIALIZE)["result"]["agentInfo"]["name"] == "child"
    assert child.ask(request("session/list", 1))["result"] == {"sessions": []}
    assert child.ask(prompt("echo hi", 2))["result"] == {"text": "hi"}
    # What was printed before, and waited in a buffer, does not reach the editor.
    assert child.end() == (0, "before the server\n" if code is RUN else "")
    assert child.line() == (b"after the server\n" if code is SERVE else None)


@pytest.mark.parametrize("code", [QUIET, SERVE.replace("print('after the server')", "")])
def test_stray_output_never_reaches_the_wire(start, code):
    child = start(code)
    child.ask(INITIALIZE)
    assert child.ask(prompt("noise", 1))["result"] == {}
    status, errors = child.end()
    assert status == 0
    for stray in ("stray print", "stray write", "stray buffer", "stray descriptor", "stray child ''"):
        assert stray in errors
    assert child.line() is None


def wait_for_mark(path, wanted):
    deadline = time.monotonic() + PATIENCE
    while not (path.exists() and wanted in path.read_text().split()):
        assert time.monotonic() < deadline
        time.sleep(0.005)


def hanging(start, tmp_path, word="hang", **env):
    """A child in the middle of a turn that would never end."""
    mark = tmp_path / "mark"
    child = start(env={"MARK": str(mark), **env})
    child.ask(INITIALIZE)
    child.send(prompt(word, 2))
    wait_for_mark(mark, "started")
    return child, mark


@pytest.mark.race
def test_the_end_of_input_in_the_middle_of_a_turn_cancels_it_and_ends_the_process(start, tmp_path):
    child, mark = hanging(start, tmp_path)
    assert child.end() == (0, "")
    assert sorted(mark.read_text().split()) == ["cancelled", "closed", "started"]
    assert child.receive()["error"]["code"] == -32800


@pytest.mark.race
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGINT, 130)]
)
def test_a_signal_in_the_middle_of_a_turn_ends_everything_in_good_order(start, tmp_path, number, status):
    child, mark = hanging(start, tmp_path)
    child.process.send_signal(number)
    assert child.wait() == (status, "")
    assert sorted(mark.read_text().split()) == ["cancelled", "closed", "started"]


@pytest.mark.race
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGINT, 130)]
)
def test_a_signal_before_the_agent_was_needed_ends_the_process_without_a_trace(start, number, status):
    child = start()
    child.ask(INITIALIZE)
    child.process.send_signal(number)
    assert child.wait() == (status, "")


@pytest.mark.race
def test_a_person_who_interrupts_twice_does_not_have_to_wait(start, tmp_path):
    child, mark = hanging(start, tmp_path, "stubborn", WAIT="600")
    child.process.send_signal(signal.SIGINT)
    wait_for_mark(mark, "refused")
    child.process.send_signal(signal.SIGINT)
    assert child.wait() == (-signal.SIGINT, "")


@pytest.mark.race
def test_asking_again_does_not_disturb_the_end(start, tmp_path):
    child, mark = hanging(start, tmp_path, "stubborn", WAIT="0.3")
    child.process.send_signal(signal.SIGTERM)
    wait_for_mark(mark, "refused")
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGTERM):
        child.process.send_signal(number)
    status, errors = child.wait()
    assert (status, errors.splitlines()) == (0, ["given up: acp session/prompt"])


def test_a_signal_that_the_parent_had_us_ignore_stays_ignored(start):
    child = start(before=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    child.ask(INITIALIZE)
    child.process.send_signal(signal.SIGHUP)
    assert child.ask(request("session/list", 1))["result"] == {"sessions": []}
    child.process.send_signal(signal.SIGHUP)
    assert child.ask(request("session/list", 2))["result"] == {"sessions": []}
    assert child.end() == (0, "")


@pytest.mark.race
def test_a_turn_that_will_not_be_cancelled_is_given_up_and_the_process_ends(start, tmp_path):
    child, mark = hanging(start, tmp_path, "stubborn", WAIT="0.1")
    status, errors = child.end()
    assert (status, errors.splitlines()) == (0, ["given up: acp session/prompt"])
    assert "closed" in mark.read_text()


@pytest.mark.race
def test_a_generator_that_does_not_end_does_not_keep_the_process_from_ending(start):
    child = start()
    child.ask(INITIALIZE)
    assert child.ask(prompt("generate", 1))["result"] == {"got": 1}
    status, errors = child.end()
    assert (status, errors.splitlines()) == (0, ["an asynchronous generator does not end"])


@pytest.mark.race
def test_an_editor_that_no_longer_reads_ends_the_process_quietly(start, tmp_path):
    child, mark = hanging(start, tmp_path)
    child.process.stdout.close()
    child.send(request("session/list", 3))
    assert child.wait() == (0, "")
    assert sorted(mark.read_text().split()) == ["cancelled", "closed", "started"]


def test_an_editor_that_no_longer_reads_before_the_agent_ends_the_process_quietly(start):
    child = start()
    child.ask(INITIALIZE)
    child.process.stdout.close()
    child.send(INITIALIZE)
    assert child.wait() == (0, "")


def test_an_answer_larger_than_any_pipe_arrives_whole(start):
    child = start()
    child.ask(INITIALIZE)
    assert len(child.ask(prompt("long 800000", 1))["result"]["text"]) == 8_000_000
    assert child.end() == (0, "")


def test_what_was_read_before_the_agent_was_needed_is_not_lost(start):
    child = start()
    messages = (INITIALIZE, request("nope", 1), prompt("echo a", 2), request("session/list", 3))
    lines = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
    last = json.dumps(prompt("echo b", 4)).encode() + b"\n"
    os.write(child.process.stdin.fileno(), lines + last[:20])
    assert [child.receive()["id"] for _ in range(4)] == [0, 1, 2, 3]
    os.write(child.process.stdin.fileno(), last[20:])
    assert child.receive()["result"] == {"text": "b"}
    assert child.end() == (0, "")


@pytest.mark.parametrize("last", [b"\n", b""])
@pytest.mark.parametrize("kind", ["file", "null"])
def test_files_serve_as_streams(start, tmp_path, kind, last):
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_bytes(
        b"\n".join(
            json.dumps(each).encode()
            for each in (INITIALIZE, prompt("echo x", 1), request("session/list", 2))
        )
        + last
    )
    given = source if kind == "file" else Path(os.devnull)
    with given.open("rb") as stdin, target.open("wb") as stdout:
        child = start(stdin=stdin, stdout=stdout)
        assert child.wait() == (0, "")
    answers = [json.loads(line)["id"] for line in target.read_bytes().splitlines()]
    assert answers == ([0, 1, 2] if kind == "file" else [])


@pytest.mark.parametrize("closed", [(0,), (1,), (0, 1), (0, 1, 2)])
def test_streams_that_the_parent_closed_are_no_editor_and_no_crash(start, closed):
    def close():
        for number in closed:
            os.close(number)

    child = start(before=close)
    child.send(INITIALIZE) if 0 not in closed else None
    child.process.stdin.close()
    assert child.process.wait(PATIENCE) == 0
    assert child.process.stderr.read() == b""


def test_a_stream_that_cannot_be_read_says_nothing(start):
    source = os.open(os.devnull, os.O_WRONLY)
    try:
        assert start(stdin=source).wait() == (0, "")
    finally:
        os.close(source)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("messages", [(INITIALIZE,), (INITIALIZE, request("session/list", 1))])
def test_a_full_disk_behind_stdout_ends_the_process_quietly(start, messages):
    with open("/dev/full", "wb", buffering=0) as stdout:
        child = start(stdout=stdout)
        child.send(*messages)
        assert child.wait() == (0, "")


def test_one_socket_may_be_both_streams(start):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        child = start(stdin=theirs, stdout=theirs)
        theirs.close()
        ours.settimeout(PATIENCE)
        with ours.makefile("rwb") as stream:
            stream.write(json.dumps(INITIALIZE).encode() + b"\n")
            stream.flush()
            assert json.loads(stream.readline())["result"]
            for number in range(20):
                stream.write(json.dumps(prompt(f"echo {number}", number)).encode() + b"\n")
                stream.flush()
                assert json.loads(stream.readline())["result"] == {"text": str(number)}
            ours.shutdown(socket.SHUT_WR)
            assert stream.read() == b""
        assert child.wait() == (0, "")


def test_streams_that_the_parent_left_non_blocking_work_from_the_start(start):
    (read_in, write_in), (read_out, write_out) = os.pipe(), os.pipe()
    os.set_blocking(read_in, False)
    os.set_blocking(write_out, False)
    child = start(stdin=read_in, stdout=write_out)
    os.close(read_in)
    os.close(write_out)
    with open(write_in, "wb", buffering=0) as stdin, open(read_out, "rb") as stdout:
        for message in (INITIALIZE, request("nope", 1), prompt("echo x", 2)):
            stdin.write(json.dumps(message).encode() + b"\n")
            assert json.loads(stdout.readline())["id"] == message["id"]
        stdin.close()
        assert child.wait() == (0, "")


def wait_until_full(descriptor):
    """Until more is in the pipe than leaves room for another answer."""
    size, deadline = fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ), time.monotonic() + PATIENCE
    while int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder) < size - 4096:
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the size of a pipe")
def test_a_full_pipe_before_the_agent_is_waited_for(start):
    read_out, write_out = os.pipe()
    os.set_blocking(write_out, False)
    child = start(stdout=write_out)
    os.close(write_out)
    wanted = 1000
    with open(read_out, "rb") as stdout:
        for number in range(wanted):
            child.send(request("nope", number))
        wait_until_full(read_out)
        assert [json.loads(stdout.readline())["id"] for _ in range(wanted)] == list(range(wanted))
        assert child.end() == (0, "")


LAZY = """
import sys
from acpserver import Server, run_stdio

class Agent:
    def __init__(self, client): print("made", "asyncio" in sys.modules, client.capabilities, file=sys.stderr)
    def request(self, method, params): return self.answer()
    def notification(self, method, params): pass
    async def close(self): print("closed", file=sys.stderr)
    async def answer(self): return {}

seen = []
server = lambda: Server(info={}, capabilities={}, agent=Agent, trace=lambda way, line: seen.append(way))
status = run_stdio(server)
heavy = {"asyncio", "logging", "dataclasses", "typing", "inspect", "ssl", "threading", "acpserver.connection"}
print("loaded", sorted(heavy & sys.modules.keys()), " ".join(seen), file=sys.stderr)
sys.exit(status)
"""


def test_nothing_heavy_is_loaded_to_answer_a_handshake(start):
    child = start(LAZY)
    assert child.ask(INITIALIZE)["result"]["protocolVersion"] == 1
    assert child.ask(request("authenticate", 1, methodId="x"))["error"]["code"] == -32602
    assert child.ask(request("nope", 2))["error"]["code"] == -32601
    assert child.ask(request("session/new", 3, cwd="relative"))["error"]["code"] == -32602
    child.send({"jsonrpc": "2.0", "id": 9, "result": {}}, {"jsonrpc": "2.0", "method": "$/unknown"})
    assert child.end() == (0, "loaded [] in out in out in out in out in in\n")


def test_the_agent_is_made_when_it_is_first_needed(start):
    child = start(LAZY)
    child.ask(request("initialize", 0, protocolVersion=1, clientCapabilities={"terminal": True}))
    assert child.ask(request("session/list", 1))["result"] == {}
    status, errors = child.end()
    assert status == 0
    assert errors.startswith(
        "made True {'terminal': True}\nclosed\nloaded ['acpserver.connection', 'asyncio'"
    )


def test_importing_the_package_loads_none_of_it():
    code = "import sys, acpserver; print([name for name in sys.modules if name.startswith('acpserver.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_public_names_are_all_there():
    import acpserver

    assert dir(acpserver) == sorted(acpserver.__all__)
    for name in acpserver.__all__:
        assert getattr(acpserver, name) is not None
    assert (acpserver.PROTOCOL_VERSION, acpserver.REQUEST_CANCELLED) == (1, -32800)
    with pytest.raises(AttributeError):
        _ = acpserver.nonsense
