"""Noticing that a child has exited, without a thread and without a signal handler."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio
    import subprocess
    from collections.abc import Callable

__all__ = ["ExitWatch", "watch_exit"]

FIRST_LOOK = 0.001
SLOWEST_LOOK = 0.05


class ExitWatch(Protocol):
    def hurry(self) -> None:
        """There are signs that the child is about to exit."""
        ...

    def close(self) -> None: ...


def watch_exit(
    loop: asyncio.AbstractEventLoop,
    process: subprocess.Popen[bytes],
    on_exit: Callable[[int], None],
    *,
    portable: bool,
) -> ExitWatch:
    """Reap the child when it exits and tell its return code."""
    if not portable and hasattr(os, "pidfd_open"):
        try:
            return _Descriptor(loop, process, on_exit)
        except OSError:  # no descriptor to be had; the other way needs none
            pass
    return _Looking(loop, process, on_exit)


class _Descriptor:
    """Linux: a descriptor that becomes readable."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        process: subprocess.Popen[bytes],
        on_exit: Callable[[int], None],
    ) -> None:
        self._loop = loop
        self._process = process
        self._on_exit = on_exit
        self._fd = os.pidfd_open(process.pid)
        loop.add_reader(self._fd, self._look)

    def _look(self) -> None:
        code = self._process.poll()
        if code is not None:
            self.close()
            self._on_exit(code)

    def hurry(self) -> None:
        pass

    def close(self) -> None:
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1


class _Looking:
    """Elsewhere: look now and then, often at first and right after the pipes were closed."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        process: subprocess.Popen[bytes],
        on_exit: Callable[[int], None],
    ) -> None:
        self._loop = loop
        self._process = process
        self._on_exit = on_exit
        self._delay = FIRST_LOOK
        self._timer = loop.call_later(self._delay, self._look)

    def _look(self) -> None:
        code = self._process.poll()
        if code is not None:
            self.close()
            self._on_exit(code)
            return
        self._delay = min(self._delay * 1.5, SLOWEST_LOOK)
        self._timer = self._loop.call_later(self._delay, self._look)

    def hurry(self) -> None:
        self._timer.cancel()
        self._delay = FIRST_LOOK
        self._timer = self._loop.call_later(0, self._look)

    def close(self) -> None:
        self._timer.cancel()
