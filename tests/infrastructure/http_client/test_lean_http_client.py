"""The HTTP client by itself; what MCP servers and model APIs make of it is tested with them."""

from __future__ import annotations

import asyncio
import re

import pytest

from awf.domain.ports.http_client import HttpBroken, HttpGarbled, HttpTooLarge, HttpUnreachable
from awf.infrastructure.http_client import LeanHttpClient
from awf.infrastructure.http_client.address import address_of
from awf.infrastructure.http_client.known_heads import KnownHeads
from awf.testing.loopback import Loopback

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 5\r\n\r\nhello"


class Place(Loopback):
    """Answers each request with the next of its answers; with None it hangs up, and after b"" it waits."""

    def __init__(self, *answers):
        super().__init__()
        self.answers = list(answers)
        self.heads: list[str] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self.gone = asyncio.Event()

    async def serve(self, reader, writer):
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
                self.heads.append(head)
                self.bodies.append(await reader.readexactly(int(length.group(1))) if length else b"")
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                if answer is None:
                    return
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            self.gone.set()


@pytest.fixture
async def http():
    client = LeanHttpClient()
    async with asyncio.timeout(30):
        yield client
        await client.close()


async def test_an_answer_has_a_status_headers_and_a_body(http):
    async with Place(OK) as place, await http.send("GET", place.url + "/a?b=c") as answer:
        assert (answer.status, answer.content_type) == (200, "text/plain")
        assert answer.headers["content-length"] == "5"
        assert await answer.body(100) == b"hello"
        assert await answer.chunk() == b""
    assert place.heads[0].startswith("GET /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:")
    assert "Content-Length" not in place.heads[0]


async def test_a_body_and_headers_are_sent(http):
    async with Place(OK) as place:
        headers = {"X-One": "1", "user-agent": "mine"}
        (await http.send("POST", place.url, headers=headers, body=b"data")).finish()
        (await http.send("POST", place.url)).finish()
    assert place.bodies == [b"data", b""]
    assert "X-One: 1\r\n" in place.heads[0]
    assert "user-agent: mine\r\n" in place.heads[0]
    assert "User-Agent: awf/" not in place.heads[0]
    assert "Content-Length: 0\r\n" in place.heads[1]


@pytest.mark.parametrize(
    "headers",
    [
        {"X": "a\r\nY: b"},
        {"X": "a\nb"},
        {"X": "a\x00"},
        {"X\r\nY": "a"},
        {"X Y": "a"},
        {"": "a"},
        {"Content-Length": "3"},
        {"transfer-encoding": "chunked"},
    ],
)
async def test_a_header_that_would_break_the_request_is_refused(http, headers):
    with pytest.raises(ValueError, match="cannot be sent"):
        await http.send("GET", "http://127.0.0.1:1/", headers=headers)


async def test_a_connection_serves_one_request_after_the_other(http):
    async with Place(OK) as place:
        for _ in range(3):
            async with await http.send("GET", place.url) as answer:
                await answer.body(100)
        assert place.connections == 1


async def test_what_is_left_of_an_answer_does_not_end_its_connection(http):
    async with Place(OK) as place:
        (await http.send("GET", place.url)).finish()
        async with await http.send("GET", place.url) as answer:
            assert await answer.body(100) == b"hello"
        assert place.connections == 1


async def test_chunks_are_given_as_they_come(http):
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with Place(head + b"3\r\none\r\n") as place, await http.send("GET", place.url) as answer:
        assert await answer.chunk() == b"one"
        answer.abort()


async def test_leaving_by_an_exception_closes_the_connection_at_once(http):
    async with Place(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\nx") as place:
        with pytest.raises(ZeroDivisionError):
            async with await http.send("GET", place.url):
                raise ZeroDivisionError
        await place.gone.wait()


async def test_waiting_for_an_answer_can_be_cancelled(http):
    async with Place(b"") as place:
        waiting = asyncio.get_running_loop().create_task(http.send("GET", place.url))
        while not place.heads:
            await asyncio.sleep(0.001)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await place.gone.wait()


async def test_a_body_over_the_limit_is_not_taken(http):
    async with Place(OK) as place:
        with pytest.raises(HttpTooLarge):
            async with await http.send("GET", place.url) as answer:
                await answer.body(4)


@pytest.mark.parametrize("cut", [b"", b"HTTP/1.1 200 OK\r\n", OK[:-2]])
async def test_an_answer_that_ends_too_early_is_broken(http, cut):
    async with Place(None) as place:
        place.answers = [cut, None]

        async def read():
            async with await http.send("GET", place.url) as answer:
                await answer.body(100)

        reading = asyncio.get_running_loop().create_task(read())
        while not place.heads:
            await asyncio.sleep(0.001)
        await place.__aexit__()
        with pytest.raises(HttpBroken):
            await reading


async def test_what_is_not_http_is_garbled(http):
    async with Place(b"220 mail.example.org ESMTP\r\n") as place:
        with pytest.raises(HttpGarbled, match="not HTTP"):
            await http.send("GET", place.url)


async def test_a_kept_connection_that_breaks_is_replaced_only_where_that_does_no_harm(http):
    async with Place(OK, None, OK) as place:
        (await http.send("GET", place.url)).finish()
        async with await http.send("GET", place.url, repeatable=True) as answer:
            assert answer.status == 200
        assert place.connections == 2
    async with Place(OK, None, OK) as place:
        (await http.send("GET", place.url)).finish()
        with pytest.raises(HttpBroken):
            await http.send("GET", place.url)


@pytest.mark.parametrize("url", ["ftp://x", "/relative", "http://", "http://[::"])
async def test_what_is_no_http_address_is_refused(http, url):
    with pytest.raises(ValueError, match=r".+"):
        await http.send("GET", url)


async def test_a_place_where_nobody_listens_is_unreachable(http):
    async with Place(OK) as place:
        url = place.url
    with pytest.raises(HttpUnreachable, match="refused"):
        await http.send("GET", url)


async def test_a_closed_client_sends_nothing():
    client = LeanHttpClient()
    async with Place(OK) as place:
        (await client.send("GET", place.url)).finish()
        await client.close()
        with pytest.raises(HttpUnreachable):
            await client.send("GET", place.url)
        assert len(place.heads) == 1


@pytest.mark.parametrize(
    ("url", "authority", "target"),
    [
        ("http://Example.org", "example.org", "/"),
        ("https://example.org:443/a/b?c=d&e", "example.org", "/a/b?c=d&e"),
        ("http://[::1]:8080/mcp#part", "[::1]:8080", "/mcp"),
        ("http://bücher.example/ü x", "xn--bcher-kva.example", "/%C3%BC%20x"),
        ("http://a/%20already", "a", "/%20already"),
    ],
)
def test_an_address_is_taken_apart(url, authority, target):
    address = address_of(url)

    assert (address.authority, address.target) == (authority, target)
    assert address_of(address.url) == address


# -- without waiting


class Told:
    def __init__(self):
        self.answers = []
        self._news = asyncio.Event()

    def __call__(self, answer):
        self.answers.append(answer)
        self._news.set()

    async def until(self, holds):
        async with asyncio.timeout(30):
            while not (self.answers and holds(self.answers[-1])):
                self._news.clear()
                await self._news.wait()
        return self.answers[-1]


async def test_a_route_sends_over_a_kept_connection_and_only_over_one(http):
    async with Place(OK) as place:
        route = http.route("POST", place.url, {"X-A": "b"})
        told = Told()
        assert route.send_now(b"early", told, None) is None
        async with await http.send("POST", place.url, body=b"first") as answer:
            await answer.body(100)
        for number in range(3):
            tag = object()
            sent = route.send_now(b"n%d" % number, told, tag)
            answer = await told.until(lambda answer, sent=sent: answer is sent and answer.complete)
            assert (answer.status, answer.whole(), answer.held, answer.tag) == (200, b"hello", 5, tag)
            assert answer.content_type == "text/plain"
            answer.finish()
        assert (place.connections, place.bodies) == (1, [b"first", b"n0", b"n1", b"n2"])
        assert "X-A: b\r\n" in place.heads[1]


async def test_a_route_tells_of_a_connection_that_breaks(http):
    async with Place(OK, None) as place:
        async with await http.send("POST", place.url) as answer:
            await answer.body(100)
        told = Told()
        sent = http.route("POST", place.url, {}).send_now(b"", told, None)
        answer = await told.until(lambda answer: answer.failure is not None)
        assert answer is sent
        assert isinstance(answer.failure, HttpBroken)
        with pytest.raises(HttpBroken):
            await answer.opened()


async def test_a_route_refuses_what_cannot_be_sent(http):
    with pytest.raises(ValueError, match="cannot be sent"):
        http.route("POST", "http://127.0.0.1", {"X": "a\r\nb"})


class Heard:
    def __init__(self):
        self.status, self.headers, self.complete, self.body = 0, {}, False, b""

    def put(self, data):
        self.body += data


def test_only_a_whole_answer_with_a_head_that_was_read_before_is_recognised():
    known, read = KnownHeads(), Heard()
    read.status, read.headers = 200, {"content-length": "5"}
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
    assert not known.recognise(head + b"hello", Heard())
    known.remember(head + b"hello", read)
    heard = Heard()
    assert known.recognise(head + b"other", heard)
    assert (heard.status, heard.headers, heard.body, heard.complete) == (200, read.headers, b"other", True)
    for data in (head, head + b"long one", head + b"hell", head[:-2], b"", head.lower() + b"hello"):
        heard = Heard()
        assert not known.recognise(data, heard)
        assert (heard.status, heard.complete) == (0, False)


@pytest.mark.parametrize(
    "headers", [{}, {"content-length": "4"}, {"content-length": "5", "transfer-encoding": "chunked"}]
)
def test_an_answer_that_its_head_does_not_tell_the_length_of_is_not_remembered(headers):
    known, read = KnownHeads(), Heard()
    read.status, read.headers = 200, headers
    data = b"HTTP/1.1 200 OK\r\n\r\nhello"
    known.remember(data, read)
    assert not known.recognise(data, Heard())


def test_only_some_heads_are_remembered():
    known, read = KnownHeads(), Heard()
    read.status, read.headers = 200, {"content-length": "0"}
    for number in range(1000):
        known.remember(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: %d\r\n\r\n" % number, read)
    assert len(known._heads) <= 64
