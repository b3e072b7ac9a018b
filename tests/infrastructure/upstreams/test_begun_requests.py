"""Requests that are sent at once, and whose outcome is told: over HTTP and over pipes."""

from __future__ import annotations

import asyncio
import json

import pytest

from awf.domain.errors import AwfError
from awf.domain.mcp import RpcError, Verbatim
from awf.infrastructure.upstreams import frames
from awf.infrastructure.upstreams.line_splitter import LineSplitter

both_eras = pytest.mark.parametrize("era", ["legacy", "modern"])
PATIENT = 30.0


class Outcome:
    def __init__(self):
        self._told = asyncio.get_running_loop().create_future()

    def __call__(self, result, error):
        self._told.set_result((result, error))  # fails when it is told twice

    async def get(self):
        async with asyncio.timeout(PATIENT):
            return await self._told

    @property
    def told(self):
        return self._told.done()


def begin(client, name="echo", arguments=None):
    outcome = Outcome()
    params = {"name": name, "arguments": arguments or {}}
    return client.begin("tools/call", params, outcome, tag="mine"), outcome


async def begun(client, **more):
    """As soon as the connection is free: its last answer may not be over when the result was in it."""
    async with asyncio.timeout(PATIENT):
        while True:
            pending, outcome = begin(client, **more)
            if pending is not None:
                return outcome
            await asyncio.sleep(0.005)


async def connected(tools):
    """A client with a connection that is kept."""
    client = tools.client
    await client.connect()
    await client.exchange("tools/call", {"name": "echo", "arguments": {}})
    return client


@both_eras
@pytest.mark.parametrize("style", ["json", "events", "bytes"])
async def test_a_request_is_sent_at_once_however_its_answer_comes(web, serve, at, era, style):
    client = await connected(at((await serve(web.McpWeb(era, style))).url))
    for number in range(3):
        outcome = await begun(client, arguments={"n": number})
        result, error = await outcome.get()
        assert (json.loads(result["content"][0]["text"]), error) == ({"n": number}, None)


async def test_nothing_is_sent_without_a_connection(web, serve, at):
    site = await serve(web.McpWeb())
    client = at(site.url).client
    assert begin(client)[0] is None
    assert not site.requests


async def test_headers_that_repeat_arguments_take_the_usual_way(web, serve, at):
    site = await serve(web.McpWeb("modern"))
    client = await connected(at(site.url))
    before = len(site.requests)
    assert client.begin("tools/call", {"name": "echo"}, Outcome(), headers={"Mcp-Param-A": "1"}) is None
    assert len(site.requests) == before


async def test_a_result_is_kept_to_the_letter(web, serve, at):
    async def exact(request, _writer):
        said = b'{"jsonrpc":"2.0","id":%d,"result":{"n": 1.0, "content":[]}}' % request.message["id"]
        return web.whole(200, said)

    client = await connected(at((await serve(web.McpWeb(special={"exact": exact}))).url))
    _, outcome = begin(client, "exact")
    result, _ = await outcome.get()
    assert isinstance(result, Verbatim)
    assert result.written == b'{"n": 1.0, "content":[]}'


@both_eras
async def test_the_error_of_a_server_is_told(web, serve, at, era):
    async def refuse(request, _writer):
        error = {"code": -32602, "message": "no such thing", "data": 1}
        return web.as_json({"jsonrpc": "2.0", "id": request.message["id"], "error": error})

    client = await connected(at((await serve(web.McpWeb(era, special={"refuse": refuse}))).url))
    _, outcome = begin(client, "refuse")
    result, error = await outcome.get()
    assert result is None
    assert isinstance(error, RpcError)
    assert (error.code, error.message, error.data) == (-32602, "no such thing", 1)


async def test_a_status_that_says_no_is_told_in_words(web, serve, at):
    async def broken(_request, _writer):
        return web.whole(500, b"out of order", "text/plain")

    client = await connected(at((await serve(web.McpWeb(special={"broken": broken}))).url))
    _, outcome = begin(client, "broken")
    _, error = await outcome.get()
    assert isinstance(error, AwfError)
    assert "HTTP 500. It said: out of order" in error.message


async def test_a_connection_that_breaks_is_told_and_nothing_is_sent_twice(web, serve, at):
    async def hang_up(_request, writer):
        writer.close()

    site = await serve(web.McpWeb(special={"hang_up": hang_up}))
    client = await connected(at(site.url))
    _, outcome = begin(client, "hang_up")
    _, error = await outcome.get()
    assert isinstance(error, AwfError)
    assert "broke" in error.message
    calls = [one for one in site.requests if one.rpc == "tools/call"]
    assert len([one for one in calls if one.message["params"]["name"] == "hang_up"]) == 1


async def test_a_lost_session_is_opened_again_and_the_request_repeated(web, serve, at):
    mcp = web.McpWeb("legacy")
    client = await connected(at((await serve(mcp)).url))
    mcp.sessions.clear()
    _, outcome = begin(client, arguments={"n": 1})
    result, error = await outcome.get()
    assert error is None
    assert json.loads(result["content"][0]["text"]) == {"n": 1}
    assert client.connections == 2


@pytest.mark.parametrize("head", [False, True])
async def test_a_request_that_is_given_up_is_told_to_the_server_and_to_nobody_else(
    web, serve, at, until, head
):
    arrived = asyncio.Event()

    async def wait(request, writer):
        if head:  # then somebody reads on already
            writer.write(web.head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}))
        arrived.set()
        await request.gone.wait()
        return b""

    site = await serve(web.McpWeb("legacy", special={"wait": wait}))
    client = await connected(at(site.url))
    pending, outcome = begin(client, "wait")
    async with asyncio.timeout(PATIENT):
        await arrived.wait()
    pending.cancel()
    pending.cancel()
    await until(lambda: "notifications/cancelled" in site.rpcs())
    assert not outcome.told


@both_eras
async def test_over_a_pipe_too(odd, era):
    client = odd("--era", era).client
    await client.connect()
    pending = [begin(client, arguments={"n": number}) for number in range(5)]
    assert all(one is not None for one, _ in pending)
    for _, outcome in pending:
        _, error = await outcome.get()
        assert error is None


async def test_a_program_that_ends_fails_what_was_begun(odd, until):
    client = odd().client
    await client.connect()
    _, outcome = begin(client, "die")
    _, error = await outcome.get()
    assert isinstance(error, AwfError | RpcError)


@pytest.mark.parametrize(
    "frame",
    [
        b'{"id":1,"result":[]}',
        b'{"id":1,"result":1}',
        b'{"id":"1","result":{}}',
        b'{"id":true,"result":{}}',
        b'{"id":1,"result":{},"error":{}}',
        b'{"id":1,"method":"x","result":{}}',
        b'{"id":1,"result":{"a":NaN}}',
        b'{"id":1,"result":{"a":"\\ud83d"}}',
        b'{"id":1,"result":{"a":"\xff"}}',
        b'[{"id":1,"result":{}}]',
        b'{"result":{}}',
        b"",
    ],
)
def test_what_is_more_or_less_than_an_answer_is_not_a_plain_one(frame):
    assert frames.plain_answer(frame) is None


def test_an_answer_over_several_lines_is_not_kept_to_the_letter():
    number, result = frames.plain_answer(b'{"id":7,\n"result":{"a":\n1}}')
    assert (number, result, type(result)) == (7, {"a": 1}, dict)
    number, result = frames.plain_answer(b'{"id":7,\n"result":{"a":"\\n"}}\n')
    assert (result, result.written) == ({"a": "\n"}, b'{"a":"\\n"}')


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_lines_are_the_same_in_whatever_pieces_they_come(size):
    data, lines = b"one\n\ntwo three\n" + b"x" * 30 + b"\nlast", []
    splitter = LineSplitter(lines.append, limit=1000)
    for start in range(0, len(data), size):
        splitter.feed(data[start : start + size])
    assert lines == [b"one", b"", b"two three", b"x" * 30]
    splitter.end()
    splitter.end()
    assert lines[4:] == [b"last"]


def test_a_line_that_is_too_long_comes_in_pieces():
    lines = []
    splitter = LineSplitter(lines.append, limit=10)
    for _ in range(5):
        splitter.feed(b"xxxx")
    splitter.feed(b"y\nz\n")
    assert lines == [b"x" * 12, b"xxxxxxxxy", b"z"]
