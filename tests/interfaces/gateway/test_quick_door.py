"""The short way of plain calls over HTTP: what clients get is the same."""

from __future__ import annotations

import asyncio
import gc
import json
import re

import pytest

from awf.application.gateway.server import Server
from awf.domain.gate_file import Audit
from awf.domain.gateway_file import Listen
from awf.domain.mcp import MODERN_VERSIONS, RESERVED_META

PATIENT = 30.0
MODERN = MODERN_VERSIONS[-1]


class Wire:
    """One kept connection of a session."""

    def __init__(self, doors, session=""):
        self._doors = doors
        self.session = session
        self._number = 0

    async def open(self):
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._doors.port)
        return self

    def close(self):
        self._writer.close()

    async def ask(self, method, params=None, *, headers=(), number=None):
        self.send(method, params, headers=headers, number=number)
        return await self.answer()

    def send(self, method, params=None, *, headers=(), number=None):
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        if not method.startswith("notifications/"):
            self._number += 1
            message["id"] = self._number if number is None else number
        body = json.dumps(message).encode()
        lines = [f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{self._doors.port}"]
        lines.append("Accept: application/json, text/event-stream")
        lines += [f"Mcp-Session-Id: {self.session}"] if self.session else []
        lines += [f"{key}: {value}" for key, value in dict(headers).items()]
        lines.append(f"Content-Length: {len(body)}")
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + body)

    async def answer(self):
        async with asyncio.timeout(PATIENT):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
            length = re.search(r"(?mi)^content-length: (\d+)", head)
            body = await self._reader.readexactly(int(length[1])) if length else b""
        self.session = self.session or (re.search(r"(?mi)^mcp-session-id: (\S+)", head) or ["", ""])[1]
        return int(head[9:12]), json.loads(body) if body else None

    async def hello(self):
        about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "wire"}}
        await self.ask("initialize", about)
        return self


@pytest.fixture
async def wire(doors):
    opened = []

    async def begin(session=""):
        one = await Wire(doors, session).open()
        opened.append(one)
        return one

    yield begin
    for one in opened:
        one.close()


@pytest.fixture
def quickly(doors, monkeypatch):
    """How many calls went the short way."""
    taken = []
    begin = doors.gateway.begin_call

    def counting(*given):
        quick = begin(*given)
        taken.append(quick is not None)
        return quick

    monkeypatch.setattr(doors.gateway, "begin_call", counting)
    return taken


def echo(said):
    return {"name": "echo", "arguments": {"text": said}}


async def test_calls_of_a_session_are_answered_and_counted(doors, wire, quickly):
    one = await (await wire()).hello()
    for number in range(5):
        status, answer = await one.ask("tools/call", echo(f"n{number}"))
        assert (status, answer["result"]["content"][0]["text"]) == (200, f"n{number}")
    assert quickly == [True] * 5
    assert doors.book.servers()["memory"].calls == 5
    assert doors.book.requests["POST", 200] == 6
    assert (doors.book.in_flight, doors.http.streamable.in_flight, doors.http.admission.working) == (0, 0, 0)


async def test_calls_of_the_newer_era_are_answered(wire, quickly):
    one = await wire()
    about = {f"{RESERVED_META}protocolVersion": MODERN, f"{RESERVED_META}clientCapabilities": {}}
    named = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "echo"}
    for number in range(3):
        _, answer = await one.ask("tools/call", {**echo(f"n{number}"), "_meta": about}, headers=named)
        assert answer["result"]["content"][0]["text"] == f"n{number}"
        assert answer["result"]["resultType"] == "complete"
    assert quickly == [True] * 2  # after the first, by which the names that it comes with are known
    status, answer = await one.ask(
        "tools/call", {**echo("x"), "_meta": about}, headers={**named, "Mcp-Name": "other"}
    )
    assert (status, answer["error"]["code"]) == (400, -32020)


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"name": "echo", "arguments": []}, -32602),
        ({"name": 1}, -32602),
        ({"name": "nothing", "arguments": {}}, -32602),
        ({"name": "echo", "_meta": 1}, -32602),
    ],
)
async def test_what_is_wrong_is_told_as_ever(wire, params, code):
    one = await (await wire()).hello()
    for _ in range(2):
        _, answer = await one.ask("tools/call", params)
        assert answer["error"]["code"] == code


async def test_an_id_that_is_in_use_is_refused_and_a_cancelled_call_answers_with_nothing(
    doors, wire, quickly
):
    one = await (await wire()).hello()
    other = await wire(one.session)
    await one.ask("tools/call", echo("x"))
    gate = doors.server.hold("echo")
    one.send("tools/call", echo("y"), number="same")
    async with asyncio.timeout(PATIENT):
        await gate.reached()
    status, answer = await other.ask("tools/call", echo("z"), number="same")
    assert (status, answer["error"]["message"]) == (400, "Invalid request: the id 'same' is in use")
    assert (await other.ask("notifications/cancelled", {"requestId": "same"}))[0] == 202
    assert await one.answer() == (202, None)
    assert doors.book.calls()[0]["outcome"] == "cancelled"
    gate.open()
    assert (await other.ask("tools/call", echo("w"), number="same"))[1]["result"]
    assert quickly[:2] == [True, True]


async def test_a_session_that_has_ended_is_not_served_from_memory(doors, wire):
    one = await (await wire()).hello()
    for _ in range(2):
        assert (await one.ask("tools/call", echo("x")))[0] == 200
    for session in list(doors.http.sessions._sessions.values()):
        await doors.http.sessions.end(session)
    status, answer = await one.ask("tools/call", echo("x"))
    assert (status, answer["error"]["code"]) == (404, -32001)


async def test_a_client_that_says_more_hears_what_the_usual_way_says(doors, wire, quickly):
    doors.server.tool("slow", lambda asked: asked.progress(1) or "done")
    one = await (await wire()).hello()
    await one.ask("tools/list")
    _, answer = await one.ask("tools/call", {**echo("x"), "_meta": {"progressToken": 7}})
    assert answer["result"]
    assert quickly == [False]


async def test_a_call_leaves_nothing_for_the_garbage_collector(doors, wire, quickly):
    one = await (await wire()).hello()
    for _ in range(3):
        await one.ask("tools/call", echo("x"))
    gc.collect()
    gc.disable()
    try:
        gc.set_debug(gc.DEBUG_SAVEALL)
        for _ in range(10):
            await one.ask("tools/call", echo("x"))
        gc.collect()
        left = {type(item).__qualname__ for item in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    ours = {"QuickCall", "Exchange", "AnswerReach", "_Answering", "Request", "ReadRequest", "Entry"}
    assert not left & ours
    assert all(quickly)


# -- with a gate -------------------------------------------------------------------------------------------------------

ABOUT = {f"{RESERVED_META}protocolVersion": MODERN, f"{RESERVED_META}clientCapabilities": {}}
NAMED = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "echo"}


async def recorded(doors):
    return [one.entry for one in await doors.app.audit.records() if one.entry.tool_id]


async def test_a_token_whose_first_request_takes_the_short_way_is_known_by_its_own_context(gated):
    """Else it would share that of the gateway, and what it has read elsewhere would not count."""
    tokens = {"one": "one-of-the-tokens", "another": "another-of-the-tokens"}
    doors = await gated(listen=Listen(tokens=tokens), audit=Audit())
    for token in ("one-of-the-tokens", "another-of-the-tokens"):
        one = await Wire(doors).open()
        headers = {**NAMED, "Authorization": f"Bearer {token}"}
        for _ in range(2):
            _, answer = await one.ask("tools/call", {**echo("x"), "_meta": ABOUT}, headers=headers)
            assert answer["result"]["content"][0]["text"] == "x"
        one.close()
    assert [entry.context for entry in await recorded(doors)] == ["subject:token:one"] * 2 + [
        "subject:token:another"
    ] * 2


async def test_a_call_that_was_admitted_but_cannot_be_sent_at_once_is_recorded_once(gated, monkeypatch):
    doors = await gated(audit=Audit())
    one = await Wire(doors).open()
    await one.hello()
    await one.ask("tools/call", echo("first"))
    monkeypatch.setattr(Server, "begin", lambda *_: None)
    for _ in range(3):
        _, answer = await one.ask("tools/call", echo("later"))
        assert answer["result"]["content"][0]["text"] == "later"
    one.close()
    entries = await recorded(doors)
    assert [(entry.kind, entry.success) for entry in entries] == [("call", True)] * 4
    assert len({entry.request_id for entry in entries}) == 4
    assert not await doors.app.audit.open_calls()
