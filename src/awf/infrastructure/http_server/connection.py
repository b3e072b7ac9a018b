"""One connection: its requests are answered one at a time, in the order in which they came.

The connection reads on while a handler runs, since that is the only way to hear that the client has left. What comes
meanwhile is held, and beyond a limit the client has to wait. Time limits are not timers: the server looks at every
connection now and then, which costs a request nothing. While several requests are worked on, short answers of one turn of
the loop go out together at its end: a write between two pieces of work would wake up its reader just to let it fall asleep
again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from typing import TYPE_CHECKING, Protocol, cast

from awf.domain.ports.http_server import ClientGone, HttpReply
from awf.infrastructure.http_server.answer import has_body, head_of, refusal_bytes
from awf.infrastructure.http_server.reader import Phase, RequestReader
from awf.infrastructure.http_server.refusal import Refusal
from awf.infrastructure.http_server.request import Request, connection_line

if TYPE_CHECKING:
    from awf.domain.ports.http_server import HttpHandler, QuickHandler, ServerLimits
    from awf.domain.ports.turn import Turn
    from awf.infrastructure.http_server.reader import ReadRequest

__all__ = ["House", "HttpConnection"]

HELD_LIMIT = 64 * 1024  # of what comes while a handler runs
LONG_BODY = 16 * 1024
PARTING_SECONDS = 1.0  # for a refused client to read why
PARTING_BYTES = 1 << 20
_FAILED = HttpReply(
    500, (("Content-Type", "text/plain; charset=utf-8"),), b"the server failed on this request\n"
)
_STOPPING = HttpReply(503, (("Content-Type", "text/plain; charset=utf-8"),), b"the server is stopping\n")
_log = logging.getLogger("awf.http")


class House(Protocol):
    """The server, for its connections."""

    handler: HttpHandler
    quick: QuickHandler | None
    limits: ServerLimits
    turn: Turn | None
    closing: bool
    busy: int  # connections on which a request is worked on
    running: set[asyncio.Task[None]]

    def admit(self, connection: HttpConnection) -> Refusal | None: ...
    def forget(self, connection: HttpConnection) -> None: ...


class HttpConnection(asyncio.Protocol):
    def __init__(self, house: House) -> None:
        self.client = ""
        self._house = house
        self._loop = asyncio.get_running_loop()
        self._reader = RequestReader(house.limits)
        self._running: Request | None = None
        self._quick_end: asyncio.Future[None] | None = None
        self._held: list[bytes] = []
        self._held_size = 0
        self._full = False  # the transport has more to send than it likes
        self._outgoing = b""  # what waits for the end of the turn
        self._drained: list[asyncio.Future[None]] = []
        self._ended = False  # the client sends nothing more
        self._parting = 0  # bytes that may still come after a refusal
        self._refused = False
        limits = house.limits
        self._seconds = (limits.idle_seconds, limits.header_seconds, limits.body_seconds)  # by phase
        self._clock_of: Phase | None = None
        self._deadline = math.inf
        self._written = 0
        self._taken = -1
        self._moved_at = self._loop.time()

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        self.client = peer[0] if isinstance(peer, tuple) else "unix"
        self._deadline = self._loop.time() + self._house.limits.header_seconds
        refusal = self._house.admit(self)
        if refusal is not None:
            self._refuse(refusal)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            self._overhear(len(data))
        elif self._running is not None or self._full:
            self._hold(data)
        else:
            self._reader.feed(data)
            self._advance()

    def eof_received(self) -> bool:
        """Most clients that send no more have left. The others may still get an answer that is not a stream."""
        self.go_out()
        self._ended = True
        request = self._running
        if request is not None:
            request.leave()
            if request.streamed is not None and request.left:
                self._transport.abort()
        return self._running is not None or self._full

    def connection_lost(self, _reason: Exception | None) -> None:
        request = self._over()
        if request is not None:
            request.leave()
            request.leaving = None
        for waiter in self._drained:
            if not waiter.done():
                waiter.set_exception(ClientGone())
        self._drained.clear()
        self._held.clear()
        self._outgoing = b""
        self._refused, self._deadline = True, math.inf
        self._house.forget(self)

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        for waiter in self._drained:
            if not waiter.done():
                waiter.set_result(None)
        self._drained.clear()
        self._advance()

    # From one request to the next

    def _advance(self) -> None:
        """Do what comes next, unless something is going on."""
        reader = self._reader
        if self._running is not None or self._full or self._refused:
            return
        if self._house.closing:
            self._part()
            return
        if not reader.ready and self._held:
            self._release()
        if reader.ready:
            self._start(reader.ready.popleft())
        elif reader.refusal is not None:
            self._refuse(reader.refusal)
        elif self._ended or reader.last:
            self._close()
        else:
            self._wait_for_more()

    def _wait_for_more(self) -> None:
        reader = self._reader
        if reader.wants_continue:
            reader.wants_continue = False
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        # The clock of a phase is set once, however slowly bytes drip in.
        if reader.phase is not self._clock_of:
            self._clock_of = reader.phase
            self._deadline = self._loop.time() + self._seconds[reader.phase]

    def _hold(self, data: bytes) -> None:
        self._held.append(data)
        self._held_size += len(data)
        if self._held_size > HELD_LIMIT:
            self._transport.pause_reading()

    def _release(self) -> None:
        data = b"".join(self._held)
        self._held.clear()
        if self._held_size > HELD_LIMIT:
            self._transport.resume_reading()
        self._held_size = 0
        self._reader.feed(data)

    def _start(self, asked: ReadRequest) -> None:
        self._clock_of, self._deadline = None, math.inf
        request = self._running = Request(asked, self)
        self._house.busy += 1
        if self._ended:
            request.leave()
        if self._house.quick is not None and self._taken_quickly(request, self._house.quick):
            return
        task = request.task = self._loop.create_task(self._serve(request))
        self._house.running.add(task)

    def _taken_quickly(self, request: Request, quick: QuickHandler) -> bool:
        try:
            return quick(request)
        except Exception:  # noqa: BLE001  whoever waits must get an answer
            _log.exception("a request failed: %s %s", request.method, request.path)
            self._fail(request, _FAILED)
            return True

    def unfinished(self) -> asyncio.Task[None] | None:
        """What a quick handler still owes, as something that can be waited for and cancelled."""
        request = self._running
        if request is None or request.task is not None:
            return None
        request.task = self._loop.create_task(self._outlast(request))
        return request.task

    async def _outlast(self, request: Request) -> None:
        self._quick_end = self._loop.create_future()
        try:
            await self._quick_end
        except asyncio.CancelledError:
            if request.stopping is not None:
                request.stopping()
            self._fail(request, _STOPPING)
            raise
        finally:
            self._house.running.discard(cast("asyncio.Task[None]", request.task))

    async def _serve(self, request: Request) -> None:
        try:
            self._answer(request, await self._house.handler(request))
        except asyncio.CancelledError:
            self._fail(request, _STOPPING if self._house.closing else _FAILED)
            raise
        except ClientGone:
            self._drop(request)
        except Exception:  # noqa: BLE001  whoever waits must get an answer
            _log.exception("a request failed: %s %s", request.method, request.path)
            self._fail(request, _FAILED)
        finally:
            self._house.running.discard(cast("asyncio.Task[None]", request.task))

    # Answers

    def send(self, data: bytes) -> None:
        if self._outgoing:
            self.go_out()
        self._written += len(data)
        self._transport.write(data)

    def go_out(self) -> None:
        """The turn is over, or something else has to go out behind it."""
        data, self._outgoing = self._outgoing, b""
        if data and not self._transport.is_closing():
            self._written += len(data)
            self._transport.write(data)

    async def drained(self) -> None:
        if self._transport.is_closing():
            raise ClientGone
        if self._full:
            waiter = self._loop.create_future()
            self._drained.append(waiter)
            await waiter

    def answer(self, request: Request, reply: HttpReply | None) -> None:
        try:
            self._answer(request, reply)
        except Exception:  # noqa: BLE001  whoever waits must get an answer
            _log.exception("a request failed: %s %s", request.method, request.path)
            self._fail(request, _FAILED)

    def failed(self, request: Request) -> None:
        self._fail(request, _FAILED)

    def finished(self, request: Request) -> None:
        if request.streamed is not None:
            self._done(request, keep=request.streamed.keep)

    def stays(self, asked: ReadRequest) -> bool:
        return asked.keep and not self._house.closing

    def _answer(self, request: Request, reply: HttpReply | None) -> None:
        stream = request.streamed
        if stream is None:
            if reply is None:
                raise RuntimeError("the handler gave no answer")
            self._send_reply(request, reply)
        elif reply is not None:
            raise RuntimeError("the handler gave an answer after it had streamed one")
        else:
            stream.close()

    def _send_reply(self, request: Request, reply: HttpReply) -> None:
        asked, body = request.asked, reply.body
        keep = asked.keep and not self._house.closing
        last = b"" if keep and not asked.old else connection_line(asked, keep=keep)
        head = head_of(reply.status, reply.headers, len(body), last)
        if self._running is not request:
            return  # the client is gone
        if asked.method == "HEAD" or not has_body(reply.status):
            body = b""
        if len(body) > LONG_BODY:  # not worth a copy
            self.go_out()
            self._written += len(head) + len(body)
            self._transport.writelines((head, body))
        elif self._house.turn is None or self._house.busy == 1:
            self.send(head + body)
        else:
            if not self._outgoing:
                self._house.turn.at_end(self.go_out)
            self._outgoing += head + body
        self._done(request, keep=keep)

    def _fail(self, request: Request, reply: HttpReply) -> None:
        if request.streamed is None:
            self._send_reply(request, reply)
        else:
            self._drop(request)  # the client must not take half an answer for a whole one

    def _drop(self, request: Request) -> None:
        if self._running is request:
            self.go_out()
            self._transport.abort()

    def _done(self, request: Request, *, keep: bool) -> None:
        if self._running is not request:
            return
        self._over()
        request.leaving = request.stopping = None
        if keep:
            self._advance()
        else:
            self._close()

    def _close(self) -> None:
        self.go_out()
        self._transport.close()

    def _over(self) -> Request | None:
        request, self._running = self._running, None
        if request is not None:
            self._house.busy -= 1
        if self._quick_end is not None and not self._quick_end.done():
            self._quick_end.set_result(None)
        return request

    # Ends

    def _refuse(self, refusal: Refusal) -> None:
        """Say why, and leave the client a moment to read it: a close with unread input would take it back."""
        self._refused = True
        self.send(refusal_bytes(refusal.status, refusal.text))
        if self._ended:
            self._transport.close()
            return
        self._parting = PARTING_BYTES
        self._deadline = self._loop.time() + PARTING_SECONDS
        with contextlib.suppress(OSError):
            self._transport.write_eof()

    def _overhear(self, size: int) -> None:
        self._parting -= size
        if self._parting < 0:
            self._transport.pause_reading()  # until the moment is over

    def wind_down(self) -> None:
        """The server is closing: nothing new is begun here."""
        self._advance()

    def _part(self) -> None:
        if self._reader.phase is Phase.IDLE and not self._reader.ready and not self._held:
            self._close()
        else:
            self._refuse(Refusal(503, "the server is stopping"))

    def abort(self) -> None:
        self._transport.abort()

    def look(self, now: float) -> None:
        """End what takes too long."""
        if now > self._deadline:
            self._expire()
        waiting = self._transport.get_write_buffer_size()
        taken = self._written - waiting
        if taken != self._taken or not waiting:
            self._taken, self._moved_at = taken, now
        elif now - self._moved_at > self._house.limits.write_stall_seconds:
            self._transport.abort()

    def _expire(self) -> None:
        if self._refused:
            self._transport.abort()
        elif self._reader.phase is Phase.IDLE:
            self._close()
        else:
            self._refuse(Refusal(408, "the request took too long to come"))
