"""Serving over real sockets: order, cancellation, questions to the editor, failures, many at once."""

from __future__ import annotations

import asyncio
import json
import logging
import threading

import pytest

from acpserver import EditorError, EditorGoneError, RequestError

PATIENCE = 20


def ask(method, request_id, **params):
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def notice(method, **params):
    return {"jsonrpc": "2.0", "method": method, "params": params}


def block(text):
    return {"type": "text", "text": text}


async def soon(event):
    await asyncio.wait_for(event.wait(), PATIENCE)


# The handshake and what the agent sees.


async def test_the_agent_is_made_at_the_first_need_and_knows_the_editor(hall, connect):
    peer = await connect(hall.server)
    result = await peer.initialize(clientCapabilities={"terminal": True}, clientInfo={"name": "zed"})
    assert result["agentInfo"]["name"] == "workshop"
    assert (await peer.ask("authenticate", {"methodId": "x"}))["error"]["code"] == -32602
    assert hall.agents == []
    await peer.alive()
    (agent,) = hall.agents
    assert (agent.client.capabilities, agent.client.info) == ({"terminal": True}, {"name": "zed"})
    await peer.initialize()
    await peer.alive()
    assert (agent.client.capabilities, agent.client.info) == ({}, {})
    assert hall.agents == [agent]


async def test_each_editor_has_its_own_agent(hall, connect):
    peers = [await connect(hall.server) for _ in range(5)]
    for each in peers:
        await each.initialize()
        each.prompt("say hi", request_id="same")
    answers = await asyncio.gather(*(each.answer("same") for each in peers))
    assert [answer["result"] for answer in answers] == [{"said": "hi"}] * 5
    assert len(hall.agents) == 5


async def test_requests_and_notifications_reach_the_agent_in_the_order_of_arrival(peer, agent):
    peer.send(
        ask("session/prompt", 1, sessionId="s", prompt=[block("wait a")]),
        notice("session/cancel", sessionId="one"),
        ask("session/close", 2, sessionId="s"),
        notice("session/cancel", sessionId="break"),
        ask("session/delete", 3, sessionId="s"),
        notice("session/cancel", sessionId="two"),
    )
    await peer.alive()
    assert [each[0] if each[0] != "asked" else each for each in agent.order if each[0] != "started"] == [
        ("asked", "wait", "a"),
        "session/cancel",
        "session/close",
        "session/cancel",
        "session/delete",
        "session/cancel",
    ]
    agent.release.set()


async def test_a_cancel_may_be_the_first_thing_the_agent_hears(hall, connect):
    peer = await connect(hall.server)
    await peer.initialize()
    peer.notify("session/cancel", sessionId="s")
    await peer.alive()
    assert hall.agents[0].order == [("session/cancel", {"sessionId": "s"})]


async def test_an_agent_that_cannot_be_made_is_tried_again(hall_of, connect):
    tries = []

    def make(client):
        tries.append(1)
        if len(tries) < 3:
            raise OSError("no disk") if len(tries) == 1 else RequestError(-32000, "not yet", "log in")
        return hall.make(client)

    hall = hall_of()
    hall.server.agent = make
    peer = await connect(hall.server)
    await peer.initialize()
    peer.notify("session/cancel", sessionId="s")
    error = (await peer.ask("session/list"))["error"]
    assert (error["code"], error["data"]) == (-32000, {"details": "log in"})
    await peer.alive()
    assert len(tries) == 3


# Order on the wire.


async def test_what_was_told_before_the_answer_is_written_before_it(peer):
    assert (await peer.ask_prompt("say hi"))["result"] == {"said": "hi"}
    told = [message["params"] for message in peer.early]
    assert told == [{"text": "hi", "number": number} for number in range(3)] + [{"last": True}]


@pytest.mark.race
async def test_what_two_threads_tell_is_whole_in_their_order_and_before_the_answer(peer):
    assert (await peer.ask_prompt("threads"))["result"] == {}
    told = [message["params"] for message in peer.early]
    for name in ("a", "b"):
        assert [each["number"] for each in told if each["from"] == name] == list(range(200))
    assert len(told) == 400


async def test_what_cannot_be_json_is_the_tellers_mistake(peer, agent):
    with pytest.raises(ValueError):
        agent.client.notify("session/update", {"x": object()})
    with pytest.raises(ValueError):
        await agent.client.request("x", {"x": {1}})
    await peer.alive()
    assert peer.early == []


async def test_half_a_character_is_replaced(peer):
    assert (await peer.ask_prompt("say a\ud800b"))["result"] == {"said": "a�b"}


# Failures.


async def test_a_request_error_is_the_answer(peer):
    error = (await peer.ask_prompt("refuse the whole\nstory"))["error"]
    assert error == {"code": -32602, "message": "first line", "data": {"details": "the whole\nstory"}}
    error = (await peer.ask_prompt("refuse-at-once"))["error"]
    assert error == {"code": -32002, "message": "no such session", "data": {"details": "no such\nsession"}}


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("fail", "session/prompt failed with ValueError: broken in two"),
        ("break-at-once", "session/prompt failed with KeyError: 'missing'"),
        ("give-up-at-once", "session/prompt failed with CancelledError."),
        ("leave", "session/prompt failed with SystemExit: 3"),
        ("odd", "session/prompt ran, but its result cannot be written as JSON"),
        ("lonely", "session/prompt failed with CancelledError."),
        ("nothing", "session/prompt failed with TypeError: "),
    ],
)
async def test_any_other_failure_is_one_sentence_and_the_trace_is_in_the_log(peer, prompt, said, caplog):
    error = (await peer.ask_prompt(prompt))["error"]
    assert (error["code"], error["message"]) == (-32603, "Internal error")
    assert error["data"]["details"].startswith(said)
    assert "Traceback" not in json.dumps(error)
    if prompt != "lonely":
        assert next(record.exc_info for record in caplog.records if record.name == "acpserver")
    await peer.alive()


async def test_failures_are_worded_by_whoever_explains(hall_of, connect):
    hall = hall_of(explain=lambda kind, text: f"USER.ACP.{kind.upper()} {text}")
    peer = await connect(hall.server)
    await peer.initialize()
    assert (await peer.ask_prompt("fail"))["error"]["data"]["details"].startswith(
        "USER.ACP.INTERNAL session/"
    )
    details = (await peer.ask("nope"))["error"]["data"]["details"]
    assert details == "USER.ACP.UNKNOWN_METHOD nope"


# Cancelling what the editor asked.


@pytest.mark.race
async def test_a_cancelled_request_that_lets_go_is_answered_cancelled(peer, agent):
    request_id = peer.prompt("wait a")
    await soon(agent.started)
    peer.cancel_request(request_id)
    assert (await peer.answer(request_id))["error"]["code"] == -32800
    assert agent.order[-1] == ("cancelled", "a")


@pytest.mark.race
async def test_a_cancelled_request_that_has_an_answer_gives_it(peer, agent):
    request_id = peer.prompt("yield_to_cancel")
    await soon(agent.started)
    peer.cancel_request(request_id)
    peer.cancel_request(request_id)
    assert (await peer.answer(request_id))["result"] == {"stopReason": "cancelled"}


@pytest.mark.race
async def test_a_request_cancelled_in_the_same_breath_begins_and_is_cancelled_then(peer, agent):
    peer.send(
        ask("session/prompt", "x", sessionId="s", prompt=[block("wait b")]),
        notice("$/cancel_request", requestId="x"),
        notice("$/cancel_request", requestId="x"),
    )
    assert (await peer.answer("x"))["error"]["code"] == -32800
    assert agent.order == [("asked", "wait", "b"), ("started", "b"), ("cancelled", "b")]


@pytest.mark.race
async def test_a_request_that_needs_one_step_is_answered_though_it_was_cancelled_at_once(peer):
    peer.send(ask("session/list", "x"), notice("$/cancel_request", requestId="x"))
    assert (await peer.answer("x"))["result"] == {"sessions": []}


@pytest.mark.race
async def test_a_cancel_that_crosses_the_answer_is_ignored(peer, agent):
    request_id = peer.prompt("wait c")
    await soon(agent.started)
    agent.release.set()
    peer.cancel_request(request_id)
    answer = await peer.answer(request_id)
    assert answer.get("result") == {"waited": "c"} or answer["error"]["code"] == -32800
    peer.cancel_request(request_id)
    await peer.alive()
    assert peer.answers[request_id] == 1


@pytest.mark.race
async def test_a_second_cancel_does_not_disturb_the_cleaning_up(hall, connect):
    cleaned, started, tidy = [], asyncio.Event(), asyncio.Event()

    async def careful():
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await tidy.wait()
            cleaned.append(1)

    peer = await connect(hall.server)
    await peer.initialize()
    await peer.alive()
    hall.agents[0].request = lambda method, params: (
        careful() if "prompt" in params else hall.agents[0].listed()
    )
    request_id = peer.prompt("x")
    await soon(started)
    for _ in range(3):
        peer.cancel_request(request_id)
        await peer.alive()
    tidy.set()
    assert (await peer.answer(request_id))["error"]["code"] == -32800
    assert cleaned == [1]


@pytest.mark.race
async def test_an_id_in_use_is_refused_and_the_first_is_answered_once(peer, agent):
    peer.prompt("wait first", request_id=77)
    await soon(agent.started)
    peer.send(ask("session/list", 77))
    refusal = await peer.receive()
    assert (refusal["id"], refusal["error"]["code"]) == (None, -32600)
    agent.release.set()
    assert (await peer.receive())["result"] == {"waited": "first"}
    assert (await peer.ask("session/list", request_id=77))["result"] == {"sessions": []}
    peer.answers.clear()


# Asking the editor.


async def question(peer):
    while (message := await peer.receive())["method"] != "session/request_permission":
        peer.early.append(message)
    return message["id"]


@pytest.mark.race
async def test_the_editor_is_asked_and_its_answer_given_back(peer):
    request_id = peer.prompt("permission p")
    number = await question(peer)
    peer.send({"jsonrpc": "2.0", "id": number, "result": {"outcome": "yes"}})
    assert (await peer.answer(request_id))["result"] == {"answer": {"outcome": "yes"}}


@pytest.mark.race
async def test_an_error_of_the_editor_is_raised(peer, agent):
    request_id = peer.prompt("permission p")
    number = await question(peer)
    peer.send(
        {"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "never heard", "data": 1}}
    )
    error = (await peer.answer(request_id))["error"]
    assert error["data"]["details"] == "session/prompt failed with EditorError: never heard"
    assert agent.order[-1] == (EditorError.__name__, "never heard", -32601)


@pytest.mark.race
async def test_many_questions_are_open_at_once_and_answered_in_any_order(peer):
    prompts = {number: peer.prompt(f"permission {number}") for number in range(20)}
    asked = [(await peer.receive()) for _ in range(20)]
    for message in reversed(asked):
        peer.send({"jsonrpc": "2.0", "id": message["id"], "result": message["params"]["tag"]})
    answers = [await peer.receive() for _ in range(20)]
    assert {each["id"]: each["result"]["answer"] for each in answers} == {
        request_id: str(number) for number, request_id in prompts.items()
    }
    assert [each["result"]["answer"] for each in answers] == [str(number) for number in reversed(range(20))]


@pytest.mark.race
async def test_a_question_whose_asker_is_cancelled_is_withdrawn_and_a_late_answer_ignored(peer, agent):
    request_id = peer.prompt("permission p")
    number = await question(peer)
    peer.cancel_request(request_id)
    assert await peer.receive() == notice("$/cancel_request", requestId=number)
    assert (await peer.receive())["error"]["code"] == -32800
    peer.send({"jsonrpc": "2.0", "id": number, "result": {}})
    peer.send({"jsonrpc": "2.0", "id": number, "error": {"code": -32800, "message": "cancelled"}})
    await peer.alive()
    assert agent.order[-1] == ("CancelledError", "", None)


@pytest.mark.race
@pytest.mark.parametrize("answer_first", [True, False])
async def test_an_answer_and_a_cancel_in_one_breath_leave_one_answer_and_nothing_open(peer, answer_first):
    request_id = peer.prompt("permission p")
    number = await question(peer)
    messages = [
        {"jsonrpc": "2.0", "id": number, "result": 1},
        notice("$/cancel_request", requestId=request_id),
    ]
    peer.send(*(messages if answer_first else reversed(messages)))
    answer = await peer.answer(request_id)
    assert answer["error"]["code"] == -32800
    withdrawn = [message for message in peer.early if message.get("method") == "$/cancel_request"]
    assert withdrawn == []  # it was answered: there is nothing to withdraw
    await peer.alive()


@pytest.mark.race
async def test_a_question_may_be_asked_outside_any_request(peer, agent):
    asking = asyncio.get_running_loop().create_task(agent.client.request("elicitation/create", {"a": 1}))
    message = await peer.receive()
    assert (message["method"], message["params"]) == ("elicitation/create", {"a": 1})
    peer.send({"jsonrpc": "2.0", "id": message["id"], "result": None})
    assert await asyncio.wait_for(asking, PATIENCE) is None


# Many at once, and slow editors.


@pytest.mark.race
async def test_requests_run_at_the_same_time(peer, agent):
    slow = peer.prompt("wait 1")
    await soon(agent.started)
    assert (await peer.ask_prompt("say quick"))["result"] == {"said": "quick"}
    agent.release.set()
    assert (await peer.answer(slow))["result"] == {"waited": "1"}


@pytest.mark.race
async def test_ten_thousand_requests_in_one_write_are_each_answered_once(peer):
    wanted = 10_000
    peer.send(*(ask("session/list", number) for number in range(wanted)))
    seen = [(await peer.receive())["id"] for _ in range(wanted)]
    assert seen == list(range(wanted))
    assert await peer.end() == []


@pytest.mark.race
async def test_a_slow_editor_is_congestion_and_its_cancel_gets_through(peer, agent):
    flooded = asyncio.Event()

    async def flood():
        while not agent.client.congested():
            agent.client.notify("session/update", {"x": "y" * 10_000})
        flooded.set()
        await asyncio.Event().wait()

    peer.reader._transport.pause_reading()
    agent.flood = lambda rest: flood()
    assert not agent.client.congested()
    request_id = peer.prompt("flood")
    await soon(flooded)
    peer.cancel_request(request_id)
    peer.notify("session/cancel", sessionId="s")
    async with asyncio.timeout(PATIENCE):
        while agent.order[-1] != ("session/cancel", {"sessionId": "s"}):
            await asyncio.sleep(0)
    peer.reader._transport.resume_reading()
    assert (await peer.answer(request_id))["error"]["code"] == -32800
    assert len(peer.early) > 20
    assert not agent.client.congested()


async def test_one_loop_is_never_blocked_by_a_thread_that_tells_too_late(hall, connect):
    """After the connection, and even after its loop, telling is harmless."""
    peer = await connect(hall.server)
    await peer.initialize()
    await peer.alive()
    agent = hall.agents[0]
    assert await peer.end() == []
    agent.client.notify("session/update", {})
    assert not agent.client.congested()
    thread = threading.Thread(target=agent.client.notify, args=("session/update", {}))
    thread.start()
    await asyncio.to_thread(thread.join)
    with pytest.raises(EditorGoneError):
        await agent.client.request("x", {})


# The trace.


async def test_every_line_is_traced_as_it_was(hall_of, connect):
    seen = []
    peer = await connect(hall_of(trace=lambda way, line: seen.append((way, line))).server)
    await peer.initialize()
    peer.send_bytes(b"{nonsense}\r\n\n" + b"x" * (10 * 1024 * 1024 + 1) + b"\n")
    await peer.alive()
    ways = [way for way, _ in seen]
    assert ways == ["in", "out", "in", "out", "in", "out", "in", "out"]
    assert json.loads(seen[0][1])["method"] == "initialize"
    assert json.loads(seen[1][1])["result"]["protocolVersion"] == 1
    assert seen[2][1] == b"{nonsense}"
    assert b"dropped" in seen[4][1]
    assert len(seen[4][1]) < 200
    assert not any(line.endswith(b"\n") for _, line in seen)


@pytest.mark.race
async def test_only_the_loop_writes_whoever_tells(hall_of, connect):
    writers = set()
    peer = await connect(hall_of(trace=lambda way, line: writers.add(threading.get_ident())).server)
    await peer.initialize()
    await peer.ask_prompt("threads")
    assert writers == {threading.get_ident()}


async def test_a_trace_that_fails_is_switched_off(hall_of, connect, caplog):
    calls = []

    def trace(way, line):
        calls.append(way)
        raise OSError("disk full")

    peer = await connect(hall_of(trace=trace).server)
    await peer.initialize()
    await peer.alive()
    assert calls == ["in"]
    assert [record.levelno for record in caplog.records if "trace" in record.getMessage()] == [logging.ERROR]
