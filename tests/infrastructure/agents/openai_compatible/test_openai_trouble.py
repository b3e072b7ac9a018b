"""What servers do wrong, one thing at a time: what helps is done, what does not is said."""

from __future__ import annotations

import asyncio
import json

import pytest

from awf.domain.agent import AgentFailure, TextDelta, ToolStarted
from awf.domain.run import Usage
from awf.testing.memory_tools import MemoryTools

CALLED = {"role": "assistant", "content": None, "tool_calls": [
    {"id": "c1", "type": "function", "function": {"name": "Read", "arguments": {"file_path": "note.txt"}}}
]}  # fmt: skip


async def failure(asked) -> AgentFailure:
    with pytest.raises(AgentFailure) as caught:
        await asked
    return caught.value


# -- odd answers that are answers all the same --------------------------------------------------------------------------


async def test_plain_json_instead_of_a_stream_is_an_answer(wire, ask, shown, memory, equip):
    def whole(message, finish):
        body = {"choices": [{"message": message, "finish_reason": finish}], "usage": {"prompt_tokens": 5}}
        return wire.answer(json.dumps(body, indent=2).encode(), kind="application/json; charset=utf-8")

    final = {"role": "assistant", "content": "Done.", "reasoning_content": "hm"}
    async with wire.Api(whole(CALLED, "tool_calls"), whole(final, "stop")) as api:
        reply = await ask(api.url, tools=await equip(memory))
    assert (reply.text, shown.text, shown.thoughts) == ("Done.", "Done.", "hm")
    assert memory.calls == [("Read", {"file_path": "note.txt"})]
    assert reply.usage == Usage(10, None)
    assert api.requests[1].body["messages"][-1]["content"] == "xyzzy"


async def test_calls_without_ids_and_index_are_answered_with_ids_of_our_own(wire, ask, memory, equip):
    parts = [{"function": {"name": "Read", "arguments": '{"file_path": "note.txt"}'}},
             {"function": {"name": "Bash", "arguments": '{"command": "x"}'}}]  # fmt: skip
    calls = wire.events(
        *(wire.piece({"tool_calls": [part]}) for part in parts), wire.piece(finish="tool_calls")
    )
    async with wire.Api(wire.answer(calls), wire.answer(wire.said("ok"))) as api:
        await ask(api.url, tools=await equip(memory))
    assistant, *told = api.requests[1].body["messages"][-3:]
    ids = [call["id"] for call in assistant["tool_calls"]]
    assert len(set(ids)) == 2
    assert all(ids)
    assert [message["tool_call_id"] for message in told] == ids


@pytest.mark.parametrize(
    "make",
    [
        lambda wire: wire.events(wire.piece({"content": "Hello."}), wire.piece(finish="stop"), end=b""),
        lambda wire: wire.events(wire.piece({"content": "Hello."})),
        lambda wire: b": processing\n\n" + wire.said() + b"data: trailing rubbish\n\n",
        lambda wire: wire.said().replace(b"data: ", b"data:"),
        lambda wire: wire.said().replace(b"\n", b"\r\n"),
        lambda wire: wire.events(
            wire.piece({"role": "assistant"}),
            wire.piece(),
            wire.piece({"content": "Hello."}, "stop"),
            {"usage": None},
        ),
        lambda wire: json.dumps(wire.piece({"content": "Hello."}, "stop")).encode(),
    ],
    ids=[
        "no [DONE]",
        "no finish_reason",
        "comment and rubbish",
        "no space",
        "CRLF",
        "empty pieces",
        "no data:",
    ],
)
@pytest.mark.parametrize("kind", ["text/event-stream", "application/json", "text/plain", ""])
async def test_a_stream_is_an_answer_whatever_it_is_called(wire, ask, make, kind):
    async with wire.Api(wire.answer(make(wire), kind=kind)) as api:
        assert (await ask(api.url)).text == "Hello."
    assert len(api.requests) == 1


async def test_a_stream_that_is_cut_after_its_answer_is_an_answer(wire, ask):
    body = wire.events(wire.piece({"content": "Hello."}, "stop"), end=b"")
    async with wire.Api(wire.answer(body, length=10_000)) as api:
        assert (await ask(api.url)).text == "Hello."
    assert len(api.requests) == 1


async def test_a_stream_without_length_ends_with_its_connection(wire, ask):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    async with wire.Api(head + wire.said("Hello.")) as api:
        assert (await ask(api.url)).text == "Hello."


async def test_a_server_that_does_not_hang_up_is_not_waited_for(wire, ask, monkeypatch):
    monkeypatch.setattr("awf.infrastructure.agents.openai_compatible.asking.AFTERWORD_SECONDS", 0.05)
    body = wire.events(wire.piece({"content": "Hello."}, "stop"), end=b"")
    async with wire.Api(wire.answer(body, length=10_000), silence=True) as api:
        assert (await ask(api.url)).text == "Hello."


async def test_costs_that_the_server_reports_are_taken(wire, ask):
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.25}
    body = wire.events(wire.piece({"content": "Hi"}, "stop", usage=None), {"choices": [], "usage": usage})
    async with wire.Api(wire.answer(body)) as api:
        reply = await ask(api.url, prices={"input": 1, "output": 1})
    assert reply.usage == Usage(10, 5, 0.25, "reported")


async def test_connections_are_kept_between_the_rounds(wire, ask, memory, equip):
    calls = wire.events(wire.piece({"tool_calls": CALLED["tool_calls"]}, "tool_calls"))
    async with wire.Api(wire.answer(calls), wire.answer(wire.said())) as api:
        await ask(api.url, tools=await equip(memory), api_key="secret-key", headers={"X-Title": "awf"})
    assert (len(api.requests), api.connections) == (2, 1)
    assert api.requests[0].target == "/v1/chat/completions"
    assert api.requests[1].headers["authorization"] == "Bearer secret-key"
    assert api.requests[1].headers["x-title"] == "awf"


# -- refusals that pass -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 529])
async def test_a_refusal_that_may_pass_is_tried_again(wire, ask, pauses, status):
    async with wire.Api(wire.answer(b"busy", status), wire.answer(wire.said())) as api:
        assert (await ask(api.url)).text == "Hello."
    assert len(api.requests) == 2
    assert len(pauses) == 1
    assert 0 < pauses[0] < 1


async def test_the_server_says_how_long_to_wait(wire, ask, pauses):
    date = {"Retry_After": "Wed, 21 Oct 2026 07:28:30 GMT", "Date": "Wed, 21 Oct 2026 07:28:00 GMT"}
    refusals = [wire.answer(b"", 429, Retry_After="7"), wire.answer(b"", 503, **date)]
    async with wire.Api(*refusals, wire.answer(wire.said())) as api:
        assert (await ask(api.url)).text == "Hello."
    assert pauses == [7.0, 30.0]


async def test_a_server_that_wants_to_be_left_alone_for_long_is_left_alone(wire, ask, pauses):
    async with wire.Api(wire.answer(b"quota", 429, Retry_After="3600")) as api:
        told = await failure(ask(api.url))
    assert told.retryable
    assert pauses == []
    assert len(api.requests) == 1


async def test_tries_come_to_an_end_and_grow_apart(wire, ask, pauses):
    async with wire.Api(wire.answer(b'{"error": {"message": "overloaded"}}', 503)) as api:
        told = await failure(ask(api.url, max_retries=3))
    assert told.message == "The API answered with HTTP 503: overloaded"
    assert told.retryable
    assert len(api.requests) == 4
    assert pauses[0] < pauses[1] < pauses[2]


async def test_a_stream_that_is_cut_before_anything_was_shown_is_tried_again(wire, ask):
    begun = wire.events(wire.piece({"role": "assistant", "content": ""}), end=b"")
    cut = [wire.answer(begun, length=9999), wire.answer(b"", length=10), wire.answer(begun), wire.answer(b"")]
    async with wire.Api(*cut, wire.answer(wire.said())) as api:
        assert (await ask(api.url)).text == "Hello."
    assert len(api.requests) == 5


async def test_a_stream_that_is_cut_after_something_was_shown_is_a_failure(wire, ask, shown):
    begun = wire.events(wire.piece({"content": "Hel"}), end=b"")
    async with wire.Api(wire.answer(begun, length=9999)) as api:
        told = await failure(ask(api.url))
    assert "broke off" in told.message
    assert told.retryable
    assert shown == [TextDelta("Hel")]
    assert len(api.requests) == 1


async def test_half_a_tool_call_is_never_carried_out(wire, ask, memory, equip):
    part = {"index": 0, "id": "a", "function": {"name": "Read", "arguments": '{"file_path": "note.txt"}'}}
    cut = wire.answer(wire.events(wire.piece({"tool_calls": [part]}), end=b""), length=9999)
    async with wire.Api(cut, wire.answer(wire.said())) as api:
        assert (await ask(api.url, tools=await equip(memory))).text == "Hello."
    assert memory.calls == []


@pytest.mark.parametrize(
    ("error", "tries"),
    [
        ({"message": "slow down", "code": 429}, 2),
        ({"message": "busy", "type": "overloaded_error"}, 2),
        ({"message": "bad input", "code": 400}, 1),
        ({"message": "bad input", "type": "invalid_request_error"}, 1),
        ("bad input", 1),
    ],
)
@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
async def test_an_error_in_a_good_answer_is_an_error(wire, ask, error, tries, kind):
    body = wire.events({"error": error}) if "event" in kind else json.dumps({"error": error}).encode()
    async with wire.Api(wire.answer(body, kind=kind)) as api:
        told = await failure(ask(api.url, max_retries=1))
    assert told.retryable == (tries == 2)
    assert len(api.requests) == tries
    assert "The API reports an error: " in told.message


# -- refusals that stay -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (400, "options"),
        (401, "api_key"),
        (403, "api_key"),
        (404, "base_url"),
        (413, "too long"),
        (422, "options"),
    ],
)
async def test_a_refusal_that_stays_is_told_at_once(wire, ask, pauses, status, hint):
    async with wire.Api(wire.answer(b'{"error": {"message": "no"}}', status, "application/json")) as api:
        told = await failure(ask(api.url))
    assert told.message == f"The API answered with HTTP {status}: no"
    assert not told.retryable
    assert hint in told.hint
    assert (len(api.requests), pauses) == (1, [])


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        (b"<!doctype html><html>login</html>", "text/html", "a web page"),
        (b"<html>", "text/event-stream", "a web page"),
        (b"It works!", "text/plain", "not JSON (text/plain): It works!"),
        (b"[1, 2]", "application/json", "not JSON"),
        (b"data: {oops\n\n", "text/event-stream", "not JSON"),
    ],
)
async def test_garbage_is_called_garbage(wire, ask, body, kind, said):
    async with wire.Api(wire.answer(body, kind=kind)) as api:
        told = await failure(ask(api.url))
    assert said in told.message
    assert not told.retryable
    assert "base_url" in told.hint
    assert len(api.requests) == 1


async def test_a_redirect_is_told_and_not_followed(wire, ask):
    async with wire.Api(wire.answer(b"", 308, Location="https://elsewhere/v1/chat/completions")) as api:
        told = await failure(ask(api.url, api_key="k"))
    assert "redirects to https://elsewhere/v1/chat/completions" in told.message
    assert "base_url" in told.hint


async def test_a_compressed_answer_is_told(wire, ask):
    async with wire.Api(wire.answer(b"\x1f\x8b", Content_Encoding="gzip")) as api:
        assert "compressed" in (await failure(ask(api.url))).message


async def test_a_server_that_is_not_there_is_told_after_some_tries(ask, pauses, unused_port):
    told = await failure(ask(f"http://127.0.0.1:{unused_port}/v1", max_retries=2))
    assert f"cannot be reached at http://127.0.0.1:{unused_port}/v1" in told.message
    assert "base_url" in told.hint
    assert told.retryable
    assert len(pauses) == 2


async def test_something_that_is_not_http_is_told(wire, ask):
    async with wire.Api(b"SSH-2.0-OpenSSH_9.6\r\n") as api:
        assert "not HTTP" in (await failure(ask(api.url, max_retries=0))).message


async def test_a_flood_is_stopped(wire, ask, monkeypatch):
    monkeypatch.setattr("awf.infrastructure.agents.openai_compatible.asking.ANSWER_LIMIT", 5000)
    flood = wire.events(*(wire.piece({"content": "x" * 100}) for _ in range(200)))
    async with wire.Api(wire.answer(flood)) as api:
        told = await failure(ask(api.url))
    assert "longer than" in told.message
    assert not told.retryable


async def test_silence_is_not_waited_for_for_ever(wire, ask):
    begun = wire.answer(wire.events(wire.piece({"role": "assistant"}), end=b""), length=9999)
    async with wire.Api(begun, silence=True) as api:
        told = await failure(ask(api.url, timeout=0.05, max_retries=1))
        assert len(api.requests) == 2
    assert told.message == "The API was silent for 0.05 s."
    assert "timeout" in told.hint


# -- being cancelled ----------------------------------------------------------------------------------------------------


@pytest.mark.race
async def test_cancelling_closes_the_connection_at_once(wire, ask, shown):
    begun = wire.answer(wire.events(wire.piece({"content": "Hel"}), end=b""), length=9999)
    async with wire.Api(begun, silence=True) as api, asyncio.timeout(30):
        working = asyncio.get_running_loop().create_task(ask(api.url))
        while not shown:
            await asyncio.sleep(0.001)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        await api.requests[0].gone.wait()


@pytest.mark.race
async def test_cancelling_ends_the_tools_that_run(wire, ask, shown, equip):
    ended = []

    async def hang(_given, _context):
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    parts = [{"index": n, "id": f"c{n}", "function": {"name": "hang", "arguments": ""}} for n in range(2)]
    async with (
        wire.Api(wire.answer(wire.events(wire.piece({"tool_calls": parts}, "tool_calls")))) as api,
        asyncio.timeout(30),
    ):
        tools = await equip(MemoryTools().add("hang", hang))
        working = asyncio.get_running_loop().create_task(ask(api.url, tools=tools))
        while len([event for event in shown if isinstance(event, ToolStarted)]) < 2:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
    assert ended == [True, True]


# -- turns that lead nowhere --------------------------------------------------------------------------------------------


async def test_a_model_that_refuses_is_quoted(wire, ask):
    body = wire.events(wire.piece({"refusal": "I will not "}), wire.piece({"refusal": "do that."}, "stop"))
    async with wire.Api(wire.answer(body)) as api:
        told = await failure(ask(api.url))
    assert told.message == "fake-model refused: I will not do that."
    assert not told.retryable


async def test_an_error_beside_a_piece_of_the_answer_is_an_error(wire, ask, shown):
    broken = {"choices": [{"delta": {"content": "Hel"}, "error": {"message": "lost the model", "code": 502}}]}
    async with wire.Api(wire.answer(wire.events(broken))) as api:
        told = await failure(ask(api.url))
    assert told.message == "The API reports an error: lost the model"
    assert (told.retryable, shown.text, len(api.requests)) == (True, "Hel", 1)


async def test_a_call_that_names_no_tool_is_told_to_the_model(wire, ask, shown, memory, equip):
    calls = wire.events(
        wire.piece({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}, "tool_calls")
    )
    async with wire.Api(wire.answer(calls), wire.answer(wire.said())) as api:
        await ask(api.url, tools=await equip(memory))
    assert "does not name a tool" in api.requests[1].body["messages"][-1]["content"]
    assert shown.finished[0].is_error
