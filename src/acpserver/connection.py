"""The pump of one editor: lines to the conversation, its effects to the agent, and everything said to one writer."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from acpserver.client import Client
from acpserver.ending import ended_within
from acpserver.errors import EditorGoneError, RequestError
from acpserver.framing import Lines, encode
from acpserver.handling import answer, internal, refused
from acpserver.messages import notification
from acpserver.requests import Cancel, Send, Start, Tell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from acpserver.agent import Agent
    from acpserver.conversation import Conversation
    from acpserver.framing import Oversize
    from acpserver.requests import Answered, Effect, Request
    from acpserver.server import Server

__all__ = ["CONGESTED", "MAX_UNSENT", "Connection", "Sink"]

log = logging.getLogger("acpserver")

CONGESTED = 256 * 1024
MAX_UNSENT = 64 * 1024 * 1024  # with more than this unread we stop reading, too


class Sink(Protocol):
    """Where everything said goes."""

    def write(self, data: bytes) -> None:
        """Take it at once, write it in order. Raises OSError when nobody can read it any more."""

    def unsent(self) -> int:
        """How many bytes are waiting to be read."""


class Connection:
    """One editor. All of it runs on the event loop, so what is written never interleaves."""

    def __init__(
        self, server: Server, sink: Sink, conversation: Conversation | None = None, lines: Lines | None = None
    ) -> None:
        self._server = server
        self._sink = sink
        self._lines = lines or Lines()
        self._trace = server.trace
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._agent: Agent | None = None
        self._running: dict[Request, asyncio.Task[None]] = {}
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._gone = False  # answers to us are not expected any more
        self._closed = False  # and whatever is left of us has nothing more to say
        self.conversation = conversation or server.conversation()
        self.client = Client(self)
        self.lost = False  # nobody reads what we write
        self.on_lost: Callable[[], object] | None = None

    # What the editor sends.

    def feed(self, data: bytes) -> None:
        self.take(self._lines.feed(data))

    def end_of_input(self) -> None:
        self.take(self._lines.end())

    def take(self, lines: Iterable[bytes | Oversize]) -> None:
        for line in lines:
            self._trace.received(line)
            self.apply(self.conversation.hear(line))

    def apply(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                self._write(encode(effect.message))
            elif isinstance(effect, Start):
                self._start(effect.request)
            elif isinstance(effect, Tell):
                self._tell(effect)
            elif isinstance(effect, Cancel):
                self._cancel(effect.request)
            else:
                self._answered(effect)

    # What the agent makes of it.

    def _made(self) -> Agent:
        """The agent, made when it is first needed; when that fails, the next request tries again."""
        if self._agent is None:
            self._agent = self._server.agent(self.client)
        return self._agent

    def _start(self, request: Request) -> None:
        try:
            outcome = self._made().request(request.method, request.params)
        except RequestError as error:
            self._settle(request, refused(request, error))
            return
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            log.exception("%s failed", request.method)
            self._settle(request, internal(request, error, self.conversation))
            return
        task = self._loop.create_task(self._run(request, outcome), name=f"acp {request.method}")
        self._running[request] = task
        task.add_done_callback(partial(self._ended, request))

    async def _run(self, request: Request, outcome: Any) -> None:
        request.begun = True
        self._settle(request, await answer(request, outcome, self.conversation))

    def _settle(self, request: Request, data: bytes) -> None:
        self.conversation.settle(request)
        self._write(data)

    def _ended(self, request: Request, task: asyncio.Task[None]) -> None:
        del self._running[request]
        if not task.cancelled() and task.exception() is not None:
            log.error("a request could not be answered", exc_info=task.exception())

    def _tell(self, told: Tell) -> None:
        try:
            self._made().notification(told.method, told.params)
        except (Exception, SystemExit, asyncio.CancelledError):
            log.exception("%s failed", told.method)

    def _cancel(self, request: Request) -> None:
        """A handler that has not begun begins first: whatever `Agent.request` did at once, it can then undo."""
        task = self._running.get(request)
        if task is None or request.cancelled:
            return
        request.cancelled = True
        if request.begun:
            task.cancel()
        else:
            self._loop.call_soon(task.cancel)  # its first step is in the queue already

    # What the agent asks and tells.

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        if self._gone:
            raise EditorGoneError
        number, message = self.conversation.ask(method, params)
        try:
            data = encode(message)
        except ValueError:
            self.conversation.withdraw(number)
            raise
        answered = self._pending[number] = self._loop.create_future()
        self._write(data)
        try:
            return await answered
        finally:
            if self._pending.pop(number, None) is not None:  # nobody waits for it any more
                self._withdraw(number)

    def _withdraw(self, number: int) -> None:
        message = self.conversation.withdraw(number)
        if message is not None:
            self._write(encode(message))

    def _answered(self, heard: Answered) -> None:
        waiting = self._pending.pop(heard.number, None)
        if waiting is None or waiting.done():  # cancelled, and the answer crossed
            return
        if heard.error is None:
            waiting.set_result(heard.value)
        else:
            waiting.set_exception(heard.error)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        data = encode(notification(method, params))
        if threading.get_ident() == self._thread:
            self._write(data)
            return
        with contextlib.suppress(RuntimeError):  # the loop is closed: then there is nobody to tell
            self._loop.call_soon_threadsafe(self._write, data)

    def unsent(self) -> int:
        return 0 if self.lost else self._sink.unsent()

    def congested(self) -> bool:
        return self.unsent() > CONGESTED

    def _write(self, data: bytes) -> None:
        if self.lost or self._closed:
            return
        try:
            self._sink.write(data)
        except OSError:
            self.lose()
        else:
            self._trace.sent(data)

    # The end.

    def lose(self) -> None:
        """Nobody hears us any more."""
        if self.lost:
            return
        self.lost = True
        self._forsake()
        if self.on_lost is not None:
            self.on_lost()

    def _forsake(self) -> None:
        """Whoever waits for an answer of the editor waits in vain."""
        self._gone = True
        self.conversation.forget()
        waiting, self._pending = self._pending, {}
        for each in waiting.values():
            if not each.done():
                each.set_exception(EditorGoneError())

    async def finish(self, patience: float) -> None:
        """The editor has gone. Cancel what runs, and close the agent; what takes longer than this is given up."""
        self._forsake()
        for request in tuple(self._running):
            self._cancel(request)
        ending: set[asyncio.Task[None]] = set(self._running.values())
        if self._agent is not None:
            ending.add(self._loop.create_task(self._close(self._agent), name="acp close"))
        try:
            await ended_within(patience, ending)
        finally:
            self._closed = True

    async def _close(self, agent: Agent) -> None:
        try:
            await agent.close()
        except (Exception, SystemExit):
            log.exception("the agent could not be closed")
