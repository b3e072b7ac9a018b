"""A client that shows all its traffic to the schema checker."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from pathlib import Path

import pytest

from awf.testing.mcp_wire import WireChecker
from mcpserver import Result, Server, ToolError

SCHEMAS = Path(__file__).parents[1] / "protocols" / "mcp"
PATIENCE = 20.0
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}


class Peer:
    """The client's end of a connection. Every line in both directions is checked."""

    def __init__(self, reader, writer, serving):
        self.reader, self.writer, self.serving = reader, writer, serving
        self.wire = WireChecker(SCHEMAS)
        self.last_id = 0
        self.early = []

    def send_bytes(self, data: bytes) -> None:
        for line in data.split(b"\n"):
            self.wire.client_sent(line)
        self.writer.write(data)

    def send(self, message) -> None:
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def notify(self, method, **params) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method, params=None, *, modern=False, meta=None, request_id=None):
        """Send a request, give back its id."""
        self.last_id += 1
        request_id = self.last_id if request_id is None else request_id
        params = dict(params or {})
        if modern or meta:
            params["_meta"] = {**(MODERN if modern else {}), **(meta or {})}
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return request_id

    def call(self, name, arguments=None, **options):
        return self.request("tools/call", {"name": name, "arguments": arguments or {}}, **options)

    async def receive(self):
        """The next message, whatever it is."""
        async with asyncio.timeout(PATIENCE):
            line = await self.reader.readline()
        return self.wire.server_sent(line) if line else None

    async def answer(self, request_id):
        """The answer to this request; what arrives before it is kept in `early`."""
        while (message := await self.receive()) is not None:
            if isinstance(message, dict) and message.get("id") == request_id and "method" not in message:
                return message
            self.early.append(message)
        raise AssertionError(f"the stream ended without an answer to {request_id!r}")

    async def ask(self, method, params=None, **options):
        return await self.answer(self.request(method, params, **options))

    async def ask_call(self, name, arguments=None, **options):
        return await self.answer(self.call(name, arguments, **options))

    async def initialize(self, version="2025-11-25"):
        client = {"name": "test", "version": "1"}
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
        answer = await self.ask("initialize", params)
        self.notify("notifications/initialized")
        return answer["result"]

    async def end(self):
        """Close our side; everything that still comes; and the server's serve() is over."""
        self.writer.write_eof()
        rest = []
        while (message := await self.receive()) is not None:
            rest.append(message)
        async with asyncio.timeout(PATIENCE):
            await self.serving
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()
        return rest


class Workshop:
    """A server whose tools wait for the test, and say what happens to them."""

    def __init__(self):
        self.server = Server(name="workshop", version="1.0", title="Workshop", instructions="Be kind.")
        self.started = asyncio.Event()
        self.release = asyncio.Event()
        self.order = []
        self.running = 0
        self.most = 0
        text = {"type": "object", "properties": {"text": {"type": "string"}}}
        add = self.server.register_tool
        add(
            "echo",
            text,
            self.echo,
            description="Say it again",
            title="Echo",
            annotations={"readOnlyHint": True},
        )
        add("wait", {"type": "object"}, self.wait, description="Wait until released")
        add("steps", {"type": "object"}, self.steps, description="Report progress")
        add("fail", {"type": "object"}, self.fail, description="Fail in a given way")
        add("kinds", {"type": "object"}, self.kinds, description="Every kind of content")
        add(
            "give",
            {"type": "object"},
            self.give,
            description="Give it back",
            output_schema={"type": "object"},
        )

    async def echo(self, arguments, call):
        return str(arguments.get("text", ""))

    async def wait(self, arguments, call):
        tag = arguments.get("tag")
        self.order.append(("started", tag))
        self.running += 1
        self.most = max(self.most, self.running)
        self.started.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.order.append(("cancelled", tag))
            raise
        finally:
            self.running -= 1
        self.order.append(("finished", tag))
        return f"waited {tag}"

    async def steps(self, arguments, call):
        for done in arguments["steps"]:
            call.progress(done, arguments.get("total"), arguments.get("message", ""))
        return "done"

    async def fail(self, arguments, call):
        kind = arguments["kind"]
        if kind == "tool":
            raise ToolError("no such city", {"com.example/hint": 1}, {"code": "NOT_FOUND"})
        if kind == "exit":
            raise SystemExit(3)
        if kind == "cancelled":
            raise asyncio.CancelledError
        if kind == "object":
            return Result([{"type": "text", "text": object()}])
        if kind == "nan":
            return {"value": float("nan")}
        if kind == "none":
            return None
        raise RuntimeError("secret detail")

    async def kinds(self, arguments, call):
        link = {"type": "resource_link", "uri": "file:///a", "name": "a", "description": "A file"}
        resource = {"type": "resource", "resource": {"uri": "file:///b", "text": "b"}}
        return Result(
            [
                {"type": "text", "text": "t", "annotations": {"priority": 1}},
                {"type": "image", "data": "AAAA", "mimeType": "image/png"},
                {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
                link,
                resource,
            ],
            meta={"com.example/kept": True},
        )

    async def give(self, arguments, call):
        return Result([{"type": "text", "text": "given"}], structured=arguments.get("value"))


@pytest.fixture
async def workshop():
    return Workshop()


@pytest.fixture
async def connect():
    """connect(server) → a Peer; at the end each connection is closed and its serve() awaited."""
    peers = []

    async def connect(server, *, drain=1.0):
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_unix_connection(sock=theirs, limit=2**26)
        server_reader, server_writer = await asyncio.open_unix_connection(sock=ours)
        serving = asyncio.get_running_loop().create_task(
            server.serve(server_reader, server_writer, drain=drain)
        )
        peers.append(Peer(reader, writer, serving))
        return peers[-1]

    yield connect
    for peer in peers:
        peer.writer.close()
        with contextlib.suppress(OSError):
            await peer.writer.wait_closed()
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait([peer.serving])
        if not peer.serving.cancelled():
            assert peer.serving.exception() is None


@pytest.fixture
async def peer(workshop, connect):
    return await connect(workshop.server)
