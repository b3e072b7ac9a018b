"""Servers that speak HTTP with one stream of events, as MCP had it at first: well-behaved and not."""

from __future__ import annotations

import asyncio
import json

import pytest

from awf.domain.errors import AwfError
from awf.domain.mcp_server import McpOAuth
from awf.domain.ports.http_client import HttpBroken
from awf.domain.tool import CallContext, ToolFailure
from awf.infrastructure.http_client import LeanHttpClient
from awf.infrastructure.upstreams.correlation import Correlation
from awf.infrastructure.upstreams.failures import ServerFault
from awf.infrastructure.upstreams.sse import SseChannel

STREAM = {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}


class Old:
    """`special`: what to do instead, by method or tool name; it gets the server, the stream and the message.

    `endpoint`: what the first event says, with the session put into it.
    """

    def __init__(self, web, special=None, endpoint="/messages?session={}"):
        self.web = web
        self.special = special or {}
        self.endpoint = endpoint
        self.streams = {}
        self.issued = 0
        self.heard = []
        self.tools = [{"name": "echo", "inputSchema": {"type": "object"}}]

    async def __call__(self, request, writer):
        if request.method == "GET":
            return await self._stream(request, writer)
        stream = self.streams.get(request.target.rpartition("=")[2])
        if stream is None:
            return self.web.whole(404, b"no such session", "text/plain")
        message = request.message
        self.heard.append(message)
        answers = self.special.get(message.get("params", {}).get("name")) or self.special.get(request.rpc)
        said = await answers(self, stream, message) if answers else self._answer(stream, message)
        return said or self.web.whole(202, b"Accepted", "text/plain")

    def say(self, stream, message):
        stream.write(self.web.chunk(self.web.event({"jsonrpc": "2.0", **message})))

    def result(self, stream, message, text):
        self.say(stream, {"id": message["id"], "result": {"content": [{"type": "text", "text": text}]}})

    async def _stream(self, request, writer):
        self.issued += 1
        session = f"s{self.issued}"
        self.streams[session] = writer
        told = f"event: endpoint\r\ndata: {self.endpoint.format(session)}\r\n\r\n".encode()
        writer.write(self.web.head(200, STREAM) + self.web.chunk(told[:9]) + self.web.chunk(told[9:]))
        await request.gone.wait()
        return b""

    def _answer(self, stream, message):
        method = message.get("method")
        if method == "initialize":
            result = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {"listChanged": True}}}
            self.say(stream, {"id": message["id"], "result": result})
        elif method == "tools/list":
            self.say(stream, {"id": message["id"], "result": {"tools": self.tools}})
        elif method == "tools/call":
            self.result(stream, message, json.dumps(message["params"]["arguments"]))


@pytest.fixture
def old(web, serve, at):
    """A function that starts such a server, and opens it."""

    async def start(special=None, endpoint="/messages?session={}", **config):
        server = Old(web, special, endpoint)
        site = await serve(server)
        return server, site, at(site.url, transport="sse", **config)

    return start


def _soon(value):
    async def give(*_):
        return value

    return give


def _methods(server):
    return [message.get("method") for message in server.heard]


async def test_tools_are_listed_and_called(old, context):
    server, site, tools = await old(headers={"X-Team": "a"})

    assert [tool.name for tool in await tools.list_tools()] == ["echo"]
    assert (await tools.call_tool("echo", {"a": "ö"}, context)).text == '{"a": "\\u00f6"}'
    assert tools.client.era.version == "2024-11-05"
    assert _methods(server) == ["initialize", "notifications/initialized", "tools/list", "tools/call"]
    first, *posts = site.requests
    assert (first.method, first.headers["accept"]) == ("GET", "text/event-stream")
    assert {request.target for request in posts} == {"/messages?session=s1"}
    assert {request.headers["x-team"] for request in site.requests} == {"a"}
    assert posts[-1].headers["content-type"] == "application/json"


async def test_many_calls_at_once_get_their_own_answers(old, context):
    waiting = []

    async def together(server, stream, message):
        waiting.append(message)
        if len(waiting) == 5:
            for one in reversed(waiting):
                server.result(stream, one, str(one["params"]["arguments"]["n"]))

    _, _, tools = await old({"together": together})
    calls = [tools.call_tool("together", {"n": number}, context) for number in range(5)]

    assert [done.text for done in await asyncio.gather(*calls)] == ["0", "1", "2", "3", "4"]


async def test_an_answer_that_comes_before_its_post_is_acknowledged_counts(old, context):
    never = asyncio.Event()

    async def slow(server, stream, message):
        server.result(stream, message, "early")
        await never.wait()

    _, _, tools = await old({"slow": slow})

    assert (await tools.call_tool("slow", {}, context)).text == "early"


async def test_progress_and_questions_of_the_server_come_by_the_stream(old):
    heard = []

    async def count(server, stream, message):
        token = message["params"]["_meta"]["progressToken"]
        server.say(stream, {"id": 7, "method": "ping"})
        server.say(
            stream, {"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}}
        )
        server.result(stream, message, "counted")

    server, _, tools = await old({"count": count})
    context = CallContext(call_id="c", progress=lambda *step: heard.append(step))

    assert (await tools.call_tool("count", {}, context)).text == "counted"
    assert heard == [(1.0, None, "")]
    async with asyncio.timeout(30):
        while {"jsonrpc": "2.0", "id": 7, "result": {}} not in server.heard:
            await asyncio.sleep(0.01)


async def test_a_change_of_the_list_is_heard(old, until):
    told = []
    server, _, tools = await old(on_change=lambda: told.append(1))
    await tools.list_tools()
    server.tools = [*server.tools, {"name": "new", "inputSchema": {"type": "object"}}]

    server.say(server.streams["s1"], {"method": "notifications/tools/list_changed"})
    await until(lambda: told)

    assert [tool.name for tool in await tools.list_tools()] == ["echo", "new"]


async def test_a_cancelled_call_is_told(old, context, until):
    server, _, tools = await old({"wait": _soon(None)})
    call = asyncio.get_running_loop().create_task(tools.call_tool("wait", {}, context))
    await until(lambda: "tools/call" in _methods(server))

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until(lambda: "notifications/cancelled" in _methods(server))

    assert server.heard[-1]["params"]["requestId"] == server.heard[-2]["id"]


@pytest.mark.parametrize(
    "garbage", [b"data: {not json\n\n", b"event: other\ndata: {}\n\n", b"\xff\xfe\n\n: x\n\n"]
)
async def test_what_is_no_message_is_ignored(old, web, context, garbage):
    async def noise(server, stream, message):
        stream.write(web.chunk(garbage))
        server.result(stream, message, "fine")

    _, _, tools = await old({"noise": noise})

    assert (await tools.call_tool("noise", {}, context)).text == "fine"


async def test_the_end_of_the_stream_fails_the_calls_and_the_next_one_connects_again(old, context):
    async def leave(server, stream, message):
        stream.write(b"0\r\n\r\n")

    server, _, tools = await old({"leave": leave})

    with pytest.raises(ToolFailure, match=r"ended its stream of events.*may or may not"):
        await tools.call_tool("leave", {}, context)
    assert (await tools.call_tool("echo", {}, context)).text == "{}"
    assert server.issued == 2


async def test_a_broken_stream_fails_the_calls(old, context):
    async def cut(server, stream, message):
        stream.transport.abort()

    _, _, tools = await old({"cut": cut})

    with pytest.raises(ToolFailure, match="broke"):
        await tools.call_tool("cut", {}, context)


async def test_a_forgotten_session_is_opened_anew_and_the_call_sent_again(old, context):
    server, _, tools = await old()
    await tools.list_tools()
    del server.streams["s1"]

    assert (await tools.call_tool("echo", {"n": 1}, context)).text == '{"n": 1}'
    assert server.issued == 2


async def test_a_refused_post_fails_only_its_call(old, web, context):
    _, _, tools = await old({"bad": _soon(web.whole(500, b"broken inside", "text/plain"))})

    with pytest.raises(ToolFailure, match=r"HTTP 500.*broken inside"):
        await tools.call_tool("bad", {}, context)
    assert (await tools.call_tool("echo", {}, context)).text == "{}"


async def test_a_desk_that_does_not_exist_is_told_when_connecting(old, web):
    _, _, tools = await old({"initialize": _soon(web.whole(404))})

    with pytest.raises(AwfError, match="HTTP 404") as caught:
        await tools.list_tools()
    assert caught.value.code == "EXECUTION.MCP_SERVER.UNAVAILABLE"


@pytest.mark.parametrize(
    "endpoint",
    ["http://127.0.0.1:1/messages?{}", "//example.org/x?{}", "file:///etc/passwd?{}", "http://[x{}"],
)
async def test_a_desk_at_another_place_is_refused(old, endpoint):
    _, site, tools = await old(endpoint=endpoint)

    with pytest.raises(AwfError, match="posted to another place") as caught:
        await tools.list_tools()
    assert caught.value.code == "EXECUTION.MCP_SERVER.PROTOCOL"
    assert site.rpcs() == ["GET"]


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (lambda web: web.head(200, STREAM) + b"0\r\n\r\n", "before it said where to post"),
        (lambda web: web.whole(200, b"<html>", "text/html"), "text/html, which is not"),
        (lambda web: web.whole(401), "wants credentials"),
        (lambda web: web.whole(405), "HTTP 405"),
        (lambda web: web.head(200, {**STREAM, "Content-Encoding": "gzip"}) + b"0\r\n\r\n", "compressed"),
        (lambda web: b"", "broke"),
    ],
)
async def test_what_is_no_such_stream_is_said(web, serve, at, reply, words):
    site = await serve(_soon(reply(web)))

    with pytest.raises(AwfError, match=words):
        await at(site.url, transport="sse").list_tools()


async def test_nobody_at_the_address_is_said(at):
    with pytest.raises(AwfError, match="cannot be reached"):
        await at("http://127.0.0.1:1/sse", transport="sse").list_tools()


async def test_a_stream_that_never_says_where_to_post_is_given_up(web, serve):
    async def silent(request, writer):
        writer.write(web.head(200, STREAM) + web.chunk(b": hello\n\n"))
        await request.gone.wait()
        return b""

    http, correlation = LeanHttpClient(), Correlation(lambda *_: None)
    channel = SseChannel("web", http, (await serve(silent)).url, {}, correlation, patience=0.05)
    try:
        with pytest.raises(ServerFault, match=r"where to post within 0\.05 s"):
            await channel.exchange(correlation.begin("initialize", {}))
        assert not channel.alive
    finally:
        await channel.close()
        await http.close()


async def test_a_message_beyond_the_limit_fails_the_calls(old, web, context, monkeypatch):
    monkeypatch.setattr("awf.infrastructure.upstreams.sse.channel.MESSAGE_LIMIT", 10_000)

    async def flood(server, stream, message):
        server.result(stream, message, "x" * 20_000)

    _, _, tools = await old({"flood": flood})

    with pytest.raises(ToolFailure, match="a message of over"):
        await tools.call_tool("flood", {}, context)


async def test_closing_fails_the_calls_and_ends_the_stream(old, context, until):
    server, site, tools = await old({"wait": _soon(None)})
    call = asyncio.get_running_loop().create_task(tools.call_tool("wait", {}, context))
    await until(lambda: "tools/call" in _methods(server))

    await tools.close()

    with pytest.raises(ToolFailure, match="was closed"):
        await call
    await until(site.requests[0].gone.is_set)


async def test_a_token_is_sent_with_the_stream_and_with_every_post_and_replaced_when_refused(
    web, serve, at, context
):
    server, given, accepted = Old(web), [], {"Bearer t1"}

    async def guard(request, writer):
        if request.target == "/token":
            given.append(request)
            return web.as_json({"access_token": f"t{len(given)}", "token_type": "Bearer", "expires_in": 3600})
        known = request.headers.get("authorization") in accepted
        return await server(request, writer) if known else web.whole(401)

    site = await serve(guard)
    token_url = site.url.replace("/mcp", "/token")
    oauth = McpOAuth(token_url=token_url, client_id="me", client_secret="s")
    tools = at(site.url, transport="sse", oauth=oauth)
    await tools.list_tools()
    assert len(given) == 1
    accepted.symmetric_difference_update({"Bearer t1", "Bearer t2"})

    assert (await tools.call_tool("echo", {}, context)).text == "{}"
    assert (server.issued, len(given)) == (1, 2)


async def test_an_answer_cut_short_fails_the_call(old, context):
    class Cut(LeanHttpClient):
        async def send(self, method, url, **more):
            if b"tools/call" in more.get("body", b""):
                raise HttpBroken("it was cut")
            return await super().send(method, url, **more)

    _, site, _ = await old()
    http, correlation = Cut(), Correlation(lambda *_: None)
    channel = SseChannel("web", http, site.url, {}, correlation)
    try:
        with pytest.raises(ServerFault, match="broke: it was cut"):
            await channel.exchange(correlation.begin("tools/call", {"name": "echo"}))
        assert channel.alive
    finally:
        await channel.close()
        await http.close()
