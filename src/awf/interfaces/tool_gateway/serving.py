"""`awf gateway api`: programs come in over standard streams, or over a Unix socket that only their user may enter."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from awf.application.running.tasks import spawn
from awf.domain.errors import AwfError
from awf.interfaces.tool_gateway.conversation import Conversation
from mcpserver.descriptors import Inlet, Outlet
from mcpserver.stdio import FINISHING_SECONDS, StandardStreams

if TYPE_CHECKING:
    from awf.application.tool_gateway import ToolGatewayService
    from awf.domain.redaction import Masker

__all__ = ["ApiOptions", "serve_api"]

BEHIND = 16 * 1024 * 1024  # what a program may leave unread before events are left out


class ApiOptions(NamedTuple):
    unix: str = ""  # empty: the standard streams
    storage: str = ""
    config: str = ""
    workspace: str = ""


def serve_api(options: ApiOptions, masker: Masker) -> int:
    """Until it is told to stop, or the one program has left; the exit status. Raises `AwfError` when it cannot begin.

    `masker`: of the log, which learns all secrets of servers.
    """
    if options.unix:
        return asyncio.run(_Serving(options, masker).over_socket())
    with StandardStreams() as streams:
        return asyncio.run(_Serving(options, masker).over_streams(*streams))


class _Serving:
    def __init__(self, options: ApiOptions, masker: Masker) -> None:
        self._options = options
        self._masker = masker
        self._stop = asyncio.Event()
        self._received = 0
        self._protocols: set[_Protocol] = set()

    def _handle_signals(self) -> None:
        loop = asyncio.get_running_loop()

        def end(number: int) -> None:
            self._received = number
            loop.remove_signal_handler(number)  # whoever asks twice gets it the hard way
            self._stop.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, end, number)

    @property
    def _status(self) -> int:
        return 128 + self._received if self._received else 0

    def open_service(self, given: dict[str, Any]) -> ToolGatewayService:
        """What the program says counts more than the command line."""
        from awf.bootstrap.tool_gateways import ToolGatewayOptions, open_tool_gateway

        flags = {name: getattr(self._options, name) for name in ("storage", "config", "workspace")}
        told = {name: value for name, value in flags.items() if value}
        return open_tool_gateway(ToolGatewayOptions(**{**told, **given}), masker=self._masker)

    # -- standard streams --------------------------------------------------------------------------------------------

    async def over_streams(self, source: int, target: int) -> int:
        self._handle_signals()
        outlet = Outlet(target)
        broken = asyncio.Event()

        def write(data: bytes) -> None:
            if not broken.is_set():
                try:
                    outlet.write(data)
                except OSError:
                    lose()

        def lose() -> None:
            broken.set()
            inlet.stop()

        conversation = Conversation(self.open_service, write)
        conversation.is_behind = lambda: outlet.unsent > BEHIND
        inlet = Inlet(source, conversation.feed)
        outlet.on_full, outlet.on_enough, outlet.on_broken = inlet.pause, inlet.start, lose
        conversation.on_full, conversation.on_enough = inlet.pause, inlet.start
        stopping = spawn(self._stop.wait(), "waiting to stop", awaited=True)
        try:
            inlet.start()
            waited: list[asyncio.Future[Any]] = [inlet.ended, stopping]
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            if not broken.is_set() and not self._stop.is_set():
                conversation.feed_end()
                answers = outlet.while_heard(conversation.settled(FINISHING_SECONDS))
                settling = spawn(answers, "the last answers", awaited=True)
                await asyncio.wait([settling, stopping], return_when=asyncio.FIRST_COMPLETED)
                settling.cancel()
        finally:
            stopping.cancel()
            inlet.stop()
            await conversation.close()
            await outlet.close(0 if broken.is_set() else 1.0)
        return self._status

    # -- a socket ----------------------------------------------------------------------------------------------------

    async def over_socket(self) -> int:
        from awf.bootstrap.tool_gateways import unix_door

        self._handle_signals()
        await self.open_service(
            {}
        ).close()  # what is wrong with the options shows now, not to the first program
        path = self._options.unix
        try:
            async with unix_door(path, lambda: _Protocol(self, self._protocols)):
                sys.stderr.write(f"listening on unix:{path}\n")
                sys.stderr.flush()
                await self._stop.wait()
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            message = f"Nobody can listen on {path}: {reason}."
            hint = "Choose another path, or end what listens there."
            raise AwfError("SYSTEM.IO.LISTEN_FAILED", message, hint=hint) from error
        finally:
            await asyncio.gather(*(one.end() for one in list(self._protocols)))
        return self._status


class _Protocol(asyncio.Protocol):
    """One program on the socket."""

    def __init__(self, serving: _Serving, others: set[_Protocol]) -> None:
        self._others = others
        self._conversation = Conversation(serving.open_service, self._write)
        self._conversation.is_behind = self._is_behind
        self._conversation.on_full = self.pause_writing
        self._conversation.on_enough = self.resume_writing

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._others.add(self)

    def data_received(self, data: bytes) -> None:
        self._conversation.feed(data)

    def eof_received(self) -> bool:
        self._conversation.feed_end()
        spawn(self._finish(), "answering a program that has said all")
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        spawn(self._left(), "a program has left")

    def pause_writing(self) -> None:
        self._transport.pause_reading()  # who does not read is not read from

    def resume_writing(self) -> None:
        with contextlib.suppress(RuntimeError):  # it is closing
            self._transport.resume_reading()

    async def end(self) -> None:
        await self._conversation.close()
        self._others.discard(self)
        self._transport.close()

    async def _left(self) -> None:
        await self._conversation.close()
        self._others.discard(self)

    async def _finish(self) -> None:
        await self._conversation.settled(FINISHING_SECONDS)
        self._transport.close()

    def _is_behind(self) -> bool:
        return self._transport.get_write_buffer_size() > BEHIND

    def _write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)
