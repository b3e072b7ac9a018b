"""A server behind a WebSocket: like a pipe, with one message per text, both ways at any time.

The specification of MCP does not have this way; servers that do agree on the subprotocol `mcp` and on text frames.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from typing import TYPE_CHECKING, Any

from awf.infrastructure.upstreams import frames
from awf.infrastructure.upstreams.background import Background
from awf.infrastructure.upstreams.channel import MESSAGE_LIMIT
from awf.infrastructure.upstreams.failures import ServerFault, nonsense, unavailable
from awf.infrastructure.upstreams.noise import Noise
from awf.infrastructure.upstreams.websocket import wire
from awf.infrastructure.upstreams.websocket.connection import connect

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from awf.domain.mcp import Era
    from awf.infrastructure.upstreams.correlation import Call, Correlation
    from awf.infrastructure.upstreams.websocket.connection import Connection
    from awf.infrastructure.upstreams.websocket.wire import Message

__all__ = ["WebSocketChannel"]

LEAVING_SECONDS = 2.0
PULSE = 30.0  # seconds of silence after which the other side is asked for a sign of life
MISSED = 2  # such times in a row after which it is given up
NORMAL = 1000
ONLY_TEXT = 1003
_UNSURE = "What was asked of it may or may not have been done."


class WebSocketChannel:
    """Connects when it is made."""

    def __init__(
        self,
        name: str,
        url: str,
        headers: Mapping[str, str],
        correlation: Correlation,
        *,
        authorization: Callable[[bool], Awaitable[str]] | None = None,
    ) -> None:
        self.correlation = correlation
        self._name = name
        self._connecting = functools.partial(connect, name, url, headers, authorization)
        self._connection: Connection | None = None
        self._opened = asyncio.Event()  # there is a connection, or there will be none
        self._fault: ServerFault | None = None
        self._closing = False
        self._noise = Noise(name, correlation.masking())
        self._chunks = 0  # taken in so far
        self._background = Background()
        self._reading = self._background.start(self._read(), f"reading from MCP server {name}")

    @property
    def alive(self) -> bool:
        return self._fault is None and not self._closing

    @property
    def has_session(self) -> bool:
        return True

    def agreed(self, era: Era) -> None:
        """Both eras look alike here: what differs is in the messages."""

    def begin(self, call: Call) -> bool:
        """Whoever speaks this way waits with the others."""
        del call
        return False

    def give_up(self, call: Call) -> None:
        """Nothing is ever begun here."""

    async def exchange(self, call: Call) -> dict[str, Any]:
        try:
            await self._send(call.frame)
            return await call.answer
        except asyncio.CancelledError:
            if self.correlation.forget(call) and call.cancellable and self.alive:
                self._background.start(self._give_up(call), "telling of a cancellation")
            raise

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        await self._send(frames.notification(method, params))

    async def reply(self, frame: bytes) -> None:
        await self._send(frame)

    async def listen(self) -> None:
        """It is heard already."""

    async def hear(self) -> None:
        """Everything comes in by the one connection that is always read."""
        await asyncio.wait([self._reading])

    async def close(self) -> None:
        """Say goodbye, and wait a moment for the other side to do so."""
        self._closing = True
        self._ended(unavailable(f'The connection to MCP server "{self._name}" was closed.'))
        if self._connection is not None and not self._reading.done():
            self._connection.put(wire.closing(NORMAL))
            await asyncio.wait([self._reading], timeout=LEAVING_SECONDS)
        await self._background.close()
        if self._connection is not None:
            await self._connection.gone()

    # Sending

    async def _send(self, message: bytes) -> None:
        await self._opened.wait()
        if self._fault is not None:
            raise self._fault
        assert self._connection is not None
        try:
            await self._connection.write(wire.frame(wire.TEXT, message))
        except OSError as reason:
            raise self._broken(reason) from reason

    async def _give_up(self, call: Call) -> None:
        told = {"requestId": call.number, "reason": "The caller no longer waits for it."}
        await self._attempt(frames.notification("notifications/cancelled", told))

    async def _attempt(self, message: bytes) -> None:
        with contextlib.suppress(ServerFault):  # calls hear of a lost connection by themselves
            await self._send(message)

    # Taking in

    async def _read(self) -> None:
        fault = unavailable(f'MCP server "{self._name}" can no longer be heard.')
        try:
            self._connection = await self._connecting()
            self._opened.set()
            self._background.start(self._watch(self._connection), f"watching MCP server {self._name}")
            fault = await self._follow(self._connection)
        except ServerFault as reason:
            fault = reason
        except OSError as reason:
            fault = self._broken(reason)
        finally:
            # Also when reading itself fails: nobody may wait for an answer that cannot come.
            self._ended(fault)
            if self._connection is not None:
                self._connection.abort()

    async def _follow(self, connection: Connection) -> ServerFault:
        """Until the end; then why it came."""
        reader = wire.MessageReader(MESSAGE_LIMIT)
        try:
            while chunk := await connection.read():
                self._chunks += 1
                for message in reader.feed(chunk):
                    if message.kind == wire.CLOSE:
                        return await self._taken_leave(connection, message.data)
                    self._take(connection, message)
        except wire.Breach as reason:
            await self._leave(connection, wire.closing(reason.code))
            return self._objection(reason)
        said = f'MCP server "{self._name}" ended the connection without a word.'
        return unavailable(said, hint=_UNSURE)

    async def _watch(self, connection: Connection) -> None:
        """A connection that was lost on the way looks like a quiet one, until somebody asks."""
        missed = 0
        while missed < MISSED and self.alive:
            chunks = self._chunks
            await asyncio.sleep(PULSE)
            missed = missed + 1 if self._chunks == chunks else 0
            if missed:
                connection.put(wire.frame(wire.PING, b""))
        if self.alive:
            self._ended(unavailable(f'MCP server "{self._name}" gives no sign of life.', hint=_UNSURE))
            connection.abort()

    def _take(self, connection: Connection, message: Message) -> None:
        if message.kind == wire.PING:
            connection.put(wire.frame(wire.PONG, message.data))
        elif message.kind == wire.BINARY:
            raise wire.Breach(ONLY_TEXT, "something binary")
        elif message.kind == wire.TEXT:
            self._heard(message.data)

    def _heard(self, data: bytes) -> None:
        messages = frames.messages_in(data)
        if messages is None:
            self._noise.hear("sent a text", data)
        for message in messages or ():
            answer = self.correlation.receive(message)
            if answer is not None:
                self._background.start(self._attempt(answer), f"answering MCP server {self._name}")

    # The end

    async def _taken_leave(self, connection: Connection, data: bytes) -> ServerFault:
        code, reason = int.from_bytes(data[:2], "big"), data[2:].decode("utf-8", "replace")
        if not self._closing:  # else it answers our own
            await self._leave(connection, wire.frame(wire.CLOSE, data[:2]))
        said = f" ({code}{': ' + ' '.join(reason.split()) if reason else ''})" if code else ""
        return unavailable(f'MCP server "{self._name}" closed the connection{said}.', hint=_UNSURE)

    async def _leave(self, connection: Connection, last: bytes) -> None:
        with contextlib.suppress(OSError):  # also TimeoutError
            async with asyncio.timeout(LEAVING_SECONDS):
                await connection.write(last)
                await connection.finish()

    def _objection(self, reason: wire.Breach) -> ServerFault:
        if reason.code == wire.TOO_LARGE:
            size = MESSAGE_LIMIT // 1024 // 1024
            return nonsense(f'MCP server "{self._name}" sent a message of over {size} MiB.')
        return nonsense(f'MCP server "{self._name}" sent {reason} over its WebSocket.')

    def _broken(self, reason: OSError) -> ServerFault:
        words = reason.strerror or str(reason) or "it was cut"
        return self._fault or unavailable(
            f'The connection to MCP server "{self._name}" broke: {words}.', hint=_UNSURE
        )

    def _ended(self, fault: ServerFault) -> None:
        self._fault = self._fault or fault
        self._opened.set()
        self.correlation.fail_all(self._fault)
