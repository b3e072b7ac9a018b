"""What servers ask clients by themselves: past no level, and never unrecorded."""

from __future__ import annotations

import pytest

from awf.application.running.tasks import spawn
from awf.domain.label import Label
from awf.domain.mcp import RpcError
from awf.domain.override import ToolOverride
from awf.testing.gate_lab import GateLab
from awf.testing.memory_upstreams import MemoryServer

pytestmark = pytest.mark.anyio
ABLE = {"elicitation": {}, "sampling": {}, "roots": {}}
QUESTIONS = ["elicitation/create", "sampling/createMessage", "roots/list"]
OPEN = {"web:send": ToolOverride(open_world=True)}
ASKED = {"message": "tell me all you know"}
SECRET = Label("secret")


@pytest.fixture
def gate():
    return GateLab()


@pytest.fixture
def gated(house, gate):
    async def make(**file):
        web = MemoryServer().tool("send").tool("look")
        return await house(gate=gate, file={"overrides": OPEN, **file}, web=web)

    return make


async def own_way(house, visitor, **more):
    """A way to the server that belongs to this client, on which nothing is under way."""
    await visitor.call("send", **more)
    return house.memory["web"].received[-1].way


def asked_of(gate, method):
    return [entry for entry in gate.of_kind("decision") if entry.tool_id == f"web:{method}"]


@pytest.mark.parametrize("method", QUESTIONS)
async def test_a_client_that_knows_a_secret_is_asked_nothing_by_a_server_that_reaches_others(
    gated, gate, method
):
    one = await gated()
    visitor = await one.visitor(capabilities=ABLE)
    way = await own_way(one, visitor)
    await gate.contexts.raise_("gateway", SECRET, "test")
    with pytest.raises(RpcError) as refused:
        await way.ask(method, ASKED)
    assert "secret" not in refused.value.message  # why is none of its business
    assert refused.value.data is None
    assert visitor.standing.of(method) == []
    assert [(entry.decision, entry.code) for entry in asked_of(gate, method)] == [
        ("deny", "level:open_world")
    ]


@pytest.mark.parametrize("method", QUESTIONS)
async def test_a_question_that_may_be_is_answered_and_recorded(gated, gate, method):
    one = await gated()
    visitor = await one.visitor(capabilities=ABLE)
    way = await own_way(one, visitor)
    asking = spawn(way.ask(method, ASKED), "asking", awaited=True)
    question = await visitor.standing.until(method)
    assert question["params"] == ASKED
    visitor.answered(question, {"said": 1})
    assert await asking == {"said": 1}
    [decision] = asked_of(gate, method)
    [effect] = [entry for entry in gate.of_kind("effect") if entry.request_id == decision.request_id]
    assert (decision.decision, effect.success) == ("allow", True)
    assert effect.output_hash


async def test_a_question_is_withdrawn_when_its_client_comes_to_know_a_secret(gated, gate):
    one = await gated()
    visitor = await one.visitor(capabilities=ABLE)
    way = await own_way(one, visitor)
    asking = spawn(way.ask("elicitation/create", ASKED), "asking", awaited=True)
    question = await visitor.standing.until("elicitation/create")
    await gate.contexts.raise_("gateway", SECRET, "test")
    with pytest.raises(RpcError, match="may not answer"):
        await asking
    assert not visitor.answered(question, {"said": 1})
    assert visitor.standing.of("notifications/cancelled")


async def test_a_question_in_the_middle_of_a_call_is_withdrawn_with_the_call(gated, gate):
    one = await gated()
    held = one.memory["web"].hold("send")
    visitor = await one.visitor(capabilities=ABLE)
    call = visitor.begin("tools/call", {"name": "send", "arguments": {}})
    await held.reached()
    way = one.memory["web"].received[-1].way
    asking = spawn(way.ask("elicitation/create", ASKED), "asking", awaited=True)
    question = await call.ear.until("elicitation/create")
    await gate.contexts.raise_("gateway", SECRET, "test")
    with pytest.raises(RpcError, match="is over"):
        await asking
    assert (await call.answer())["isError"]
    assert not visitor.answered(question, {"said": 1})
    assert asked_of(gate, "elicitation/create") == []  # the call's own passage covers it


async def test_the_question_counts_as_of_the_context_that_the_client_named_last(gated, gate):
    one = await gated()
    visitor = await one.visitor(capabilities=ABLE)
    way = await own_way(one, visitor, headers={"x-awf-context": "ctx-1"})
    await gate.contexts.raise_("ctx-1", SECRET, "test")
    with pytest.raises(RpcError):
        await way.ask("roots/list")
    assert asked_of(gate, "roots/list")[0].context == "ctx-1"


async def test_a_server_that_reaches_nobody_may_ask_whatever_its_client_knows(gated, gate):
    one = await gated(overrides={})
    visitor = await one.visitor(capabilities=ABLE)
    way = await own_way(one, visitor)
    await gate.contexts.raise_("gateway", SECRET, "test")
    asking = spawn(way.ask("roots/list"), "asking", awaited=True)
    visitor.answered(await visitor.standing.until("roots/list"), {"roots": []})
    assert await asking == {"roots": []}


async def test_what_no_client_can_answer_is_refused_without_a_word_in_the_record(gated, gate):
    one = await gated()
    visitor = await one.visitor(capabilities=ABLE)
    way = await own_way(one, visitor)
    before = gate.of_kind("decision")
    with pytest.raises(RpcError, match="cannot answer"):
        await way.ask("made/up", ASKED)
    assert gate.of_kind("decision") == before
