"""A plain call takes the short way through the gate: what comes of it and what is recorded is what the longer ways make of it."""

from __future__ import annotations

import json

import msgspec
import pytest

from awf.application.gate.origin import Origin
from awf.application.gate.passage import Gated
from awf.application.gate.releasing import received
from awf.bootstrap import App
from awf.bootstrap.gateways import GatewayHouse
from awf.domain.tool import CallContext

pytestmark = pytest.mark.anyio

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
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    tool = gate.tool("up:get", "get", "mcp:up", schema=schema)
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
    assert shown is not None
    assert plain == shown.raw == whole.raw
    first, second, third = await calls(app)
    assert first.kind == "call"
    assert first == second == third
    assert (await app.audit.verify()).is_sound


@pytest.mark.parametrize(
    "raw",
    [
        {**text("no"), "isError": True},
        {**text("x"), "_meta": {"ifc": {"confidentiality": "secret"}}},
        text("x" * 3000),
        text("a\nb\nc\nd\ne\nf"),
        text('{"password": "hunter2hunter2"}'),
    ],
)
async def test_what_is_not_plain_is_left_to_the_other_ways_and_nothing_is_recorded(app, world, raw):
    passage = begun(world, "tool-1")
    assert world[0].turnstile.arrive_plainly([passage], [raw]) == [None]
    assert [one.kind for one in await calls(app)] == ["decision"]


async def test_a_call_that_a_rule_refuses_is_not_admitted(world):
    gate, tool, origin = world
    assert gate.turnstile.admit(tool, {"text": "nobody"}, origin, "tool-1", again=False) is None
