"""The one place where background tasks are born: each is kept alive, named, and never fails in silence."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

__all__ = ["end_task", "spawn"]

T = TypeVar("T")
_alive: set[asyncio.Task[Any]] = set()
_log = logging.getLogger("awf.tasks")


def spawn(work: Coroutine[Any, Any, T], name: str, *, awaited: bool = False) -> asyncio.Task[T]:
    """Start a task. Unless somebody awaits it, a failure is logged when it ends."""
    task = asyncio.get_running_loop().create_task(work, name=name)
    _alive.add(task)
    task.add_done_callback(_alive.discard if awaited else _ended)
    return task


def _ended(task: asyncio.Task[Any]) -> None:
    _alive.discard(task)
    if not task.cancelled() and task.exception() is not None:
        _log.error("background task %s failed", task.get_name(), exc_info=task.exception())


async def end_task(task: asyncio.Task[Any]) -> None:
    """Cancel a task and wait until it has gone."""
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()
