"""The pump of one client: bytes to the session, its effects to tasks, and replies to one writer."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from mcpserver.calls import answer
from mcpserver.framing import Frames, encode
from mcpserver.messages import CALL, INTERNAL_ERROR, failure
from mcpserver.requests import Send, Start

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcpserver.requests import Effect, Request
    from mcpserver.server import Server
    from mcpserver.session import Session

__all__ = ["Connection", "Sink"]

log = logging.getLogger("mcpserver")


class Sink(Protocol):
    """Where the replies go."""

    def write(self, data: bytes) -> None:
        """Take it at once, write it in order. Raises OSError when nobody can read it any more."""

    def congested(self) -> bool:
        """Whether much is waiting to be read."""


class Connection:
    """One client. All of it runs on the event loop, so what is written never interleaves."""

    def __init__(
        self, server: Server, sink: Sink, session: Session | None = None, frames: Frames | None = None
    ) -> None:
        self._server = server
        self._sink = sink
        self._session = session or server.session()
        self._frames = frames or Frames()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._running: dict[Request, asyncio.Task[None]] = {}
        self._waiting: deque[Request] = deque()
        self._calls = 0
        self.lost = False
        self.on_lost: Callable[[], object] | None = None

    # What the client sends.

    def feed(self, data: bytes) -> None:
        self.take(self._frames.feed(data))

    def take(self, messages: Sequence[Any]) -> None:
        for message in messages:
            self.apply(self._effects(message))

    def apply(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Start):
                self._admit(effect.request)
            elif isinstance(effect, Send):
                self._write(encode(effect.message))
            else:
                self._cancel(effect.request)

    def _effects(self, message: Any) -> Sequence[Effect]:
        try:
            return self._session.receive(message)
        except Exception:  # a mistake of ours must not cost the client its connection
            log.exception("a message could not be handled")
            return [Send(failure(None, INTERNAL_ERROR, "Internal error"))]

    # Requests that need the tools.

    def _admit(self, request: Request) -> None:
        """Lists are quick and always run; calls over the limit wait their turn."""
        if request.method == CALL and self._calls >= self._server.concurrent_calls:
            self._waiting.append(request)
        else:
            self._start(request)

    def _start(self, request: Request) -> None:
        if request.method == CALL:
            self._calls += 1
        self._running[request] = self._loop.create_task(self._run(request))

    async def _run(self, request: Request) -> None:
        request.begun = True
        try:
            report = None if request.token is None else partial(self._report, request)
            reply, data = await answer(request, self._server, self._session, report)
            settled = self._session.settle(request, reply)
            if settled is not None:
                self._write(data if settled is reply else encode(settled))
        except Exception:
            log.exception("a request could not be answered")
        finally:
            self._ended(request)

    def _ended(self, request: Request) -> None:
        del self._running[request]
        if request.method == CALL:
            self._calls -= 1
        if self._waiting and self._calls < self._server.concurrent_calls:
            self._start(self._waiting.popleft())

    def _cancel(self, request: Request) -> None:
        task = self._running.get(request)
        if task is None:
            self._waiting.remove(request)
            return
        task.cancel()
        if not request.begun:  # then its coroutine will never run, not even to say that it ended
            self._ended(request)

    # What is written beside the replies.

    def _report(self, request: Request, done: float, total: float | None, text: str) -> None:
        """Progress is the one thing that may be left out when the client is slow to read."""
        if threading.get_ident() != self._thread:  # tools that work in a thread may report from there
            self._loop.call_soon_threadsafe(self._report, request, done, total, text)
            return
        message = self._session.progress(request, done, total, text)
        if message is not None and not self._sink.congested():
            self._write(encode(message))

    def tools_changed(self) -> None:
        if threading.get_ident() != self._thread:
            self._loop.call_soon_threadsafe(self.tools_changed)
            return
        for message in self._session.tools_changed():
            self._write(encode(message))

    def _write(self, data: bytes) -> None:
        if self.lost:
            return
        try:
            self._sink.write(data)
        except OSError:
            self.lose()

    def lose(self) -> None:
        """Nobody hears us any more."""
        if not self.lost:
            self.lost = True
            if self.on_lost is not None:
                self.on_lost()

    # The end.

    async def settle(self, drain: float) -> None:
        """The client sends no more. What runs may finish within the time given."""
        self.take(self._frames.end())
        deadline = self._loop.time() + drain
        while self._running and not self.lost and (left := deadline - self._loop.time()) > 0:
            await asyncio.wait(self._running.values(), timeout=left, return_when=asyncio.FIRST_COMPLETED)
        for message in self._session.close():
            self._write(encode(message))

    async def abort(self) -> None:
        """Cancel what still runs, and wait until all of it is gone, whoever else loses patience."""
        self._waiting.clear()
        for request in tuple(self._running):
            self._cancel(request)
        impatient: asyncio.CancelledError | None = None
        while self._running:
            try:
                await asyncio.wait(self._running.values())
            except asyncio.CancelledError as error:
                impatient = error
        if impatient is not None:
            raise impatient
