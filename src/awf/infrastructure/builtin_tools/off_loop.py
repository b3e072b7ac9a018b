"""Work on files that would hold up the event loop, in a thread that ends when nobody waits for it any more."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SMALL", "off_loop"]

SMALL = 1 << 18  # bytes; up to here a thread costs more than the work

T = TypeVar("T")


class _AbandonedError(Exception):
    pass


async def off_loop(work: Callable[[Callable[[], None]], T], size: int) -> T:
    """`work` gets a function to call now and then, which raises when the work is no longer wanted.

    A cancellation goes on when the work has come to its end: nothing is changed behind the caller's back.
    """
    if size <= SMALL:
        return work(_go_on)
    stop = threading.Event()

    def check() -> None:
        if stop.is_set():
            raise _AbandonedError

    future = asyncio.get_running_loop().run_in_executor(None, work, check)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        stop.set()
        while not future.done():
            try:
                await asyncio.wait([future])
            except asyncio.CancelledError:
                continue
        future.exception()  # looked at, so that nobody complains about it
        raise


def _go_on() -> None:
    pass
