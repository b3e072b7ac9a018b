"""The gateway on standard streams, with a client that floods, is silent, closes too early, or talks nonsense."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import threading

import pytest

MIB = 1024 * 1024


class Piped:
    """One gateway on pipes. What it writes is read all the time, unless the client is deaf."""

    def __init__(self, journey, stage, config, *, deaf=False):
        self.journal = journey.root / "journal"
        journey.environment |= {"VILLAIN_JOURNAL": str(self.journal), "AWF_LOG_LEVEL": "warning"}
        name = journey.write("gateway.json", json.dumps(config))
        self.errors = journey.root / "errors"
        self._stage = stage
        with self.errors.open("wb") as stderr:
            self.process = subprocess.Popen(
                journey.command("gateway", "serve", "--config", name, "--stdio"), cwd=journey.project,
                env=journey.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
            )  # fmt: skip
        self.lines = []
        self._reading = threading.Thread(target=self._read, daemon=True)
        if not deaf:
            self._reading.start()

    def _read(self):
        with contextlib.suppress(ValueError, OSError):
            for line in self.process.stdout:
                self.lines.append(json.loads(line))

    def send(self, *messages):
        self.raw("".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages).encode())

    def raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def greet(self, version="2025-11-25", **capabilities):
        params = {
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": {"name": "x", "version": "1"},
        }
        self.send({"id": "hello", "method": "initialize", "params": params})
        return self.answer("hello")

    def answer(self, number):
        def find():
            return next((one for one in self.lines if one.get("id") == number and "method" not in one), None)

        return self._stage.until(find, f"the answer to {number}")

    def call(self, number, tool, arguments=None):
        self.send(
            {"id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments or {}}}
        )

    def until_noted(self, line, times=1):
        def noted():
            return self.journal.exists() and self.journal.read_text().splitlines().count(line) >= times

        self._stage.until(noted, line)

    def end(self, status=0):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        assert self.process.wait(self._stage.PATIENCE) == status, self.said
        if self._reading.is_alive():
            self._reading.join()
        self.process.stdout.close()
        assert "Traceback" not in self.said, self.said

    @property
    def said(self):
        return self.errors.read_text(errors="replace")


@pytest.fixture
def piped(journey, stage):
    made = []

    def make(config=None, **keys):
        made.append(Piped(journey, stage, config or {"mcpServers": {"bad": stage.villain()}}, **keys))
        return made[-1]

    yield make
    for one in made:
        with contextlib.suppress(BrokenPipeError, OSError):
            one.process.stdin.close()
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
        if one._reading.is_alive():
            one._reading.join()
        one.process.stdout.close()


def test_ten_thousand_requests_in_one_write_are_all_answered_once(piped, stage):
    client = piped()
    client.greet()
    client.send(*({"id": number, "method": "ping"} for number in range(10_000)))
    stage.until(lambda: len(client.lines) >= 10_001, "ten thousand answers")
    answers = [one for one in client.lines if isinstance(one.get("id"), int)]
    assert sorted(one["id"] for one in answers) == list(range(10_000))
    assert all(one.get("result") == {} for one in answers)
    client.end()


def test_three_thousand_calls_in_one_write_are_all_answered_once(piped, stage):
    client = piped()
    client.greet()
    call = {"name": "echo", "arguments": {"text": "x"}}
    client.send(*({"id": number, "method": "tools/call", "params": call} for number in range(3000)))
    stage.until(lambda: len(client.lines) >= 3001, "all answers")
    answers = [one for one in client.lines if isinstance(one.get("id"), int)]
    assert sorted(one["id"] for one in answers) == list(range(3000))
    refused = [one for one in answers if "error" in one]
    assert refused == [], f"{len(refused)} were turned away instead of having to wait"
    client.end()


@pytest.mark.parametrize(
    "line",
    [b"rubbish", b"\xff\xfe", b"{", b"[]", b"[1]", b"5", b"null", b"[" * 50_000, b"\0", b'{"id":1}', b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
     b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', b'{"jsonrpc":"2.0","id":[],"method":"ping"}', b'{"jsonrpc":"2.0","method":5}',
     b'{"jsonrpc":"2.0","id":9,"method":["x"]}', b'{"jsonrpc":"2.0","id":{"a":1},"result":{}}', b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}',
     b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":5}', b'{"jsonrpc":"2.0","id":9,"method":"initialize","params":{}}'],
    ids=lambda line: repr(line[:60]),
)  # fmt: skip
def test_nonsense_is_answered_or_dropped_and_the_conversation_goes_on(piped, line):
    client = piped()
    client.raw(line + b"\n")
    client.greet()
    client.raw(line + b"\r\n\n\n   \n")
    client.call("ask", "echo", {"text": "still here"})
    assert client.answer("ask")["result"]["content"][0]["text"] == "still here"
    client.end()


def test_a_line_that_is_too_long_is_refused_and_the_next_one_is_read(piped, stage):
    client = piped()
    client.greet()
    for _ in range(3):
        client.raw(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"x" * 5 * MIB + b'"}}\n')
    client.send({"id": 2, "method": "ping"})
    assert client.answer(2)["result"] == {}
    assert sum(1 for one in client.lines if "longer than" in str(one.get("error"))) == 3
    client.end()


def test_an_id_that_is_in_use_is_refused(piped, stage):
    client = piped()
    client.greet()
    client.call(1, "hang")
    client.until_noted("called hang")
    client.send({"id": 1, "method": "ping"})
    stage.until(lambda: any("in use" in str(one.get("error")) for one in client.lines), "the refusal")
    client.send({"method": "notifications/cancelled", "params": {"requestId": 1}})
    client.until_noted("cancelled")
    client.send({"id": 1, "method": "ping"})
    assert client.answer(1)["result"] == {}
    client.end()


def test_a_client_that_closes_its_input_early_still_gets_its_answers(piped):
    client = piped()
    client.greet()
    for number in range(50):
        client.call(number, "echo", {"text": str(number)})
    client.end()
    texts = {
        one["id"]: one["result"]["content"][0]["text"]
        for one in client.lines
        if isinstance(one.get("id"), int)
    }
    assert texts == {number: str(number) for number in range(50)}


def test_a_client_that_says_nothing_and_leaves_ends_the_gateway(piped):
    piped().end()


def test_a_client_that_leaves_before_a_slow_server_is_there_ends_the_gateway(piped, stage):
    client = piped({"mcpServers": {"bad": stage.villain("mute", timeout="50s")}})
    client.end()


def test_half_a_line_at_the_end_is_taken_as_a_line(piped):
    client = piped()
    client.greet()
    client.raw(b'{"jsonrpc":"2.0","id":"last","method":"ping"}')
    client.end()
    assert client.answer("last")["result"] == {}


def test_a_client_that_closes_its_output_ends_the_gateway_without_a_traceback(piped, stage, journey):
    client = piped(deaf=True)
    client.process.stdout.close()
    client.call(1, "echo", {"text": "x"})
    client.send(*({"id": number, "method": "ping"} for number in range(2, 50)))
    assert client.process.wait(stage.PATIENCE) is not None
    assert "Traceback" not in client.said
    stage.until(lambda: not journey.processes(), "the end of all processes")


def test_a_client_that_does_not_read_costs_little(piped, stage):
    """Its server talks on and on; what nobody reads must not be kept without bounds."""
    import psutil

    client = piped(deaf=True)
    log = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%s"}}' % (
        "x" * 1000
    )
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
    client.send({"id": 0, "method": "initialize", "params": params})
    client.until_noted("listed")
    before = psutil.Process(client.process.pid).memory_info().rss
    client.call(2, "write", {"lines": [log] * 100, "times": 1500})
    with contextlib.suppress(AssertionError):  # it may well have to wait for ever
        stage.until(lambda: "wrote" in client.journal.read_text(), "the end of the flood", 8)
    grown = psutil.Process(client.process.pid).memory_info().rss - before
    client.process.kill()
    client.process.wait()
    assert grown < 50 * MIB


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_during_a_call_ends_the_gateway_and_its_servers(piped, number, journey, stage):
    client = piped()
    client.greet()
    client.call(1, "hang")
    client.until_noted("called hang")
    client.process.send_signal(number)
    client.end(128 + number)
    stage.until(lambda: not journey.processes(), "the end of all processes")


def test_a_hangup_during_a_call_reloads_and_the_call_goes_on(piped, stage):
    client = piped()
    client.greet(elicitation={})
    client.call(1, "ask", {"method": "elicitation/create"})
    client.until_noted("asked")
    client.process.send_signal(signal.SIGHUP)
    stage.until(lambda: "was taken over" in client.said, "the reload")
    question = stage.until(
        lambda: next((one for one in client.lines if one.get("method") == "elicitation/create"), None)
    )
    client.send({"id": question["id"], "result": {"action": "decline"}})
    assert "decline" in client.answer(1)["result"]["content"][0]["text"]
    client.end()


def test_a_terminal_with_nobody_who_speaks_the_protocol_is_told_off_politely(piped):
    client = piped()
    client.raw(b"help\n?\nquit\n")
    client.end()
    assert [one["error"]["code"] for one in client.lines] == [-32700] * 3


def test_both_eras_on_one_connection_do_not_disturb_each_other(piped, stage):
    client = piped()
    body, _ = stage.modern_request("tools/call", {"name": "echo", "arguments": {"text": "new"}}, number="new")
    client.send(body)
    assert client.answer("new")["result"]["content"][0]["text"] == "new"
    client.greet()
    client.call("old", "echo", {"text": "old"})
    client.send({**body, "id": "newer"})
    assert client.answer("old")["result"]["content"][0]["text"] == "old"
    assert client.answer("newer")["result"]["resultType"] == "complete"
    client.end()


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_batches_on_standard_streams_exist_in_one_revision_only(piped, stage, version):
    client = piped()
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {}}
    client.send({"id": "hello", "method": "initialize", "params": params})
    client.answer("hello")
    client.raw(b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"},7]\n')
    if version == "2025-03-26":
        batch = stage.until(
            lambda: next((one for one in client.lines if isinstance(one, list)), None), "the batch"
        )
        assert [one["id"] for one in batch if one["id"] is not None] == [1, 2]
    else:
        stage.until(lambda: any("batches" in str(one) for one in client.lines), "the refusal")
    client.end()


def test_a_call_after_the_end_of_its_server_is_one_call_in_the_audit(piped, journey, stage):
    client = piped({"mcpServers": {"bad": stage.villain()}, "policy": {}})
    client.greet()
    for number, (tool, arguments) in enumerate([("die", {}), ("echo", {"text": "x"})]):
        client.call(number, tool, arguments)
        client.answer(number)
    client.end()
    recorded = json.loads(journey.awf("audit", "list", "--kind", "any", "-o", "json").succeeded().stdout)
    of_echo = [one for one in recorded if one.get("toolId") == "bad:echo"]
    assert len({one["requestId"] for one in of_echo}) == 1, of_echo
