"""One request as the handler sees it, and the stream that may be its answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from awf.domain.ports.http_server import ClientGone
from awf.infrastructure.http_server.answer import has_body, stream_head

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from awf.domain.ports.http_server import HttpReply
    from awf.infrastructure.http_server.reader import ReadRequest

__all__ = ["Carrier", "Request", "Stream", "connection_line"]

LAST = b"Connection: close\r\n"


class Carrier(Protocol):
    """The connection that an answer goes over."""

    client: str

    def send(self, data: bytes) -> None: ...
    async def drained(self) -> None: ...
    def finished(self, request: Request) -> None:
        """Its answer is complete, whatever its handler still does."""
        ...

    def answer(self, request: Request, reply: HttpReply | None) -> None:
        """That of a quick handler."""
        ...

    def failed(self, request: Request) -> None:
        """There will be no answer of a quick handler."""
        ...

    def stays(self, asked: ReadRequest) -> bool:
        """Whether the connection is kept after the answer."""
        ...


class Request:
    """An `HttpRequest`."""

    __slots__ = (
        "_carrier",
        "_gone",
        "asked",
        "body",
        "client",
        "handed",
        "headers",
        "leaving",
        "left",
        "memo",
        "method",
        "path",
        "query",
        "stopping",
        "streamed",
        "task",
    )

    def __init__(self, asked: ReadRequest, carrier: Carrier) -> None:
        self.asked = asked
        self.method = asked.method
        self.path = asked.target.path
        self.query = asked.target.query
        self.headers = asked.headers
        self.body = asked.body
        self.memo = asked.memo
        self.client = carrier.client
        self.handed: Any = None
        self.left = False
        self.leaving: Callable[[], object] | None = None
        self.stopping: Callable[[], object] | None = None
        self.streamed: Stream | None = None
        self.task: asyncio.Task[None] | None = None  # of its handler, unless that is a quick one
        self._carrier = carrier
        self._gone: asyncio.Event | None = None

    @property
    def gone(self) -> asyncio.Event:
        if self._gone is None:  # few handlers ask
            self._gone = asyncio.Event()
            if self.left:
                self._gone.set()
        return self._gone

    def leave(self) -> None:
        if self.left or (self.streamed is not None and self.streamed.complete):
            return
        self.left = True
        if self.leaving is not None:
            self.leaving()
        if self._gone is not None:
            self._gone.set()

    def on_leave(self, tell: Callable[[], object]) -> None:
        self.leaving = tell
        if self.left:
            tell()

    def on_stop(self, tell: Callable[[], object]) -> None:
        self.stopping = tell

    def answer(self, reply: HttpReply | None) -> None:
        self._carrier.answer(self, reply)

    def fail(self) -> None:
        self._carrier.failed(self)

    def stream(self, status: int = 200, headers: Sequence[tuple[str, str]] = ()) -> Stream:
        if self.streamed is not None:
            raise RuntimeError("the answer has begun already")
        if self.left:
            raise ClientGone
        self.streamed = Stream(self, self._carrier, status, headers)
        return self.streamed


class Stream:
    """What is written in one go is sent in one go: a short answer is one packet."""

    __slots__ = ("_carrier", "_chunked", "_mute", "_request", "_waiting", "complete", "keep")

    def __init__(
        self, request: Request, carrier: Carrier, status: int, headers: Sequence[tuple[str, str]]
    ) -> None:
        asked = request.asked
        self._mute = asked.method == "HEAD" or not has_body(status)
        self._chunked = not asked.old and not self._mute
        self.keep = carrier.stays(asked) and (self._chunked or self._mute)
        framing = (b"Transfer-Encoding: chunked\r\n",) if self._chunked else ()
        self._waiting = [stream_head(status, headers, *framing, connection_line(asked, keep=self.keep))]
        self._request = request
        self._carrier = carrier
        self.complete = False
        asyncio.get_running_loop().call_soon(self._flush)

    def write(self, data: bytes) -> None:
        if self._request.left:
            raise ClientGone
        if self.complete:
            raise RuntimeError("the answer is complete already")
        if not data or self._mute:  # an empty chunk would be the end
            return
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._flush)
        self._waiting.extend((b"%x\r\n" % len(data), data, b"\r\n") if self._chunked else (data,))

    async def drained(self) -> None:
        if self._request.left:
            raise ClientGone
        self._flush()
        await self._carrier.drained()

    def close(self) -> None:
        if self.complete:
            return
        self.complete = True
        if self._chunked:
            self._waiting.append(b"0\r\n\r\n")
        self._flush()
        self._carrier.finished(self._request)

    def _flush(self) -> None:
        if self._waiting and not self._request.left:
            data = b"".join(self._waiting)
            self._waiting.clear()
            self._carrier.send(data)


def connection_line(asked: ReadRequest, *, keep: bool) -> bytes:
    if not keep:
        return LAST
    return b"Connection: keep-alive\r\n" if asked.old else b""
