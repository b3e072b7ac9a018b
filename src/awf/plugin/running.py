"""The calls that are being served, so that the plugin can end without leaving one unanswered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine

__all__ = ["EndingError", "RunningCalls"]


class EndingError(Exception):
    """The plugin ends before the call could."""


class RunningCalls:
    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ending = False

    async def serve(self, call: Coroutine[Any, Any, Any]) -> Any:
        """Its answer. Cancelling the caller cancels the call. Raises `EndingError` when the plugin ends first."""
        if self._ending:
            call.close()
            raise EndingError
        task = asyncio.get_running_loop().create_task(call)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await task
        except asyncio.CancelledError:
            if self._ending:
                raise EndingError from None
            raise

    async def end(self, grace: float) -> None:
        """Let calls finish within the grace, then cancel them, and give them as long again to take it."""
        self._ending = True
        for last_resort in (False, True):
            if last_resort:
                for task in self._tasks:
                    task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=grace)
