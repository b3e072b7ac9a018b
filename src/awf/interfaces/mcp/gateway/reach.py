"""How a client is spoken to over HTTP: one answer as JSON, or a stream of events once there is more to say."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from awf.domain.ports.http_server import ClientGone, HttpReply
from awf.interfaces.mcp.gateway.event_log import EventLog, event
from awf.interfaces.mcp.gateway.messages import encode, json_reply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from awf.domain.ports.http_server import HttpRequest, HttpStream

__all__ = ["AnswerReach", "StandingReach"]

STREAM_HEADERS = (
    ("Content-Type", "text/event-stream"),
    ("Cache-Control", "no-store"),
    ("X-Accel-Buffering", "no"),
)
UNREAD_LIMIT = 16 * 1024 * 1024  # what a client may be behind before it is given up
UNREAD_CHECK = 256 * 1024
PULSE = b": \n\n"
RETRY_MS = 500


class _Outlet:
    """One stream that is open now."""

    def __init__(self, stream: HttpStream) -> None:
        self._stream = stream
        self._unread = 0
        self._draining: asyncio.Task[None] | None = None
        self.open = True

    def write(self, data: bytes) -> bool:
        if not self.open:
            return False
        try:
            self._stream.write(data)
        except ClientGone:
            self.open = False
            return False
        self._unread += len(data)
        if self._unread > UNREAD_LIMIT:
            self.open = False  # the server ends a connection from which nothing is taken
        elif self._unread > UNREAD_CHECK and self._draining is None:
            self._draining = asyncio.get_running_loop().create_task(self._drain())
        return True

    async def _drain(self) -> None:
        try:
            await self._stream.drained()
            self._unread = 0
        except ClientGone:
            self.open = False
        finally:
            self._draining = None

    def close(self) -> None:
        if self.open:
            self.open = False
            self._stream.close()


class AnswerReach:
    """A `Reach`: what is said while a request is worked on, and its answer.

    `new_log`: events are kept for a client that loses the stream. `primed`: the client understands an empty event.
    """

    __slots__ = (
        "_headers",
        "_new_log",
        "_on_end",
        "_outlet",
        "_request",
        "log",
        "primed",
        "quiet_since",
        "streams",
    )

    def __init__(
        self,
        request: HttpRequest,
        headers: Sequence[tuple[str, str]],
        *,
        streams: bool,
        new_log: Callable[[], EventLog] | None = None,
        primed: bool = False,
    ) -> None:
        self._request = request
        self._headers = headers
        self._outlet: _Outlet | None = None
        self.streams = streams  # whether the client takes one
        self.log: EventLog | None = None
        self.primed = primed
        self.quiet_since = 0.0
        self._new_log = new_log
        self._on_end: Callable[[], None] | None = None

    @property
    def streaming(self) -> bool:
        return self._outlet is not None

    def send(self, message: dict[str, Any]) -> bool:
        if not self.streams:
            return False
        outlet = self.open()
        data = encode(message)
        log = self._log()
        self.quiet_since = asyncio.get_running_loop().time()
        if outlet is None:
            return False  # nobody can come back to a stream that they never saw
        return outlet.write(log.add(data) if log else event(data)) or log is not None

    def open(self) -> _Outlet | None:
        """Begin the stream. None when the client has gone."""
        if self._outlet is None:
            try:
                self._outlet = _Outlet(self._request.stream(200, (*STREAM_HEADERS, *self._headers)))
            except ClientGone:
                return None
            log = self._log()
            if log is not None and self.primed:
                self._outlet.write(log.primer())
        return self._outlet

    def _log(self) -> EventLog | None:
        if self.log is None and self._new_log is not None:
            self.log = self._new_log()
        return self.log

    def pulse(self) -> None:
        if self._outlet is not None:
            self._outlet.write(PULSE)

    def pause(self) -> None:
        """End the stream for now, where the client knows how to come back for the rest."""
        log = self._log()
        outlet = self.open() if log is not None and self.primed and self.streams else None
        if outlet is not None and log is not None and outlet.open:
            outlet.write(log.primer(RETRY_MS))
            outlet.close()

    def attach(self, stream: HttpStream, position: int, on_end: Callable[[], None]) -> None:
        """The client has come back on another stream, and is there until `on_end`."""
        if self._on_end is not None:
            self._on_end()  # the client has come back before; that stream is over
        if self._outlet is not None:
            self._outlet.close()
        self._on_end = on_end
        self.quiet_since = asyncio.get_running_loop().time()
        log = self._log()
        assert log is not None
        self._outlet = _Outlet(stream)
        for made in log.after(position):
            self._outlet.write(made)

    def finish(self, body: bytes, status: int = 200) -> HttpReply | None:
        """The answer itself."""
        if self._outlet is None:
            return json_reply(body, status, self._headers)
        log = self._log()
        written = self._outlet.write(log.add(body) if log else event(body))
        self._outlet.close()
        if log is not None:
            log.finish(asyncio.get_running_loop().time(), written=written)
        if self._on_end is not None:
            self._on_end()
        return None

    def abandon(self) -> HttpReply | None:
        """There will be no answer, and nobody waits for one."""
        if self._outlet is None:
            return HttpReply(202)
        self._outlet.close()
        if self._on_end is not None:
            self._on_end()
        return None


class StandingReach:
    """A `Reach` for what is said between requests."""

    def __init__(self, stream: HttpStream, log: EventLog | None = None) -> None:
        self._outlet = _Outlet(stream)
        self._log = log
        self._on_close: Callable[[], None] | None = None

    def send(self, message: dict[str, Any]) -> bool:
        return self.write(encode(message))

    def write(self, data: bytes, name: str = "") -> bool:
        if not self._outlet.open:
            return False
        return self._outlet.write(self._log.add(data) if self._log is not None else event(data, name=name))

    def raw(self, data: bytes) -> bool:
        return self._outlet.write(data)

    def pause(self) -> None:
        pass

    def pulse(self) -> None:
        self._outlet.write(PULSE)

    @property
    def open(self) -> bool:
        return self._outlet.open

    def on_close(self, tell: Callable[[], None]) -> None:
        self._on_close = tell

    def close(self) -> None:
        self._outlet.close()
        if self._on_close is not None:
            self._on_close()
