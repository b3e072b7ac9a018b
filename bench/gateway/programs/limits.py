"""How cheap a gateway in Python can be: a pass-through that does the least a gateway has to do.

It looks the tool up, adds a default, asks a table for permission, redacts, hashes what goes in and out and writes a
record; it serves the list of tools from a cache. It streams nothing and trusts everybody: a yardstick, no product.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import itertools
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol
from urllib.parse import urlsplit

import httptools
import msgspec
import uvloop

Reply = Callable[[bytes, bytes, bytes], None]  # status line, headers, body
JSON = b"content-type: application/json\r\n"
SECRET = frozenset({"apikey", "api_key", "token", "secret", "password", "authorization"})

encode = msgspec.json.encode
decode = msgspec.json.decode
encode_sorted = msgspec.json.Encoder(order="deterministic").encode


def redacted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: "***" if key.lower() in SECRET else redacted(item) for key, item in value.items()}
    return [redacted(item) for item in value] if isinstance(value, list) else value


class Back(Protocol):
    async def start(self) -> None: ...

    def send(self, headers: bytes, message: dict[str, Any], reply: Reply) -> None: ...


# -- between ---------------------------------------------------------------------------------------------------------


class Work:
    """What is done to each message."""

    def __init__(self, back: Back, audit: str) -> None:
        self._back = back
        self._audit = open(audit, "ab", buffering=1 << 16)  # noqa: SIM115  open as long as the program runs
        self._sequence = itertools.count(1)
        self._published: dict[str, tuple[str, dict[str, Any], str]] = {}
        self._list: bytes | None = None

    def handle(self, headers: bytes, body: bytes, reply: Reply) -> None:
        message = decode(body)
        method = message.get("method")
        if method == "tools/call":
            self._call(headers, message, reply)
        elif method == "tools/list":
            self._tools(headers, message, reply)
        else:
            self._back.send(headers, message, reply)

    def _tools(self, headers: bytes, message: dict[str, Any], reply: Reply) -> None:
        if self._list is not None:
            whole = b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (encode(message["id"]), self._list)
            reply(b"200 OK", JSON, whole)
            return

        def answered(status: bytes, extra: bytes, raw: bytes) -> None:
            self._list = encode(decode(raw)["result"])
            reply(status, extra, raw)

        self._back.send(headers, message, answered)

    def _call(self, headers: bytes, message: dict[str, Any], reply: Reply) -> None:
        params = message["params"]
        name = params["name"]
        upstream, defaults, action = self._published.get(name, (name, {}, "allow"))
        if action != "allow":
            raise PermissionError(name)
        params["name"] = upstream
        params["arguments"] = {**params.get("arguments", {}), **defaults}
        went_in = _hashed(params["arguments"])
        began = time.perf_counter_ns()

        def answered(status: bytes, extra: bytes, raw: bytes) -> None:
            answer = decode(raw)
            self._record(name, went_in, answer, began)
            reply(status, extra, encode(answer))

        self._back.send(headers, message, answered)

    def _record(self, name: str, went_in: str, answer: dict[str, Any], began: int) -> None:
        record = {
            "sequence": next(self._sequence),
            "tool": name,
            "input": went_in,
            "output": _hashed(answer.get("result")),
            "success": "error" not in answer,
            "microseconds": (time.perf_counter_ns() - began) // 1000,
            "at": time.time(),
        }
        self._audit.write(encode(record) + b"\n")


def _hashed(value: Any) -> str:
    return hashlib.sha256(encode_sorted(redacted(value))).hexdigest()


# -- behind ----------------------------------------------------------------------------------------------------------


class HttpBack:
    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._head = (
            f"POST {parts.path} HTTP/1.1\r\nhost: {self._host}:{self._port}\r\n"
            "content-type: application/json\r\naccept: application/json, text/event-stream\r\n"
        ).encode()
        self.idle: list[BackConnection] = []
        self._opening: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Connections are opened when they are needed."""

    def send(self, headers: bytes, message: dict[str, Any], reply: Reply) -> None:
        body = encode(message)
        data = b"%b%bcontent-length: %d\r\n\r\n%b" % (self._head, headers, len(body), body)
        if self.idle:
            self.idle.pop().send(data, reply)
            return
        task = asyncio.get_running_loop().create_task(self._open(data, reply))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open(self, data: bytes, reply: Reply) -> None:
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(lambda: BackConnection(self), self._host, self._port)
        connection.send(data, reply)


class BackConnection(asyncio.Protocol):
    def __init__(self, back: HttpBack) -> None:
        self._back, self._parser = back, httptools.HttpResponseParser(self)
        self._reply: Reply | None = None
        self._body = self._headers = b""

    def send(self, data: bytes, reply: Reply) -> None:
        self._reply = reply
        self._transport.write(data)

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if self in self._back.idle:
            self._back.idle.remove(self)
        if self._reply:
            self._reply(b"502 Bad Gateway", b"", b"")

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._body = self._headers = b""

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() in {b"mcp-session-id", b"content-type"}:
            self._headers += name + b": " + value + b"\r\n"

    def on_body(self, body: bytes) -> None:
        self._body = self._body + body if self._body else body

    def on_message_complete(self) -> None:
        reply, self._reply = self._reply, None
        self._back.idle.append(self)
        if reply is not None:
            reply(b"%d X" % self._parser.get_status_code(), self._headers, self._body)


class PipeBack(asyncio.SubprocessProtocol):
    """One program; requests get numbers of its own, so that clients cannot collide."""

    def __init__(self, argv: list[str]) -> None:
        self._argv, self._rest, self._numbers = argv, b"", itertools.count(1)
        self._pending: dict[int, tuple[Any, Reply]] = {}

    async def start(self) -> None:
        child, _ = await asyncio.get_running_loop().subprocess_exec(lambda: self, *self._argv, stderr=None)
        self._stdin: Any = child.get_pipe_transport(0)

    def send(self, headers: bytes, message: dict[str, Any], reply: Reply) -> None:  # noqa: ARG002
        if "id" in message:
            number = next(self._numbers)
            self._pending[number] = (message["id"], reply)
            message["id"] = number
        else:
            reply(b"202 Accepted", b"", b"")
        self._stdin.write(encode(message) + b"\n")

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002
        *lines, self._rest = (self._rest + data if self._rest else data).split(b"\n")
        for line in lines:
            message = decode(line)
            waiting = self._pending.pop(message.get("id"), None)
            if waiting:
                message["id"], reply = waiting
                reply(b"200 OK", JSON, encode(message))


# -- in front --------------------------------------------------------------------------------------------------------


class HttpFront(asyncio.Protocol):
    def __init__(self, work: Work) -> None:
        self._work, self._parser = work, httptools.HttpRequestParser(self)
        self._body = self._headers = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._body = self._headers = b""

    def on_header(self, name: bytes, value: bytes) -> None:
        if name[:4].lower() == b"mcp-":
            self._headers += name + b": " + value + b"\r\n"

    def on_body(self, body: bytes) -> None:
        self._body = self._body + body if self._body else body

    def on_message_complete(self) -> None:
        if self._parser.get_method() == b"POST":
            self._work.handle(self._headers, self._body, self._reply)
        else:
            self._reply(b"405 Method Not Allowed", b"", b"")

    def _reply(self, status: bytes, headers: bytes, body: bytes) -> None:
        head = b"HTTP/1.1 %b\r\n%bcontent-length: %d\r\n\r\n" % (status, headers, len(body))
        self._transport.write(head + body)


class PipeFront(asyncio.Protocol):
    def __init__(self, work: Work, ended: asyncio.Future[None]) -> None:
        self._work, self._rest, self._headers, self._ended = work, b"", b"", ended
        self.out: Any = None

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data if self._rest else data).split(b"\n")
        for line in lines:
            if line:
                self._work.handle(self._headers, line, self._reply)

    def _reply(self, status: bytes, headers: bytes, body: bytes) -> None:  # noqa: ARG002
        for line in headers.split(b"\r\n"):
            if line[:14].lower() == b"mcp-session-id":
                self._headers = line + b"\r\n"
        if body:
            self.out.write(body + b"\n")

    def eof_received(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)


# -- start -----------------------------------------------------------------------------------------------------------


async def serve(args: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    back: Back = HttpBack(args.url) if args.url else PipeBack(args.command)
    await back.start()
    work = Work(back, args.audit)
    if args.port is not None:
        server = await loop.create_server(lambda: HttpFront(work), "127.0.0.1", args.port)
        await server.serve_forever()
    ended = loop.create_future()
    _, front = await loop.connect_read_pipe(lambda: PipeFront(work, ended), sys.stdin)
    front.out, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, sys.stdout)
    await ended


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, help="serve HTTP here; without it, stdin and stdout")
    parser.add_argument("--url", help="the server behind, over HTTP")
    parser.add_argument("--audit", default="/dev/null", help="where the records go")
    parser.add_argument("command", nargs="*", help="the server behind, as a program, after --")
    args = parser.parse_args()
    if bool(args.url) == bool(args.command):
        parser.error("give --url or a command")
    uvloop.run(serve(args))


if __name__ == "__main__":
    main()
