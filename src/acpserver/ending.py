"""Waiting for the last tasks, but not for ever."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["close_loop", "ended_within"]

log = logging.getLogger("acpserver")

_LAST_CALL = 0.5  # seconds for tasks to notice that they are given up


async def ended_within(patience: float, tasks: Iterable[asyncio.Task[None]]) -> None:
    """Wait until all of them have ended. The late ones are cancelled, and left alone if even that does not help.

    Being cancelled does not shorten the wait: it is bounded already, and whoever cancels wants all of it gone.
    """
    left, impatient = await _unfinished(set(tasks), patience)
    if left:
        for task in left:
            task.cancel()
        left, again = await _unfinished(left, _LAST_CALL)
        impatient = impatient or again
    if left:
        log.warning("given up: %s", ", ".join(sorted(task.get_name() for task in left)))
    if impatient is not None:
        raise impatient


async def _unfinished(
    tasks: set[asyncio.Task[None]], seconds: float
) -> tuple[set[asyncio.Task[None]], asyncio.CancelledError | None]:
    """Those that still run after this time, and whether someone lost patience with us meanwhile."""
    clock = asyncio.get_running_loop().time
    deadline, impatient = clock() + seconds, None
    while tasks:
        try:
            _, tasks = await asyncio.wait(tasks, timeout=max(0, deadline - clock()))
            break
        except asyncio.CancelledError as error:
            impatient = error
    return tasks, impatient


def close_loop(loop: asyncio.AbstractEventLoop) -> None:
    """As asyncio.run does, but never waiting for a task that will not end."""
    try:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=_LAST_CALL))
        loop.run_until_complete(asyncio.wait_for(loop.shutdown_asyncgens(), _LAST_CALL))
    except TimeoutError:
        log.warning("an asynchronous generator does not end")
    finally:
        loop.set_exception_handler(
            lambda _loop, _context: None
        )  # for what is given up: it was told of already
        asyncio.set_event_loop(None)
        loop.close()
