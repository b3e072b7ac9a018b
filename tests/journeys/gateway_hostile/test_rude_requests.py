"""Requests that no client should send: each gets one answer that says what is wrong, and harms nobody else."""

from __future__ import annotations

import json

import pytest

META = "io.modelcontextprotocol/"
ECHO = {"name": "good__echo", "arguments": {"text": "x"}}


@pytest.fixture(autouse=True)
def unharmed(shared):
    yield
    shared.is_well("good__echo")


def refused(answer, status, code):
    assert (answer.status, answer.error["code"]) == (status, code), answer.body
    assert answer.error["message"]
    return answer.error


# -- bodies -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [b"not JSON", b"{", b"\xff\xfe\x00", b'{"jsonrpc": "2.0", "id": 1', b"{'a': 1}", b"NaN", b'{"a": NaN}', b"[" * 100_000,
     b'{"a":' * 100_000, b'"\\ud800"', b"\0" * 1000, b'{"id": 1}{"id": 2}', b'{"a": 1e999999}',
     b'{"jsonrpc": "2.0", "id": 1e999, "method": "ping"}'],
    ids=lambda body: repr(body[:20]),
)  # fmt: skip
def test_a_body_that_is_not_json_is_a_parse_error(shared, body):
    refused(shared.client.post(body), 400, -32700)


@pytest.mark.parametrize("body", [b"5", b"null", b'"text"', b"true", b"1.5"])
def test_a_body_that_is_no_object_is_an_invalid_request(shared, body):
    refused(shared.client.post(body), 400, -32600)


def test_an_empty_body_is_a_parse_error(shared):
    with shared.client.begun("POST", "/mcp", headers={"Content-Length": "0"}) as stream:
        assert stream.rest().startswith(b"HTTP/1.1 400 ")


def test_a_body_above_the_limit_is_refused_before_it_is_read_to_its_end(shared):
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{shared.client.port}\r\nContent-Type: application/json\r\n"
        "Content-Length: 99999999999\r\n\r\n"
    )
    assert shared.client.raw(head.encode() + b"x" * 1000).startswith(b"HTTP/1.1 413 ")


def test_a_chunked_body_above_the_limit_is_refused(shared):
    head = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{shared.client.port}\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    with shared.client.connect() as plug:
        plug.sendall(head.encode())
        answer = b""
        try:
            for _ in range(200):
                plug.sendall(chunk)
        except (ConnectionResetError, BrokenPipeError):
            pass
        try:
            answer = plug.recv(65536)
        except ConnectionResetError:
            pytest.skip("the system has dropped the answer with the connection")
    assert answer.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    "name", ["x" * 100_000, "", " ", "..", "\u0000", "../../etc/passwd", "good__echo\n", "😀" * 1000]
)
def test_a_tool_that_does_not_exist_is_refused_in_few_words(shared, name):
    session = shared.client.session()
    error = session.call(name).error
    assert error["code"] == -32602
    assert len(error["message"]) < 1000, "an echo of what was sent"


@pytest.mark.parametrize(
    "params",
    [{"name": 5}, {"name": None}, {"name": ["x"]}, {"name": {}}, {}, {"name": "good__echo", "arguments": 5},
     {"name": "good__echo", "arguments": ["x"]}, {"name": "good__echo", "arguments": "x"}],
)  # fmt: skip
def test_a_call_with_wrong_types_is_refused(shared, params):
    assert shared.client.session().request("tools/call", params).error["code"] == -32602


def test_arguments_that_do_not_fit_are_refused_before_they_leave(shared):
    session, before = shared.client.session(), shared.noted.count("called echo")
    answer = session.call("good__echo", {"text": {"not": "a text"}})
    assert answer.result["isError"] is True
    assert "text" in answer.text
    assert shared.noted.count("called echo") == before


@pytest.mark.parametrize("params", [5, "x", [1], True])
def test_params_that_are_no_object_are_refused(shared, params):
    session = shared.client.session()
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}
    refused(session.post(body), 400, -32602)
    body["params"] = {"_meta": params}
    refused(session.post(body), 400, -32602)


@pytest.mark.parametrize("cursor", ["x", 5, [], {}, "a" * 10_000])
def test_a_cursor_that_nobody_gave_is_refused(shared, cursor):
    assert shared.client.session().request("tools/list", {"cursor": cursor}).error["code"] == -32602


@pytest.mark.parametrize(
    "method", ["no/such", "", "x" * 100_000, "tools/call/x", "initialize/", "__class__", "notifications/x"]
)
def test_an_unknown_method_is_not_found_and_not_repeated_at_length(shared, method):
    answer = shared.client.session().request(method)
    assert answer.error["code"] == -32601
    assert len(answer.body) < 1000
    answer = shared.client.modern(method) if method and len(method) < 100 else None
    if answer is not None:
        assert (answer.status, answer.error["code"]) == (404, -32601)


# -- ids --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [None, 1.5, True, False, [], {}, ["x"]])
def test_an_id_that_is_no_text_and_no_integer_is_refused(shared, number):
    session = shared.client.session()
    refused(session.request("ping", number=number), 400, -32600)
    refused(shared.client.modern("tools/list", number=number), 400, -32600)


@pytest.mark.parametrize("number", [0, -1, 2**53, 2**64, 10**40, "", "x" * 10_000, "😀", "1"])
def test_any_other_id_comes_back_as_it_was(shared, number):
    assert shared.client.session().request("ping", number=number).last["id"] == number
    assert shared.client.modern("tools/list", number=number).last["id"] == number


def test_an_id_that_is_in_use_is_refused_and_the_first_request_goes_on(shared, stage):
    session = shared.client.session(capabilities={"elicitation": {}})
    with session.begun(
        "tools/call", {"name": "bad__ask", "arguments": {"method": "elicitation/create"}}, 7
    ) as stream:
        stream.until(b"elicitation/create")
        refused(session.request("ping", number=7), 400, -32600)
        assert session.request("ping", number=8).result == {}
        session.post({"jsonrpc": "2.0", "id": 1, "result": {"action": "decline"}})
        stream.until(b"decline")
    assert session.request("ping", number=7).result == {}
    assert session.delete().status == 204


# -- batches ----------------------------------------------------------------------------------------------------------


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2025-11-25"])
def test_a_batch_is_refused_where_there_are_none(shared, version):
    refused(shared.client.session(version).post([PING]), 400, -32600)


def test_a_batch_without_a_session_is_refused(shared):
    refused(shared.client.post([PING]), 400, -32600)
    refused(shared.client.post([PING], headers={"MCP-Protocol-Version": "2026-07-28"}), 400, -32600)


def test_a_batch_of_2025_03_26_is_answered_as_one(shared):
    session = shared.client.session("2025-03-26")
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": ECHO}
    note = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}}
    bad = [
        5,
        None,
        [],
        {},
        {"id": 3},
        {"jsonrpc": "2.0", "id": 4},
        {"jsonrpc": "2.0", "id": 1.5, "method": "ping"},
    ]
    answers = session.post([PING, note, call, *bad]).json()
    by_id = {json.dumps(answer.get("id")): answer for answer in answers}
    assert by_id["1"]["result"] == {}
    assert by_id["2"]["result"]["content"][0]["text"] == "x"
    assert by_id["1.5"]["error"]["code"] == -32600
    assert (
        sum(1 for answer in answers if answer.get("id") is None) == 3
    )  # those of which nobody knows whose they are


def test_a_batch_of_notifications_is_accepted_without_an_answer(shared):
    session = shared.client.session("2025-03-26")
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answer = session.post([note, note])
    assert (answer.status, answer.body) == (202, b"")


def test_an_empty_batch_is_refused(shared):
    refused(shared.client.session("2025-03-26").post([]), 400, -32600)


def test_a_batch_of_thousands_is_answered_completely(shared):
    session = shared.client.session("2025-03-26")
    batch = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": ECHO} for number in range(3000)
    ]
    answers = session.post(batch).json()
    assert sorted(answer["id"] for answer in answers) == list(range(3000))
    assert all("result" in answer for answer in answers)


# -- versions and headers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["1999-01-01", "", "x" * 1000, "2026-07-29", "DRAFT-2026-v1"])
def test_a_header_with_an_unknown_version_is_refused_with_what_there_is(shared, version):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    error = refused(shared.client.post(body, headers={"MCP-Protocol-Version": version}), 400, -32022)
    assert "2026-07-28" in error["data"]["supported"]
    assert "2025-11-25" in error["data"]["supported"]


@pytest.mark.parametrize("version", ["1999-01-01", "", "tomorrow"])
def test_a_handshake_in_an_unknown_version_is_answered_in_the_newest_old_one(shared, version):
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {}}
    answer = shared.client.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    assert answer.result["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize(
    "params", [{}, {"protocolVersion": 5}, {"protocolVersion": None}, {"protocolVersion": []}]
)
def test_a_handshake_without_a_version_is_refused(shared, params):
    refused(
        shared.client.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}), 400, -32602
    )


@pytest.mark.parametrize("capabilities", [5, [], "x", {"elicitation": 5}, {"": {}}, {"roots": None}])
def test_odd_capabilities_harm_nobody(shared, capabilities):
    session = shared.client.session(capabilities=capabilities)
    assert session.call("good__echo", {"text": "x"}).text == "x"
    assert session.delete().status == 204


def modern(shared, headers, method="tools/call", params=ECHO, drop=()):
    body, fields = _request(shared, method, params)
    sent = {name: value for name, value in {**fields, **headers}.items() if name not in drop}
    return shared.client.post(body, headers=sent)


def _request(shared, method, params):
    import sys

    return sys.modules["gateway_hostile_stage"].modern_request(method, params)


@pytest.mark.parametrize(
    "headers",
    [{"Mcp-Method": "tools/list"}, {"Mcp-Method": ""}, {"Mcp-Method": "TOOLS/CALL"}, {"Mcp-Name": "bad__echo"}, {"Mcp-Name": ""},
     {"Mcp-Name": "=?base64?!!!?="}, {"MCP-Protocol-Version": "2025-11-25"}],
)  # fmt: skip
def test_headers_that_differ_from_the_body_are_refused(shared, headers):
    refused(modern(shared, headers), 400, -32020)


@pytest.mark.parametrize("missing", ["Mcp-Method", "Mcp-Name", "MCP-Protocol-Version"])
def test_headers_that_are_missing_are_refused(shared, missing):
    refused(modern(shared, {}, drop=(missing,)), 400, -32020)


def test_a_header_given_twice_does_not_pass(shared):
    body, fields = _request(shared, "tools/call", ECHO)
    data = json.dumps(body).encode()
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    text = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{shared.client.port}\r\nContent-Type: application/json\r\n"
        f"Accept: application/json\r\nConnection: close\r\nContent-Length: {len(data)}\r\n{head}Mcp-Method: tools/list\r\n\r\n"
    )
    assert shared.client.raw(text.encode() + data).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "meta",
    [{}, {f"{META}protocolVersion": "2026-07-28"}, {f"{META}protocolVersion": 5, f"{META}clientCapabilities": {}},
     {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": []}],
)  # fmt: skip
def test_a_request_of_the_newer_era_that_does_not_say_who_asks_is_refused(shared, meta):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    answer = shared.client.post(
        body, headers={"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
    )
    refused(answer, 400, -32602)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "HEAD", "TRACE"])
def test_other_methods_of_http_are_refused_in_the_newer_era(shared, method):
    answer = shared.client.send(
        method, "/mcp", headers={"MCP-Protocol-Version": "2026-07-28", "Accept": "*/*"}
    )
    assert answer.status in {405, 501, 400}


@pytest.mark.parametrize(
    "body",
    [
        {"jsonrpc": "1.0"},
        {"jsonrpc": None},
        {"jsonrpc": "2.0", "method": 5},
        {"jsonrpc": "2.0", "method": []},
    ],
)
def test_what_is_no_request_of_ours_is_refused(shared, body):
    session = shared.client.session()
    refused(session.post({"id": 1, "method": "ping", **body}), 400, -32600)


# -- answers and cancellations that nobody waits for ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [{"id": 1, "result": {}}, {"id": 99999, "result": {}}, {"id": "x", "error": {"code": 1, "message": "x"}}, {"id": None, "result": 5},
     {"id": ["x"], "result": {}}, {"id": 2**70, "error": 5}, {"result": {}}, {}],
)  # fmt: skip
def test_an_answer_to_a_question_that_nobody_asked_is_accepted_and_dropped(shared, body):
    assert shared.client.session().post({"jsonrpc": "2.0", **body}).status in {202, 400}


@pytest.mark.parametrize("wanted", [1, "x", None, [], {}, 1.5, True, 2**70])
def test_cancelling_what_is_not_there_is_accepted_and_dropped(shared, wanted):
    session = shared.client.session()
    assert session.notify("notifications/cancelled", {"requestId": wanted}).status == 202
    assert session.request("ping").result == {}


def test_nobody_can_cancel_the_request_of_another_session(shared, stage):
    first, second = shared.client.session(), shared.client.session()
    before = shared.noted.count("called hang")
    call = stage.in_background(lambda: first.call("hang", number=42))
    shared.until_noted("called hang", before + 1)
    assert second.notify("notifications/cancelled", {"requestId": 42}).status == 202
    assert second.request("ping").result == {}
    assert not call.done()
    assert first.notify("notifications/cancelled", {"requestId": 42}).status == 202
    assert call.result(stage.PATIENCE).status in {200, 202}


# -- addresses --------------------------------------------------------------------------------------------------------


def test_an_unknown_profile_is_not_found_and_the_known_ones_are_named(shared):
    answer = shared.client.modern("tools/list", path="/mcp/nobody")
    assert answer.status == 404
    assert "/mcp/calm" in answer.error["message"]
    assert shared.client.send("GET", "/sse/nobody").status == 404


def test_a_profile_shows_and_calls_only_its_own(shared):
    assert set(shared.client.tools("/mcp/calm")) >= {"good__echo"}
    assert not any(name.startswith("bad__") for name in shared.client.tools("/mcp/calm"))
    answer = shared.client.call("bad__echo", {"text": "x"}, path="/mcp/calm")
    assert answer.error["code"] == -32602
    session = shared.client.session(path="/mcp/calm")
    assert session.call("bad__echo").error["code"] == -32602


def test_a_session_of_a_profile_keeps_to_it_at_another_address(shared, stage):
    calm = shared.client.session(path="/mcp/calm")
    widened = stage.Session(shared.client, calm.id, calm.version, "/mcp")
    assert not any(tool["name"].startswith("bad__") for tool in widened.request("tools/list").result["tools"])
    assert widened.call("bad__echo").error["code"] == -32602


@pytest.mark.parametrize(
    "path", ["/nothing", "/mcp/", "/mcp/calm/x", "/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/assets/../../serving.py", "//", "/api/none", "/messages"]
)  # fmt: skip
def test_addresses_that_lead_nowhere_are_not_found(shared, path):
    answer = shared.client.send("GET", path)
    assert answer.status in {400, 404, 405}
    assert b"root:" not in answer.body


def test_raw_nonsense_instead_of_http_is_refused(shared):
    for data in (
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"hello\r\n\r\n",
        b"GET /mcp HTTP/9.9\r\n\r\n",
        b"\0" * 100,
    ):
        assert shared.client.raw(data, half_close=True)[:9] in {b"HTTP/1.1 ", b""}


def test_requests_smuggled_in_a_body_are_not_answered(shared):
    port = shared.client.port
    text = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
        f"0\r\n\r\nGET /api/status HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
    )
    answer = shared.client.raw(text.encode(), half_close=True)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"servers" not in answer
