"""The server around the wires: other requests, control, and odd ways to send a body."""

from __future__ import annotations

import gzip
import http.client
import json
import zlib

import pytest

CHAT = "/v1/chat/completions"
ASKED = {"messages": [{"role": "user", "content": "go"}]}


@pytest.fixture
def talk(fake):
    """Send any request; gives status and decoded body."""
    connection = http.client.HTTPConnection("127.0.0.1", fake.port, timeout=10)

    def send(method, path, body=None, headers=None, **more):
        connection.request(method, path, body, headers or {}, **more)
        answer = connection.getresponse()
        data = answer.read()
        return answer.status, json.loads(data) if data else None

    yield send
    connection.close()


@pytest.mark.parametrize(
    ("packed", "headers"),
    [
        (json.dumps(ASKED).encode(), {}),
        (gzip.compress(json.dumps(ASKED).encode()), {"Content-Encoding": "gzip"}),
        (zlib.compress(json.dumps(ASKED).encode()), {"Content-Encoding": "deflate"}),
    ],
    ids=["plain", "gzip", "deflate"],
)
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_is_read_however_it_is_sent(talk, fake, packed, headers, chunked):
    body = iter([packed[:7], packed[7:]]) if chunked else packed
    status, answer = talk("POST", CHAT, body, headers, encode_chunked=chunked)
    assert status == 200
    assert answer["choices"][0]["message"]["content"] == "Reading."
    assert fake.requests[-1]["body"] == ASKED


def test_the_server_can_be_looked_at_and_changed_while_it_runs(talk):
    assert talk("GET", "/__fake__/health") == (200, {"ok": True, "scenario": "scenario"})
    other = {"name": "other", "scripts": [{"turns": [{"text": "changed"}]}]}
    assert talk("PUT", "/__fake__/scenario", json.dumps(other))[0] == 200
    assert talk("PUT", "/__fake__/scenario", "{}")[0] == 400
    assert talk("POST", CHAT, json.dumps(ASKED))[1]["choices"][0]["message"]["content"] == "changed"
    assert [entry["kind"] for entry in talk("GET", "/__fake__/requests")[1]] == ["model"]
    assert talk("DELETE", "/__fake__/requests")[0] == 200
    assert talk("GET", "/__fake__/requests")[1] == []


def test_requests_that_ask_no_model_are_answered_and_kept(talk, fake):
    assert talk("HEAD", "/")[0] == 200
    assert talk("GET", "/v1/models")[1]["data"][0]["id"] == "fake-model"
    assert talk("GET", "/socket", headers={"Upgrade": "websocket"})[0] == 426
    assert talk("POST", "/v1/messages/count_tokens", "x" * 40)[1] == {"input_tokens": 10}
    assert talk("POST", "/v1beta/models/g:countTokens", "{}")[1] == {"totalTokens": 1}
    assert [talk(method, "/nowhere")[0] for method in ("GET", "POST", "PUT", "DELETE")] == [404] * 4
    assert {entry["kind"] for entry in fake.requests} == {"other"}
    assert fake.tool_results() == []


def test_a_client_that_goes_away_is_noticed(serve):
    fake = serve([{"text": "x" * 4000, "chunk": 1, "delay_s": 0.001}])
    connection = http.client.HTTPConnection("127.0.0.1", fake.port, timeout=10)
    connection.request("POST", CHAT, json.dumps({**ASKED, "stream": True}))
    answer = connection.getresponse()
    answer.read(10)
    answer.close()
    connection.close()
    while not any(entry["kind"] == "gone" for entry in list(fake.requests)):
        assert not fake.stopping.wait(0.01)
