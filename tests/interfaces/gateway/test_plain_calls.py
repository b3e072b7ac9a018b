"""A plain call takes the short way through the gate: what comes of it and what is recorded is what the longer ways make of it."""

from __future__ import annotations

import asyncio
import json
import re

import msgspec
import pytest

from awf.application.gate.origin import Origin
from awf.application.gate.passage import Gated
from awf.application.gate.releasing import received
from awf.bootstrap import App
from awf.bootstrap.gateways import GatewayHouse
from awf.domain.canonical import sha256_hex
from awf.domain.gate_file import Audit
from awf.domain.mcp import MODERN_VERSIONS, modern_meta
from awf.domain.override import ToolOverride
from awf.domain.tool import CallContext
from awf.testing.held_turn import HeldTurn

pytestmark = pytest.mark.anyio
PATIENT = 30.0

GATE = {
    "mcpServers": {"up": {"command": "true"}},
    "overrides": {"up:get": {"policy_action": "connector.action", "classification": "confidential"}},
    "policy": {
        "version": "1.0",
        "defaults": {"fallback": "allow"},
        "rules": [
            {"id": "no", "decision": "deny", "action": "*", "when": "arguments.text.startsWith('no')"},
            {"id": "yes", "decision": "allow", "action": "*", "when": "arguments.text == 'yes'"},
        ],
    },
    "limits": {"max_output_bytes": 2000, "max_output_lines": 5},
    "levels": {"unmarked": "closed"},
    "audit": {"enabled": True},
}


@pytest.fixture
async def app(tmp_path):
    (tmp_path / "g.json").write_text(json.dumps(GATE))
    environment = {"AWF_STORAGE": str(tmp_path / "s"), "HOME": str(tmp_path)}
    made = App(cwd=str(tmp_path), environment=environment, flags={})
    yield made
    await made.close()


@pytest.fixture
async def world(app, tmp_path):
    """The gate, a tool, and who calls: its context has read before what the tool returns."""
    gate = app.gate_rooms.gate(GatewayHouse(app, str(tmp_path / "g.json")).file)
    tool = gate.tool("up:get", "get", "mcp:up")
    origin = Origin(context="gw", door="gateway", client="a client")
    await gate.contexts.raise_("gw", tool.label, "x")
    await gate.contexts.load("gw")  # it was written to: whatever was remembered before does not count
    return gate, tool, origin


def begun(world, request, text="yes"):
    gate, tool, origin = world
    passage = gate.turnstile.admit(tool, {"text": text}, origin, request, again=False)
    assert passage is not None
    assert gate.turnstile.depart([passage])
    return passage


def text(said):
    return {"content": [{"type": "text", "text": said}]}


async def calls(app):
    kept = await app.audit.records(limit=100)
    entries = [one.entry for one in kept if one.entry.kind in {"call", "decision", "effect"}]
    same = {"created_at": 1.5, "request_id": "", "duration_ms": 0}
    return [msgspec.structs.replace(one, **same) for one in entries]


@pytest.mark.parametrize(
    "raw", [text("fine"), {"content": []}, {**text("ü"), "structuredContent": {"a": 1.5}}]
)
@pytest.mark.parametrize("asked", ["yes", "else", "password: hunter2hunter2"])
async def test_all_ways_give_and_record_the_same(app, world, raw, asked):
    gate, tool, origin = world
    (plain,) = gate.turnstile.arrive_plainly([begun(world, "tool-1", asked)], [dict(raw)])
    shown = gate.turnstile.arrive(begun(world, "tool-2", asked), received(dict(raw)))

    async def carry_out(_):
        return received(dict(raw))

    gated = Gated(gate, tool, origin)
    context = CallContext(call_id="tool-3")
    whole = await gate.through(gated, {"text": asked}, context, carry_out)
    alone = begun(world, "tool-4", asked)
    lone = gate.turnstile.arrive_alone(alone, dict(raw))
    gate.turnstile.settle(alone)
    assert shown is not None
    assert plain == shown.raw == whole.raw == lone
    first, *others = await calls(app)
    assert first.kind == "call"
    assert others == [first] * 3
    assert (await app.audit.verify()).is_sound


NOT_PLAIN = [
    {**text("no"), "isError": True},
    {**text("x"), "_meta": {"ifc": {"confidentiality": "secret"}}},
    text("x" * 3000),
    text("a\nb\nc\nd\ne\nf"),
]


@pytest.mark.parametrize("raw", [*NOT_PLAIN, text('{"password": "hunter2hunter2"}')])
async def test_what_is_not_plain_is_left_to_the_other_ways_and_nothing_is_recorded(app, world, raw):
    passage = begun(world, "tool-1")
    assert world[0].turnstile.arrive_plainly([passage], [raw]) == [None]
    assert [one.kind for one in await calls(app)] == ["decision"]


@pytest.mark.parametrize("raw", [*NOT_PLAIN, text("a known-secret-value of ours"), text("half \ud800")])
async def test_the_same_by_itself(app, world, raw):
    app.masker.add("door", "known-secret-value")
    passage = begun(world, "tool-1")
    assert world[0].turnstile.arrive_alone(passage, raw) is None
    world[0].turnstile.settle(passage)
    assert [one.kind for one in await calls(app)] == ["decision"]


async def test_what_only_looks_like_a_secret_passes_and_its_hash_is_without_it(app, world):
    raw = text('{"password": "hunter2hunter2"}')
    passage = begun(world, "tool-1")
    shown = world[0].turnstile.arrive_alone(passage, dict(raw))
    world[0].turnstile.settle(passage)
    assert shown["content"] == raw["content"]
    whole = await world[0].arrived(begun(world, "tool-2"), received(dict(raw)))
    assert whole.raw["content"] == raw["content"]
    first, second = await calls(app)
    assert first.output_hash == second.output_hash
    assert first.output_hash != sha256_hex(raw)


async def test_a_call_that_a_rule_refuses_is_not_admitted(world):
    gate, tool, origin = world
    assert gate.turnstile.admit(tool, {"text": "nobody"}, origin, "tool-1", again=False) is None


ASKED = ["yes", "else", "password: hunter2hunter2", "ü", "yes"]


async def test_calls_that_depart_together_are_recorded_as_they_are_one_by_one(app, world):
    gate, tool, origin = world
    alone = [begun(world, f"tool-{at}", asked) for at, asked in enumerate(ASKED)]
    together = [
        gate.turnstile.admit(tool, {"text": asked}, origin, f"more-{at}", again=at > 0)
        for at, asked in enumerate(ASKED)
    ]
    assert not any(passage.recorded for passage in together)
    assert gate.turnstile.depart(together)
    assert [passage.input_hash for passage in together] == [passage.input_hash for passage in alone]
    recorded = await calls(app)
    assert recorded[: len(ASKED)] == recorded[len(ASKED) :]


async def test_of_answers_that_arrive_together_only_those_that_are_not_plain_are_left_to_the_other_ways(
    app, world
):
    answers = [
        text("fine"),
        {**text("no"), "isError": True},
        text("a\nb\nc\nd\ne\nf"),
        {**text("ü"), "structuredContent": {"n": 1.5}},
        text('{"password": "hunter2hunter2"}'),
        {**text("x"), "_meta": {}},
    ]
    passages = [begun(world, f"tool-{at}") for at in range(len(answers))]
    alone = [
        world[0].turnstile.arrive_plainly([begun(world, f"more-{at}")], [dict(raw)])[0]
        for at, raw in enumerate(answers)
    ]
    together = world[0].turnstile.arrive_plainly(passages, answers)
    assert together == alone
    assert [at for at, shown in enumerate(together) if shown is not None] == [0, 3]
    assert sorted(one.kind for one in await calls(app)) == ["call"] * 4 + ["decision"] * 8


# -- over HTTP, in a turn that ends when the test says so --------------------------------------------------------------

MODERN = MODERN_VERSIONS[-1]


class Line:
    """A connection of a client."""

    def __init__(self, doors):
        self._doors = doors
        self.fields = {}

    async def send(self, method, params, number=None):
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        body = json.dumps(message if number is None else {**message, "id": number}).encode()
        fields = {"Host": f"127.0.0.1:{self._doors.port}", "Accept": "application/json, text/event-stream"}
        fields |= {**self.fields, "Content-Length": len(body)}
        if "Mcp-Protocol-Version" in fields:
            fields |= {"Mcp-Method": method, "Mcp-Name": params.get("name", "")}
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._doors.port)
        self._writer.write(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)

    async def heard(self):
        async with asyncio.timeout(PATIENT):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
            length = re.search(r"(?mi)^content-length: (\d+)", head)
            body = await self._reader.readexactly(int(length[1])) if length else b""
        await self.close()
        return head, json.loads(body) if body else None

    async def close(self):
        self._writer.close()
        await self._writer.wait_closed()

    async def call(self, said, number):
        params = {"name": "echo", "arguments": {"text": said}}
        if "Mcp-Protocol-Version" in self.fields:
            params["_meta"] = modern_meta(MODERN, {}, {"name": "line", "version": "1"})
        await self.send("tools/call", params, number)


async def until(holds):
    async with asyncio.timeout(PATIENT):
        while not holds():
            await asyncio.sleep(0.001)


@pytest.fixture
async def waiting(gated):
    """Doors, the turn, and a function that brings a line of this era; one call is under way, so that others wait."""
    doors = await gated(overrides={"memory:echo": ToolOverride(policy_action="file.write")}, audit=Audit())
    turn = doors.gateway._quick_calls._turn = HeldTurn()

    async def line(era):
        made = Line(doors)
        if era == "modern":
            made.fields = {"Mcp-Protocol-Version": MODERN}
        else:
            about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "line"}}
            await made.send("initialize", about, 0)
            head, _ = await made.heard()
            made.fields = {"Mcp-Session-Id": re.search(r"(?mi)^mcp-session-id: (\S+)", head)[1]}
        for number in range(1, 4):
            await made.call("before", number)
            await made.heard()
        doors.server.received.clear()
        doors.book.begun("memory", "echo", "echo", "somebody else")
        return made

    return doors, turn, line


async def recorded(doors):
    return len(await doors.app.audit.records(limit=1000))


async def test_a_client_of_the_newer_era_that_leaves_while_its_call_waits_has_called_nothing(waiting):
    doors, turn, line = waiting
    client = await line("modern")
    before = await recorded(doors)
    await client.call("unwanted", 7)
    await until(lambda: turn.works)
    assert doors.http.quick.pending
    await client.close()
    await until(lambda: not doors.http.quick.pending)
    turn.end()
    assert doors.server.seen("tools/call") == []
    assert await recorded(doors) == before
    assert doors.book.in_flight == 1


async def test_a_session_that_cancels_a_call_while_it_waits_is_answered_and_may_use_its_id_again(waiting):
    doors, turn, line = waiting
    client = await line("older")
    before = await recorded(doors)
    await client.call("unwanted", 7)
    await until(lambda: turn.works)
    other = Line(doors)
    other.fields = client.fields
    await other.send("notifications/cancelled", {"requestId": 7})
    await other.heard()
    await client.heard()
    turn.end()
    assert doors.server.seen("tools/call") == []
    assert await recorded(doors) == before
    await client.call("wanted", 7)
    await until(lambda: turn.works)
    turn.end()
    await until(lambda: turn.works)
    turn.end()
    _, answer = await client.heard()
    assert answer["result"]["content"][0]["text"] == "wanted"
    assert doors.book.in_flight == 1
