"""The server behind every contestant: an echo that answers from prepared bytes, in both eras, over HTTP or pipes.

What a benchmark sees is then the contestant and not this server.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import sys
import uuid
from typing import Any

import httptools
import msgspec
import uvloop

LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MODERN = "2026-07-28"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
INFO = {"name": "bench-upstream", "version": "1"}
OFFERED: dict[str, Any] = {"tools": {}}

encode = msgspec.json.encode
decode = msgspec.json.decode


def echo_tool(prefix: str) -> dict[str, Any]:
    text = {"type": "string", "description": "What to return."}
    return {
        "name": f"{prefix}echo",
        "description": "Return the given text unchanged.",
        "inputSchema": {"type": "object", "properties": {"text": text}, "required": ["text"]},
    }


def filler_tool(prefix: str, number: int) -> dict[str, Any]:
    """With a description and a schema of usual size, about 0.8 kB."""
    properties = {
        "query": {"type": "string", "description": "Free text to look for in the records."},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
        "station_id": {"type": "string", "description": "Internal id of the station that serves it."},
        "units": {"type": "string", "enum": ["metric", "imperial"], "default": "metric"},
        "debug_mode": {"type": "boolean", "default": False},
    }
    return {
        "name": f"{prefix}tool_{number:04d}",
        "title": f"Filler tool {number}",
        "description": (
            f"Filler tool number {number}. Looks up records of kind {number % 17} by a free-text query, with "
            "paging, an optional station and a debug switch that a model has no use for."
        ),
        "inputSchema": {"type": "object", "properties": properties, "required": ["query", "station_id"]},
        "annotations": {"readOnlyHint": True, "openWorldHint": bool(number % 2)},
    }


class Answers:
    """One decoded message into the bytes of its answer, or None where none is due."""

    def __init__(self, args: argparse.Namespace) -> None:
        tools = [echo_tool(args.prefix), *(filler_tool(args.prefix, n) for n in range(1, args.tools))]
        cached = {"ttlMs": 300000, "cacheScope": "public"}
        versions = [MODERN, *LEGACY]
        about = {"io.modelcontextprotocol/serverInfo": INFO}
        found = {"supportedVersions": versions, "capabilities": OFFERED, "_meta": about}
        self._list_legacy = encode({"tools": tools})
        self._list_modern = encode({"resultType": "complete", "tools": tools, **cached})
        self._discover = encode({"resultType": "complete", **found, **cached})
        self._delay, self._spread = args.delay_ms / 1000, args.spread
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._log = os.open(args.calls_file, flags, 0o600) if args.calls_file else None

    def delay(self, message: dict[str, Any]) -> float:
        if not self._delay or message.get("method") != "tools/call":
            return 0.0
        return random.uniform(0, 2 * self._delay) if self._spread else self._delay

    def answer(self, message: dict[str, Any]) -> bytes | None:
        number = message.get("id")
        if number is None or "method" not in message:
            return None
        params = message.get("params") or {}
        result = self._result(message["method"], params, modern=VERSION_KEY in (params.get("_meta") or ()))
        if result is None:
            refusal = encode({"code": -32601, "message": f"no method {message['method']}"})
            return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (encode(number), refusal)
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (encode(number), result)

    def _result(self, method: str, params: dict[str, Any], *, modern: bool) -> bytes | None:
        if method == "tools/call":
            return self._call(params, modern=modern)
        if method == "tools/list":
            return self._list_modern if modern else self._list_legacy
        if method == "initialize":
            asked = params.get("protocolVersion")
            version = asked if asked in LEGACY else LEGACY[0]
            return encode({"protocolVersion": version, "capabilities": OFFERED, "serverInfo": INFO})
        return {"server/discover": self._discover, "ping": b"{}"}.get(method)

    def _call(self, params: dict[str, Any], *, modern: bool) -> bytes:
        text = (params.get("arguments") or {}).get("text", "")
        if self._log is not None:
            os.write(self._log, text.rstrip(".").encode() + b"\n")
        result = {"content": [{"type": "text", "text": text}], "isError": False}
        return encode({**result, "resultType": "complete"} if modern else result)


# -- HTTP ------------------------------------------------------------------------------------------------------------


class Connection(asyncio.Protocol):
    """HTTP/1.1 with keep-alive and JSON answers."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._parser = httptools.HttpRequestParser(self)
        self._body = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._transport.close()

    def on_message_begin(self) -> None:
        self._body = b""

    def on_body(self, body: bytes) -> None:
        self._body = self._body + body if self._body else body

    def on_message_complete(self) -> None:
        verb = self._parser.get_method()
        if verb != b"POST":
            status = b"200 OK" if verb == b"DELETE" else b"405 Method Not Allowed"
            self._write(b"HTTP/1.1 %b\r\nallow: POST, DELETE\r\ncontent-length: 0\r\n\r\n" % status)
            return
        message = decode(self._body)
        answer = self._answers.answer(message)
        session = b""
        if message.get("method") == "initialize":
            session = b"mcp-session-id: %b\r\n" % uuid.uuid4().hex.encode()
        if delay := self._answers.delay(message):
            asyncio.get_running_loop().call_later(delay, self._send, answer, session)
        else:
            self._send(answer, session)

    def _send(self, answer: bytes | None, session: bytes) -> None:
        if answer is None:
            self._write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")
            return
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n%bcontent-length: %d\r\n\r\n"
        self._write(head % (session, len(answer)) + answer)

    def _write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)


async def serve_http(answers: Answers) -> None:
    """It says its port on stdout."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(answers), "127.0.0.1", 0, backlog=256)
    stop = asyncio.Event()
    for kind in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(kind, stop.set)
    print(server.sockets[0].getsockname()[1], flush=True)
    await stop.wait()


# -- pipes -----------------------------------------------------------------------------------------------------------


def serve_pipes(answers: Answers) -> None:
    """Nothing is leaner than a blocking loop."""
    write, flush = sys.stdout.buffer.write, sys.stdout.buffer.flush
    for line in sys.stdin.buffer:
        answer = answers.answer(decode(line)) if line.strip() else None
        if answer is not None:
            write(answer + b"\n")
            flush()


async def serve_pipes_with_delays(answers: Answers) -> None:
    """Answers overtake each other where their delays differ."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=1 << 26)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    def put(answer: bytes) -> None:
        sys.stdout.buffer.write(answer + b"\n")
        sys.stdout.buffer.flush()

    while line := await reader.readline():
        message = decode(line)
        answer = answers.answer(message)
        if answer is not None:
            loop.call_later(answers.delay(message), put, answer)


# -- start -----------------------------------------------------------------------------------------------------------


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stdio", action="store_true", help="serve on stdin and stdout instead of HTTP")
    parser.add_argument("--tools", type=int, default=200, help="how many, of which the first is `echo`")
    parser.add_argument("--prefix", default="", help="what the names of the tools begin with")
    parser.add_argument("--delay-ms", type=float, default=0.0, help="what each call takes")
    parser.add_argument("--spread", action="store_true", help="anything between nothing and twice that")
    parser.add_argument("--pid-file", help="each start adds a line with its process id")
    parser.add_argument("--calls-file", help="each call adds a line with its text")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    if args.pid_file:
        with open(args.pid_file, "a", encoding="ascii") as file:
            file.write(f"{os.getpid()}\n")
    answers = Answers(args)
    if not args.stdio:
        uvloop.run(serve_http(answers))
    elif args.delay_ms:
        uvloop.run(serve_pipes_with_delays(answers))
    else:
        serve_pipes(answers)


if __name__ == "__main__":
    main()
