"""One client on one connection: handshake, requests, batches, notifications, and lines of bytes."""

from __future__ import annotations

import asyncio
import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awf.application.running.tasks import spawn
from awf.domain.mcp import modern_meta
from awf.interfaces.mcp.gateway import conversation as module
from awf.interfaces.mcp.gateway import lines
from awf.interfaces.mcp.gateway.conversation import Conversation
from awf.interfaces.mcp.gateway.lines import LineProtocol, LineReader, serve_descriptors
from awf.testing.memory_upstreams import MemoryServer

PATIENT = 30.0
MODERN = modern_meta("2026-07-28", {"roots": {}})


class Talk:
    """A client's side of a conversation."""

    def __init__(self, gateway, **more):
        self.said, self.news, self.broken = [], asyncio.Event(), False
        self.conversation = Conversation(gateway, self._write, **more)

    def _write(self, data):
        self.said.append(json.loads(data))
        self.news.set()
        return not self.broken

    def send(self, message):
        self.conversation.receive(json.dumps(message).encode())

    def request(self, number, method, params=None):
        self.send(
            {"jsonrpc": "2.0", "id": number, "method": method, **({"params": params} if params else {})}
        )

    async def until(self, fits):
        async with asyncio.timeout(PATIENT):
            while True:
                for message in self.said:
                    if fits(message):
                        return message
                self.news.clear()
                await self.news.wait()

    async def ask(self, number, method, params=None):
        self.request(number, method, params)
        return await self.until(
            lambda message: (
                isinstance(message, dict) and message.get("id") == number and "method" not in message
            )
        )

    async def hello(self, version="2025-11-25", capabilities=None):
        params = {"protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": {"name": "n"}}
        return await self.ask("hello", "initialize", params)


@pytest.fixture
async def talk(house, weather):
    talks = []

    async def begin(server=weather, **more):
        one = await house(a=server)
        made = Talk(one.gateway, **more)
        made.house = one
        talks.append(made)
        return made

    yield begin
    for made in talks:
        async with asyncio.timeout(PATIENT):
            await made.conversation.close()


async def test_a_handshake_and_a_call(talk, weather):
    one = await talk()
    greeting = await one.hello("2025-06-18")
    assert greeting["result"]["protocolVersion"] == "2025-06-18"
    answer = await one.ask(1, "tools/call", {"name": "tell", "arguments": {"city": "Rome"}})
    assert answer["result"]["content"][0]["text"] == "sunny in Rome"


async def test_a_second_handshake_begins_anew(talk):
    one = await talk()
    await one.hello()
    one.said.clear()
    await one.hello("2024-11-05")
    assert len(one.house.gateway.hub.clients) == 1
    assert next(iter(one.house.gateway.hub.clients.values())).version == "2024-11-05"


async def test_before_the_handshake_there_is_little_to_ask(talk):
    one = await talk()
    assert (await one.ask(1, "ping"))["result"] == {}
    assert "supportedVersions" in (await one.ask(2, "server/discover"))["result"]
    refused = await one.ask(3, "tools/list")
    assert refused["error"]["code"] == -32601
    assert "Begin with initialize" in refused["error"]["message"]


async def test_requests_of_the_newer_era_need_no_handshake(talk):
    one = await talk(profile="")
    answer = await one.ask(1, "tools/call", {"name": "tell", "_meta": MODERN})
    assert answer["result"]["resultType"] == "complete"
    bad = await one.ask(
        2, "tools/list", {"_meta": {**MODERN, "io.modelcontextprotocol/protocolVersion": "v9"}}
    )
    assert bad["error"]["code"] == -32022


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"5",
        b"null",
        b'"x"',
        b"[]",
        b'[{"jsonrpc":"2.0"}]',
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    ],
)
async def test_what_is_no_message_is_answered_with_an_error(talk, data):
    one = await talk()
    one.conversation.receive(data)
    assert one.said[0]["id"] is None
    assert one.said[0]["error"]["code"] in {-32700, -32600}


async def test_a_request_that_is_none_is_answered_under_its_id(talk):
    one = await talk()
    one.send({"id": 4, "method": "ping"})
    answer = await one.until(lambda message: message.get("id") == 4)
    assert answer["error"]["code"] == -32600


async def test_an_id_that_is_in_use_is_refused(talk, weather):
    gate = weather.hold("tell")
    one = await talk()
    await one.hello()
    one.request(1, "tools/call", {"name": "tell"})
    await gate.reached()
    one.request(1, "ping")
    assert (await one.until(lambda message: "error" in message))["error"]["message"].endswith(
        "the id 1 is in use"
    )
    gate.open()
    assert await one.until(lambda message: message.get("id") == 1 and "result" in message)
    one.said.clear()
    assert (await one.ask(1, "ping"))["result"] == {}


async def test_too_many_requests_at_once_are_refused(talk, weather, monkeypatch):
    monkeypatch.setattr(module, "MOST_OPEN", 1)
    gate = weather.hold("tell")
    one = await talk()
    await one.hello()
    one.request(1, "tools/call", {"name": "tell"})
    await gate.reached()
    refused = await one.ask(2, "ping")
    assert refused["error"]["code"] == -32603
    assert "Too many requests" in refused["error"]["message"]
    gate.open()


async def test_a_cancelled_request_gets_no_answer(talk, weather):
    gate = weather.hold("tell")
    one = await talk()
    await one.hello()
    one.request(1, "tools/call", {"name": "tell"})
    await gate.reached()
    for wanted in (None, [1], 99, 1):
        one.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": wanted}})
    async with asyncio.timeout(PATIENT):
        while not weather.seen("notifications/cancelled"):
            await asyncio.sleep(0)
    await one.ask(2, "ping")
    assert not [message for message in one.said if message.get("id") == 1]


async def test_a_server_may_ask_in_the_middle(talk):
    async def asks(asked):
        return str((await asked.ask("roots/list"))["roots"])

    one = await talk(MemoryServer().tool("x", asks))
    await one.hello(capabilities={"roots": {}})
    one.request(1, "tools/call", {"name": "x"})
    question = await one.until(lambda message: message.get("method") == "roots/list")
    one.send({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": [1]}})
    answer = await one.until(lambda message: message.get("id") == 1 and "result" in message)
    assert answer["result"]["content"][0]["text"] == "[1]"


async def test_answers_before_the_handshake_and_odd_notifications_are_ignored(talk):
    one = await talk()
    one.send({"jsonrpc": "2.0", "id": 1, "result": {}})
    one.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    one.send({"jsonrpc": "1.0", "method": "notifications/initialized"})
    assert (await one.ask(1, "ping"))["result"] == {}
    assert len(one.said) == 1


async def test_notifications_of_a_client_reach_the_gateway(talk, weather):
    one = await talk(weather.tool("y"))
    await one.hello(capabilities={"roots": {}})
    await one.ask(1, "tools/call", {"name": "y"})
    one.send({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
    async with asyncio.timeout(PATIENT):
        while not weather.seen("notifications/roots/list_changed"):
            await asyncio.sleep(0)


async def test_what_a_server_says_by_itself_comes_on_the_same_connection(talk, weather):
    one = await talk()
    await one.hello()
    weather.say("notifications/resources/list_changed")
    assert await one.until(lambda message: message.get("method") == "notifications/resources/list_changed")


async def test_batches_are_answered_in_the_one_version_that_has_them(talk):
    one = await talk()
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    await one.hello()
    one.send([ping])
    assert one.said[-1]["error"]["message"].endswith("there are no batches here")
    one.said.clear()
    await one.hello("2025-03-26")
    unknown = {"jsonrpc": "2.0", "id": 2, "method": "no/such"}
    one.send([ping, {"jsonrpc": "2.0", "method": "notifications/initialized"}, unknown, {**ping, "id": None}])
    answers = await one.until(lambda message: isinstance(message, list))
    assert [answer["id"] for answer in answers] == [1, 2, None]
    one.said.clear()
    one.send([{"jsonrpc": "2.0", "method": "notifications/initialized"}])
    await one.ask(9, "ping")
    assert len(one.said) == 1


async def test_a_failure_nobody_thought_of_is_answered_too(talk, monkeypatch):
    one = await talk()
    await one.hello()
    monkeypatch.setattr(one.house.gateway, "_of", None)  # as a fault of ours would
    answer = await one.ask(1, "prompts/list")
    assert answer["error"]["code"] == -32603


async def test_what_is_under_way_at_the_end_is_waited_for_and_then_cancelled(talk, weather, until):
    gate = weather.hold("tell")
    one = await talk()
    await one.hello()
    await one.conversation.settled(1)
    one.request(1, "tools/call", {"name": "tell"})
    await gate.reached()
    await one.conversation.settled(0.01)
    assert not [message for message in one.said if message.get("id") == 1]
    await one.conversation.close()
    await until(lambda: weather.seen("notifications/cancelled"))
    assert not one.house.gateway.hub.clients


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(["ask", "cancel", "open", "again"]), max_size=12))
def test_however_requests_answers_and_cancels_come_each_request_is_settled_once(steps):
    asyncio.run(_any_order(steps))


async def _any_order(steps):
    """A gateway of our own making: what is tested is the conversation."""

    class Waits:
        def __init__(self):
            self.open, self.ended = asyncio.Event(), []

        async def greet(self, client):
            return {}

        async def leave(self, client):
            pass

        async def answer(self, exchange, method, params):
            try:
                await self.open.wait()
                return {}
            finally:
                self.ended.append(exchange.id)

        def begin_call(self, exchange, params, tell):
            return None

        def heard(self, client, message):
            pass

    gateway = Waits()
    one = Talk(gateway)
    await one.hello()
    asked, cancelled, refused = 0, set(), 0
    for step in steps:
        if step == "ask":
            asked += 1
            one.request(asked, "tools/call")
        elif step == "again" and asked and asked not in cancelled and not gateway.open.is_set():
            one.request(asked, "tools/call")
            refused += 1
        elif step == "cancel" and asked:
            one.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": asked}})
            if not gateway.open.is_set():
                cancelled.add(asked)
        elif step == "open":
            gateway.open.set()
        await asyncio.sleep(0)
    gateway.open.set()
    await one.conversation.settled(PATIENT)
    answered = [message["id"] for message in one.said if "result" in message and message["id"] != "hello"]
    assert len(answered) == len(set(answered))
    assert not cancelled & set(answered)
    errors = [message for message in one.said if "error" in message]
    assert len(errors) == refused
    await one.conversation.close()
    assert not one.conversation._open


# -- lines -----------------------------------------------------------------------------------------------------------


class Lines:
    def __init__(self):
        self.lines, self.refused = [], []

    def receive(self, line):
        self.lines.append(line)

    def refuse(self, error):
        self.refused.append(error.message)

    def is_full(self):
        return False


@settings(deadline=None)
@given(
    st.lists(st.binary(max_size=12).map(lambda data: data.replace(b"\n", b"x")), max_size=8),
    st.integers(1, 7),
)
def test_lines_are_the_same_however_they_are_cut(lines, size):
    whole, heard = b"".join(line + b"\n" for line in lines), Lines()
    reader = LineReader(heard, 100)
    for start in range(0, len(whole), size):
        reader.feed(whole[start : start + size])
    assert heard.lines == [line for line in lines if line and not line.isspace()]
    assert not heard.refused


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_line_that_is_too_long_is_refused_once_and_the_next_one_taken(size):
    whole, heard = b"x" * 50 + b"\nshort\n" + b"y" * 11 + b"\n" + b"z" * 10 + b"\n", Lines()
    reader = LineReader(heard, 10)
    for start in range(0, len(whole), size):
        reader.feed(whole[start : start + size])
    assert heard.lines == [b"short", b"z" * 10]
    assert len(heard.refused) == 2
    assert "longer than 10 bytes" in heard.refused[0]


async def _pipes():
    source, to_gateway = os.pipe()
    from_gateway, target = os.pipe()
    return source, to_gateway, from_gateway, target


def _messages(descriptor):
    data = b""
    while chunk := os.read(descriptor, 65536):
        data += chunk
    return [json.loads(line) for line in data.splitlines()]


async def test_a_client_on_two_descriptors_is_served_until_it_has_been_answered(house, weather):
    gate = weather.hold("tell")
    one = await house(a=weather)
    source, to_gateway, from_gateway, target = await _pipes()
    try:
        serving = spawn(
            serve_descriptors(one.gateway, source, target, longest=10_000, key="stdio"),
            "serving",
            awaited=True,
        )
        call = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "tell", "_meta": MODERN},
        }
        os.write(to_gateway, json.dumps(call).encode())  # the last line has no end
        os.close(to_gateway)
        await gate.reached()
        gate.open()
        async with asyncio.timeout(PATIENT):
            await serving
    finally:
        os.close(source)
        os.close(target)
        answers = _messages(from_gateway)
        os.close(from_gateway)
    assert [answer["id"] for answer in answers] == [1]


async def test_a_client_that_reads_no_more_ends_the_conversation(house, weather):
    gate = weather.hold("tell")
    one = await house(a=weather)
    source, to_gateway, from_gateway, target = await _pipes()
    try:
        serving = spawn(
            serve_descriptors(one.gateway, source, target, longest=10_000, key="stdio"),
            "serving",
            awaited=True,
        )
        os.close(from_gateway)
        call = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "tell", "_meta": MODERN},
        }
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        os.write(to_gateway, json.dumps(call).encode() + b"\n")
        await gate.reached()
        os.write(to_gateway, json.dumps(ping).encode() + b"\n")
        async with asyncio.timeout(PATIENT):
            await serving
        assert weather.seen("notifications/cancelled")
    finally:
        os.close(source)
        os.close(target)
        os.close(to_gateway)


async def test_a_client_that_goes_away_is_not_waited_for(house, weather, monkeypatch):
    monkeypatch.setattr(lines, "FINISHING_SECONDS", 1e6)
    gate = weather.hold("tell")
    one = await house(a=weather)
    source, to_gateway, from_gateway, target = await _pipes()
    serving = spawn(
        serve_descriptors(one.gateway, source, target, longest=10_000, key="stdio"), "serving", awaited=True
    )
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "tell", "_meta": MODERN}}
    os.write(to_gateway, json.dumps(call).encode() + b"\n")
    await gate.reached()
    os.close(to_gateway)
    os.close(from_gateway)
    async with asyncio.timeout(PATIENT):
        await serving
    os.close(source)
    os.close(target)
    assert weather.seen("notifications/cancelled")


async def test_a_client_on_a_socket_is_served_until_it_leaves(house, weather, tmp_path, until):
    one = await house(a=weather)
    path = str(tmp_path / "s")
    loop = asyncio.get_running_loop()
    server = await loop.create_unix_server(
        lambda: LineProtocol(one.gateway, longest=10_000, key="unix"), path
    )
    reader, writer = await asyncio.open_unix_connection(path)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "n"}}
    writer.write(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode() + b"\n"
    )
    async with asyncio.timeout(PATIENT):
        assert json.loads(await reader.readline())["id"] == 1
        writer.write(b'{"jsonrpc":"2.0","id":2,"method":"ping"}')
        writer.write_eof()
        assert json.loads(await reader.readline())["id"] == 2
        assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()
    await until(lambda: not one.gateway.hub.clients)
    server.close()
    await server.wait_closed()


async def test_a_client_on_a_socket_that_does_not_read_is_not_read_from(house, weather):
    class Transport:
        def __init__(self):
            self.done, self.written, self.closing = [], [], False

        def pause_reading(self):
            self.done.append("pause")

        def resume_reading(self):
            self.done.append("resume")

        def is_closing(self):
            return self.closing

        def write(self, data):
            self.written.append(data)

    transport = Transport()
    protocol = LineProtocol((await house(a=weather)).gateway, longest=100, key="unix")
    protocol.connection_made(transport)
    protocol.pause_writing()
    protocol.resume_writing()
    assert transport.done == ["pause", "resume"]
    protocol.data_received(b"x" * 200)
    assert b"longer than 100 bytes" in transport.written[0]
    transport.closing = True
    protocol.data_received(b"\n5\n")
    assert len(transport.written) == 1
    protocol.connection_lost(None)
    await asyncio.sleep(0)
