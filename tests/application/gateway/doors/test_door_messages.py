"""Messages as bytes and back, requests of the newer era, and the log of a stream. Pure."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awf.domain.mcp import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    LEGACY_VERSIONS,
    PARSE_ERROR,
    RESERVED_META,
    UNSUPPORTED_VERSION,
    RpcError,
)
from awf.interfaces.mcp.gateway import event_log, messages, newer_era
from awf.interfaces.mcp.gateway.event_log import EventLog, event

VERSION, CAPABILITIES = f"{RESERVED_META}protocolVersion", f"{RESERVED_META}clientCapabilities"
META = {VERSION: "2026-07-28", CAPABILITIES: {"roots": {}}}
NOW = "2026-07-28"


# -- messages --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"{", b'{"a": nope}', b"\xff", b'"\xff"', b"[" * 100_000])
def test_what_is_no_json_is_a_parse_error(data):
    with pytest.raises(RpcError, match="Parse error") as caught:
        messages.decoded(data)
    assert caught.value.code == PARSE_ERROR


@settings(deadline=None)
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**53), 2**53)
        | st.text(st.characters(exclude_categories=["Cs"])),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
        ),
    )
)
def test_an_answer_comes_back_as_it_was(value):
    assert messages.decoded(messages.success(7, value)) == {"jsonrpc": "2.0", "id": 7, "result": value}


def test_an_error_has_data_only_where_there_are_any():
    assert messages.error_of(RpcError(-1, "m")) == {"code": -1, "message": "m"}
    assert messages.error_of(RpcError(-1, "m", 0)) == {"code": -1, "message": "m", "data": 0}


def test_a_refusal_is_an_http_answer_with_the_error_in_it():
    reply = messages.refusal(404, RpcError(-32601, "no"), "id")
    assert (reply.status, reply.headers) == (404, (messages.JSON,))
    assert json.loads(reply.body) == {
        "jsonrpc": "2.0",
        "id": "id",
        "error": {"code": -32601, "message": "no"},
    }
    assert messages.json_reply(b"{}", headers=[("A", "b")]).headers == (messages.JSON, ("A", "b"))


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ({"params": {"a": 1, "_meta": {"b": 2}}}, ({"a": 1, "_meta": {"b": 2}}, {"b": 2})),
        ({"params": {"a": 1}}, ({"a": 1}, {})),
        ({"params": {"_meta": None}}, ({"_meta": None}, {})),
        ({"params": None}, ({}, {})),
        ({}, ({}, {})),
    ],
)
def test_the_parts_of_a_request(message, parts):
    assert messages.request_parts({"jsonrpc": "2.0", "method": "m", **message}) == ("m", *parts)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"method": "m"}, -32600),
        ({"jsonrpc": "1.0", "method": "m"}, -32600),
        ({"jsonrpc": "2.0", "method": 5}, -32600),
        ({"jsonrpc": "2.0"}, -32600),
        ({"jsonrpc": "2.0", "method": "m", "params": []}, INVALID_PARAMS),
        ({"jsonrpc": "2.0", "method": "m", "params": 5}, INVALID_PARAMS),
        ({"jsonrpc": "2.0", "method": "m", "params": {"_meta": []}}, INVALID_PARAMS),
    ],
)
def test_what_is_no_request_is_refused(message, code):
    with pytest.raises(RpcError) as caught:
        messages.request_parts(message)
    assert caught.value.code == code


@pytest.mark.parametrize("number", [None, True, 1.5, [], {}])
def test_an_id_is_a_text_or_a_whole_number(number):
    with pytest.raises(RpcError, match="must be a string or an integer"):
        messages.checked_id({"id": number})
    assert messages.checked_id({"id": "a"}) == "a"
    assert messages.checked_id({"id": 0}) == 0


def test_an_id_is_in_use_once():
    with pytest.raises(RpcError, match="'a' is in use"):
        messages.checked_id({"id": "a"}, {"a": 1})


@pytest.mark.parametrize("message", [5, None, "x", []])
def test_a_message_is_an_object(message):
    with pytest.raises(RpcError, match="not an object"):
        messages.checked_object(message)
    assert messages.checked_object({}) == {}


# -- the newer era ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("meta", "newer"), [({}, False), ({VERSION: 1}, True), ({CAPABILITIES: 1}, True), ({"x": 1}, False)]
)
def test_a_request_says_itself_that_it_is_of_the_newer_era(meta, newer):
    assert newer_era.is_newer(meta) is newer


def test_whoever_sends_a_request_of_the_newer_era_is_known_by_it():
    meta = {**META, f"{RESERVED_META}clientInfo": {"name": "n"}, f"{RESERVED_META}logLevel": "error"}
    client = newer_era.modern_client(meta, "k", "p")
    assert (client.modern, client.version, client.name) == (True, NOW, "n")
    assert (client.key, client.profile, client.level) == ("k", "p", "error")
    odd = newer_era.modern_client(
        {**META, f"{RESERVED_META}clientInfo": 5, f"{RESERVED_META}logLevel": "loud"}, "", ""
    )
    assert (odd.info, odd.level) == ({}, "")


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        ({CAPABILITIES: {}}, INVALID_PARAMS),
        ({VERSION: 5, CAPABILITIES: {}}, INVALID_PARAMS),
        ({VERSION: NOW}, INVALID_PARAMS),
        ({VERSION: NOW, CAPABILITIES: []}, INVALID_PARAMS),
        ({VERSION: "v9", CAPABILITIES: {}}, UNSUPPORTED_VERSION),
        ({VERSION: "2025-11-25", CAPABILITIES: {}}, UNSUPPORTED_VERSION),
    ],
)
def test_a_request_of_the_newer_era_needs_version_and_capabilities(meta, code):
    with pytest.raises(RpcError) as caught:
        newer_era.modern_client(meta, "", "")
    assert caught.value.code == code
    if code == UNSUPPORTED_VERSION:
        assert caught.value.data == {
            "supported": [NOW, *reversed(LEGACY_VERSIONS)],
            "requested": meta[VERSION],
        }


def headers(**more):
    return {"mcp-protocol-version": NOW, "mcp-method": "tools/call", "mcp-name": "x"} | {
        name.replace("_", "-"): value for name, value in more.items()
    }


@pytest.mark.parametrize(
    ("given", "method", "params"),
    [
        (headers(), "tools/call", {"name": "x"}),
        (headers(mcp_name="=?base64?w6k=?="), "tools/call", {"name": "é"}),
        (headers(mcp_method="tools/list"), "tools/list", {}),
        (headers(mcp_method="prompts/get"), "prompts/get", {"name": "x"}),
        (headers(mcp_method="resources/read", mcp_name="u:1"), "resources/read", {"uri": "u:1"}),
    ],
)
def test_headers_that_say_what_the_body_says(given, method, params):
    newer_era.check_headers(given, method, params, META)
    newer_era.check_headers(given, method, params, {})


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({}, HEADER_MISMATCH),
        (headers(mcp_protocol_version="2025-11-25"), HEADER_MISMATCH),
        (headers(mcp_method="tools/list"), HEADER_MISMATCH),
        (headers(mcp_name="y"), HEADER_MISMATCH),
        ({key: value for key, value in headers().items() if key != "mcp-method"}, HEADER_MISMATCH),
        ({key: value for key, value in headers().items() if key != "mcp-name"}, HEADER_MISMATCH),
    ],
)
def test_headers_that_say_something_else_are_refused(given, code):
    with pytest.raises(RpcError) as caught:
        newer_era.check_headers(given, "tools/call", {"name": "x"}, META)
    assert caught.value.code == code


def test_a_version_nobody_knows_is_told_which_there_are():
    with pytest.raises(RpcError) as caught:
        newer_era.check_headers(headers(mcp_protocol_version="v9"), "tools/list", {}, {VERSION: "v9"})
    assert caught.value.code == UNSUPPORTED_VERSION


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (HEADER_MISMATCH, 400),
        (-32021, 400),
        (UNSUPPORTED_VERSION, 400),
        (-32601, 404),
        (-32700, 400),
        (-32600, 400),
        (-32602, 200),
        (-1, 200),
    ],
)
def test_the_status_that_goes_with_an_error(code, status):
    assert newer_era.status_of(RpcError(code, "m")) == status


# -- events ----------------------------------------------------------------------------------------------------------


def test_an_event_is_a_line_of_data_with_its_name_and_place():
    assert event(b"{}") == b"data: {}\n\n"
    assert event(b"{}", "s-1", "message") == b"event: message\nid: s-1\ndata: {}\n\n"


def test_a_log_gives_what_came_after_an_event():
    log = EventLog("7")
    made = [log.add(b"%d" % number) for number in range(4)]
    assert made[0] == b"id: 7-1\ndata: 0\n\n"
    assert log.after(0) == made
    assert log.after(2) == made[2:]
    assert log.after(9) == []


def test_an_event_without_a_message_says_where_the_client_is():
    log = EventLog("7")
    assert log.primer() == b"id: 7-0\ndata: \n\n"
    log.add(b"x")
    assert log.primer(500) == b"id: 7-1\nretry: 500\ndata: \n\n"


def test_what_is_kept_is_bounded_but_for_the_last_event(monkeypatch):
    monkeypatch.setattr(event_log, "KEPT_BYTES", 50)
    log = EventLog("7")
    small = [log.add(b"x" * 10) for _ in range(3)]
    assert log.after(0) == small[-1:] or len(b"".join(log.after(0))) <= 50
    huge = log.add(b"y" * 100)
    assert log.after(0) == [huge]


def test_a_very_long_answer_is_kept_only_when_it_did_not_go_out(monkeypatch):
    monkeypatch.setattr(event_log, "KEPT_BYTES", 50)
    for written, kept in ((True, 0), (False, 1)):
        log = EventLog("7")
        log.add(b"y" * 100)
        log.finish(5.0, written=written)
        assert (log.complete, log.completed_at, len(log.after(0))) == (True, 5.0, kept)
        assert (log.size > 0) is bool(kept)
    short = EventLog("7")
    short.add(b"y")
    short.finish(5.0, written=True)
    assert len(short.after(0)) == 1


@pytest.mark.parametrize(
    ("event_id", "position"),
    [
        ("7-3", ("7", 3)),
        ("a-b-12", ("a-b", 12)),
        ("-5", ("", 5)),
        ("7", None),
        ("7-", None),
        ("7-x", None),
        ("7-²", None),
        ("7-٣", None),
        ("7--1", ("7-", 1)),
        ("1-" + "9" * 5000, None),
    ],
)
def test_what_the_id_of_an_event_means(event_id, position):
    assert EventLog.position(event_id) == position


@settings(deadline=None)
@given(
    st.lists(st.binary(max_size=40).filter(lambda data: b"\n" not in data), max_size=20), st.integers(0, 25)
)
def test_whoever_comes_back_gets_each_event_once(datas, seen):
    log = EventLog("s")
    made = [log.add(data) for data in datas]
    assert made[:seen] + log.after(min(seen, len(made))) == made
