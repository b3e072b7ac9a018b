"""A connection that only listens: a GET stream of a session, or a `subscriptions/listen` of the stateless era."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httptools
import msgspec

from bench.gateway.wire import MODERN, NoAnswer, modern_meta

if TYPE_CHECKING:
    from bench.gateway.http_wire import HttpPeer

__all__ = ["Stream", "listen", "open_stream"]

_TOOLS_CHANGED = "notifications/tools/list_changed"


class Stream(asyncio.Protocol):
    """What arrives, by method."""

    def __init__(self, request: bytes) -> None:
        self.heard: list[str] = []
        self.opened: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.closed = False
        self._request = request
        self._rest = b""
        self._parser = httptools.HttpResponseParser(self)
        self._transport: Any = None

    @property
    def changes(self) -> int:
        """How often it heard that the list of tools has changed."""
        return self.heard.count(_TOOLS_CHANGED)

    def close(self) -> None:
        self._transport.close()

    # -- what the event loop and the parser call ---------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.write(self._request)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.closed = True
        if not self.opened.done():
            self.opened.set_result(0)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_headers_complete(self) -> None:
        if not self.opened.done():
            self.opened.set_result(self._parser.get_status_code())

    def on_body(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            text = line[5:].strip() if line.startswith(b"data:") else b""
            if text.startswith(b"{"):
                self.heard.append(str(msgspec.json.decode(text).get("method", "an answer")))

    def on_message_complete(self) -> None:
        self.closed = True


async def open_stream(peer: HttpPeer) -> Stream:
    """The GET stream of the session that this peer has."""
    version = f"mcp-protocol-version: {peer.protocol}\r\n".encode()
    request = peer.request_line("GET") + version + peer.session_header() + b"\r\n"
    return await _opened(peer, request)


async def listen(peer: HttpPeer, number: int = 1) -> Stream:
    """A subscription to changes of the list of tools."""
    wanted = {"notifications": {"toolsListChanged": True}, "_meta": modern_meta()}
    message = {"jsonrpc": "2.0", "id": number, "method": "subscriptions/listen", "params": wanted}
    body = msgspec.json.encode(message)
    headers = f"mcp-protocol-version: {MODERN}\r\nmcp-method: subscriptions/listen\r\n"
    length = f"content-length: {len(body)}\r\n\r\n"
    return await _opened(peer, peer.request_line("POST") + headers.encode() + length.encode() + body)


async def _opened(peer: HttpPeer, request: bytes) -> Stream:
    loop = asyncio.get_running_loop()
    _, stream = await loop.create_connection(lambda: Stream(request), peer.host, peer.port)
    status = await asyncio.wait_for(stream.opened, 30)
    if status != 200:
        stream.close()
        raise NoAnswer(f"a stream was answered with status {status}")
    return stream
