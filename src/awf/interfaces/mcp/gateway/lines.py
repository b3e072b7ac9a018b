"""MCP as lines: one message each, over standard streams or a Unix socket."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from awf.application.running.tasks import spawn
from awf.domain.mcp import INVALID_REQUEST, RpcError
from awf.interfaces.mcp.gateway.conversation import Conversation
from mcpserver.descriptors import Inlet, Outlet
from mcpserver.stdio import FINISHING_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.application.gateway.gateway import Gateway

__all__ = ["LineProtocol", "LineReader", "serve_descriptors"]

UNREAD_LIMIT = 16 * 1024 * 1024  # what a client may be behind before only answers are kept for it


class LineReader:
    """Bytes in, messages out. `longest`: of one message."""

    def __init__(self, conversation: Conversation, longest: int) -> None:
        self._conversation = conversation
        self._longest = longest
        self._rest = bytearray()
        self._unread = bytearray()
        self._skipping = False
        self.on_full: Callable[[], object] = lambda: None
        self.on_enough: Callable[[], object] = lambda: None
        conversation.on_enough = self.go_on

    def feed(self, data: bytes) -> None:
        """Stops where the client has asked for as much as it may; what is left waits for `go_on`."""
        if self._unread:
            self._unread += data
            return
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            if self._conversation.is_full():
                self._unread += data[start:]
                self.on_full()
                return
            self._line(data[start:end])
            start = end + 1
        self._keep(data[start:])

    def go_on(self) -> None:
        data, self._unread = bytes(self._unread), bytearray()
        self.feed(data)
        if not self._unread:
            self.on_enough()

    def _keep(self, data: bytes) -> None:
        if self._skipping:
            return
        self._rest += data
        if len(self._rest) > self._longest:
            self._rest.clear()
            self._skipping = True  # to the end of the line
            self._too_long()

    def _line(self, data: bytes) -> None:
        if self._skipping:
            self._skipping = False
            return
        line = bytes(self._rest) + data if self._rest else data
        self._rest.clear()
        if len(line) > self._longest:
            self._too_long()
        elif line and not line.isspace():
            self._conversation.receive(line)

    def _too_long(self) -> None:
        text = f"Invalid request: a message is longer than {self._longest} bytes"
        self._conversation.refuse(RpcError(INVALID_REQUEST, text))


class LineProtocol(asyncio.Protocol):
    """One client on a socket."""

    def __init__(self, gateway: Gateway, *, longest: int, key: str) -> None:
        self._conversation = Conversation(gateway, self._write, key=key, is_behind=self._is_behind)
        self._reader = LineReader(self._conversation, longest)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._reader.on_full, self._reader.on_enough = self.pause_writing, self.resume_writing

    def _is_behind(self) -> bool:
        return self._transport.get_write_buffer_size() > UNREAD_LIMIT

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)

    def eof_received(self) -> bool:
        self._reader.feed(b"\n")
        spawn(self._finish(), "answering a client that has said all")
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        spawn(self._conversation.close(), "a client has left")

    def pause_writing(self) -> None:
        self._transport.pause_reading()  # who does not read is not read from

    def resume_writing(self) -> None:
        self._transport.resume_reading()

    def _write(self, data: bytes) -> bool:
        if self._transport.is_closing():
            return False
        self._transport.write(data + b"\n")
        return True

    async def _finish(self) -> None:
        await self._conversation.settled(FINISHING_SECONDS)
        self._transport.close()


async def serve_descriptors(
    gateway: Gateway, source: int, target: int, *, longest: int, key: str, profile: str = ""
) -> None:
    """Serve one client until it has nothing more to say and is answered."""
    outlet = Outlet(target)
    broken = False

    def write(data: bytes) -> bool:
        if broken:
            return False
        try:
            outlet.write(data + b"\n")
        except OSError:
            lose()
        return not broken

    def lose() -> None:
        nonlocal broken
        broken = True
        inlet.stop()

    def is_behind() -> bool:
        return outlet.unsent > UNREAD_LIMIT

    conversation = Conversation(gateway, write, key=key, profile=profile, is_behind=is_behind)
    reader = LineReader(conversation, longest)
    inlet = Inlet(source, reader.feed)
    outlet.on_full, outlet.on_enough, outlet.on_broken = inlet.pause, inlet.start, lose
    reader.on_full, reader.on_enough = inlet.pause, inlet.start
    try:
        inlet.start()
        await inlet.ended
        reader.feed(b"\n")
        if not broken:
            await outlet.while_heard(conversation.settled(FINISHING_SECONDS))
    finally:
        inlet.stop()
        await conversation.close()
        await outlet.close(0 if broken else FINISHING_SECONDS)
