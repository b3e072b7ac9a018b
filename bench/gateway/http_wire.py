"""The lean client over HTTP: raw bytes on keep-alive connections."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httptools

from bench.gateway.wire import NoAnswer, Peer, Slot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench.gateway.wire import Done

__all__ = ["HttpPeer"]


class HttpPeer(Peer):
    def __init__(self, url: str, protocol: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(protocol)
        parts = urlsplit(url)
        self.host, self.port = parts.hostname or "127.0.0.1", parts.port or 80
        self.path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self.session = b""
        self.unasked = 0  # answers that came while nothing was asked: somebody else's, or a second one
        self._extra = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        self._pool: list[_Connection] = []
        self._heads: dict[tuple[str, str], bytes] = {}

    def head(self, method: str, name: str) -> bytes:
        """All of the request before its length; made once for each method and tool."""
        key = (method, name)
        if key not in self._heads:
            self._heads[key] = self.request_line("POST") + self._mcp_headers(method, name)
        return self._heads[key]

    def request_line(self, verb: str) -> bytes:
        lines = (
            f"{verb} {self.path} HTTP/1.1\r\nhost: {self.host}:{self.port}\r\n"
            f"content-type: application/json\r\naccept: application/json, text/event-stream\r\n{self._extra}"
        )
        return lines.encode()

    def _mcp_headers(self, method: str, name: str) -> bytes:
        if method == "initialize":
            return b""
        lines = f"mcp-protocol-version: {self.protocol}\r\n"
        if self.modern:
            lines += f"mcp-method: {method}\r\n" + (f"mcp-name: {name}\r\n" if name else "")
        return lines.encode() + self.session_header()

    def session_header(self) -> bytes:
        return b"mcp-session-id: %b\r\n" % self.session if self.session else b""

    async def slots(self, count: int) -> list[Slot]:
        while len(self._pool) < count:
            self._pool.append(_Connection(self))
        chosen = self._pool[:count]
        for one in chosen:
            if one.transport is None:
                await one.connect()
        return list(chosen)

    async def hello(self, timeout: float = 30.0) -> None:
        self.session, self._heads = b"", {}
        await super().hello(timeout)

    def agreed(self, version: str) -> None:
        super().agreed(version)
        self.session, self._heads = self._pool[0].session, {}

    async def notify(self, method: str) -> None:
        [slot] = await self.slots(1)
        answer: asyncio.Future[tuple[int, bytes]] = asyncio.get_running_loop().create_future()
        body = b'{"jsonrpc":"2.0","method":"%b"}' % method.encode()
        slot.send(0, body, method, "", lambda *got: None if answer.done() else answer.set_result(got))
        status, raw = await asyncio.wait_for(answer, 30)
        if status not in {200, 202, 204}:
            raise NoAnswer(f"{method}: status {status}: {raw[:300]!r}")

    async def close(self) -> None:
        for one in self._pool:
            one.drop()
        self._pool = []


class _Connection(asyncio.Protocol):
    """One request at a time. A connection that the server closed while it was idle is opened again."""

    def __init__(self, peer: HttpPeer) -> None:
        self.peer = peer
        self.transport: asyncio.Transport | None = None
        self.session = b""
        self._done: Done | None = None
        self._body: list[bytes] = []
        self._again: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        await asyncio.get_running_loop().create_connection(lambda: self, self.peer.host, self.peer.port)

    def drop(self) -> None:
        self._done = None
        if self.transport is not None:
            self.transport.close()

    def send(self, number: int, body: bytes, method: str, name: str, done: Done) -> None:  # noqa: ARG002
        self._done = done
        data = b"%bcontent-length: %d\r\n\r\n%b" % (self.peer.head(method, name), len(body), body)
        if self.transport is None or self.transport.is_closing():
            self._again = asyncio.get_running_loop().create_task(self._send_again(data))
        else:
            self.transport.write(data)

    async def _send_again(self, data: bytes) -> None:
        try:
            await self.connect()
        except OSError as error:
            self._answered(0, str(error).encode())
            return
        assert self.transport is not None
        self.transport.write(data)

    def _answered(self, status: int, body: bytes) -> None:
        done, self._done = self._done, None
        if done is not None:
            done(status, body)
        elif status:
            self.peer.unasked += 1

    # -- what the event loop and the parser call ---------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport) or hasattr(transport, "write")
        self.transport = transport  # type: ignore[assignment]

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.transport = None
        self._answered(0, b"connection lost")

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._answered(0, repr(error).encode())

    def on_message_begin(self) -> None:
        self._body = []

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(name) == 14 and name.lower() == b"mcp-session-id":
            self.session = value

    def on_body(self, data: bytes) -> None:
        self._body.append(data)

    def on_message_complete(self) -> None:
        if not self._parser.should_keep_alive() and self.transport is not None:
            self.transport.close()
            self.transport = None
        self._answered(self._parser.get_status_code(), b"".join(self._body))
