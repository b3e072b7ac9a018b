"""Hears what other processes say to the runs of this one."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import TYPE_CHECKING

from awf.infrastructure.stores.postgres.connecting import is_passing, open_waiting

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MESSAGES", "Ear"]

MESSAGES = "awf:messages"  # the channel; what is said is which run it is for
_PAUSE_SECONDS = (0.05, 2.0)
_log = logging.getLogger("awf.store")


class Ear:
    def __init__(self, url: str, broken: Callable[[], None]) -> None:
        self._url = url
        self._broken = broken
        self._listeners: dict[str, Callable[[], None]] = {}
        self._task: asyncio.Task[None] | None = None

    def attend(self, run_id: str, look: Callable[[], None]) -> None:
        """`look` is called when something may have been said to the run."""
        self._listeners[run_id] = look
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._listen(), name="database ear")

    def ignore(self, run_id: str) -> None:
        self._listeners.pop(run_id, None)

    async def _listen(self) -> None:
        pause = _PAUSE_SECONDS[0]
        while True:
            began = time.monotonic()
            try:
                await self._hear()
            except Exception as error:
                if not is_passing(error):
                    _log.exception("messages to runs cannot be heard any more")
                    raise
            if time.monotonic() - began > _PAUSE_SECONDS[1]:
                pause = _PAUSE_SECONDS[0]
            self._broken()
            await asyncio.sleep(pause)
            pause = min(pause * 2, _PAUSE_SECONDS[1])

    async def _hear(self) -> None:
        connection = await open_waiting(self._url)
        try:
            await connection.execute(f'LISTEN "{MESSAGES}"'.encode())
            for look in list(self._listeners.values()):  # it may have been said while nobody listened
                look()
            async for said in connection.notifies():
                if (look := self._listeners.get(said.payload)) is not None:  # type: ignore[assignment]
                    look()
        finally:
            with contextlib.suppress(Exception):
                await connection.close()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            if not self._task.cancelled():
                self._task.exception()
