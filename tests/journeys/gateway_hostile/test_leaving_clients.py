"""Clients that leave, come back, read nothing, or take what is not theirs."""

from __future__ import annotations

import json
import socket

import pytest

MIB = 1024 * 1024
ASK = {"name": "ask", "arguments": {"method": "elicitation/create", "params": {"message": "well?"}}}


@pytest.fixture
def house(opened, stage):
    return opened({"mcpServers": {"bad": stage.villain()}})


def hanging(house, stage, *, modern=True, session=None, number=1):
    """A call that is under way at the server."""
    before = house.noted.count("called hang")
    if modern:
        body, headers = stage.modern_request("tools/call", {"name": "hang", "arguments": {}}, number=number)
        stream = house.client.begun("POST", "/mcp", json.dumps(body).encode(), headers)
    else:
        stream = session.begun("tools/call", {"name": "hang", "arguments": {}}, number)
    house.until_noted("called hang", before + 1)
    return stream


# -- leaving ----------------------------------------------------------------------------------------------------------


def test_a_client_of_the_newer_era_that_leaves_cancels_its_call(house, stage):
    hanging(house, stage).close()
    house.until_noted("cancelled")
    stage.until(house.client.idle, "quiet")
    house.is_well()


def test_a_client_of_the_newer_era_that_leaves_after_the_stream_has_begun_cancels_its_call(house, stage):
    with hanging(house, stage) as stream:
        stream.until(b"text/event-stream")  # begun after a moment, to show that work goes on
    house.until_noted("cancelled")
    stage.until(house.client.idle, "quiet")


def test_a_client_of_the_newer_era_that_half_closes_is_answered_or_cancelled_but_not_left_hanging(
    house, stage
):
    body, headers = stage.modern_request("tools/call", {"name": "hang", "arguments": {}})
    data = json.dumps(body).encode()
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    text = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{house.client.port}\r\nContent-Length: {len(data)}\r\n{head}\r\n"
    house.client.raw(text.encode() + data, half_close=True)
    house.until_noted("cancelled")
    stage.until(house.client.idle, "quiet")
    house.is_well()


def test_a_client_of_the_older_era_that_leaves_cancels_nothing_and_finds_its_answer_later(house, stage):
    session = house.client.session(capabilities={"elicitation": {}})
    with session.begun("tools/call", ASK) as stream:
        stream.until(b"elicitation/create")
        last = stream.event_ids()[-1]
    assert (
        session.post({"jsonrpc": "2.0", "id": 1, "result": {"action": "accept", "content": {"x": 1}}}).status
        == 202
    )
    with session.listen(last) as again:
        again.until(b"accept")
        answer = json.loads(again.until(b"\n\n").decode().partition("data: ")[2].splitlines()[0])
    assert answer["id"] == 1
    assert "accept" in answer["result"]["content"][0]["text"]
    assert "cancelled" not in house.noted
    assert session.delete().status == 204
    stage.until(house.client.idle, "quiet")


def test_an_answer_that_was_ready_before_the_client_came_back_is_replayed_again_and_again(house, stage):
    session = house.client.session(capabilities={"elicitation": {}})
    with session.begun("tools/call", ASK) as stream:
        stream.until(b"elicitation/create")
        last = stream.event_ids()[-1]
        session.post({"jsonrpc": "2.0", "id": 1, "result": {"action": "decline"}})
        stream.until(b"decline")
    for _ in range(3):
        with session.listen(last) as again:
            assert b"decline" in again.rest()
    assert session.delete().status == 204


def test_a_client_that_comes_back_twice_at_once_leaves_no_stream_hanging(house, stage):
    session = house.client.session(capabilities={"elicitation": {}})
    with session.begun("tools/call", ASK) as stream:
        stream.until(b"elicitation/create")
        last = stream.event_ids()[-1]
    with session.listen(last) as first:
        first.until(b"\r\n\r\n")
        with session.listen(last) as second:
            second.until(b"\r\n\r\n")
            ended = stage.in_background(first.rest)
            session.post({"jsonrpc": "2.0", "id": 1, "result": {"action": "decline"}})
            assert b"decline" in second.rest()
            ended.result(stage.PATIENCE)
    assert session.delete().status == 204


@pytest.mark.parametrize(
    "last",
    ["", "x", "1", "1-", "-1", "999-1", "1-999999999999999999999999", "1-1-1", "\u00b2-\u00b2", "a" * 5000],
)
def test_an_event_that_was_never_sent_begins_an_ordinary_stream(house, last):
    session = house.client.session()
    fields = {**session.headers, "Last-Event-ID": last}
    with house.client.begun("GET", "/mcp", headers=fields) as stream:
        assert b"200 OK" in stream.until(b"\r\n\r\n")
    assert session.delete().status == 204


def test_events_of_another_session_are_not_replayed(house):
    first, second = house.client.session(capabilities={"elicitation": {}}), house.client.session()
    with first.begun("tools/call", ASK) as stream:
        stream.until(b"elicitation/create")
        last = stream.event_ids()[-1]
        first.post({"jsonrpc": "2.0", "id": 1, "result": {"action": "accept", "content": {"secret": "mine"}}})
        stream.until(b"mine")
    with second.listen(last) as other:
        other.until(b"\r\n\r\n")
        assert second.delete().status == 204
        assert b"mine" not in other.rest()
    assert first.delete().status == 204


def test_a_client_that_vanishes_when_it_is_asked_something_does_not_block_the_server_for_others(
    opened, stage
):
    """It is of the older era, so its call goes on; but nobody will ever answer."""
    house = opened({"mcpServers": {"bad": stage.villain(concurrency=1, timeout="3s")}})
    session = house.client.session(capabilities={"elicitation": {}})
    with session.begun("tools/call", ASK) as stream:
        stream.until(b"elicitation/create")
    answer = house.client.call("echo", {"text": "others"}).last  # at once or after a while, but it must come
    assert "result" in answer


def test_the_end_of_a_session_ends_its_calls_and_their_clients_are_told(house, stage):
    session = house.client.session()
    with hanging(house, stage, modern=False, session=session) as stream:
        assert session.delete().status == 204
        answer = stream.rest()
        assert not answer.startswith(b"HTTP/1.1 500 "), "as if the gateway had failed"
    house.until_noted("cancelled")
    stage.until(house.client.idle, "quiet")


def test_the_end_of_a_session_ends_a_stream_that_was_taken_up_again(house, stage):
    session = house.client.session(capabilities={"elicitation": {}})
    with session.begun("tools/call", ASK) as stream:
        stream.until(b"elicitation/create")
        last = stream.event_ids()[-1]
    with session.listen(last) as again:
        again.until(b"\r\n\r\n")
        assert session.delete().status == 204
        again.rest()
    stage.until(house.client.idle, "quiet")


def test_a_cancelled_call_of_the_older_era_is_cancelled_at_the_server(house, stage):
    session = house.client.session()
    with hanging(house, stage, modern=False, session=session, number="a b") as stream:
        assert session.notify("notifications/cancelled", {"requestId": "a b"}).status == 202
        stream.rest()
    house.until_noted("cancelled")
    assert session.delete().status == 204
    stage.until(house.client.idle, "quiet")


def test_a_hundred_clients_that_leave_at_once_leave_nothing(opened, stage):
    house = opened({"mcpServers": {"bad": stage.villain(concurrency=200)}})
    house.is_well()
    before = house.descriptors()
    streams = [hanging(house, stage) for _ in range(100)]
    for stream in streams:
        stream.close()
    house.until_noted("cancelled", 100)
    stage.until(house.client.idle, "quiet")
    stage.until(lambda: house.descriptors() <= before + 1, "as many descriptors as before")


# -- sessions ---------------------------------------------------------------------------------------------------------


def test_a_session_that_has_ended_is_not_found_by_anything(house):
    session = house.client.session()
    assert session.delete().status == 204
    assert session.delete().status == 404
    answer = session.request("tools/list")
    assert answer.status == 404
    assert "initialize" in answer.error["message"]
    with session.listen() as stream:
        assert b"404" in stream.rest().splitlines()[0]


@pytest.mark.parametrize("name", ["invented", "", "x" * 10_000, "../1", "\u00e9"])
def test_an_invented_session_is_not_found(house, stage, name):
    answer = stage.Session(house.client, name.encode().decode("latin-1"), "2025-11-25").request("tools/list")
    assert answer.status == 404


def test_without_a_session_the_client_is_told_to_begin(house):
    answer = house.client.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert answer.status == 400
    assert "initialize" in answer.error["message"]


def test_a_second_stream_of_a_session_takes_over_from_the_first(house):
    session = house.client.session()
    with session.listen() as first:
        first.until(b"\r\n\r\n")
        with session.listen() as second:
            second.until(b"\r\n\r\n")
            first.rest()  # ends
            assert house.client.metric("streams") == 1
    assert session.delete().status == 204


# -- the older SSE ----------------------------------------------------------------------------------------------------


def sse(house):
    stream = house.client.begun("GET", "/sse")
    stream.until(b"\n\n")
    stream.until(b"session_id=")
    address = stream.until(b"\n").decode().partition("data: ")[2].split()[0]
    return stream, address


def test_the_older_sse_answers_rubbish_on_its_stream_and_goes_on(house, stage):
    stream, address = sse(house)
    with stream:
        for body in (
            b"rubbish",
            b"5",
            b"[]",
            b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
            b'{"id":[]}',
        ):
            assert house.client.post(body, address).status == 202
        params = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {}}
        house.client.post(
            {"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params}, address
        )
        stream.until(b'"protocolVersion"')
        house.client.post({"jsonrpc": "2.0", "id": "p", "method": "ping"}, address)
        stream.until(b'"id":"p"')
    stage.until(house.client.idle, "quiet")
    assert house.client.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, address).status == 404


def test_the_end_of_an_older_sse_stream_cancels_its_calls(house, stage):
    stream, address = sse(house)
    with stream:
        params = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {}}
        house.client.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}, address)
        stream.until(b'"protocolVersion"')
        call = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "hang", "arguments": {}},
        }
        house.client.post(call, address)
        house.client.post([{**call, "id": 2}], address)
        house.until_noted("called hang", 2)
    house.until_noted("cancelled", 2)
    stage.until(house.client.idle, "quiet")


def test_a_message_to_an_invented_stream_is_not_found(house):
    for address in (
        "/messages",
        "/messages?session_id=",
        "/messages?session_id=x",
        "/messages?session_id=../x",
    ):
        assert house.client.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, address).status == 404


# -- slow readers -----------------------------------------------------------------------------------------------------


LOG = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%s"}}' % (
    "x" * 1000
)


def test_a_client_that_does_not_read_its_stream_costs_little_and_holds_nobody_up(house, stage):
    session = house.client.session()
    session.request("logging/setLevel", {"level": "debug"})
    with session.listen() as deaf:
        deaf.until(b"\r\n\r\n")
        before = house.memory()
        for _ in range(4):
            assert house.client.call("write", {"lines": [LOG] * 1000, "times": 20}).text == "done"
        assert house.memory() - before < 80 * MIB
        house.is_well()


def test_a_client_that_does_not_read_its_answer_holds_nobody_up(house, stage):
    body, headers = stage.modern_request("tools/call", {"name": "big", "arguments": {"bytes": 20 * MIB}})
    with house.client.connect() as plug:
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        data = json.dumps(body).encode()
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        text = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{house.client.port}\r\nContent-Length: {len(data)}\r\n{head}\r\n"
        plug.sendall(text.encode() + data)
        house.until_noted("called big")
        house.is_well()
    stage.until(house.client.idle, "quiet")


def test_a_client_that_sends_its_request_drop_by_drop_is_served(house):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    session = house.client.session()
    text = f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{house.client.port}\r\nMcp-Session-Id: {session.id}\r\n"
    data = text.encode() + f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    with house.client.connect() as plug:
        plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(len(data)):
            plug.sendall(data[at : at + 1])
        answer = b"".join(iter(lambda: plug.recv(65536), b""))
    assert answer.endswith(b'{"jsonrpc":"2.0","id":1,"result":{}}')
    assert session.delete().status == 204
