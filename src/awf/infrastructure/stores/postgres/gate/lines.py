"""A few connections for the gate's questions, and how long one may take.

A question goes on when nobody waits for it any more: what was begun is finished or fails, never left half done. When a
connection breaks, the question is asked again on another one, until its time is over; each can tell its own earlier
attempt by a word. A server that does not answer is left: after its time, whoever asked is told.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import socket
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from awf.domain.errors import AwfError
from awf.infrastructure.stores.postgres.connecting import describe, is_passing, open_waiting
from awf.infrastructure.stores.postgres.gate.trouble import unavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import psycopg

    Connection = psycopg.AsyncConnection[tuple[Any, ...]]

__all__ = ["Attempt", "Lines", "cut"]

T = TypeVar("T")
_MOST = 4  # connections
_PATIENCE_SECONDS = 10.0
_KNOWN_DOWN_SECONDS = 1.0  # not everybody has to find out anew
_STATEMENT = "5s"  # the server stops what takes longer, waiting for locks included
_PAUSE_SECONDS = (0.05, 1.0)
_log = logging.getLogger("awf.gate")


class Attempt(NamedTuple):
    word: str  # the same for all attempts at one thing, and for nothing else
    again: bool


class _Errand:
    """Something to be done, as far as it has come."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.task: asyncio.Task[Any] | None = None
        self.connection: Connection | None = None
        self.trouble: BaseException | None = None
        self.over = False

    def give_up(self) -> None:
        self.over = True
        if self.connection is not None:
            cut(self.connection)
        elif self.task is not None:
            self.task.cancel()

    def why(self) -> object:
        return self.trouble or f"it did not answer within {self.seconds:g} s"


class Lines:
    def __init__(self, url: str, writer: str) -> None:
        """`writer`: under which name others hear of changes."""
        self.url = url
        self._writer = writer
        self._free: list[Connection] = []
        self._places = asyncio.Semaphore(_MOST)
        self._at_work: set[asyncio.Task[Any]] = set()
        self.patience = _PATIENCE_SECONDS
        self._down = False  # somebody has waited for it in vain
        self._closed = False

    async def do(
        self, work: Callable[[Connection, Attempt], Awaitable[T]], *, seconds: float | None = None
    ) -> T:
        """`seconds`: for what may take longer than usual. Raises `AwfError`."""
        if self._closed:
            raise unavailable(self.url, "it was closed")
        loop = asyncio.get_running_loop()
        errand = _Errand(min(seconds or self.patience, _KNOWN_DOWN_SECONDS if self._down else inf))
        errand.task = task = loop.create_task(self._patiently(work, errand), name="gate store")
        timer = loop.call_later(errand.seconds, self._give_up, errand)
        self._at_work.add(task)

        def ended(task: asyncio.Task[T]) -> None:
            timer.cancel()
            self._at_work.discard(task)

        task.add_done_callback(ended)
        return await asyncio.shield(task)

    def _give_up(self, errand: _Errand) -> None:
        if not self._down:
            _log.error("calls are refused: %s", unavailable(self.url, errand.why()).message)
        self._down = True
        errand.give_up()

    async def close(self) -> None:
        """What is under way is finished first. What comes later is refused."""
        self._closed = True
        if self._at_work:
            await asyncio.wait(self._at_work)
        await self._drop_free()

    async def _patiently(self, work: Callable[[Connection, Attempt], Awaitable[T]], errand: _Errand) -> T:
        attempt, pause = Attempt(secrets.token_hex(8), again=False), _PAUSE_SECONDS[0]
        while True:
            try:
                return await self._once(work, attempt, errand)
            except asyncio.CancelledError:
                if not errand.over:
                    raise
                raise unavailable(self.url, errand.why()) from None
            except Exception as error:
                passing = is_passing(error)
                if isinstance(error, AwfError) and not passing:
                    raise
                if errand.over or not passing:
                    raise unavailable(self.url, errand.why() if errand.over else error) from error
                errand.trouble = error
            await self._wait(errand, pause)
            attempt, pause = attempt._replace(again=True), min(pause * 2, _PAUSE_SECONDS[1])

    async def _wait(self, errand: _Errand, pause: float) -> None:
        try:
            await self._drop_free()  # they have probably met the same fate
            await asyncio.sleep(pause)
        except asyncio.CancelledError:
            if not errand.over:
                raise
            raise unavailable(self.url, errand.why()) from None

    async def _once(
        self, work: Callable[[Connection, Attempt], Awaitable[T]], attempt: Attempt, errand: _Errand
    ) -> T:
        async with self._places:
            connection = self._free.pop() if self._free else await self._opened()
            errand.connection = connection
            try:
                result = await work(connection, attempt)
            except AwfError:  # said by us; the connection is good
                self._free.append(connection)
                raise
            except BaseException:
                await _closed(connection)
                raise
            finally:
                errand.connection = None
            self._free.append(connection)
            if self._down:
                _log.warning("the gate's store %s can be used again", describe(self.url))
            self._down = False
            return result

    async def _opened(self) -> Connection:
        connection = await open_waiting(self.url)
        try:
            await connection.execute(
                "SELECT set_config('awf.writer', %s, false), set_config('statement_timeout', %s, false)",
                (self._writer, _STATEMENT),
            )
        except BaseException:
            await _closed(connection)
            raise
        return connection

    async def _drop_free(self) -> None:
        free, self._free = self._free, []
        for connection in free:
            await _closed(connection)


def cut(connection: Connection) -> None:
    """Whoever waits for an answer on it is told that there is none."""
    with contextlib.suppress(OSError, Exception), socket.socket(fileno=os.dup(connection.fileno())) as twin:
        twin.shutdown(socket.SHUT_RDWR)


async def _closed(connection: Connection) -> None:
    with contextlib.suppress(Exception):
        await connection.close()
