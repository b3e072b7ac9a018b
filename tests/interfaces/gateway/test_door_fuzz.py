"""Whatever is sent to the doors: an answer, never a failure of ours, and nothing left over."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from awf.domain.mcp import RpcError
from awf.interfaces.mcp.gateway import sessions as sessions_module
from awf.interfaces.mcp.gateway.conversation import Conversation
from awf.interfaces.mcp.gateway.event_log import EventLog
from awf.interfaces.mcp.gateway.lines import LineReader
from awf.interfaces.mcp.gateway.messages import decoded

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
METHODS = st.sampled_from(
    ["initialize", "ping", "tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/read",
     "resources/templates/list", "resources/subscribe", "resources/unsubscribe", "completion/complete", "logging/setLevel",
     "server/discover", "notifications/cancelled", "notifications/progress", "notifications/initialized", "x"]
)  # fmt: skip
PARAMS = VALUES | st.dictionaries(
    st.sampled_from(
        ["name", "arguments", "uri", "cursor", "ref", "argument", "level", "requestId", "_meta", "protocolVersion", "capabilities",
         "clientInfo", "notifications", "requestState", "inputResponses"]
    ),
    VALUES | st.sampled_from(["echo", "2025-03-26", "debug"]),
    max_size=5,
)  # fmt: skip
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | VALUES,
        "id": st.integers() | st.text(max_size=5) | VALUES,
        "method": METHODS | VALUES,
        "params": PARAMS,
        "result": VALUES,
        "error": VALUES,
    },
)
FRAMES = (MESSAGES | st.lists(MESSAGES, max_size=4) | VALUES).map(
    lambda value: json.dumps(value).encode()
) | st.binary(max_size=60)
FUZZ = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {}},
}


@pytest.mark.parametrize("era", ["none", "older", "newer"])
async def test_no_body_makes_the_http_door_fail(doors, era):
    """With a session, without one, and as a request of the newer era: never a 500, and always an end."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if era == "older":
        _, told, _ = await doors.send("POST", "/mcp", json.dumps(INITIALIZE).encode(), headers)
        headers["Mcp-Session-Id"] = told["mcp-session-id"]
    if era == "newer":
        headers |= {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "echo"}
    frames = _examples(FRAMES, 250)
    for frame in frames:
        if b"subscriptions/listen" in frame:
            continue
        status, _, body = await doors.send("POST", "/mcp", frame, headers)
        assert status in {200, 202, 400, 404}, (frame, status, body)
        if status != 202:
            assert b'"jsonrpc":"2.0"' in body, (frame, body)


def _examples(strategy, count):
    """Hypothesis draws; the loop of the test sends. A failing frame is in the message of the assertion."""
    found = []

    @settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def draw(value):
        found.append(value)

    draw()
    return found


async def test_no_frame_makes_a_conversation_fail(doors, caplog):
    """Every request of which the id can be told is answered once; afterwards it still works."""
    written = []
    conversation = Conversation(doors.gateway, lambda data: written.append(data) or True, key="fuzz")
    conversation.receive(json.dumps(INITIALIZE).encode())
    await conversation.settled(30)
    for frame in _examples(FRAMES, 300):
        conversation.receive(frame)
        await conversation.settled(30)
    conversation.receive(b'{"jsonrpc":"2.0","id":"the end","method":"ping"}')
    await conversation.settled(30)
    assert any(json.loads(data) == {"jsonrpc": "2.0", "id": "the end", "result": {}} for data in written)
    assert all(isinstance(json.loads(data), dict | list) for data in written)
    await conversation.close()
    assert not [record for record in caplog.records if record.exc_info], caplog.text
    assert len(doors.gateway.hub.clients) == 0


class Listener:
    """What a reader of lines speaks to. It has room for so many messages at a time."""

    def __init__(self, room=1_000_000):
        self.heard = []
        self.room = self._left = room
        self.on_enough = lambda: None

    def is_full(self):
        return self._left == 0

    def receive(self, line):
        self.heard.append(bytes(line))
        self._left -= 1

    def refuse(self, error):
        self.heard.append(error.code)

    def rest(self):
        """It has answered what it had, and takes the next ones."""
        self._left = self.room
        self.on_enough()


LINES = st.lists(st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")), max_size=10)


@FUZZ
@given(LINES, st.lists(st.integers(1, 30), max_size=30), st.integers(1, 5))
def test_lines_are_the_same_however_the_bytes_are_cut_and_the_reader_is_held_up(lines, cuts, room):
    data = b"".join(line + b"\n" for line in lines)
    whole, pieces = Listener(), Listener(room)
    LineReader(whole, 20).feed(data)
    reader, at = LineReader(pieces, 20), 0
    for cut in cuts:
        reader.feed(data[at : at + cut])
        at += cut
    reader.feed(data[at:])
    for _ in lines:
        pieces.rest()
    assert pieces.heard == whole.heard
    assert [one for one in whole.heard if isinstance(one, bytes)] == [
        line for line in lines if len(line) <= 20 and line and not line.isspace()
    ]
    assert whole.heard.count(-32600) == sum(len(line) > 20 for line in lines)


@FUZZ
@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_bytes_become_a_value_or_a_parse_error(data):
    try:
        decoded(data)
    except RpcError as error:
        assert error.code == -32700
        assert len(error.message) < 300


@FUZZ
@given(st.text(max_size=30) | st.from_regex(r"[0-9]{0,30}-[0-9]{0,30}", fullmatch=True))
def test_an_id_of_an_event_is_a_place_or_nothing(text):
    found = EventLog.position(text)
    assert found is None or (isinstance(found[0], str) and found[1] >= 0)


async def test_the_session_that_gives_way_to_a_new_one_is_really_ended(doors, monkeypatch):
    """There is a most; the one that was idle for longest goes, with its stream and all that servers keep for it."""
    monkeypatch.setattr(sessions_module, "MOST", 3)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    ids = []
    for _ in range(5):
        _, told, _ = await doors.send("POST", "/mcp", json.dumps(INITIALIZE).encode(), headers)
        ids.append(told["mcp-session-id"])
    async with asyncio.timeout(30):
        while len(doors.gateway.hub.clients) > 3:
            await asyncio.sleep(0.01)
    assert len(doors.http.sessions) == 3
    assert set(doors.gateway.hub.clients) == set(ids[2:])
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    statuses = [
        (await doors.send("POST", "/mcp", ping, {**headers, "Mcp-Session-Id": one}))[0] for one in ids
    ]
    assert statuses == [404, 404, 200, 200, 200]


@pytest.mark.race
async def test_clients_that_leave_in_the_middle_leave_no_task_behind(doors):
    """Of both eras, before and after the first byte of an answer."""
    gate = doors.server.hold("tools/call")
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "echo", "arguments": {}, "_meta": meta},
    }
    body = json.dumps(call).encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{doors.port}\r\nContent-Length: {len(body)}\r\nMcp-Method: tools/call\r\n"
        "Mcp-Name: echo\r\nMCP-Protocol-Version: 2026-07-28\r\nAccept: text/event-stream\r\n\r\n"
    ).encode()
    writers = []
    for _ in range(10):
        _, writer = await asyncio.open_connection("127.0.0.1", doors.port)
        writer.write(head + body)
        writers.append(writer)
    await gate.reached(10)
    for number, writer in enumerate(writers):
        if number % 2:
            writer.transport.abort()
        writer.close()
    async with asyncio.timeout(30):
        while gate.waiting or doors.http.streamable.in_flight:
            await asyncio.sleep(0.01)
    for writer in writers:
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
    assert doors.book.in_flight == 0
