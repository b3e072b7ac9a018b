"""Calls that come in one turn of the loop: they depart and arrive together, and nobody can tell from what comes of them."""

from __future__ import annotations

import asyncio
import gc
import weakref
from functools import partial

import pytest

from awf.application.gateway.vigil import Vigil
from awf.domain.gate_file import Limits
from awf.domain.gateway_file import Listen
from awf.domain.mcp import RpcError
from awf.domain.policy import Policy, PolicyDefaults
from awf.infrastructure.loop_turn import LoopTurn
from awf.testing.call_lab import FILE, ODD, PATIENT, SECRET, CallLab, DoorCall, said, story
from awf.testing.held_turn import HeldTurn

pytestmark = pytest.mark.anyio


class LookedAt:
    """A clock. Whoever stays awake looks at it in every turn of the loop."""

    def __init__(self):
        self.now, self.looks = 10.0, 0

    def __call__(self):
        self.looks += 1
        return self.now


@pytest.fixture
async def lab(open_house):
    """A function that opens a laboratory: `await lab()`. Its turns end when its bell rings."""
    opened = []

    async def make(turn=None, version="2025-11-25", **more):
        opened.append(CallLab(open_house, turn or HeldTurn(), **more))
        return await (await opened[-1].open(version)).is_busy()

    yield make
    for one in opened:
        await one.close()


# -- how long a turn is --------------------------------------------------------------------------------------------------


async def test_what_comes_with_a_second_look_of_the_loop_has_the_stores_asked_again(lab):
    """A grant may have been revoked since."""
    one = await lab()
    turnstile, asked = one.call("read", "first").way.turnstile, []
    known = turnstile._changes

    def changes():
        asked.append(one.turn.looks)
        return known()

    turnstile._changes = changes
    calls = [one.call("read", "second")]
    assert asked == []  # it came with the first
    one.turn.looks += 1
    calls += [one.call("read", "third"), one.call("read", "fourth")]
    assert asked == [1]
    results = await one.answered(*calls)
    assert [said(result) for result in results] == ["read second", "read third", "read fourth"]


async def test_turns_are_longer_while_many_are_on_their_way(lab):
    one = await lab()
    await one.answered(*[one.call("read", str(number)) for number in range(10)])
    assert not any(one.turn.patient)
    held = one.files.hold("read")
    many = [one.call("read", str(number)) for number in range(20)]
    one.turn.end()
    async with asyncio.timeout(PATIENT):
        await held.reached()
    one.turn.patient.clear()
    last = one.call("read", "last")
    assert one.turn.patient == [True]
    one.files.release("read")
    results = await one.answered(*many, last)
    assert said(results[-1]) == "read last"
    assert (await one.gate.audit.verify()).is_sound


# -- together as one by one --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("modern", [False, True])
async def test_many_at_once_give_and_record_what_they_do_one_after_the_other(lab, version, modern):
    stories = []
    for at_once in (False, True):
        one = await lab(LoopTurn(), version, modern=modern)
        one.answers.update(ODD)
        asked = [
            (name, said) for name in ("read", "write", "private") for said in (*ODD, SECRET, "ü", "else")
        ]
        if at_once:
            calls = [one.call(*about) for about in asked]
            assert not any(call.is_over for call in calls)
            results = await one.answered(*calls)
        else:
            results = [(await one.answered(one.call(*about)))[0] for about in asked]
        assert SECRET not in repr(results)
        assert await one.has_nothing_open()
        assert (await one.gate.audit.verify()).is_sound
        stories.append(story(one, results))
    assert stories[0] == stories[1]


async def test_a_key_that_is_there_twice_is_passed_on_only_as_it_was_looked_at(lab):
    one = await lab()
    one.answers.update(ODD)
    twice, plain = await one.answered(one.call("read", "key twice"), one.call("read", "plain"))
    assert type(twice) is dict
    assert said(twice) == "x"
    assert said(plain) == "fine"


async def test_what_the_policy_refuses_takes_the_usual_way_in_the_middle_of_others(lab):
    one = await lab()
    before = one.call("read", "a")
    refused = DoorCall(one.house, one.visitor, "read", {"text": "nobody"})
    after = one.call("read", "b")
    assert refused.way is None
    assert refused.exchange.task is None
    assert [said(result) for result in await one.answered(before, after)] == ["read a", "read b"]
    assert len(one.files.seen("tools/call")) == 3 + 2


# -- the order of things -----------------------------------------------------------------------------------------------


async def test_decisions_of_one_turn_are_recorded_in_one_go_before_anything_is_sent(lab):
    one = await lab()
    calls = [one.call("read", str(number)) for number in range(3)] + [one.call("write", "w")]
    assert one.order == []
    assert one.book.in_flight == 1
    one.turn.end()
    assert one.order == [("recorded", 4), *[("sent", "read")] * 3, ("sent", "write")]
    await one.answered(*calls)


async def test_answers_of_one_turn_are_recorded_in_one_go_before_any_client_has_one(lab):
    one = await lab()
    calls = [one.call("write", str(number)) for number in range(3)]
    one.turn.end()
    await one.until(lambda: len(one.turn.works) == 1 and one.house.server("files").in_flight == 0)
    assert not any(call.is_over for call in calls)
    assert one.entries == [("decision", "files:write", "")] * 3
    one.order.clear()
    for call in calls:
        call.on_told = lambda: one.order.append("told")
    one.turn.end()
    assert one.order == [("recorded", 3), "told", "told", "told"]
    assert await one.has_nothing_open()


async def test_the_only_one_of_its_turn_is_recorded_whole_before_its_client_has_it(lab):
    one = await lab()
    call = one.call("write", "x")
    call.on_told = lambda: one.order.append("told")
    await one.answered(call)
    assert one.order == [("recorded", 1), ("sent", "write"), ("recorded", 1), "told"]
    assert await one.has_nothing_open()


async def test_a_call_that_is_alone_waits_for_no_turn(lab):
    one = await lab()
    one.slow.release("wait")
    (first,) = await one.answered(one.first)
    assert said(first) == "at last"
    alone = one.call("read", "a")
    assert one.turn.works == []
    async with asyncio.timeout(PATIENT):
        assert said(await alone.outcome()) == "read a"
    assert one.turn.works == []


# -- cancelled ---------------------------------------------------------------------------------------------------------


async def test_a_call_that_is_cancelled_while_it_waits_is_neither_recorded_nor_sent(lab):
    one = await lab()
    unwanted, other = one.call("write", "unwanted"), one.call("write", "other")
    unwanted.way.cancel()
    assert unwanted.told == [None]
    assert unwanted.exchange.task is None
    unwanted.way.cancel()
    (result,) = await one.answered(other)
    assert said(result) == "read other"
    assert unwanted.told == [None]
    assert one.entries == [("decision", "files:write", ""), ("effect", "files:write", "")]
    assert [params["arguments"]["text"] for params in one.files.seen("tools/call")[3:]] == ["other"]
    assert await one.has_nothing_open()


async def test_where_all_are_cancelled_nothing_happens_at_the_end_of_the_turn(lab):
    one = await lab()
    for call in [one.call("write", str(number)) for number in range(3)]:
        call.exchange.task.cancel()
        assert call.told == [None]
    one.turn.end()
    assert one.order == []
    assert one.entries == []


async def test_a_call_that_is_cancelled_when_it_has_departed_is_recorded_so_and_the_others_are_not_touched(
    lab,
):
    one = await lab()
    held = one.files.hold("write")
    unwanted, other = one.call("write", "unwanted"), one.call("read", "other")
    one.turn.end()
    async with asyncio.timeout(PATIENT):
        await held.reached()
    unwanted.way.cancel()
    assert unwanted.told == [None]
    await one.answered(other)
    assert ("effect", "files:write", "CANCELLED") in one.entries
    assert ("effect", "files:read", "") in one.entries
    assert await one.has_nothing_open()


async def test_a_call_whose_answer_is_there_can_no_longer_be_cancelled(lab):
    one = await lab()
    call = one.call("write", "late")
    one.turn.end()
    await one.until(lambda: one.turn.works)
    call.way.cancel()
    assert call.told == []
    (result,) = await one.answered(call)
    assert said(result) == "read late"
    assert one.entries == [("decision", "files:write", ""), ("effect", "files:write", "")]


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
async def test_a_call_on_the_long_way_can_be_cancelled_at_any_time_and_its_client_is_told(lab, turns):
    """Also before its task has taken the first step."""
    one = await lab()
    one.files.hold("write")
    call = one.call("write", "unwanted")
    one.files.is_full = True
    one.turn.end()
    for _ in range(turns):
        await asyncio.sleep(0)
    call.way.cancel()
    for _ in range(50):
        await asyncio.sleep(0)
    assert call.told == [None]
    assert call.exchange.task is None
    assert one.entries == [("decision", "files:write", ""), ("effect", "files:write", "CANCELLED")]
    assert await one.has_nothing_open()


# -- an audit that refuses ---------------------------------------------------------------------------------------------


async def test_what_cannot_be_recorded_at_departure_is_refused_if_it_changes_something_and_else_goes_on(lab):
    one = await lab()
    read, write = one.call("read", "r"), one.call("write", "w")
    one.gate.audit.refusal = "full"
    reading, writing = await one.answered(read, write)
    assert said(reading) == "read r"
    assert writing["_meta"]["awf/error"]["code"] == "PERMISSION_DENIED"
    assert "write was not called" in said(writing)
    assert [params["name"] for params in one.files.seen("tools/call")[3:]] == ["read"]
    assert one.entries == []
    one.gate.audit.refusal = ""
    await one.gate.recorder.finish()
    assert one.entries == [
        ("audit_gap", "", ""), ("decision", "files:read", ""), ("effect", "files:read", ""),
    ]  # fmt: skip
    assert await one.has_nothing_open()


async def test_what_cannot_be_recorded_at_arrival_is_kept_back_if_it_changed_something_and_recorded_later(
    lab,
):
    one = await lab()
    read, write = one.call("read", "r"), one.call("write", "w")
    one.turn.end()
    one.gate.audit.refusal = "full"
    reading, writing = await one.answered(read, write)
    assert said(reading) == "read r"
    assert writing["isError"] is True
    assert "read w" not in repr(writing)
    one.gate.audit.refusal = ""
    await one.gate.recorder.finish()
    assert [entry for entry in one.entries if entry[0] == "effect"] == [
        ("effect", "files:read", ""), ("effect", "files:write", ""),
    ]  # fmt: skip
    assert await one.has_nothing_open()


async def test_an_audit_that_is_switched_off_meanwhile_still_gets_the_ends_of_what_it_has(lab):
    """The log of a decision is that of its effect, whatever departs in between."""
    one = await lab()
    held = one.files.hold("write")
    early = one.call("write", "early")
    one.turn.end()
    async with asyncio.timeout(PATIENT):
        await held.reached()
    late = one.call("read", "late")
    one.gate.recorder.log = None
    (result,) = await one.answered(late)
    assert said(result) == "read late"
    one.files.release("write")
    (result,) = await one.answered(early)
    assert said(result) == "read early"
    assert one.entries == [("decision", "files:write", ""), ("effect", "files:write", "")]


# -- one bad apple -----------------------------------------------------------------------------------------------------


async def test_one_that_breaks_when_it_is_sent_hurts_no_other_and_is_not_left_open(lab):
    one = await lab()
    calls = [one.call("write", said) for said in ("a", "poison", "b")]
    one.files.poison = "poison"
    first, broken, last = await one.answered(*calls)
    assert (said(first), said(last)) == ("read a", "read b")
    assert isinstance(broken, RpcError)
    assert broken.code == -32603
    assert [entry for entry in one.entries if entry[0] == "effect"] == [
        ("effect", "files:write", ""), ("effect", "files:write", ""), ("effect", "files:write", "EXECUTION_FAILED"),
    ]  # fmt: skip
    assert await one.has_nothing_open()


async def test_one_that_breaks_when_it_is_sent_gives_its_place_back(lab):
    one = await lab(config={"files": {"concurrency": 1}})
    one.files.poison = "poison"
    await one.answered(one.call("read", "poison"))
    next_one = one.call("read", "a")
    for _ in range(50):
        one.turn.end()
        await asyncio.sleep(0)
    assert [said(result) for result in next_one.told] == ["read a"]


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26"])
async def test_an_answer_that_an_old_client_cannot_be_told_is_an_error_and_hurts_no_other(lab, version):
    """No such thing may be in a list of blocks; servers send it."""
    one = await lab(version=version)
    one.answers["strange"] = {"content": ["just a text"]}
    calls = [one.call("read", said) for said in ("a", "strange", "b")]
    await one.answered(calls[0], calls[2])
    for _ in range(20):
        one.turn.end()
        await asyncio.sleep(0)
    assert [said(calls[at].told[0]) for at in (0, 2)] == ["read a", "read b"]
    assert [type(outcome) for outcome in calls[1].told] == [RpcError]
    assert await one.has_nothing_open()


async def test_a_client_that_cannot_be_told_hurts_no_other(lab):
    one = await lab()

    def fails(_):
        raise RuntimeError("nobody is there")

    calls = [one.call("read", said) for said in ("a", "gone", "b")]
    calls[1].way._tell = fails
    first, last = await one.answered(calls[0], calls[2])
    assert (said(first), said(last)) == ("read a", "read b")
    assert await one.has_nothing_open()


# -- a server that cannot take it now ----------------------------------------------------------------------------------


async def test_what_cannot_be_sent_at_once_takes_the_long_way_and_is_recorded_once(lab):
    one = await lab()
    calls = [one.call("write", said) for said in ("a", "b")]
    one.files.is_full = True
    assert [said(result) for result in await one.answered(*calls)] == ["read a", "read b"]
    assert one.entries == [("decision", "files:write", "")] * 2 + [("effect", "files:write", "")] * 2
    assert len(one.files.seen("tools/call")) == 3 + 2
    assert await one.has_nothing_open()


async def test_more_than_there_are_places_for_wait_and_each_is_recorded_once(lab):
    one = await lab(config={"files": {"concurrency": 2}})
    calls = [one.call("write", str(number)) for number in range(5)]
    results = await one.answered(*calls)
    assert [said(result) for result in results] == [f"read {number}" for number in range(5)]
    assert one.entries == [("decision", "files:write", "")] * 5 + [("effect", "files:write", "")] * 5
    assert await one.has_nothing_open()


async def test_a_server_that_dies_between_is_asked_again_when_it_is_back(lab):
    one = await lab()
    call = one.call("write", "a")
    one.files.die()
    (result,) = await one.answered(call)
    assert said(result) == "read a"
    assert one.entries == [("decision", "files:write", ""), ("effect", "files:write", "")]
    assert await one.has_nothing_open()


async def test_another_file_that_counts_meanwhile_leaves_those_who_wait_with_theirs(lab):
    """They were decided by what held when they came; their server leaves only after them, or they are told."""
    one = await lab()
    waiting = one.call("write", "a")
    again = one.house.file_of(
        {"files": 0, "slow": 0}, **{**FILE, "policy": Policy(defaults=PolicyDefaults(fallback="deny"))}
    )
    assert not await one.gateway.fleet.reload(again)
    (result,) = await one.answered(waiting)
    assert said(result) == "read a"
    assert one.entries == [("decision", "files:write", ""), ("effect", "files:write", "")]
    refused = await one.visitor.call("write", {"text": "b"})
    assert refused["_meta"]["awf/error"]["code"] == "PERMISSION_DENIED"
    assert await one.has_nothing_open()


async def test_those_who_come_in_the_same_turn_under_another_file_are_looked_at_anew(lab):
    """What was seen of the clock and the stores was seen by another gate."""
    one = await lab()
    waiting = one.call("write", "a")
    again = one.house.file_of({"files": 0, "slow": 0}, **{**FILE, "limits": Limits(max_output_bytes=1000)})
    assert not await one.gateway.fleet.reload(again)
    await one.visitor.call("write", {"text": "between"})
    later = one.call("write", "b")
    await one.answered(waiting, later)
    decisions = [entry for entry in one.gate.entries[one.before :] if entry.kind == "decision"]
    assert [entry.created_at for entry in decisions] == [one.gate.clock.now] * 3
    assert await one.has_nothing_open()


async def test_a_server_that_is_no_longer_configured_is_not_asked_by_those_who_waited(lab):
    one = await lab()
    waiting = one.call("write", "a")
    again = one.house.file_of({"slow": 0}, **FILE)
    assert not await one.gateway.fleet.reload(again)
    await one.until(lambda: one.files.closed)
    (result,) = await one.answered(waiting)
    assert result["isError"] is True
    assert len(one.files.seen("tools/call")) == 3
    assert one.entries == [("decision", "files:write", ""), ("effect", "files:write", "EXECUTION_FAILED")]
    assert len(await one.gate.audit.open_calls()) == 1
    assert one.book.in_flight == 1


# -- what is left ------------------------------------------------------------------------------------------------------


async def test_nothing_keeps_a_call_that_is_over(lab):
    one = await lab()
    calls = [one.call("write", str(number)) for number in range(3)]
    calls[2].way.cancel()
    await one.answered(*calls)
    gone = [weakref.ref(call) for call in calls]
    kept = [call.exchange for call in calls]
    assert all(exchange.task is None for exchange in kept)
    del calls, kept
    await asyncio.sleep(0)
    gc.collect()
    assert [one() for one in gone] == [None] * 3


@pytest.mark.parametrize("stays", [True, False])
async def test_a_gateway_stays_awake_only_where_its_file_lets_it(lab, stays, monkeypatch):
    clock = LookedAt()
    monkeypatch.setattr("awf.application.gateway.gateway.Vigil", partial(Vigil, clock=clock))
    one = await lab(awake=PATIENT, listen=Listen(stay_awake=stays))
    await one.answered(one.call("read", "a"))
    before = clock.looks
    for _ in range(5):
        await asyncio.sleep(0)
    assert (clock.looks > before) is stays
    clock.now += PATIENT  # lest it goes on after this test
    for _ in range(5):
        await asyncio.sleep(0)
