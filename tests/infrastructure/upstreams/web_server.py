"""An HTTP server on loopback whose every byte a test can decide, and an MCP server on top of it."""

from __future__ import annotations

import asyncio
import json
import ssl
from dataclasses import dataclass, field

MODERN = "2026-07-28"


@dataclass
class Request:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def message(self) -> dict:
        return json.loads(self.body)

    @property
    def rpc(self) -> str:
        return json.loads(self.body).get("method", "") if self.body else ""


def head(status: int, headers: dict[str, str] | None = None) -> bytes:
    lines = "".join(f"{key}: {value}\r\n" for key, value in (headers or {}).items())
    return f"HTTP/1.1 {status} Whatever\r\n{lines}\r\n".encode()


def whole(status: int, body: bytes = b"", kind: str = "application/json", **headers: str) -> bytes:
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return head(status, {"Content-Type": kind, "Content-Length": str(len(body)), **named}) + body


def as_json(value: object, status: int = 200, **headers: str) -> bytes:
    return whole(status, json.dumps(value).encode(), **headers)


def event(value: object, identity: str = "", end: str = "\n") -> bytes:
    named = f"id: {identity}{end}" if identity else ""
    return f"event: message{end}{named}data: {json.dumps(value)}{end}{end}".encode()


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def answer(request: Request, result: dict) -> dict:
    return {"jsonrpc": "2.0", "id": request.message["id"], "result": result}


class Web:
    """`reply(request, writer)` gives the bytes to send, or writes them itself and gives None; b"" hangs up."""

    def __init__(self, reply, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self._reply = reply
        self._tls = tls
        self._tasks: set[asyncio.Task] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http{'s' if self._tls else ''}://127.0.0.1:{self.port}/mcp"

    async def stop(self) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def rpcs(self) -> list[str]:
        return [request.rpc or request.method for request in self.requests]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._tasks.add(task)
        self.connections += 1
        number = self.connections
        try:
            while request := await self._request(reader, number):
                self.requests.append(request)
                if not await self._answered(request, reader, writer):
                    return
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _answered(self, request, reader, writer) -> bool:
        replying = asyncio.get_running_loop().create_task(self._reply(request, writer))
        leaving = asyncio.get_running_loop().create_task(reader.read(1))
        try:
            await asyncio.wait([replying, leaving], return_when=asyncio.FIRST_COMPLETED)
            if not replying.done():
                request.gone.set()
                await asyncio.wait([replying], timeout=5)
                return False
        finally:
            for task in (leaving, replying):
                task.cancel()
            await asyncio.wait([leaving, replying])
        data = replying.result()
        if data:
            writer.write(data)
            await writer.drain()
        return data != b""

    async def _request(self, reader, connection) -> Request | None:
        try:
            text = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return None
        first, *lines = text.decode().split("\r\n")
        method, target, _ = first.split(" ")
        headers = {key.lower(): value for key, _, value in (line.partition(": ") for line in lines if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return Request(method, target, headers, body, connection)


class McpWeb:
    """An MCP server of either era. `style`: how results are sent. `special`: further replies by method or tool name."""

    def __init__(self, era: str = "legacy", style: str = "json", special: dict | None = None) -> None:
        self.era = era
        self.style = style
        self.special = special or {}
        self.sessions: set[str] = set()
        self.streams: list[asyncio.StreamWriter] = []
        self.deleted: list[str] = []
        self.tools = [{"name": "echo", "inputSchema": {"type": "object"}}]
        self.issued = 0

    async def __call__(self, request: Request, writer) -> bytes | None:
        if request.method == "DELETE":
            self.deleted.append(request.headers.get("mcp-session-id", ""))
            self.sessions.discard(request.headers.get("mcp-session-id", ""))
            return whole(200)
        if request.method == "GET":
            return await self._stream(request, writer)
        message = request.message
        name = message.get("params", {}).get("name", "")
        for key in (request.rpc, name):
            if key in self.special:
                return await self.special[key](request, writer)
        if self._is_unknown(request):
            status = 404 if "mcp-session-id" in request.headers else 400
            error = {"code": -32600, "message": "?"}
            return as_json({"jsonrpc": "2.0", "id": "server-error", "error": error}, status)
        if "id" not in message or "method" not in message:
            return whole(202)
        return await self._result(request, writer)

    def _is_unknown(self, request: Request) -> bool:
        asks_for_session = self.era == "legacy" and request.rpc != "initialize"
        return asks_for_session and request.headers.get("mcp-session-id") not in self.sessions

    async def _stream(self, request, writer) -> bytes | None:
        if "GET" in self.special:
            return await self.special["GET"](request, writer)
        if self.era == "modern":
            return whole(405)
        writer.write(head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}))
        self.streams.append(writer)
        await request.gone.wait()
        return b""

    async def _result(self, request, writer) -> bytes | None:
        method, params = request.rpc, request.message.get("params", {})
        headers = {}
        if method == "server/discover":
            result = {
                "supportedVersions": [MODERN],
                "capabilities": {"tools": {"listChanged": True}},
                "ttlMs": 0,
                "cacheScope": "private",
            }
        elif method == "initialize":
            self.issued += 1
            session = f"session-{self.issued}"
            self.sessions.add(session)
            headers["Mcp_Session_Id"] = session
            result = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "web", "version": "1"},
            }
        elif method == "tools/list":
            result = {"tools": self.tools, "ttlMs": 0, "cacheScope": "private"}
        elif method == "subscriptions/listen":
            return await self._listen(request, writer)
        elif method == "tools/call":
            result = {
                "content": [{"type": "text", "text": json.dumps(params.get("arguments"))}],
                "kept": {"x": 1},
            }
        else:
            error = {"code": -32601, "message": f"Method not found: {method}"}
            return as_json({"jsonrpc": "2.0", "id": request.message["id"], "error": error}, 404)
        if self.era == "modern":
            result["resultType"] = "complete"
        if self.style == "json" or method == "initialize":
            return as_json(answer(request, result), **headers)
        body = b": hello\n\n" + event(answer(request, result))
        start = head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
        if self.style == "bytes":  # every byte a chunk and a packet of its own
            writer.write(start)
            for position in range(len(body)):
                writer.write(chunk(body[position : position + 1]))
                await writer.drain()
                await asyncio.sleep(0)
            return b"0\r\n\r\n"
        return start + chunk(body) + b"0\r\n\r\n"

    async def _listen(self, request, writer) -> bytes:
        writer.write(head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}))
        self.streams.append(writer)
        await request.gone.wait()
        return b""

    def say(self, message: dict) -> None:
        for writer in self.streams:
            writer.write(chunk(event({"jsonrpc": "2.0", **message})))
