"""Plain lines on the Unix socket: floods, silence, nonsense, and clients that vanish."""

from __future__ import annotations

import contextlib
import json
import socket
import threading

import pytest

MIB = 1024 * 1024
HELLO = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}},
}


@pytest.fixture
def house(opened, stage, journey):
    return opened(
        {"mcpServers": {"bad": stage.villain(concurrency=500)}}, "--unix", str(journey.project / "door")
    )


class Lines:
    def __init__(self, house):
        self.plug = house.client.connect()
        self.file = self.plug.makefile("rb")

    def send(self, *messages):
        self.plug.sendall("".join(json.dumps(message) + "\n" for message in messages).encode())

    def read(self):
        return json.loads(self.file.readline())

    def greet(self):
        self.send(HELLO)
        return self.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.plug.close()


def test_ten_thousand_requests_in_one_write_are_all_answered_once(house):
    with Lines(house) as client:
        client.greet()
        pings = [{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in range(10_000)]
        writing = threading.Thread(target=client.send, args=pings)
        writing.start()
        answers = [client.read() for _ in pings]
        writing.join()
    assert sorted(answer["id"] for answer in answers) == list(range(10_000))
    assert all(answer.get("result") == {} for answer in answers)
    house.is_well()


def test_a_client_that_half_closes_is_answered_and_then_the_connection_ends(house):
    with Lines(house) as client:
        client.greet()
        for number in range(20):
            client.send(
                {
                    "jsonrpc": "2.0",
                    "id": number,
                    "method": "tools/call",
                    "params": {"name": "echo", "arguments": {"text": "x"}},
                }
            )
        client.plug.shutdown(socket.SHUT_WR)
        answers = [json.loads(line) for line in client.file]
    assert sorted(answer["id"] for answer in answers) == list(range(20))


def test_a_client_that_vanishes_cancels_its_calls(house, stage):
    with Lines(house) as client:
        client.greet()
        for number in range(5):
            client.send(
                {
                    "jsonrpc": "2.0",
                    "id": number,
                    "method": "tools/call",
                    "params": {"name": "hang", "arguments": {}},
                }
            )
        house.until_noted("called hang", 5)
    house.until_noted("cancelled", 5)
    stage.until(house.client.idle, "quiet")
    house.is_well()


def test_nonsense_is_answered_and_the_conversation_goes_on(house):
    with Lines(house) as client:
        client.greet()
        client.plug.sendall(b"\x00\xff rubbish\n{\n[]\n5\n\n\r\n" + b"[" * 50_000 + b"\n")
        assert [client.read()["error"]["code"] for _ in range(5)] == [-32700, -32700, -32600, -32600, -32700]
        client.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert client.read() == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_a_line_without_an_end_is_refused_and_costs_no_more_than_the_limit(house):
    before = house.memory()
    with Lines(house) as client:
        client.greet()
        for _ in range(40):
            client.plug.sendall(b'{"x": "' + b"x" * MIB)
        client.plug.sendall(b'"}\n')
        assert "longer than" in client.read()["error"]["message"]
        client.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert client.read()["result"] == {}
    assert house.memory() - before < 40 * MIB


def test_a_client_that_reads_nothing_costs_little(house, stage):
    """Its server talks on and on; what nobody reads must not be kept without bounds."""
    log = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%s"}}' % (
        "x" * 1000
    )
    with Lines(house) as client:
        client.greet()
        before = house.memory()
        write = {"name": "write", "arguments": {"lines": [log] * 100, "times": 1500}}
        client.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": write})
        house.until_noted("called write")
        with contextlib.suppress(AssertionError):  # it may well have to wait for ever
            stage.until(lambda: "wrote" in house.noted, "the end of the flood", 8)
        assert house.memory() - before < 50 * MIB
        house.is_well()


def test_hundreds_of_silent_connections_harm_nobody_and_are_given_back(house, stage):
    house.is_well()
    before = house.descriptors()
    crowd = [house.client.connect() for _ in range(300)]
    for number, plug in enumerate(crowd):
        plug.sendall(b"{" if number % 2 else b"POST /m")
    house.is_well()
    for plug in crowd:
        plug.close()
    stage.until(lambda: house.descriptors() <= before + 1, "as many descriptors as before")
    house.is_well()
