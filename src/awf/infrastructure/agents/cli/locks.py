"""Some programs set up their own files when they run for the first time, and stumble over each other if several do."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

__all__ = ["first_run"]


@contextlib.asynccontextmanager
async def first_run(path: str) -> AsyncIterator[Callable[[], None]]:
    """Hold a lock, over all processes, until the function given is called or the block ends. No path: no lock."""
    if not path:
        yield lambda: None
        return
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    held = True

    def release() -> None:
        nonlocal held
        if held:
            held = False
            os.close(handle)

    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(0.05)
        yield release
    finally:
        release()
