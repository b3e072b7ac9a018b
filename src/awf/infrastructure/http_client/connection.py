"""One TCP or TLS connection that carries one exchange at a time."""

from __future__ import annotations

import asyncio
import os
import re
import select
from typing import TYPE_CHECKING, cast

import httptools

from awf.domain.ports.http_client import HttpBroken, HttpGarbled
from awf.infrastructure.http_client.response import Response

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.infrastructure.http_client.known_heads import KnownHeads

__all__ = ["HttpConnection", "words"]

HEADERS_LIMIT = 64 * 1024
PARTING_SECONDS = 1.0
_CONNECTING = re.compile(r"\[Errno (\d+)\] Connect call failed")


class HttpConnection(asyncio.Protocol):
    """`on_free` hears when a finished exchange leaves it ready for the next one, `on_begun` when it has a request that is to
    `go_out` at the end of the turn. `known`: heads of earlier answers.
    """

    def __init__(
        self,
        on_free: Callable[[HttpConnection], None],
        on_lost: Callable[[HttpConnection], None],
        on_begun: Callable[[HttpConnection], None],
        known: KnownHeads,
    ) -> None:
        self.idle_since = 0.0
        self.reused = False
        self.closed = asyncio.get_running_loop().create_future()
        self._on_free = on_free
        self._on_lost = on_lost
        self._on_begun = on_begun
        self._outgoing = b""
        self._known = known
        self._response: Response | None = None
        self._untouched = True  # nothing of the answer has come
        self._fields: dict[str, str] = {}
        self._keep = False
        self._headers_size = 0
        self._until_close = True
        self._parting: asyncio.TimerHandle | None = None
        self._parser = httptools.HttpResponseParser(self)

    async def exchange(self, data: bytes) -> Response:
        """Send a whole request and wait for the head of its answer. Whoever reads the answer lets go of it."""
        response = self._send(data)
        try:
            await response.opened()
        except BaseException:
            self.abort()
            raise
        return response

    def begin(self, data: bytes, tell: Callable[[Response], None], tag: object) -> Response | None:
        """The same, for one who does not wait."""
        if self.closed.done() or self._transport.is_closing():
            return None
        response = self._response = Response(self, tell, tag)
        self._untouched = True
        self._keep = False
        self._outgoing = data
        self._on_begun(self)
        return response

    def go_out(self) -> None:
        """The turn is over."""
        data, self._outgoing = self._outgoing, b""
        if not self._transport.is_closing():
            self._transport.write(data)

    def _send(self, data: bytes) -> Response:
        self._response = Response(self)
        self._untouched = True
        self._keep = False
        if self.closed.done():
            self._response.fail(HttpBroken("the connection was closed"))
        else:
            self._transport.write(data)
        return self._response

    def finish(self) -> None:
        """The reader needs no more of the answer. What little may be left of it is waited for."""
        if self._response is None or self._transport.is_closing():
            return
        if self._response.complete:
            self._next()
        elif self._response.failure is not None or not self._response.status:
            self.abort()
        else:
            loop = asyncio.get_running_loop()
            self._parting = loop.call_later(PARTING_SECONDS, self.abort)
            self._transport.resume_reading()

    def abort(self) -> None:
        self._transport.abort()

    def pause(self) -> None:
        self._transport.pause_reading()

    def resume(self) -> None:
        self._transport.resume_reading()

    def is_stale(self) -> bool:
        """Whether the other side closed it, or said something unasked, while it was idle."""
        if self._transport.is_closing():
            return True
        return bool(self._poll.poll(0))

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._poll = select.poll()
        self._poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        response = self._response
        if response is None or self._outgoing:  # nobody has asked yet
            self.abort()
            return
        untouched, self._untouched = self._untouched, False
        if untouched and self._known.recognise(data, response):
            self._keep = True
            response.wake()
            return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as reason:
            response.fail(HttpGarbled(f"the answer is not HTTP/1.1 ({reason})"))
            self.abort()
        else:
            if self._response is not None:
                if untouched and self._keep and self._response.complete:
                    self._known.remember(data, self._response)
                self._response.wake()

    def connection_lost(self, exc: Exception | None) -> None:
        response = self._response
        if response is not None and not response.complete:
            # Without a length the end of the connection is the end of the answer.
            if response.status and self._until_close and exc is None:
                response.complete = True
            else:
                response.fail(
                    HttpBroken(words(exc) if exc else "the connection was closed in the middle of the answer")
                )
            response.wake()
        if self._parting is not None:
            self._parting.cancel()
        if not self.closed.done():
            self.closed.set_result(None)
        self._on_lost(self)

    # httptools' side

    def on_message_begin(self) -> None:
        self._headers_size = 0
        self._until_close = True
        self._fields = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers_size += len(name) + len(value)
        if self._headers_size > HEADERS_LIMIT:
            raise ValueError("its headers are too long")
        key = name.decode("latin-1").lower()
        if key in {"content-length", "transfer-encoding"}:
            self._until_close = False
        self._fields[key] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if self._response is not None and status >= 200:  # 1xx only says that more is to come
            self._response.status = status
            self._response.headers, self._fields = self._fields, {}

    def on_body(self, body: bytes) -> None:
        if self._response is not None and self._parting is None:
            self._response.put(body)

    def on_message_complete(self) -> None:
        if self._response is None or not self._response.status:
            return
        self._response.complete = True
        self._keep = self._parser.should_keep_alive()
        if self._parting is not None:
            self._parting.cancel()
            self._parting = None
            self._next()

    def _next(self) -> None:
        """Give it back for the next exchange, if the other side agrees."""
        self._response = None
        if self._keep and not self._transport.is_closing():
            self.reused = True
            self._on_free(self)
        else:
            self._transport.close()


def words(reason: BaseException) -> str:
    """What the operating system says, for the middle of a sentence."""
    number = _CONNECTING.search(str(reason))  # asyncio puts words of its own in place of the system's
    said = os.strerror(int(number.group(1))) if number else getattr(reason, "strerror", None)
    return (said or str(reason) or type(reason).__name__).rstrip(".")
