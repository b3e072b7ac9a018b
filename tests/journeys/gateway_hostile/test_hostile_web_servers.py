"""Servers at an address that refuse, break off, go on for ever, lead elsewhere, or forget us."""

from __future__ import annotations

import json
import socket

import pytest


@pytest.fixture
def web(web_villains):
    with web_villains.web_villain() as villain:
        yield villain


@pytest.fixture
def house(opened, stage, web):
    url = {"url": web.url, "timeout": "20s", "headers": {"Authorization": "Bearer quite-secret-thing"}}
    return opened({"mcpServers": {"web": url, "good": stage.villain(tools=["echo"])}})


def only_calls(answer):
    """Everything but calls is answered as it should be."""
    return lambda handler, message: (
        message.get("method") == "tools/call" and bool(answer(handler, message) or True)
    )


def fails(house, *words):
    answer = house.client.call("other")
    assert answer.status == 200
    assert answer.result["isError"] is True
    for word in words:
        assert word in answer.text, answer.text
    assert "quite-secret-thing" not in answer.text
    assert house.client.call("good__echo", {"text": "calm"}).text == "calm"
    return answer


def comes_back(house, stage, web):
    web.answer = lambda _handler, _message: False
    stage.until(
        lambda: house.client.call("other").last.get("result", {}).get("isError") is not True, "its return"
    )


@pytest.mark.parametrize(
    ("status", "words"),
    [(401, ["HTTP 401", "credentials"]), (403, ["HTTP 403"]), (404, []), (429, ["HTTP 429"]), (500, ["HTTP 500"]),
     (502, ["HTTP 502"]), (418, ["HTTP 418"]), (204, []), (202, [])],
)  # fmt: skip
def test_a_call_that_is_answered_with_a_bare_status_is_an_error_that_says_so(
    house, stage, web, web_villains, status, words
):
    web.answer = only_calls(lambda handler, _: web_villains.reply(handler, status))
    fails(house, *words)
    comes_back(house, stage, web)


def test_a_server_that_refuses_everything_from_the_start_is_told_with_its_status(
    opened, stage, web, web_villains
):
    web.answer = lambda handler, _: web_villains.reply(handler, 401, b"who are you?") or True
    house = opened({"mcpServers": {"web": {"url": web.url}, "good": stage.villain()}})
    detail = house.client.servers()["web"]["detail"]
    assert "HTTP 401" in detail
    assert "who are you?" in detail
    house.is_well()


def test_an_address_where_nobody_listens_is_told(opened, stage):
    with socket.socket() as plug:
        plug.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{plug.getsockname()[1]}/mcp"
        house = opened({"mcpServers": {"web": {"url": url}, "good": stage.villain()}})
    assert "cannot be reached" in house.client.servers()["web"]["detail"]
    house.is_well()


def test_an_answer_that_is_closed_in_the_middle_is_an_error_and_not_repeated(house, stage, web):
    """What was asked may have been done, so it must not be asked again behind the agent's back."""

    def cut(handler, _):
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b'{"jsonrpc": "2.0"')
        handler.close_connection = True

    web.answer = only_calls(cut)
    before = web.count("tools/call")
    fails(house, "may or may not have been done")
    assert web.count("tools/call") == before + 1
    comes_back(house, stage, web)


def test_a_connection_that_is_closed_without_a_word_is_an_error(house, stage, web):
    def hang_up(handler, _):
        handler.close_connection = True
        handler.connection.shutdown(socket.SHUT_RDWR)

    web.answer = only_calls(hang_up)
    fails(house)
    comes_back(house, stage, web)


def test_a_stream_that_ends_before_the_result_is_an_error(house, stage, web, web_villains):
    def end_early(handler, _):
        web_villains.stream(handler)
        handler.wfile.write(
            b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n\n'
        )

    web.answer = only_calls(end_early)
    fails(house, "before the result")
    comes_back(house, stage, web)


def test_a_stream_that_never_ends_and_never_answers_ends_with_the_timeout(opened, stage, web, web_villains):
    house = opened(
        {"mcpServers": {"web": {"url": web.url, "timeout": "2s"}, "good": stage.villain(tools=["echo"])}}
    )

    def for_ever(handler, _):
        web_villains.stream(handler)
        while not web.let_go.wait(0.01):
            handler.wfile.write(b": still here\n\n" * 10)

    web.answer = only_calls(for_ever)
    fails(house, "did not answer within 2 s")
    comes_back(house, stage, web)


def test_a_stream_that_goes_on_after_the_result_does_not_keep_the_caller(house, web, web_villains):
    def talkative(handler, message):
        web_villains.stream(handler)
        result = {
            "jsonrpc": "2.0",
            "id": message["id"],
            "result": {"content": [{"type": "text", "text": "at last"}]},
        }
        handler.wfile.write(b"data: " + json.dumps(result).encode() + b"\n\n")
        web.let_go.wait(60)

    web.answer = only_calls(talkative)
    assert house.client.call("other").text == "at last"
    assert house.client.call("good__echo", {"text": "calm"}).text == "calm"


def test_a_stream_of_garbage_is_skipped_until_the_result(house, web, web_villains):
    def noisy(handler, message):
        web_villains.stream(handler)
        result = {
            "jsonrpc": "2.0",
            "id": message["id"],
            "result": {"content": [{"type": "text", "text": "found"}]},
        }
        junk = b"data: nonsense\n\nevent: odd\ndata: {}\n\nid: \0\n\ndata: [1]\n\nretry: x\n\n:\n\ndata\n\n\xff\xfe\n\n"
        handler.wfile.write(junk * 50 + b"data: " + json.dumps(result).encode() + b"\n\n")

    web.answer = only_calls(noisy)
    assert house.client.call("other").text == "found"


@pytest.mark.parametrize("kind", ["text/html", "text/plain", "application/octet-stream", "", "image/png; x"])
def test_an_answer_of_another_type_is_an_error_that_names_it(house, stage, web, web_villains, kind):
    web.answer = only_calls(
        lambda handler, _: web_villains.reply(handler, 200, b"<html>hello</html>", **{"Content-Type": kind})
    )
    fails(house, kind.split(";", maxsplit=1)[0] or "no content type")
    comes_back(house, stage, web)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_in_a_circle_are_an_error(house, stage, web, web_villains, status):
    web.answer = only_calls(lambda handler, _: web_villains.reply(handler, status, Location="/mcp"))
    fails(house, "redirects in circles")
    comes_back(house, stage, web)


def test_a_redirect_to_another_place_is_not_followed_with_our_credentials(house, stage, web, web_villains):
    with web_villains.web_villain() as elsewhere:
        web.answer = only_calls(lambda handler, _: web_villains.reply(handler, 307, Location=elsewhere.url))
        fails(house, "redirects to another place")
        assert elsewhere.seen == []
    comes_back(house, stage, web)


def test_a_session_that_was_lost_is_begun_anew_and_the_call_is_made(house, web):
    assert house.client.call("other", {"text": "one"}).text == "one"
    web.forgotten = {f"session-{number}" for number in range(1, web.sessions + 1)}
    assert house.client.call("other", {"text": "two"}).text == "two"
    legacy = house.client.session()
    assert legacy.call("other", {"text": "three"}).text == "three"
    web.forgotten = {f"session-{number}" for number in range(1, web.sessions + 1)}
    assert legacy.call("other", {"text": "four"}).text == "four"


def test_a_server_that_forgets_every_session_at_once_is_an_error_and_not_a_loop(house, stage, web):
    web.forgotten = {f"session-{number}" for number in range(10_000)}
    before = web.count("tools/call")
    fails(house, "forgets its sessions")
    assert web.count("tools/call") - before <= 2
    web.forgotten = set()
    comes_back(house, stage, web)


@pytest.mark.parametrize("how", ["whole", "stream"])
def test_an_answer_of_more_than_the_limit_is_refused(house, stage, web, web_villains, how):
    def huge(handler, message):
        head = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % message["id"]
        if how == "stream":
            web_villains.stream(handler)
            handler.wfile.write(b"data: " + head)
        else:
            handler.send_response(200)
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Content-Length", str(80 * 1024 * 1024))
            handler.end_headers()
            handler.close_connection = True
        for _ in range(80):
            handler.wfile.write(b"x" * 1024 * 1024)

    web.answer = only_calls(huge)
    fails(house, "64 MiB")
    comes_back(house, stage, web)


def test_the_token_of_a_client_is_never_passed_on(opened, stage, web, journey):
    journey.environment["DOOR"] = "open-sesame-please"
    house = opened({"mcpServers": {"web": {"url": web.url}}, "listen": {"tokens": ["${env:DOOR}"]}})
    client = stage.Client(house.client.port, headers={"Authorization": "Bearer open-sesame-please"})
    assert client.call("echo", {"text": "x"}).text == "x"
    session = client.session()
    assert session.call("echo", {"text": "x"}).text == "x"
    assert web.headers
    assert not any("open-sesame-please" in str(headers) for headers in web.headers)


def test_connections_to_a_rude_server_are_not_left_behind(house, stage, web, web_villains):
    house.client.call("other")
    before = house.descriptors()
    web.answer = only_calls(lambda handler, _: web_villains.reply(handler, 500, Connection="close"))
    for _ in range(50):
        house.client.call("other")
    comes_back(house, stage, web)
    stage.until(lambda: house.descriptors() <= before + 3, "as many descriptors as before")


def test_a_call_that_is_cancelled_when_its_server_is_gone_leaves_no_traceback(opened, stage, web_villains):
    with web_villains.web_villain() as web:
        house = opened({"mcpServers": {"web": {"url": web.url}}})
        web.answer = only_calls(lambda _handler, _message: web.let_go.wait(60))
        body, headers = stage.modern_request("tools/call", {"name": "echo", "arguments": {}})
        stream = house.client.begun("POST", "/mcp", json.dumps(body).encode(), headers)
        stage.until(lambda: web.count("tools/call"), "the call")
        web.close_door()
        stream.close()
        stage.until(lambda: house.client.metric("in_flight") == 0, "the end of the call")
        house.client.call("echo")
        stage.until(lambda: house.client.servers()["web"]["state"] == "failed", "that it is known to be gone")
    assert "Traceback" not in house.said
