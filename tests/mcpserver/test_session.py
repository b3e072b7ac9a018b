"""The session as a table: message in, effects out."""

from __future__ import annotations

import pytest

from mcpserver import PROTOCOL_VERSIONS, Result
from mcpserver.errors import OwnError, PeerError
from mcpserver.requests import Cancel, Send, Start
from mcpserver.session import MAX_OPEN, Session

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "new", "version": "9"},
}
SERVER = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
INFO = {"name": "s", "version": "1", "title": "S"}


@pytest.fixture
def session():
    return Session(INFO, "Be kind.")


def request(method, request_id=1, **params):
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def notice(method, **params):
    return {"jsonrpc": "2.0", "method": method, "params": params}


def sent(effects):
    assert all(isinstance(effect, Send) for effect in effects), effects
    return [effect.message for effect in effects]


def only(effects):
    (effect,) = effects
    return effect.message


def started(effects):
    (effect,) = effects
    assert isinstance(effect, Start)
    return effect.request


def handshake(session, version="2025-11-25"):
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "2"}}
    answer = only(session.receive(request("initialize", 0, **params)))
    assert session.receive(notice("notifications/initialized")) == []
    return answer["result"]


def call(session, request_id=1, **more):
    return started(session.receive(request("tools/call", request_id, name="t", **more)))


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [(version, version) for version in PROTOCOL_VERSIONS if version != "2026-07-28"]
    + [("2026-07-28", "2025-11-25"), ("1999-01-01", "2025-11-25"), ("", "2025-11-25")],
)
def test_the_handshake_takes_the_clients_version_or_offers_the_newest_with_a_handshake(
    session, asked, agreed
):
    result = handshake(session, asked)
    assert result["protocolVersion"] == agreed
    assert result["capabilities"] == {"tools": {"listChanged": True}}
    assert result["instructions"] == "Be kind."
    assert result["serverInfo"]["name"] == "s"
    assert ("title" in result["serverInfo"]) == (agreed >= "2025-06-18")


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"protocolVersion": 1},
        {"protocolVersion": "2025-11-25", "clientInfo": "me"},
        {"protocolVersion": None},
    ],
)
def test_a_handshake_without_a_version_or_with_a_bad_client_is_refused(session, params):
    assert only(session.receive(request("initialize", **params)))["error"]["code"] == -32602


@pytest.mark.parametrize("method", ["ping", "shutdown"])
def test_ping_and_shutdown_are_answered_empty_at_any_time(session, method):
    assert only(session.receive(request(method, "a"))) == {"jsonrpc": "2.0", "id": "a", "result": {}}


def test_tools_can_be_listed_before_any_handshake(session):
    assert started(session.receive(request("tools/list"))).dialect.version == "2025-11-25"


@pytest.mark.parametrize("method", ["resources/list", "nope", "", "x" * 5000])
def test_an_unknown_method_is_named_at_once_even_before_the_handshake(session, method):
    assert only(session.receive(request(method)))["error"]["code"] == -32601


@pytest.mark.parametrize("cursor", ["", "2", 7, {"a": 1}])
def test_an_unknown_cursor_is_refused(session, cursor):
    assert only(session.receive(request("tools/list", cursor=cursor)))["error"]["code"] == -32602


def test_no_cursor_may_be_said_as_null(session):
    assert started(session.receive(request("tools/list", cursor=None)))


@pytest.mark.parametrize("arguments", [{}, {"arguments": None}, {"arguments": {}}])
def test_a_call_without_arguments_gets_an_empty_object(session, arguments):
    assert call(session, **arguments).arguments == {}


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": 7},
        {"name": None},
        {"name": "t", "arguments": []},
        {"name": "t", "arguments": "x"},
        {"name": "t", "_meta": []},
        {"name": "t", "_meta": {"progressToken": True}},
        {"name": "t", "_meta": {"progressToken": 1.5}},
        {"name": "t", "_meta": {"progressToken": {}}},
    ],
)
def test_bad_call_params_are_refused(session, params):
    assert only(session.receive(request("tools/call", **params)))["error"]["code"] == -32602


@pytest.mark.parametrize("params", [[], "x", 3, True])
def test_params_that_are_no_object_are_refused(session, params):
    message = {"jsonrpc": "2.0", "id": 4, "method": "tools/list", "params": params}
    answer = only(session.receive(message))
    assert (answer["id"], answer["error"]["code"]) == (4, -32602)


def test_a_call_carries_the_client_the_meta_and_the_version_of_its_time(session):
    handshake(session, "2025-03-26")
    old = call(session, 1, _meta={"com.example/x": 1, "progressToken": "p"})
    new = call(session, 2, _meta=META)
    assert (old.client, old.dialect.version, old.token) == ({"name": "c", "version": "2"}, "2025-03-26", "p")
    assert old.meta == {"com.example/x": 1, "progressToken": "p"}
    assert (new.client, new.dialect.version) == ({"name": "new", "version": "9"}, "2026-07-28")


def test_a_call_is_answered_once(session):
    one = call(session)
    reply = session.called(one, Result([]))
    assert session.settle(one, reply) is reply
    assert session.settle(one, reply) is None


def test_an_id_in_use_is_refused_without_touching_the_first(session):
    one = call(session, 5)
    for again in (request("tools/call", 5, name="t"), request("ping", 5), request("nope", 5), {"id": 5}):
        answer = only(session.receive(again))
        assert (answer["id"], answer["error"]["code"], answer["error"]["data"]) == (
            None,
            -32600,
            {"requestId": 5},
        )
    assert session.settle(one, session.called(one, Result([])))["id"] == 5
    assert call(session, 5)


def test_a_number_and_its_text_are_two_ids(session):
    assert call(session, 5) is not call(session, "5")


def test_a_cancelled_call_is_stopped_and_never_answered(session):
    one = call(session, 5)
    (effect,) = session.receive(notice("notifications/cancelled", requestId=5))
    assert isinstance(effect, Cancel)
    assert effect.request is one
    assert session.settle(one, session.called(one, Result([]))) is None
    assert session.progress(one, 1, None, "") is None


@pytest.mark.parametrize("request_id", [None, True, 1.0, [], {}, "nope", 99])
def test_a_cancellation_of_nothing_is_ignored(session, request_id):
    call(session, 1)
    assert session.receive(notice("notifications/cancelled", requestId=request_id)) == []
    assert session.receive({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": []}) == []


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "m"}},
        {"id": None, "error": {}},
        notice("notifications/whatever"),
        notice("tools/call", name="t"),
        {"jsonrpc": "2.0", "method": "notifications/x", "params": 7},
    ],
)
def test_answers_and_unknown_notifications_are_ignored(session, message):
    assert session.receive(message) == []


@pytest.mark.parametrize(
    ("message", "request_id"),
    [
        ({}, None),
        ({"id": 3}, 3),
        ({"jsonrpc": "1.0", "id": 3, "method": "ping"}, 3),
        ({"id": 3, "method": "ping"}, 3),
        ({"jsonrpc": "2.0", "id": 3, "method": 7}, 3),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": [1], "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": {}, "method": "ping"}, None),
        ({"method": "notifications/x"}, None),
        (None, None),
        (7, None),
        ("x", None),
        ([], None),
        ([{"jsonrpc": "2.0", "id": 3, "method": "ping"}], None),
    ],
)
def test_what_is_no_request_is_refused_with_its_id_where_it_has_one(session, message, request_id):
    answer = only(session.receive(message))
    assert (answer["id"], answer["error"]["code"]) == (request_id, -32600)


def test_a_frame_that_did_not_parse_is_answered_with_a_null_id(session):
    answer = only(session.receive(PeerError(-32700, "Parse error")))
    assert answer == {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}


def test_too_many_open_requests_are_refused_and_do_not_cost_the_others(session):
    for number in range(MAX_OPEN):
        call(session, number)
    assert only(session.receive(request("tools/call", "more", name="t")))["error"]["code"] == -32603
    assert only(session.receive(request("ping", "p")))["result"] == {}


# Batches.


def test_a_batch_is_answered_as_a_batch_when_all_of_it_is_done(session):
    handshake(session, "2025-03-26")
    effects = session.receive(
        [
            request("ping", 1),
            request("tools/call", 2, name="t"),
            notice("notifications/x"),
            7,
            request("tools/list", 3),
            request("initialize", 4, protocolVersion="2025-03-26"),
            request("tools/list", 5, _meta=META),
        ]
    )
    two, three = (effect.request for effect in effects)
    assert session.settle(three, session.listed(three, [])) is None
    whole = session.settle(two, session.refused(two, OwnError("x")))
    assert [(each["id"], each.get("error", {}).get("code")) for each in whole] == [
        (1, None),
        (None, -32600),
        (4, -32600),
        (5, -32600),
        (3, None),
        (2, -32603),
    ]


def test_a_batch_of_notifications_is_not_answered(session):
    handshake(session, "2025-03-26")
    assert session.receive([notice("notifications/x"), notice("notifications/y")]) == []


def test_a_batch_whose_last_call_is_cancelled_is_answered_without_it(session):
    handshake(session, "2025-03-26")
    (effect,) = session.receive([request("ping", 1), request("tools/call", 2, name="t")])
    cancel, send = session.receive(notice("notifications/cancelled", requestId=2))
    assert cancel.request is effect.request
    assert [each["id"] for each in send.message] == [1]


def test_a_batch_may_cancel_its_own_call(session):
    handshake(session, "2025-03-26")
    start, cancel = session.receive(
        [request("tools/call", 2, name="t"), notice("notifications/cancelled", requestId=2)]
    )
    assert start.request is cancel.request


def test_an_empty_batch_is_refused(session):
    handshake(session, "2025-03-26")
    assert only(session.receive([]))["error"]["code"] == -32600


# 2026-07-28.


def test_a_modern_result_is_marked_and_signed(session):
    one = call(session, _meta=META)
    result = session.called(one, Result([], structured=[1], meta={"com.example/a": 1}))["result"]
    assert result["resultType"] == "complete"
    assert result["_meta"] == {"com.example/a": 1, SERVER: INFO}
    assert result["structuredContent"] == [1]


def test_a_modern_list_says_how_long_it_may_be_kept(session):
    one = started(session.receive(request("tools/list", _meta=META)))
    result = session.listed(one, [])["result"]
    assert (result["ttlMs"], result["cacheScope"], result["tools"]) == (0, "private", [])
    assert result["resultType"] == "complete"


def test_a_legacy_result_carries_none_of_it(session):
    one = call(session)
    assert session.called(one, Result([]))["result"] == {"content": [], "isError": False}


@pytest.mark.parametrize(
    "meta", [None, {}, META, {"io.modelcontextprotocol/protocolVersion": "2025-11-25"}, {"progressToken": 1}]
)
def test_discover_is_answered_with_whatever_meta_comes(session, meta):
    params = {} if meta is None else {"_meta": meta}
    result = only(session.receive(request("server/discover", **params)))["result"]
    assert result["supportedVersions"] == list(PROTOCOL_VERSIONS)
    assert result["instructions"] == "Be kind."
    assert result["resultType"] == "complete"
    assert result["_meta"] == {SERVER: INFO}
    assert result["ttlMs"] >= 0
    assert result["cacheScope"] == "private"


@pytest.mark.parametrize("method", ["server/discover", "tools/list", "ping", "nope"])
def test_an_unsupported_version_is_told_what_is_supported(session, method):
    meta = META | {"io.modelcontextprotocol/protocolVersion": "1900-01-01"}
    error = only(session.receive(request(method, _meta=meta)))["error"]
    assert error["code"] == -32022
    assert error["data"] == {"supported": list(PROTOCOL_VERSIONS), "requested": "1900-01-01"}


@pytest.mark.parametrize("method", ["server/discover", "tools/list", "subscriptions/listen"])
@pytest.mark.parametrize("missing", ["protocolVersion", "clientCapabilities"])
def test_a_modern_request_without_a_required_field_is_refused(session, method, missing):
    meta = {key: value for key, value in META.items() if not key.endswith(missing)}
    answer = only(session.receive(request(method, _meta=meta, notifications={})))
    assert answer["error"]["code"] == -32602
    assert missing in answer["error"]["message"]


@pytest.mark.parametrize(
    "broken", [{"protocolVersion": 7}, {"clientCapabilities": []}, {"clientInfo": "me"}, {"clientInfo": None}]
)
def test_a_modern_field_of_the_wrong_type_is_refused(session, broken):
    meta = META | {f"io.modelcontextprotocol/{key}": value for key, value in broken.items()}
    assert only(session.receive(request("tools/list", _meta=meta)))["error"]["code"] == -32602


@pytest.mark.parametrize("method", ["ping", "initialize", "shutdown", "logging/setLevel"])
def test_what_the_modern_era_dropped_is_not_found(session, method):
    assert only(session.receive(request(method, _meta=META)))["error"]["code"] == -32601


def test_a_legacy_version_in_a_modern_place_is_served_in_that_version(session):
    meta = {"io.modelcontextprotocol/protocolVersion": "2025-06-18"}
    assert call(session, _meta=meta).dialect.version == "2025-06-18"


def test_both_eras_share_one_session(session):
    handshake(session, "2025-06-18")
    new, old = call(session, 1, _meta=META), call(session, 2)
    assert "resultType" in session.called(new, Result([]))["result"]
    assert "resultType" not in session.called(old, Result([]))["result"]


def listen(session, request_id, **wanted):
    return only(
        session.receive(request("subscriptions/listen", request_id, _meta=META, notifications=wanted))
    )


def test_a_listener_is_acknowledged_with_what_it_will_get(session):
    ack = listen(session, "L", toolsListChanged=True, promptsListChanged=True, resourceSubscriptions=["a:b"])
    assert ack["method"] == "notifications/subscriptions/acknowledged"
    assert ack["params"] == {"_meta": {SUBSCRIPTION: "L"}, "notifications": {"toolsListChanged": True}}
    assert listen(session, "M", promptsListChanged=True)["params"]["notifications"] == {}


def test_changes_reach_the_handshake_and_the_listeners_that_asked(session):
    assert session.tools_changed() == []
    handshake(session)
    listen(session, 7, toolsListChanged=True)
    listen(session, 8, toolsListChanged=False)
    legacy, modern = session.tools_changed()
    assert "params" not in legacy
    assert modern["params"]["_meta"] == {SUBSCRIPTION: 7}


def test_no_change_is_told_before_the_client_says_it_is_ready(session):
    session.receive(notice("notifications/initialized"))
    session.receive(request("initialize", protocolVersion="2025-11-25"))
    assert session.tools_changed() == []


def test_a_cancelled_listener_hears_no_more_and_is_not_answered(session):
    listen(session, 7, toolsListChanged=True)
    assert session.receive(notice("notifications/cancelled", requestId=7)) == []
    assert session.tools_changed() == []
    assert session.close() == []
    assert listen(session, 7, toolsListChanged=True)


def test_listeners_are_answered_when_the_server_closes(session):
    listen(session, 7, toolsListChanged=True)
    (answer,) = session.close()
    assert answer["id"] == 7
    assert answer["result"] == {"resultType": "complete", "_meta": {SUBSCRIPTION: 7, SERVER: INFO}}
    assert session.close() == []


@pytest.mark.parametrize("wanted", [None, [], "all", {"toolsListChanged": "yes"}])
def test_a_bad_filter_is_refused(session, wanted):
    answer = only(session.receive(request("subscriptions/listen", _meta=META, notifications=wanted)))
    assert answer["error"]["code"] == -32602


def test_listening_without_meta_says_what_is_missing(session):
    answer = only(session.receive(request("subscriptions/listen", notifications={})))
    assert answer["error"]["code"] == -32602
    assert "protocolVersion" in answer["error"]["message"]


# Progress.


def test_progress_needs_a_token_and_an_open_request(session):
    handshake(session)
    mute, told = call(session, 1), call(session, 2, _meta={"progressToken": 0})
    assert session.progress(mute, 1, None, "") is None
    assert session.progress(told, 1, 2.5, "half")["params"] == {
        "progressToken": 0,
        "progress": 1,
        "total": 2.5,
        "message": "half",
    }
    session.settle(told, session.called(told, Result([])))
    assert session.progress(told, 2, None, "") is None


def test_the_oldest_version_gets_progress_without_words(session):
    handshake(session, "2024-11-05")
    one = call(session, _meta={"progressToken": "t"})
    assert session.progress(one, 1, None, "words")["params"] == {"progressToken": "t", "progress": 1}
