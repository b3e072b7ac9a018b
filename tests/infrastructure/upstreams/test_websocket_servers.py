"""Servers behind a WebSocket: well-behaved and not."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json

import pytest

from awf.domain.errors import AwfError
from awf.domain.mcp_server import McpOAuth
from awf.domain.redaction import Masker
from awf.domain.redaction.publishing import Publishing
from awf.domain.tool import CallContext, ToolFailure

ACCEPTED_BY = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


def frame(kind, data=b"", final=True):
    size = len(data)
    if size < 126:
        length = bytes([size])
    else:
        length = b"\x7e" + size.to_bytes(2, "big") if size < 65536 else b"\x7f" + size.to_bytes(8, "big")
    return bytes([(0x80 if final else 0) | kind]) + length + data


class Peer:
    """One connection of the server's side."""

    def __init__(self, reader, writer):
        self.reader = reader
        self.writer = writer
        self.headers = {}

    async def opened(self, change=lambda headers: None):
        text = await self.reader.readuntil(b"\r\n\r\n")
        first, *lines = text.decode().split("\r\n")
        self.headers = {key.lower(): value for key, _, value in (one.partition(": ") for one in lines if one)}
        self.target = first.split(" ")[1]
        digest = hashlib.sha1((self.headers["sec-websocket-key"] + ACCEPTED_BY).encode()).digest()
        answer = {
            "": "101 Switching Protocols",
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Accept": base64.b64encode(digest).decode(),
            "Sec-WebSocket-Protocol": "mcp",
        }
        change(answer)
        status = answer.pop("")
        lines = "".join(f"{key}: {value}\r\n" for key, value in answer.items())
        self.writer.write(f"HTTP/1.1 {status}\r\n{lines}\r\n".encode())
        return status.startswith("101")

    async def read(self):
        """The kind and content of the next frame."""
        first, second = await self.reader.readexactly(2)
        assert second & 0x80, "clients have to mask"
        size = second & 0x7F
        if size > 125:
            size = int.from_bytes(await self.reader.readexactly(2 if size == 126 else 8), "big")
        mask = await self.reader.readexactly(4)
        data = await self.reader.readexactly(size)
        return first & 0x0F, bytes(byte ^ mask[place % 4] for place, byte in enumerate(data))

    def say(self, message):
        self.writer.write(frame(TEXT, json.dumps({"jsonrpc": "2.0", **message}).encode()))

    def result(self, message, text):
        self.say({"id": message["id"], "result": {"content": [{"type": "text", "text": text}]}})


class Server:
    """`special`: what to do instead, by method or tool name. `change` may alter the answer to the handshake."""

    def __init__(self, special=None, change=lambda headers: None):
        self.special = special or {}
        self.change = change
        self.peers = []
        self.heard = []
        self.controls = []
        self.pongs = False
        self.tasks = set()

    async def start(self, tls=None):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls)
        port = self.server.sockets[0].getsockname()[1]
        self.url = f"ws{'s' if tls else ''}://127.0.0.1:{port}/mcp"

    async def stop(self):
        self.server.close()
        for task in list(self.tasks):
            task.cancel()
        if self.tasks:
            await asyncio.wait(self.tasks)

    def methods(self):
        return [message.get("method") for message in self.heard]

    async def _serve(self, reader, writer):
        task = asyncio.current_task()
        self.tasks.add(task)
        peer = Peer(reader, writer)
        self.peers.append(peer)
        try:
            if await peer.opened(self.change):
                await self._converse(peer)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.tasks.discard(task)
            writer.transport.abort()

    async def _converse(self, peer):
        while True:
            kind, data = await peer.read()
            if kind != TEXT:
                self.controls.append((kind, data))
                if kind == PING and self.pongs:
                    peer.writer.write(frame(PONG, data))
                if kind == CLOSE:
                    peer.writer.write(frame(CLOSE, data))
                    return
                continue
            message = json.loads(data)
            self.heard.append(message)
            name = message.get("params", {}).get("name")
            answers = self.special.get(name) or self.special.get(message.get("method"))
            if answers:
                await answers(peer, message)
            else:
                self._answer(peer, message)
            await peer.writer.drain()

    def _answer(self, peer, message):
        method = message.get("method")
        if method == "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}}}
            peer.say({"id": message["id"], "result": result})
        elif method == "tools/list":
            tools = [{"name": "echo", "inputSchema": {"type": "object"}}]
            peer.say({"id": message["id"], "result": {"tools": tools}})
        elif method == "tools/call":
            peer.result(message, json.dumps(message["params"]["arguments"]))
        elif method and "id" in message:
            peer.say({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})


@pytest.fixture
async def ws(at):
    """A function that starts such a server, and opens it."""
    started = []

    async def start(special=None, change=lambda headers: None, tls=None, **config):
        server = Server(special, change)
        await server.start(tls)
        started.append(server)
        return server, at(server.url, **config)

    yield start
    for server in started:
        await server.stop()


async def _nothing(*_):
    pass


async def test_tools_are_listed_and_called(ws, context):
    server, tools = await ws(headers={"Authorization": "Bearer t"})

    assert [tool.name for tool in await tools.list_tools()] == ["echo"]
    assert (await tools.call_tool("echo", {"a": "ö"}, context)).text == '{"a": "\\u00f6"}'
    assert server.methods()[:3] == ["server/discover", "initialize", "notifications/initialized"]
    headers = server.peers[0].headers
    assert (headers["sec-websocket-protocol"], headers["sec-websocket-version"]) == ("mcp", "13")
    assert (headers["authorization"], server.peers[0].target) == ("Bearer t", "/mcp")
    assert "sec-websocket-extensions" not in headers


async def test_a_server_of_the_newer_era_works(ws, context):
    async def discover(peer, message):
        result = {"supportedVersions": ["2026-07-28"], "capabilities": {}, "resultType": "complete"}
        peer.say({"id": message["id"], "result": result})

    server, tools = await ws({"server/discover": discover})

    assert (await tools.call_tool("echo", {}, context)).text == "{}"
    assert tools.client.era.modern
    assert "initialize" not in server.methods()


async def test_many_calls_at_once_get_their_own_answers(ws, context):
    waiting = []

    async def together(peer, message):
        waiting.append(message)
        if len(waiting) == 5:
            for one in reversed(waiting):
                peer.result(one, str(one["params"]["arguments"]["n"]))

    _, tools = await ws({"together": together})
    calls = [tools.call_tool("together", {"n": number}, context) for number in range(5)]

    assert [done.text for done in await asyncio.gather(*calls)] == ["0", "1", "2", "3", "4"]


async def test_large_messages_and_messages_in_pieces_arrive(ws, context):
    async def pieces(peer, message):
        result = {"content": [{"type": "text", "text": "ö" * 300_000}]}
        data = json.dumps(
            {"jsonrpc": "2.0", "id": message["id"], "result": result}, ensure_ascii=False
        ).encode()
        peer.writer.write(frame(TEXT, data[:100_001], final=False) + frame(PING, b"still there?"))
        peer.writer.write(frame(0, data[100_001:200_000], final=False) + frame(0, data[200_000:]))

    server, tools = await ws({"pieces": pieces})

    assert (await tools.call_tool("pieces", {"x": "y" * 200_000}, context)).text == "ö" * 300_000
    assert (await tools.call_tool("echo", {}, context)).text == "{}"
    assert server.controls == [(PONG, b"still there?")]


async def test_progress_and_questions_of_the_server_are_heard(ws, until):
    heard = []

    async def count(peer, message):
        token = message["params"]["_meta"]["progressToken"]
        peer.say({"id": 7, "method": "ping"})
        peer.say({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
        peer.result(message, "counted")

    server, tools = await ws({"count": count})
    context = CallContext(call_id="c", progress=lambda *step: heard.append(step))

    assert (await tools.call_tool("count", {}, context)).text == "counted"
    assert heard == [(1.0, None, "")]
    await until(lambda: {"jsonrpc": "2.0", "id": 7, "result": {}} in server.heard)


async def test_a_cancelled_call_is_told(ws, context, until):
    server, tools = await ws({"wait": _nothing})
    call = asyncio.get_running_loop().create_task(tools.call_tool("wait", {}, context))
    await until(lambda: "tools/call" in server.methods())

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await until(lambda: "notifications/cancelled" in server.methods())

    assert server.heard[-1]["params"]["requestId"] == server.heard[-2]["id"]


async def test_a_text_that_is_no_message_is_ignored_and_logged(ws, context, caplog):
    async def noise(peer, message):
        peer.writer.write(frame(TEXT, b"hello \x1b[31mthere, my-secret-key"))
        peer.result(message, "fine")

    masker = Masker()
    masker.add("KEY", "my-secret-key")
    _, tools = await ws({"noise": noise}, publishing=Publishing(masker))

    assert (await tools.call_tool("noise", {}, context)).text == "fine"
    assert "not a message: hello \\u001b[31mthere, ***" in caplog.text


@pytest.mark.parametrize(
    ("bad", "code", "words"),
    [
        (frame(BINARY, b"{}"), 1003, "something binary"),
        (frame(TEXT, b"\xff"), 1007, "not UTF-8"),
        (frame(3), 1002, "unknown kind 3"),
        (b"\x81\x7f" + b"\x7f" + b"\xff" * 7, 1009, "a message of over 64 MiB"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", 1002, "an extension that nobody asked for"),
    ],
)
async def test_what_breaks_the_rules_ends_the_connection_and_the_next_call_opens_another(
    ws, context, until, bad, code, words
):
    async def break_rules(peer, message):
        peer.writer.write(bad)

    server, tools = await ws({"bad": break_rules})

    with pytest.raises(ToolFailure, match=words):
        await tools.call_tool("bad", {}, context)
    await until(lambda: server.controls)
    assert server.controls == [(CLOSE, code.to_bytes(2, "big"))]
    assert (await tools.call_tool("echo", {}, context)).text == "{}"
    assert len(server.peers) == 2


async def test_a_server_that_takes_leave_is_answered_and_fails_the_calls(ws, context, until):
    async def leave(peer, message):
        peer.writer.write(frame(CLOSE, (1001).to_bytes(2, "big") + b"going away"))

    server, tools = await ws({"leave": leave})

    with pytest.raises(ToolFailure, match=r"closed the connection \(1001: going away\)\. What was asked"):
        await tools.call_tool("leave", {}, context)
    await until(lambda: server.controls)
    assert server.controls == [(CLOSE, (1001).to_bytes(2, "big"))]
    assert (await tools.call_tool("echo", {}, context)).text == "{}"


async def test_a_connection_that_is_cut_fails_the_calls(ws, context):
    async def cut(peer, message):
        peer.writer.transport.abort()

    _, tools = await ws({"cut": cut})

    with pytest.raises(ToolFailure, match=r"ended the connection without a word|broke"):
        await tools.call_tool("cut", {}, context)
    assert (await tools.call_tool("echo", {}, context)).text == "{}"


async def test_a_connection_that_was_lost_on_the_way_is_given_up_and_opened_anew(ws, context, monkeypatch):
    monkeypatch.setattr("awf.infrastructure.upstreams.websocket.channel.PULSE", 0.05)
    server, tools = await ws({"wait": _nothing})  # it answers no ping

    with pytest.raises(ToolFailure, match="no sign of life"):
        await tools.call_tool("wait", {}, context)
    monkeypatch.undo()

    assert (PING, b"") in server.controls
    assert (await tools.call_tool("echo", {}, context)).text == "{}"


async def test_a_quiet_server_that_answers_is_kept(ws, context, until, monkeypatch):
    monkeypatch.setattr("awf.infrastructure.upstreams.websocket.channel.PULSE", 0.01)
    monkeypatch.setattr("awf.infrastructure.upstreams.websocket.channel.MISSED", 1_000_000)
    server, tools = await ws()
    server.pongs = True
    await tools.list_tools()
    await until(lambda: len(server.controls) >= 3)

    assert (await tools.call_tool("echo", {}, context)).text == "{}"
    assert len(server.peers) == 1


async def test_closing_says_goodbye_and_fails_the_calls(ws, context, until):
    server, tools = await ws({"wait": _nothing})
    call = asyncio.get_running_loop().create_task(tools.call_tool("wait", {}, context))
    await until(lambda: "tools/call" in server.methods())

    await tools.close()

    with pytest.raises(ToolFailure, match="was closed"):
        await call
    assert server.controls == [(CLOSE, (1000).to_bytes(2, "big"))]


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"": "401 Unauthorized"}, "DENIED", "HTTP 401"),
        ({"": "403 Forbidden"}, "DENIED", "HTTP 403"),
        ({"": "404 Not Found"}, "UNAVAILABLE", "HTTP 404"),
        ({"": "302 Found", "Location": "ws://127.0.0.1:1/"}, "UNAVAILABLE", "HTTP 302"),
        ({"": "200 OK"}, "UNAVAILABLE", "HTTP 200"),
        ({"": "abc"}, "PROTOCOL", "does not speak HTTP"),
        ({"Sec-WebSocket-Accept": "x"}, "PROTOCOL", "as it should"),
        ({"Upgrade": "h2c"}, "PROTOCOL", "as it should"),
        ({"Connection": "close"}, "PROTOCOL", "as it should"),
        ({"Sec-WebSocket-Protocol": "chat"}, "PROTOCOL", "'chat'"),
        ({"Sec-WebSocket-Extensions": "permessage-deflate"}, "PROTOCOL", "extension"),
        ({"X": "y" * 70_000}, "PROTOCOL", "endless"),
    ],
)
async def test_a_handshake_that_says_no_is_explained(ws, changes, code, words):
    _, tools = await ws(change=lambda headers: headers.update(changes))

    with pytest.raises(AwfError, match=words) as caught:
        await tools.list_tools()
    assert caught.value.code == f"EXECUTION.MCP_SERVER.{code}"
    assert not tools.client._background._tasks


async def test_a_server_that_names_no_subprotocol_is_tolerated(ws, context):
    _, tools = await ws(change=lambda headers: headers.pop("Sec-WebSocket-Protocol"))

    assert (await tools.call_tool("echo", {}, context)).text == "{}"


async def test_nobody_at_the_address_is_said(at):
    with pytest.raises(AwfError, match=r"cannot be reached at ws://127\.0\.0\.1:1/: Connection refused\."):
        await at("ws://127.0.0.1:1/").list_tools()


async def test_a_server_that_never_answers_the_handshake_is_given_up(at):
    async def silent(reader, writer):
        await reader.read()
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        tools = at(f"ws://127.0.0.1:{port}/", timeout=0.2)
        with pytest.raises(AwfError, match=r"did not answer within 0\.2 s"):
            await tools.list_tools()


async def test_a_refused_token_is_replaced_once(web, serve, ws, context):
    given = []

    async def tokens(request, _):
        given.append(request)
        return web.as_json({"access_token": f"t{len(given)}", "token_type": "Bearer"})

    site = await serve(tokens)
    oauth = McpOAuth(token_url=site.url, client_id="me", client_secret="s")
    answers = ["401 Unauthorized", "101 Switching Protocols"]
    server, tools = await ws(change=lambda headers: headers.update({"": answers.pop(0)}), oauth=oauth)

    assert (await tools.call_tool("echo", {}, context)).text == "{}"
    assert [peer.headers["authorization"] for peer in server.peers] == ["Bearer t1", "Bearer t2"]


async def test_tls_works_with_a_trusted_certificate_only(ws, at, context, certificate, monkeypatch):
    server, tools = await ws(tls=certificate.server)
    with pytest.raises(AwfError, match="certificate is not accepted"):
        await tools.list_tools()

    monkeypatch.setenv("SSL_CERT_FILE", certificate.authority)
    assert (await at(server.url).call_tool("echo", {"n": 1}, context)).text == '{"n": 1}'
