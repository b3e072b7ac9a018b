"""The conversation as a table: line in, effects out."""

from __future__ import annotations

import json
import logging

import pytest

from acpserver.conversation import MAX_OPEN, Conversation
from acpserver.errors import Complaint, EditorError, EditorGoneError, RequestError
from acpserver.framing import Oversize
from acpserver.requests import Answered, Cancel, Request, Send, Start, Tell

INFO = {"name": "a", "version": "1"}
CAPABILITIES = {"loadSession": True}
PROMPT = {"sessionId": "s", "prompt": [{"type": "text", "text": "hi"}]}


@pytest.fixture
def fresh():
    return Conversation(INFO, CAPABILITIES)


@pytest.fixture
def talk(fresh):
    hear(fresh, request("initialize", "hello", protocolVersion=1))
    return fresh


def request(method, request_id=1, **params):
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def notice(method, **params):
    return {"jsonrpc": "2.0", "method": method, "params": params}


def hear(conversation, message):
    return conversation.hear(json.dumps(message).encode())


def said(effects):
    (effect,) = effects
    assert isinstance(effect, Send), effect
    return effect.message


def code(effects):
    message = said(effects)
    return message["id"], message["error"]["code"]


def started(effects):
    (effect,) = effects
    assert isinstance(effect, Start), effect
    return effect.request


# The handshake.


@pytest.mark.parametrize("version", [1, 0, 2, 65535, 70000, -1, 1.0])
def test_whatever_version_is_asked_for_the_answer_is_one(fresh, version):
    result = said(hear(fresh, request("initialize", 0, protocolVersion=version, info={"name": "v2"})))[
        "result"
    ]
    assert result == {
        "protocolVersion": 1,
        "agentCapabilities": CAPABILITIES,
        "agentInfo": INFO,
        "authMethods": [],
    }
    assert isinstance(result["protocolVersion"], int)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"protocolVersion": "1"},
        {"protocolVersion": None},
        {"protocolVersion": True},
        {"protocolVersion": 1.5},
    ],
)
def test_a_handshake_without_a_version_is_refused_and_counts_for_nothing(fresh, params):
    answer = said(hear(fresh, request("initialize", 0, **params)))
    assert answer["error"]["code"] == -32602
    assert "protocolVersion" in answer["error"]["message"]
    assert code(hear(fresh, request("session/list"))) == (1, -32600)


@pytest.mark.parametrize("params", [[], "x", 7])
def test_params_that_are_no_object_are_refused(fresh, params):
    message = {"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": params}
    assert code(hear(fresh, message)) == (3, -32602)


def test_the_last_handshake_says_what_the_editor_can_do(fresh):
    assert (fresh.client_capabilities, fresh.client_info) == ({}, {})
    more = {"clientCapabilities": {"terminal": True}, "clientInfo": {"name": "z"}}
    hear(fresh, request("initialize", protocolVersion=1, **more))
    assert (fresh.client_capabilities, fresh.client_info) == ({"terminal": True}, {"name": "z"})
    hear(fresh, request("initialize", protocolVersion=1, clientCapabilities=None, clientInfo="odd"))
    assert (fresh.client_capabilities, fresh.client_info) == ({}, {})


@pytest.mark.parametrize("method", ["session/new", "session/prompt", "session/list", "authenticate"])
def test_everything_waits_for_initialize(fresh, method):
    answer = said(hear(fresh, request(method)))
    assert answer["error"]["code"] == -32600
    assert "initialize first" in answer["error"]["message"]


def test_authenticate_is_refused_because_nothing_was_offered(talk):
    assert "methodId" in said(hear(talk, request("authenticate")))["error"]["message"]
    answer = said(hear(talk, request("authenticate", methodId="token")))
    assert answer["error"]["code"] == -32602
    assert "no authentication" in answer["error"]["message"]


@pytest.mark.parametrize(
    "method", ["logout", "_own/thing", "session/fork", "session/set_model", "", "x" * 5000]
)
def test_an_unknown_method_is_not_found_before_and_after_the_handshake(fresh, method):
    assert code(hear(fresh, request(method))) == (1, -32601)
    hear(fresh, request("initialize", protocolVersion=1))
    assert code(hear(fresh, request(method))) == (1, -32601)


# Ids and envelopes.


@pytest.mark.parametrize("request_id", [0, -1, 2**70, 10**4000, "", "x" * 1000, "7", None, 1.0, 1.5])
def test_an_id_comes_back_as_it_was(talk, request_id):
    effects = hear(talk, request("nope", request_id))
    assert repr(said(effects)["id"]) == repr(request_id)
    assert started(hear(talk, request("session/list", request_id))).id == request_id


@pytest.mark.parametrize("request_id", [True, False, [], [1], {}, {"a": 1}])
def test_what_cannot_be_an_id_is_refused_under_null(talk, request_id):
    assert code(hear(talk, request("session/list", request_id))) == (None, -32600)


@pytest.mark.parametrize("request_id", [7, "x", None])
def test_an_id_in_use_is_refused_under_null_and_free_again_when_answered(talk, request_id):
    first = started(hear(talk, request("session/list", request_id)))
    assert code(hear(talk, request("session/list", request_id))) == (None, -32600)
    assert code(hear(talk, request("initialize", request_id, protocolVersion=1))) == (None, -32600)
    talk.settle(first)
    assert started(hear(talk, request("session/list", request_id))) is not first


@pytest.mark.parametrize("message", [7, "x", None, True, [], [request("session/list")], [1, 2]])
def test_what_is_no_object_is_refused_once(talk, message):
    assert code(hear(talk, message)) == (None, -32600)


@pytest.mark.parametrize(
    "message",
    [
        {"id": 4, "method": "session/list"},
        {"jsonrpc": "1.0", "id": 4, "method": "session/list"},
        {"jsonrpc": 2.0, "id": 4, "method": "session/list"},
        {"jsonrpc": "2.0", "id": 4},
        {"jsonrpc": "2.0", "id": 4, "method": 5},
        {"jsonrpc": "2.0", "id": 4, "method": None},
    ],
)
def test_a_request_with_a_wrong_envelope_is_refused_under_its_id(talk, message):
    assert code(hear(talk, message)) == (4, -32600)


@pytest.mark.parametrize("method", ["session/cancel", "$/cancel_request"])
def test_a_notification_sent_as_a_request_is_refused(talk, method):
    answer = said(hear(talk, request(method, 5, sessionId="s", requestId=1)))
    assert (answer["id"], answer["error"]["code"]) == (5, -32600)
    assert "without an id" in answer["error"]["message"]


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"a": 1},
        {"method": "session/cancel"},
        {"jsonrpc": "1.0", "method": "session/cancel", "params": {"sessionId": "s"}},
        {"jsonrpc": "2.0", "method": 7},
        {"jsonrpc": "2.0", "method": "session/cancel", "params": []},
        notice("session/cancel"),
        notice("session/cancel", sessionId=7),
        notice("session/prompt", **PROMPT),
        notice("initialize", protocolVersion="x"),
        notice("$/progress", token=1),
        notice("_own"),
        notice("$/cancel_request"),
        notice("$/cancel_request", requestId=[]),
        notice("$/cancel_request", requestId=True),
        notice("$/cancel_request", requestId=99),
    ],
)
def test_what_has_no_id_is_never_answered(talk, message):
    started(hear(talk, request("session/list", 1)))  # a requestId of true must not be taken for 1
    assert hear(talk, message) == []


def test_a_dropped_line_is_refused_under_null(talk):
    answer = said(talk.hear(Oversize(100)))
    assert (answer["id"], answer["error"]["code"]) == (None, -32600)
    assert "100 bytes" in answer["error"]["data"]["details"]


def test_more_open_requests_than_anyone_needs_are_refused(talk):
    for number in range(MAX_OPEN):
        started(hear(talk, request("session/list", number)))
    assert code(hear(talk, request("session/list", "more"))) == ("more", -32600)
    assert said(hear(talk, request("initialize", "still", protocolVersion=1)))["result"]


# What reaches the agent.


def test_a_request_comes_out_with_checked_params(talk):
    asked = started(hear(talk, request("session/new", 9, cwd="/tmp", _meta={"traceparent": "00"}, own=1)))
    assert (asked.id, asked.method) == (9, "session/new")
    assert asked.params == {"cwd": "/tmp", "mcpServers": [], "_meta": {"traceparent": "00"}, "own": 1}
    assert repr(asked) == "Request(9, 'session/new')"


def test_a_wrong_param_is_refused_by_its_name(talk):
    effects = hear(talk, request("session/prompt", sessionId="s", prompt=[{"type": "text", "text": 1}]))
    error = said(effects)["error"]
    assert error == {
        "code": -32602,
        "message": "Invalid params: prompt[0].text must be a string",
        "data": {"details": "prompt[0].text must be a string"},
    }


def test_a_cancel_is_told_after_the_handshake_only(fresh):
    cancel = notice("session/cancel", sessionId="s", _meta={})
    assert hear(fresh, cancel) == []
    hear(fresh, request("initialize", protocolVersion=1))
    (told,) = hear(fresh, cancel)
    assert isinstance(told, Tell)
    assert (told.method, told.params) == ("session/cancel", {"sessionId": "s", "_meta": {}})


@pytest.mark.parametrize("request_id", [3, "three", None, "\ud800"])
def test_a_request_is_cancelled_by_its_id_and_stays_open(talk, request_id):
    asked = started(hear(talk, request("session/prompt", request_id, **PROMPT)))
    (cancelled,) = hear(talk, notice("$/cancel_request", requestId=request_id))
    assert isinstance(cancelled, Cancel)
    assert cancelled.request is asked
    talk.settle(asked)
    assert hear(talk, notice("$/cancel_request", requestId=request_id)) == []


# What we ask.


def answered(effects):
    (effect,) = effects
    assert isinstance(effect, Answered), effect
    return effect


def test_an_answer_finds_its_question_once(talk):
    number, message = talk.ask("session/request_permission", {"a": 1})
    assert message == request("session/request_permission", number, a=1)
    answer = {"jsonrpc": "2.0", "id": number, "result": {"outcome": 1}}
    heard = answered(hear(talk, answer))
    assert (heard.number, heard.value, heard.error) == (number, {"outcome": 1}, None)
    assert hear(talk, answer) == []


@pytest.mark.parametrize("request_id", [99, "1", None, True, [1], {}, 1.5])
def test_an_answer_to_nothing_is_ignored(talk, request_id, caplog):
    caplog.set_level(logging.DEBUG, logger="acpserver")
    talk.ask("x", {})
    assert hear(talk, {"jsonrpc": "2.0", "id": request_id, "result": {}}) == []
    assert "ignored an answer" in caplog.text


def test_an_answer_without_an_id_is_ignored(talk):
    assert hear(talk, {"jsonrpc": "2.0", "error": {"code": 1, "message": "m"}}) == []


def test_a_result_that_was_left_out_is_null(talk):
    number, _ = talk.ask("x", {})
    assert answered(hear(talk, {"jsonrpc": "2.0", "id": number})).value is None


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"code": -32601, "message": "no", "data": [1]}, (-32601, "no", [1])),
        ({"code": "x", "message": 5}, (-32603, "The editor gave no reason.", None)),
        ({"code": True}, (-32603, "The editor gave no reason.", None)),
        ("text", (-32603, "text", None)),
        ([], (-32603, "[]", None)),
    ],
)
def test_an_error_of_the_editor_is_one_whatever_it_looks_like(talk, error, expected):
    number, _ = talk.ask("x", {})
    heard = answered(hear(talk, {"jsonrpc": "2.0", "id": number, "error": error, "result": 1}))
    assert isinstance(heard.error, EditorError)
    assert (heard.error.code, heard.error.message, heard.error.data) == expected


def test_a_null_error_beside_a_result_is_none(talk):
    number, _ = talk.ask("x", {})
    heard = answered(hear(talk, {"jsonrpc": "2.0", "id": number, "error": None, "result": 1}))
    assert (heard.value, heard.error) == (1, None)


def test_what_is_withdrawn_is_told_and_its_late_answer_ignored(talk):
    number, _ = talk.ask("x", {})
    assert talk.withdraw(number) == notice("$/cancel_request", requestId=number)
    assert talk.withdraw(number) is None
    assert hear(talk, {"jsonrpc": "2.0", "id": number, "result": {}}) == []


def test_an_editor_that_has_gone_answers_nothing(talk):
    number, _ = talk.ask("x", {})
    talk.forget()
    assert talk.withdraw(number) is None


# How errors are worded.


def kinds(conversation):
    conversation.hear(b"{")
    hear(conversation, [])
    hear(conversation, request("nope"))
    hear(conversation, request("initialize"))
    conversation.hear(Oversize(1))
    conversation.refusal(1, Complaint("internal", "x"))


def test_every_complaint_is_explained():
    heard = []
    conversation = Conversation(
        {}, {}, lambda kind, text: heard.append((kind, text)) or f"CODE {kind}: {text}"
    )
    kinds(conversation)
    assert [kind for kind, _ in heard] == [
        "parse",
        "invalid_request",
        "unknown_method",
        "invalid_params",
        "too_long",
        "internal",
    ]
    error = said([conversation.refusal(1, Complaint("internal", "ValueError: x"))])["error"]
    assert error == {
        "code": -32603,
        "message": "Internal error",
        "data": {"details": "CODE internal: ValueError: x"},
    }


@pytest.mark.parametrize("explain", [lambda kind, text: "", lambda kind, text: 1 / 0])
def test_an_explanation_that_fails_leaves_the_text(explain, caplog):
    conversation = Conversation({}, {}, explain)
    assert said(conversation.hear(b"[]"))["error"]["data"]["details"].startswith("there are no batches")


def test_a_mistake_of_ours_is_an_internal_error(talk, monkeypatch, caplog):
    def confused(message):
        raise KeyError("bug")

    monkeypatch.setattr(talk, "_message", confused)
    assert code(talk.hear(b"{}")) == (None, -32603)
    assert "KeyError" in caplog.text


@pytest.mark.parametrize(
    ("given", "message", "details"),
    [
        (("one\n  two ",), "one two", "one\n  two "),
        (("short", "long\nstory"), "short", "long\nstory"),
        (("",), "Error", "Error"),
        ((" \n", "why"), "Error", "why"),
    ],
)
def test_the_message_of_a_request_error_is_one_line(given, message, details):
    error = RequestError(-32002, *given)
    assert (error.code, error.message, error.details, str(error)) == (-32002, message, details, message)


def test_errors_say_what_happened():
    assert "went away" in str(EditorGoneError())
    assert Request(1, "m", {}).begun is False
