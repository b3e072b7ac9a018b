"""Those who come to the gateway: what they are asked, what they are told, and how long they wait."""

from __future__ import annotations

import asyncio
import math

import pytest

from awf.application.gateway import client as module
from awf.application.gateway.client import LEVELS, Client, Exchange
from awf.application.gateway.clockwork import Clockwork
from awf.application.gateway.places import Places
from awf.application.running.tasks import spawn
from awf.domain.mcp import METHOD_NOT_FOUND, RpcError


def client(**more):
    given = {"version": "2025-11-25", "modern": False, "capabilities": {"roots": {}}, "info": {}} | more
    return Client(**given)


@pytest.fixture
def asked(ear):
    """A client and a question that was put to it."""

    async def ask(one=None, exchange=None, nth=1):
        one = one or client()
        one.standing = one.standing or ear()
        waiting = spawn(one.ask("roots/list", {"a": 1}, exchange), "a question", awaited=True)
        heard = exchange.reach if exchange else one.standing
        return one, waiting, await heard.until("roots/list", nth)

    return ask


@pytest.mark.parametrize(
    ("capabilities", "interactive"),
    [
        ({}, False),
        ({"tasks": {}}, False),
        ({"roots": {}}, True),
        ({"sampling": {}}, True),
        ({"elicitation": {}}, True),
    ],
)
def test_whoever_can_be_asked_something_is_interactive(capabilities, interactive):
    assert client(capabilities=capabilities).interactive is interactive


def test_a_client_is_known_by_the_name_it_gives_if_that_is_one():
    assert client(info={"name": "n"}).name == "n"
    assert client(info={"name": 5}).name == ""
    assert client().name == ""


def test_only_what_a_client_has_offered_may_be_asked():
    assert client().can_answer("roots/list")
    assert not client().can_answer("elicitation/create")
    assert not client().can_answer("tools/list")


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("said", LEVELS)
def test_a_message_is_heard_when_it_is_as_grave_as_wanted(level, said):
    wants = client(level=level).wants_to_hear({"params": {"level": said}})
    assert wants is (LEVELS.index(said) >= LEVELS.index(level))


@pytest.mark.parametrize("params", [None, [], {}, {"level": "own"}, {"level": ["x"]}])
def test_a_message_without_a_level_we_know_is_heard(params):
    assert client(level="error").wants_to_hear({"params": params})


def test_who_has_said_nothing_hears_all_in_the_older_era_and_nothing_in_the_newer():
    assert client().wants_to_hear({"params": {"level": "debug"}})
    assert not client(modern=True).wants_to_hear({"params": {"level": "emergency"}})


async def test_a_question_and_its_answer(asked):
    one, waiting, question = await asked()
    assert question == {"jsonrpc": "2.0", "id": question["id"], "method": "roots/list", "params": {"a": 1}}
    assert one.answered({"id": question["id"], "result": {"roots": []}})
    assert await waiting == {"roots": []}
    assert not one.answered({"id": question["id"], "result": {}})


async def test_a_second_answer_in_the_same_moment_does_not_count(asked):
    one, waiting, question = await asked()
    assert one.answered({"id": question["id"], "result": {"n": 1}})
    assert not one.answered({"id": question["id"], "result": {"n": 2}})
    assert await waiting == {"n": 1}


@pytest.mark.parametrize(
    ("answer", "code", "message"),
    [
        ({"error": {"code": -1, "message": "User said no", "data": 1}}, -1, "User said no"),
        ({"error": {"code": "x"}}, -32603, "The client gave no reason."),
        ({"error": {"code": True, "message": 5}}, -32603, "5"),
        ({"result": []}, -32603, "The client's answer has neither a result nor an error."),
        ({}, -32603, "The client's answer has neither a result nor an error."),
    ],
)
async def test_an_answer_that_is_none_is_an_error(asked, answer, code, message):
    one, waiting, question = await asked()
    assert one.answered({"id": question["id"], **answer})
    with pytest.raises(RpcError) as caught:
        await waiting
    assert (caught.value.code, caught.value.message) == (code, message)


@pytest.mark.parametrize("number", [None, "one", "99", 1.0, True, 99, [1]])
async def test_an_answer_to_nothing_is_not_taken(asked, number):
    one, waiting, _ = await asked()
    assert not one.answered({"id": number, "result": {}})
    one.lost()
    with pytest.raises(RpcError, match="The client has left"):
        await waiting


async def test_a_client_that_hands_our_number_back_as_text_is_understood(asked):
    """Some do; the server and its client would wait for each other for ever."""
    one, waiting, question = await asked()
    taken = one.answered({"id": str(question["id"]), "result": {}})
    one.lost()
    await asyncio.wait([waiting])
    waiting.exception()
    assert taken


async def test_who_cannot_answer_is_not_asked(ear):
    one = client(capabilities={})
    one.standing = ear()
    with pytest.raises(RpcError, match="cannot answer roots/list") as caught:
        await one.ask("roots/list", None, None)
    assert caught.value.code == METHOD_NOT_FOUND
    assert not one.standing.heard


async def test_who_cannot_be_reached_is_not_waited_for(ear):
    one = client()
    with pytest.raises(RpcError, match="cannot be reached"):
        await one.ask("roots/list", None, None)
    one.standing = ear()
    one.standing.deaf = True
    with pytest.raises(RpcError, match="cannot be reached"):
        await one.ask("roots/list", None, None)


async def test_a_question_goes_with_the_answer_it_belongs_to_or_else_by_itself(asked, ear):
    one = client()
    exchange = Exchange(one, 1, ear(), meta={}, headers={})
    _, waiting, question = await asked(one, exchange)
    assert not one.standing.heard
    one.answered({"id": question["id"], "result": {}})
    await waiting
    exchange.reach.deaf = True
    assert one.tell({"method": "m"}, exchange)
    assert one.standing.of("m")


async def test_a_question_nobody_waits_for_any_more_is_taken_back(asked):
    one, waiting, question = await asked()
    waiting.cancel()
    await asyncio.wait([waiting])
    assert one.standing.heard[-1]["params"]["requestId"] == question["id"]


async def test_a_client_that_never_answers_is_not_waited_for_for_ever(ear, monkeypatch):
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.01)
    one = client()
    one.standing = ear()
    with pytest.raises(RpcError, match="does not answer"):
        await one.ask("roots/list", None, None)


async def test_those_who_leave_answer_nothing_more(asked):
    one, waiting, question = await asked()
    other = await asked(one, nth=2)
    one.answered({"id": question["id"], "result": {}})
    one.lost()
    assert await waiting == {}
    with pytest.raises(RpcError, match="has left"):
        await other[1]


# -- progress and time -----------------------------------------------------------------------------------------------


def exchange(ear, meta=None):
    return Exchange(client(), 1, ear(), meta=meta or {}, headers={})


async def test_progress_is_told_only_to_those_who_asked(ear):
    silent, asking = exchange(ear), exchange(ear, {"progressToken": 0})
    for one in (silent, asking):
        one.progressed({"progressToken": 77, "progress": 1, "more": 2})
    assert not silent.reach.heard
    assert asking.reach.heard[0]["params"] == {"progressToken": 0, "progress": 1, "more": 2}


async def test_progress_gives_a_request_its_whole_time_again(ear):
    one = exchange(ear)
    now = asyncio.get_running_loop().time()
    one.deadline, one.patience = now + 1, 100.0
    one.progressed({})
    assert now + 100 <= one.deadline < math.inf


async def test_what_is_over_stays_over(ear):
    one = exchange(ear)
    one.deadline, one.patience = -math.inf, 100.0
    one.moved()
    one.hold()
    assert one.deadline == -math.inf


async def test_a_place_is_given_back_once_by_a_question_or_the_end(ear):
    one, places = exchange(ear), Places(1)
    await one.take_place(places)
    assert not places.take_now()
    one.hold()
    one.go_on()
    one.leave_place()
    assert places.take_now()
    assert not places.take_now()  # it was given back once, not twice


async def test_a_request_without_a_limit_has_none_after_a_pause(ear):
    one = exchange(ear)
    one.hold()
    one.go_on()
    assert one.deadline == math.inf


async def _timed(clockwork, one, work, *, held=False):
    clockwork.start(one)
    if held:
        one.hold()
    try:
        return await work
    except asyncio.CancelledError:
        if clockwork.ended(one):
            return "too late"
        raise
    finally:
        clockwork.stop(one)


async def test_a_request_that_takes_too_long_is_ended(ear):
    assert await _timed(Clockwork(0.01), exchange(ear), asyncio.Event().wait()) == "too late"


async def test_one_that_is_cancelled_by_somebody_else_is_cancelled(ear, until):
    clockwork, one = Clockwork(100), exchange(ear)
    task = spawn(_timed(clockwork, one, asyncio.Event().wait()), "waiting", awaited=True)
    await until(lambda: clockwork._running)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert not clockwork._running


async def test_one_that_is_too_late_and_cancelled_is_cancelled(ear, until):
    clockwork, one = Clockwork(0.01), exchange(ear)

    async def cancelled_twice():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            asyncio.current_task().cancel()  # somebody else's, in the same moment
            raise

    task = spawn(_timed(clockwork, one, cancelled_twice()), "waiting", awaited=True)
    await asyncio.wait([task])
    assert task.cancelled()


async def test_a_request_on_hold_is_not_ended(ear, until):
    clockwork, held, other = Clockwork(0.02), exchange(ear), exchange(ear)
    go = asyncio.Event()
    task = spawn(_timed(clockwork, held, go.wait(), held=True), "waiting", awaited=True)
    await until(lambda: clockwork._running)
    assert await _timed(clockwork, other, asyncio.Event().wait()) == "too late"
    assert not task.done()
    go.set()
    assert await task is True
    await until(lambda: clockwork._timer is None)  # it does not run for nothing
