from __future__ import annotations

import json

import pytest

from awf.domain.mcp import RpcError
from awf.infrastructure.upstreams import frames
from awf.infrastructure.upstreams.correlation import Correlation


@pytest.fixture
def told():
    return []


@pytest.fixture
async def correlation(told):
    return Correlation(lambda message, tag: told.append((message, tag)))


async def test_every_call_has_a_number_of_its_own_and_is_awaited_before_it_is_sent(correlation):
    first, second = correlation.begin("a", {}), correlation.begin("b", {"x": 1})

    correlation.receive({"id": second.number, "result": {"b": 2}})
    correlation.receive({"id": first.number, "result": {"a": 1}})

    assert json.loads(second.frame) == {
        "jsonrpc": "2.0",
        "id": second.number,
        "method": "b",
        "params": {"x": 1},
    }
    assert (first.answer.result(), second.answer.result()) == ({"a": 1}, {"b": 2})


async def test_an_error_keeps_code_message_and_data(correlation):
    call = correlation.begin("a", {})

    correlation.receive({"id": call.number, "error": {"code": -5, "message": "no", "data": [1]}})

    reason = call.answer.exception()
    assert isinstance(reason, RpcError)
    assert (reason.code, reason.message, reason.data) == (-5, "no", [1])


@pytest.mark.parametrize("number", [True, 1.0, "x", None, [1], 2])
async def test_an_answer_to_nobody_is_dropped(correlation, number):
    call = correlation.begin("a", {})

    assert correlation.receive({"id": number, "result": {}}) is None
    assert not call.answer.done()


DEEP = b"[" * 5_000 + b"]" * 5_000


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"result":{"n":%b}}',
        b' { "result" : {"n":%b, "a":"}]"} , "id" : 1 , "jsonrpc" : "2.0" } ',
        b'{"x":"\\"{[","result":[%b],"id":1}',
    ],
)
async def test_whoever_waits_for_an_answer_that_is_nested_too_deeply_is_told(correlation, line):
    call = correlation.begin("a", {})
    assert frames.plain_answer(line % DEEP) is None

    for message in frames.messages_in(line % DEEP):
        correlation.receive(message)

    reason = call.answer.exception()
    assert isinstance(reason, RpcError)
    assert "nested too deeply" in reason.message


@pytest.mark.parametrize(
    "inner", [b"1e999", b"1" * 6_000, b'"\xff"', b"-1e999", b'{"a":[1e999]}', b'"' + b"\xc3\x28" + b'"']
)
async def test_whoever_waits_for_an_answer_that_cannot_be_read_is_told(correlation, inner):
    call = correlation.begin("a", {})

    for message in frames.messages_in(b'{"jsonrpc":"2.0","id":1,"result":{"n":%b}}' % inner):
        correlation.receive(message)

    reason = call.answer.exception()
    assert isinstance(reason, RpcError)
    assert "cannot be read" in reason.message


@pytest.mark.parametrize(
    "line", [b"%b", b'{"method":"a","params":%b}', b'{"id":1,"method":"a","params":%b}', b'{"id":1,"n":%b']
)
def test_what_is_nested_too_deeply_and_no_answer_is_not_read(line):
    assert frames.messages_in(line % DEEP) is None


async def test_what_is_nested_too_deeply_cannot_be_sent(correlation):
    value: dict[str, object] = {}
    for _ in range(5_000):
        value = {"a": value}
    for writing in (frames.reply, frames.notification, correlation.begin):
        with pytest.raises(RpcError, match="nested too deeply"):
            writing("a", value)


async def test_a_late_answer_is_dropped(correlation):
    call = correlation.begin("a", {})
    assert correlation.forget(call)

    correlation.receive({"id": call.number, "result": {}})

    assert not call.answer.done()
    assert not correlation.forget(call)


async def test_a_notification_is_handed_on_as_it_came(correlation, told):
    message = {"method": "notifications/new", "params": {"_meta": {"x": 1}}, "other": 2}

    assert correlation.receive(message) is None
    assert correlation.receive(message, "of a call") is None
    assert told == [(message, None), (message, "of a call")]


@pytest.mark.parametrize("params", [None, [], {}, {"progressToken": True}, {"progressToken": [1]}])
async def test_progress_of_nothing_known_is_dropped(correlation, told, params):
    heard = []
    correlation.begin("a", {}, heard.append)

    correlation.receive({"method": "notifications/progress", "params": params})

    assert (heard, told) == ([], [])


async def test_asking_for_progress_keeps_the_rest_of_meta(correlation):
    params = {"_meta": {"k": 1}}
    call = correlation.begin("a", params, lambda _: None)

    assert json.loads(call.frame)["params"]["_meta"] == {"k": 1, "progressToken": call.number}
    assert params == {"_meta": {"k": 1}}


async def test_everybody_hears_when_the_connection_is_lost(correlation):
    calls = [correlation.begin("a", {}) for _ in range(3)]
    correlation.fail_all(ValueError("gone"))

    assert [str(call.answer.exception()) for call in calls] == ["gone"] * 3


async def test_requests_of_the_server_go_to_whoever_takes_them():
    asked = []
    correlation = Correlation(lambda *_: None, lambda message, tag: asked.append((message, tag)))

    assert correlation.receive({"id": 1, "method": "roots/list"}, "of a call") is None
    assert json.loads(correlation.receive({"id": 2, "method": "ping"})) == {
        "jsonrpc": "2.0",
        "id": 2,
        "result": {},
    }
    assert asked == [({"id": 1, "method": "roots/list"}, "of a call")]


@pytest.mark.parametrize(
    "data", [b"", b"x", b"1", b"[]", b'"a"', b"{}", b"[1]", b'{"result": 1}', b"\xff", b"[" * 100_000]
)
def test_what_is_no_message_is_recognised(data):
    assert frames.messages_in(data) is None


def test_large_numbers_and_half_characters_survive():
    (message,) = frames.messages_in(
        b'{"id":1,"result":{"n":123456789012345678901234567890,"t":"\\ud83d\\ude00 \\ud83d"}}'
    )

    assert message["result"] == {"n": 123456789012345678901234567890, "t": "\U0001f600 \ufffd"}
