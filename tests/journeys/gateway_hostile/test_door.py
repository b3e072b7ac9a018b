"""Who may come in: names, origins, tokens, how often and how many at once."""

from __future__ import annotations

import json

import pytest

TOKEN, OTHER = "correct-horse-battery-staple", "another-person-altogether"


@pytest.fixture
def guarded(opened, stage, journey):
    journey.environment |= {"TOKEN_ONE": TOKEN, "TOKEN_TWO": OTHER}
    listen = {"tokens": ["${env:TOKEN_ONE}", "${env:TOKEN_TWO}"]}
    return opened({"mcpServers": {"bad": stage.villain()}, "listen": listen}, log="info")


def bearer(stage, house, token, **headers):
    return stage.Client(house.client.port, headers={"Authorization": f"Bearer {token}", **headers})


# -- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost", "127.0.0.1:1", "127.0.0.1@evil", "[::1", "", "localhost:0x50", "2130706433"]
)  # fmt: skip
def test_a_foreign_host_is_refused_everywhere(shared, host):
    for path in ("/mcp", "/sse", "/messages", "/", "/api/status", "/metrics", "/healthz"):
        with shared.client.begun("GET", path, headers={"Host": host}) as stream:
            assert stream.rest()[:12] in {b"HTTP/1.1 403", b"HTTP/1.1 400"}, path


def test_two_hosts_are_refused(shared):
    text = f"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1:{shared.client.port}\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert shared.client.raw(text.encode()).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1.evil.example", "http://localhost:1", "file://", "", "http://127.0.0.1", "*"]
)  # fmt: skip
def test_a_page_of_somebody_else_is_refused_and_not_encouraged(shared, stage, origin):
    body, headers = stage.modern_request("tools/list")
    answer = shared.client.post(body, headers={**headers, "Origin": origin})
    assert answer.status == 403
    assert "access-control-allow-origin" not in answer.headers
    ask = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    answer = shared.client.send("OPTIONS", "/mcp", headers=ask)
    assert answer.status == 403
    assert "access-control-allow-origin" not in answer.headers


def test_the_own_page_may_ask(shared, stage):
    body, headers = stage.modern_request("tools/list")
    own = {"Origin": f"http://127.0.0.1:{shared.client.port}"}
    assert shared.client.post(body, headers={**headers, **own}).status == 200


# -- tokens -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/mcp", "/sse", "/messages", "/api/status", "/api/tools", "/metrics", "/mcp/none", "/nowhere"]
)
def test_without_a_token_nothing_is_shown(guarded, path):
    for method in ("GET", "POST"):
        answer = guarded.client.send(method, path, b"{}" if method == "POST" else b"")
        assert answer.status == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert b"villain" not in answer.body
    assert guarded.client.get("/healthz").status == 200


@pytest.mark.parametrize(
    "value", [f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", f"Bearer {TOKEN} {OTHER}", "Bearer", "Bearer ", TOKEN, f"Bearer\t{TOKEN}", "Bearer " + "x" * 20_000]
)  # fmt: skip
def test_a_wrong_token_is_refused_and_not_repeated(guarded, value):
    answer = guarded.client.get("/api/status", Authorization=value)
    assert answer.status == 401
    assert TOKEN[:-1] not in str(answer.headers) + answer.body.decode()
    assert TOKEN[:-1] not in guarded.said


def test_two_authorizations_are_refused(guarded):
    head = f"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1:{guarded.client.port}\r\nConnection: close\r\n"
    text = head + f"Authorization: Bearer x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    assert guarded.client.raw(text.encode())[:12] in {b"HTTP/1.1 400", b"HTTP/1.1 401"}


def test_a_token_in_the_address_is_not_taken(guarded):
    answer = guarded.client.get(f"/api/status?access_token={TOKEN}")
    assert answer.status == 401
    assert "logs" in answer.error["message"]


def test_the_right_token_opens_and_a_session_belongs_to_it_alone(guarded, stage):
    mine, yours = bearer(stage, guarded, TOKEN), bearer(stage, guarded, OTHER)
    session = mine.session()
    assert session.call("echo", {"text": "x"}).text == "x"
    stolen = stage.Session(yours, session.id, session.version)
    assert stolen.request("tools/list").status == 404
    assert stolen.delete().status == 404
    with stolen.listen() as stream:
        assert b" 404 " in stream.rest().splitlines()[0]
    bare = stage.Session(guarded.client, session.id, session.version)
    assert bare.request("tools/list").status == 401
    assert session.request("ping").result == {}


def test_an_older_stream_belongs_to_its_token_alone(guarded, stage):
    mine, yours = bearer(stage, guarded, TOKEN), bearer(stage, guarded, OTHER)
    with mine.begun("GET", "/sse") as stream:
        stream.until(b"session_id=")
        address = stream.until(b"\n\n").decode().rpartition("data: ")[2].split()[0]
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        assert yours.post(ping, address).status == 404
        assert guarded.client.post(ping, address).status == 401
        assert mine.post(ping, address).status == 202
        stream.until(b'"id":1')


def test_the_tokens_are_told_nowhere(guarded, stage):
    client = bearer(stage, guarded, TOKEN)
    client.call("echo", {"text": "x"})
    client.call("nothing", {"text": "x"})
    guarded.reload()
    guarded.until_said("the configuration was taken over")
    shown = "".join(
        client.get(path).body.decode() for path in ("/api/status", "/api/tools", "/api/calls", "/metrics")
    )
    assert TOKEN not in shown + guarded.said
    assert OTHER not in shown + guarded.said


def test_a_token_that_was_taken_away_no_longer_opens(guarded, stage):
    client = bearer(stage, guarded, OTHER)
    assert client.get("/api/status").status == 200
    guarded.configure({"mcpServers": {"bad": stage.villain()}, "listen": {"tokens": ["${env:TOKEN_ONE}"]}})
    guarded.until_said("the configuration was taken over")
    assert client.get("/api/status").status == 401
    assert bearer(stage, guarded, TOKEN).get("/api/status").status == 200


# -- how much ---------------------------------------------------------------------------------------------------------


def test_whoever_comes_too_often_is_told_to_wait(opened, stage):
    house = opened({"mcpServers": {"bad": stage.villain()}, "listen": {"rate": 0.02}})
    statuses = [house.client.modern("tools/list") for _ in range(4)]
    late = statuses[-1]
    assert late.status == 429
    assert int(late.headers["retry-after"]) >= 1
    assert house.client.get("/healthz").status == 200


def test_guessing_tokens_does_not_use_up_what_others_may(opened, stage, journey):
    journey.environment["TOKEN_ONE"] = TOKEN
    listen = {"rate": 0.05, "tokens": ["${env:TOKEN_ONE}"]}
    house = opened({"mcpServers": {"bad": stage.villain()}, "listen": listen})
    statuses = {bearer(stage, house, f"guess-{number}").get("/api/status").status for number in range(5)}
    assert 429 in statuses
    assert bearer(stage, house, TOKEN).get("/api/status").status == 200


def test_more_requests_at_once_than_allowed_are_turned_away_and_later_served(opened, stage):
    house = opened({"mcpServers": {"bad": stage.villain()}, "listen": {"concurrency": 2}})
    body, headers = stage.modern_request("tools/call", {"name": "hang", "arguments": {}})
    streams = [house.client.begun("POST", "/mcp", json.dumps(body).encode(), headers) for _ in range(2)]
    house.until_noted("called hang", 2)
    answer = house.client.call("echo", {"text": "x"})
    assert answer.status == 503
    assert answer.headers["retry-after"]
    for stream in streams:
        stream.close()
    house.until_noted("cancelled", 2)
    house.is_well()


def test_an_open_door_for_everyone_is_refused(journey, stage):
    name = journey.write("gateway.json", json.dumps({"mcpServers": {"bad": stage.villain()}}))
    told = journey.awf("gateway", "serve", "--config", name, "--host", "0.0.0.0", "--port", "0")
    told.one_error("USER.GATEWAY.OPEN_DOOR")


def test_a_header_of_the_newer_era_does_not_let_an_older_client_past_the_limit(opened, stage):
    house = opened({"mcpServers": {"bad": stage.villain()}, "listen": {"concurrency": 2}})
    session = house.client.session()
    body, headers = stage.modern_request("tools/call", {"name": "hang", "arguments": {}})
    streams = [house.client.begun("POST", "/mcp", json.dumps(body).encode(), headers) for _ in range(2)]
    house.until_noted("called hang", 2)
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "echo", "arguments": {"text": "x"}},
    }
    answer = session.post(call, {"Mcp-Method": "subscriptions/listen"})
    for stream in streams:
        stream.close()
    assert answer.status == 503
