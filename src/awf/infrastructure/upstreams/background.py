"""Tasks that outlive the call that started them, and end with their owner."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from awf.infrastructure.upstreams.failures import ServerFault

if TYPE_CHECKING:
    from collections.abc import Coroutine

__all__ = ["Background"]

_log = logging.getLogger("awf.upstreams")


class Background:
    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def close(self) -> None:
        """Cancel them all and wait until they are gone."""
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._failed(task)

    @staticmethod
    def _failed(task: asyncio.Task[Any]) -> None:
        reason = task.exception()
        if isinstance(
            reason, ServerFault
        ):  # a server that is gone; whoever waits for it is told by other ways
            _log.debug("%s failed: %s", task.get_name(), reason)
        else:
            _log.error("%s failed", task.get_name(), exc_info=reason)
