"""A call by itself: somebody waits for it, so that the rest of it is recorded when its client has the answer.

Nobody can tell from what comes of it.
"""

from __future__ import annotations

import asyncio

import pytest

from awf.infrastructure.loop_turn import LoopTurn
from awf.testing.call_lab import ODD, PATIENT, SECRET, CallLab, DoorCall, said, story

pytestmark = pytest.mark.anyio


@pytest.fixture
async def labs(open_house):
    """A function that opens a laboratory: `await labs()`. `busy`: something else is under way in it."""
    opened = []

    async def make(version="2025-11-25", *, busy=False, **more):
        one = CallLab(open_house, LoopTurn(), **more)
        opened.append(one)
        await one.open(version)
        return await one.is_busy() if busy else one

    yield make
    for one in opened:
        await one.close()


@pytest.fixture
async def one(labs):
    return await labs()


async def test_its_decision_and_what_it_is_called_with_are_recorded_before_it_is_sent(one):
    call = one.call("read", "a")
    assert one.order == [("recorded", 1), ("sent", "read")]
    assert [(entry.kind, bool(entry.input_hash)) for entry in one.gate.entries[one.before :]] == [
        ("decision", True)
    ]
    await one.answered(call)


async def test_its_end_is_recorded_before_the_client_has_it_and_what_it_said_afterwards(one):
    call = one.call("read", "a")
    one.order.clear()
    call.on_told = lambda: one.order.append("told")
    await one.answered(call)
    assert one.order == [("recorded", 1), "told", "completed"]
    decision, effect = one.gate.entries[one.before :]
    assert (effect.kind, effect.success, effect.request_id) == ("effect", True, decision.request_id)
    assert effect.output_hash


async def test_one_that_went_out_in_company_and_comes_back_by_itself_is_recorded_alike(one):
    held = one.files.hold("private")
    first, second = one.call("read", "a"), one.call("private", "b")
    await one.answered(first)
    async with asyncio.timeout(PATIENT):
        await held.reached()
    one.order.clear()
    second.on_told = lambda: one.order.append("told")
    one.files.release("private")
    (result,) = await one.answered(second)
    assert said(result) == "read b"
    assert one.order == [("recorded", 1), "told", "completed"]
    effects = [entry for entry in one.gate.entries[one.before :] if entry.kind == "effect"]
    assert [(entry.success, bool(entry.output_hash)) for entry in effects] == [(True, True)] * 2
    assert await one.gate.audit.open_calls() == frozenset()


@pytest.mark.parametrize("version", ["2024-11-05", "2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("modern", [False, True])
async def test_by_themselves_they_give_and_record_what_they_do_together(labs, version, modern):
    stories = []
    for busy in (True, False):
        one = await labs(version, busy=busy, modern=modern)
        one.answers.update(ODD)
        asked = [
            (name, said) for name in ("read", "write", "private") for said in (*ODD, SECRET, "ü", "else")
        ]
        results = [(await one.answered(one.call(*about)))[0] for about in asked]
        assert SECRET not in repr(results)
        assert (await one.gate.audit.verify()).is_sound
        stories.append(story(one, results))
    assert stories[0] == stories[1]


async def test_one_that_breaks_while_it_is_sent_has_failed_and_is_not_left_open(one):
    one.files.poison = "x"
    with pytest.raises(RuntimeError, match="it broke"):
        one.call("read", "x")
    decision, effect = one.gate.entries[one.before :]
    assert (decision.kind, effect.kind, effect.error) == ("decision", "effect", "EXECUTION_FAILED")
    assert decision.input_hash
    assert await one.gate.audit.open_calls() == frozenset()


async def test_one_that_cannot_be_sent_at_once_is_recorded_once_and_goes_the_usual_way(one):
    one.files.is_full = True
    call = DoorCall(one.house, one.visitor, "read", {"text": "x"})
    assert call.way is None
    assert call.exchange.admitted is not None
    assert [(entry.kind, bool(entry.input_hash)) for entry in one.gate.entries[one.before :]] == [
        ("decision", True)
    ]


async def test_nothing_is_sent_that_cannot_be_recorded(one):
    one.gate.audit.refusal = "full"
    call = DoorCall(one.house, one.visitor, "write", {"text": "x"})
    assert call.way is None
    assert call.exchange.admitted is None
    assert one.order == []


async def test_an_end_that_cannot_be_recorded_is_kept_back(one):
    call = one.call("write", "x")
    one.gate.audit.refusal = "full"
    (result,) = await one.answered(call)
    assert result["isError"] is True
    assert "kept back" in said(result)


async def test_a_hash_that_cannot_be_recorded_leaves_the_call_as_it_was_told(one):
    call = one.call("write", "x")
    call.on_told = lambda: setattr(one.gate.audit, "refusal", "full")
    (result,) = await one.answered(call)
    assert said(result) == "read x"
    one.gate.audit.refusal = ""
    await one.answered(one.call("read", "y"))
    effects = [entry for entry in one.gate.entries[one.before :] if entry.kind == "effect"]
    assert [(entry.success, bool(entry.output_hash)) for entry in effects] == [(True, False), (True, True)]
    assert (await one.gate.audit.verify()).is_sound
