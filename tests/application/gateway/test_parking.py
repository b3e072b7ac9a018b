"""Calls of the newer era whose server, of the older one, asks in the middle: they wait here for the answer."""

from __future__ import annotations

import asyncio
import gc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from awf.application.gateway import parking
from awf.application.gateway.client import Client, Exchange
from awf.application.gateway.parking import Parking
from awf.application.running.tasks import spawn
from awf.domain.mcp import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from awf.domain.override import ToolOverride
from awf.testing.memory_upstreams import MemoryServer, text

ABLE = {"elicitation": {}, "sampling": {}}
ASK = ("elicitation/create", {"message": "Sure?"})


@pytest.fixture
async def parked():
    made = Parking()
    yield made
    await made.close()


class Deaf:
    def send(self, message):
        return False

    def pause(self):
        pass


def exchange(key="k", capabilities=ABLE):
    client = Client(version="2026-07-28", modern=True, capabilities=capabilities, info={}, key=key)
    return Exchange(client, 1, Deaf(), meta={}, headers={})


def asking(*questions):
    """Work that asks these one after the other, and returns the answers."""

    async def work(exchange):
        return {"answers": [await exchange.ask(*question) for question in questions]}

    return work


def back(result, answer=None, **more):
    """The params with which the client comes back: all questions answered in the same way."""
    answers = {key: answer or {"action": "accept"} for key in result["inputRequests"]}
    return {"requestState": result["requestState"], "inputResponses": answers, **more}


async def test_work_without_a_question_gives_its_result(parked):
    assert await parked.begin(exchange(), asking(), bound_to="b") == {"answers": []}


async def test_a_question_is_the_answer_and_its_answer_gives_the_result(parked):
    result = await parked.begin(exchange(), asking(ASK), bound_to="b")
    assert result["resultType"] == "input_required"
    assert list(result["inputRequests"].values()) == [{"method": ASK[0], "params": ASK[1]}]
    params = back(result, {"action": "decline"})
    assert parked.is_ours(params)
    assert await parked.again(exchange(), params, bound_to="b") == {"answers": [{"action": "decline"}]}


async def test_a_second_question_is_asked_in_a_second_answer(parked):
    first = await parked.begin(exchange(), asking(ASK, ASK), bound_to="b")
    second = await parked.again(exchange(), back(first), bound_to="b")
    assert second["requestState"] != first["requestState"]
    assert len((await parked.again(exchange(), back(second), bound_to="b"))["answers"]) == 2


async def test_questions_at_the_same_time_are_asked_together_and_those_left_open_again(parked):
    async def both(exchange):
        return {
            "answers": await asyncio.gather(exchange.ask(*ASK), exchange.ask("sampling/createMessage", None))
        }

    first = await parked.begin(exchange(), both, bound_to="b")
    assert len(first["inputRequests"]) == 2
    key = next(
        key for key, asked in first["inputRequests"].items() if asked == {"method": "sampling/createMessage"}
    )
    some = {"requestState": first["requestState"], "inputResponses": {key: {"role": "x"}}}
    second = await parked.again(exchange(), some, bound_to="b")
    assert len(second["inputRequests"]) == 1
    assert key not in second["inputRequests"]
    result = await parked.again(exchange(), back(second), bound_to="b")
    assert result == {"answers": [{"action": "accept"}, {"role": "x"}]}


@pytest.mark.parametrize("answers", [None, [], {}, {"other": {}}])
async def test_whoever_comes_back_without_an_answer_is_asked_again(parked, answers):
    first = await parked.begin(exchange(), asking(ASK), bound_to="b")
    params = {"requestState": first["requestState"], "inputResponses": answers}
    second = await parked.again(exchange(), params, bound_to="b")
    assert second["inputRequests"] == first["inputRequests"]
    assert await parked.again(exchange(), back(second), bound_to="b")


async def test_a_question_that_the_client_cannot_answer_is_refused(parked):
    with pytest.raises(RpcError, match="cannot answer roots/list") as caught:
        await parked.begin(exchange(), asking(("roots/list", None)), bound_to="b")
    assert caught.value.code == METHOD_NOT_FOUND


@pytest.mark.parametrize(
    ("key", "bound", "state"),
    [("other", "b", None), ("k", "c", None), ("k", "b", "awf-parked-guessed")],
    ids=["somebody else", "another request", "a guess"],
)
async def test_only_the_same_request_of_the_same_caller_may_come_back(parked, key, bound, state):
    first = await parked.begin(exchange(), asking(ASK), bound_to="b")
    params = back(first) | ({"requestState": state} if state else {})
    with pytest.raises(RpcError, match="not waiting for input") as caught:
        await parked.again(exchange(key), params, bound_to=bound)
    assert caught.value.code == INVALID_PARAMS
    assert await parked.again(exchange(), back(first), bound_to="b")  # the right one still can


async def test_an_answer_counts_once(parked):
    first = await parked.begin(exchange(), asking(ASK), bound_to="b")
    await parked.again(exchange(), back(first), bound_to="b")
    with pytest.raises(RpcError, match="Begin again without requestState"):
        await parked.again(exchange(), back(first), bound_to="b")


async def test_whoever_does_not_come_back_in_time_has_to_begin_again(parked, monkeypatch):
    monkeypatch.setattr(parking, "SECONDS", 0.01)
    ended = asyncio.Event()

    async def work(exchange):
        try:
            return await exchange.ask(*ASK)
        finally:
            ended.set()

    first = await parked.begin(exchange(), work, bound_to="b")
    await asyncio.wait_for(ended.wait(), 30)
    with pytest.raises(RpcError, match="or no longer"):
        await parked.again(exchange(), back(first), bound_to="b")


async def test_who_comes_back_is_no_longer_under_the_clock(parked):
    begun, go = asyncio.Event(), asyncio.Event()

    async def work(exchange):
        await exchange.ask(*ASK)
        begun.set()
        await go.wait()
        return {"late": True}

    first = await parked.begin(exchange(), work, bound_to="b")
    (waiting,) = parked._parked.values()
    again = spawn(parked.again(exchange(), back(first), bound_to="b"), "again", awaited=True)
    await asyncio.wait_for(begun.wait(), 30)
    assert waiting.expiry.cancelled()
    go.set()
    assert await again == {"late": True}


async def test_of_too_many_the_one_that_waits_longest_is_given_up(parked, monkeypatch):
    monkeypatch.setattr(parking, "PLACES", 2)
    states = [await parked.begin(exchange(), asking(ASK), bound_to="b") for _ in range(3)]
    with pytest.raises(RpcError):
        await parked.again(exchange(), back(states[0]), bound_to="b")
    for kept in states[1:]:
        assert await parked.again(exchange(), back(kept), bound_to="b")


async def test_a_client_that_leaves_while_it_waits_cancels_the_work(parked):
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work(exchange):
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    request = spawn(parked.begin(exchange(), work, bound_to="b"), "a request", awaited=True)
    await begun.wait()
    request.cancel()
    await asyncio.wait_for(ended.wait(), 30)
    await asyncio.wait([request])
    assert request.cancelled()


async def test_a_question_that_is_taken_back_while_the_client_is_away_is_not_asked_again(parked, until):
    asked = []

    async def work(exchange):
        asked.append(spawn(exchange.ask(*ASK), "a question", awaited=True))
        await asyncio.wait(asked)
        return {"without": True}

    first = await parked.begin(exchange(), work, bound_to="b")
    asked[0].cancel()
    await asyncio.wait(asked)
    assert await parked.again(exchange(), back(first), bound_to="b") == {"without": True}


async def test_work_that_fails_while_the_client_is_away_is_told_when_it_comes_back(parked):
    fail = asyncio.Event()

    async def work(exchange):
        question = spawn(exchange.ask(*ASK), "a question", awaited=True)
        await fail.wait()
        question.cancel()
        raise RpcError(-32000, "it died meanwhile")

    first = await parked.begin(exchange(), work, bound_to="b")
    fail.set()
    with pytest.raises(RpcError, match="it died meanwhile"):
        await parked.again(exchange(), back(first), bound_to="b")


async def test_closing_ends_everything_that_waits(parked):
    ended = []

    async def work(exchange):
        try:
            return await exchange.ask(*ASK)
        finally:
            ended.append(True)

    await parked.begin(exchange(), work, bound_to="b")
    await parked.close()
    assert ended == [True]
    await parked.close()


@pytest.mark.parametrize("state", [None, 5, "", "s", "parked-awf-", ["awf-parked-1"]])
def test_the_state_of_somebody_else_is_not_ours(state):
    assert not Parking().is_ours({"requestState": state})
    assert not Parking().is_ours({})


# -- through the gateway ---------------------------------------------------------------------------------------------


async def confirms(asked):
    answer = await asked.ask(*ASK)
    return text(f"{asked.arguments.get('city')}: {answer['action']}")


def again(first, name, arguments, **answer):
    params = back(first, answer or None)
    return {"name": name, "arguments": arguments, **params}


async def test_a_tool_of_the_older_era_may_ask_a_client_of_the_newer(house):
    server = MemoryServer().tool("x", confirms)
    visitor = await (await house(a=server)).modern(capabilities=ABLE)
    first = await visitor.call("x", {"city": "Rome"})
    assert first["resultType"] == "input_required"
    second = await visitor.ask("tools/call", again(first, "x", {"city": "Rome"}))
    assert second["content"][0]["text"] == "Rome: accept"
    assert len(server.seen("tools/call")) == 1
    assert server.ways[-1].guise.capabilities == ABLE


async def test_other_arguments_than_those_that_were_asked_about_are_another_request(house):
    visitor = await (await house(a=MemoryServer().tool("x", confirms))).modern(capabilities=ABLE)
    first = await visitor.call("x", {"city": "Rome"})
    with pytest.raises(RpcError, match="not waiting for input"):
        await visitor.ask("tools/call", again(first, "x", {"city": "Oslo"}))


async def test_somebody_with_another_credential_cannot_answer(house):
    one = await house(a=MemoryServer().tool("x", confirms))
    first = await (await one.modern(capabilities=ABLE, key="mine")).call("x", {})
    with pytest.raises(RpcError, match="not waiting for input"):
        await (await one.modern(capabilities=ABLE, key="other")).ask("tools/call", again(first, "x", {}))


async def test_a_reshaped_tool_may_ask_as_well(house):
    schema = {"type": "object", "properties": {"city": {"type": "string"}, "units": {"type": "string"}}}
    server = MemoryServer().tool("x", confirms, inputSchema=schema)
    file = {"overrides": {"a:x": ToolOverride(defaults={"units": "metric"}, rename_fields={"city": "place"})}}
    visitor = await (await house(a=server, file=file)).modern(capabilities=ABLE)
    first = await visitor.call("x", {"place": "Rome"})
    second = await visitor.ask("tools/call", again(first, "x", {"place": "Rome"}))
    assert second["content"][0]["text"] == "Rome: accept"


async def test_the_answer_after_a_question_is_of_the_newer_era_and_cut_to_shape(house):
    async def asks(asked):
        await asked.ask(*ASK)
        return {"content": [], "structuredContent": {"a": 1, "b": 2}}

    output = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    server = MemoryServer().tool("x", asks, outputSchema=output)
    file = {"overrides": {"a:x": ToolOverride(output_fields=["a"])}}
    one = await house(a=server, file=file)
    visitor = await one.modern(capabilities=ABLE)
    first = await visitor.call("x", {})
    second = await visitor.ask("tools/call", again(first, "x", {}))
    assert second["structuredContent"] == {"a": 1}
    assert second["resultType"] == "complete"


async def test_a_prompt_of_the_older_era_may_ask_too(house):
    async def asks(asked):
        return {"messages": [], "said": await asked.ask(*ASK)}

    server = MemoryServer(capabilities={"prompts": {}}).on("prompts/get", asks)
    server.lists["prompts"] = [{"name": "p"}]
    visitor = await (await house(a=server)).modern(capabilities=ABLE)
    first = await visitor.ask("prompts/get", {"name": "p"})
    second = await visitor.ask("prompts/get", {"name": "p", **back(first)})
    assert second["resultType"] == "complete"
    assert second["said"] == {"action": "accept"}
    assert len(server.seen("prompts/get")) == 1


async def test_two_calls_of_one_client_may_both_have_questions(house):
    server = MemoryServer().tool("x", confirms)
    visitor = await (await house(a=server)).modern(capabilities=ABLE, key="k")
    waiting = {city: await visitor.call("x", {"city": city}) for city in ("Rome", "Oslo")}
    assert [result.get("resultType") for result in waiting.values()] == ["input_required"] * 2
    for city, first in waiting.items():
        second = await visitor.ask("tools/call", again(first, "x", {"city": city}))
        assert second["content"][0]["text"] == f"{city}: accept"


async def test_work_that_fails_while_its_client_never_comes_back_is_no_complaint(parked):
    complaints = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context["message"]))
    fail = asyncio.Event()

    async def work(exchange):
        question = spawn(exchange.ask(*ASK), "a question", awaited=True)
        await fail.wait()
        question.cancel()
        raise RpcError(-32000, "it died meanwhile")

    first = await parked.begin(exchange(), work, bound_to="b")
    fail.set()
    for _ in range(5):
        await asyncio.sleep(0)
    parked._abandon(first["requestState"])
    gc.collect()
    assert complaints == []


# -- any order of things ---------------------------------------------------------------------------------------------

STEP = st.sampled_from(["answer", "empty", "stranger", "twice", "withdraw", "cancel", "expire"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(questions=st.integers(0, 3), steps=st.lists(STEP, max_size=6))
def test_however_answers_and_cancels_come_every_request_is_settled_once(questions, steps):
    asyncio.run(_any_order(questions, steps))


async def _any_order(questions, steps):
    house, ended, open_now = Parking(), [], []

    async def work(exchange):
        try:
            for _ in range(questions):
                open_now.append(spawn(exchange.ask(*ASK), "a question", awaited=True))
                await asyncio.wait(open_now[-1:])
            return {"done": True}
        finally:
            ended.append(True)

    result = await house.begin(exchange(), work, bound_to="b")
    for step in steps:
        if "requestState" not in result:
            break
        state, params = result["requestState"], back(result)
        if step == "stranger":
            with pytest.raises(RpcError):
                await house.again(exchange("other"), params, bound_to="b")
        elif step == "withdraw":
            open_now[-1].cancel()
            await asyncio.wait(open_now[-1:])
        elif step == "expire":
            house._abandon(state)
            break
        elif step == "cancel":
            request = spawn(house.again(exchange(), params, bound_to="b"), "again", awaited=True)
            await asyncio.sleep(0)
            request.cancel()
            await asyncio.wait([request])
            result = {} if request.cancelled() else request.result()
            break
        else:
            given = {"requestState": state} if step == "empty" else params
            result = await house.again(exchange(), given, bound_to="b")
            if step == "twice":
                with pytest.raises(RpcError):
                    await house.again(exchange(), params, bound_to="b")
    await house.close()
    for question in open_now:
        question.cancel()
    async with asyncio.timeout(30):
        while not ended:
            await asyncio.sleep(0)
    assert ended == [True]
    assert not house._parked
