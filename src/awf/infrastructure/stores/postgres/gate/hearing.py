"""How often the tables were changed, as far as this process has heard. Asking costs next to nothing.

Changes by others are heard; those of our own are counted when they are made. While nothing can be heard, every answer is
a number that never was, so that whoever compares looks for himself. A connection that has gone silent is noticed by
asking it something every second.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import TYPE_CHECKING, Any, Literal

from awf.infrastructure.stores.postgres.connecting import is_passing, open_waiting
from awf.infrastructure.stores.postgres.gate.lines import cut

if TYPE_CHECKING:
    import psycopg

__all__ = ["Hearing", "Table"]

Table = Literal["grants", "approvals", "contexts"]

_CHANNEL = "awf:gate"  # what is said is which table has changed, and who changed it
_QUIET_SECONDS = 1.0
_ANSWER_SECONDS = 2.0
_PAUSE_SECONDS = (0.05, 2.0)
_log = logging.getLogger("awf.gate")


class Hearing:
    def __init__(self, url: str, writer: str) -> None:
        self._url = url
        self._writer = writer
        self._counts: dict[str, int] = dict.fromkeys(("grants", "approvals", "contexts"), 0)
        self._hears = False
        self._unsure = 0
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def version(self, table: Table) -> int:
        if self._hears:
            return self._counts[table]
        self._begin()
        self._unsure -= 1
        return self._unsure

    def changed(self, table: Table) -> None:
        self._counts[table] += 1

    async def close(self) -> None:
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    def _begin(self) -> None:
        if self._task is None and not self._closed:
            with contextlib.suppress(RuntimeError):  # nobody runs an event loop here
                self._task = asyncio.get_running_loop().create_task(self._listen(), name="gate ear")

    async def _listen(self) -> None:
        pause, told = _PAUSE_SECONDS[0], False
        while True:
            began = time.monotonic()
            try:
                await self._hear()
            except Exception as error:  # noqa: BLE001  deaf is slow, and safe
                if not is_passing(error) and not told:
                    told = True
                    _log.warning(
                        "changes by others cannot be heard, so each call looks for itself: %s", error
                    )
            finally:
                self._hears = False
            if time.monotonic() - began > _PAUSE_SECONDS[1]:
                pause = _PAUSE_SECONDS[0]
            await asyncio.sleep(pause)
            pause = min(pause * 2, _PAUSE_SECONDS[1])

    async def _hear(self) -> None:
        connection = await open_waiting(self._url)
        try:
            await connection.execute(f'LISTEN "{_CHANNEL}"'.encode())
            for table in self._counts:  # anything may have been changed while nobody listened
                self._counts[table] += 1
            self._hears = True
            while True:
                async for said in connection.notifies(timeout=_QUIET_SECONDS):
                    self._heard(said.payload)
                await self._ask(connection)
        finally:
            self._hears = False
            with contextlib.suppress(Exception):
                await connection.close()

    def _heard(self, payload: str) -> None:
        table, _, writer = payload.partition(" ")
        if writer != self._writer and table in self._counts:
            self._counts[table] += 1

    @staticmethod
    async def _ask(connection: psycopg.AsyncConnection[tuple[Any, ...]]) -> None:
        late = asyncio.get_running_loop().call_later(_ANSWER_SECONDS, cut, connection)
        try:
            await connection.execute("SELECT 1")
        finally:
            late.cancel()
