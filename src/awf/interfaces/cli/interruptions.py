"""Ctrl+C and its like, from the first moment of a run to its last.

A signal is noted or handed to the run; it never becomes an exception in the middle of something. The first asks the run
to stop, the second stops it at once. When the run has ended and only the view is still writing, two more leave for good.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Interruptions"]

_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_EXIT_CANCELLED = 130


class Interruptions:
    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._noted = 0
        self._over = False

    def __enter__(self) -> Self:
        for number in _NUMBERS:
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, *_: object) -> None:
        self._noted += 1
        if self._over and self._noted > 1:
            os._exit(_EXIT_CANCELLED)

    @contextlib.contextmanager
    def cancelling(self) -> Iterator[None]:
        """Meanwhile signals cancel the current task; those that came before do so now."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        for number in _NUMBERS:
            loop.add_signal_handler(number, task.cancel)
        for _ in range(self._noted):
            task.cancel()
        try:
            yield
        finally:
            for number in _NUMBERS:
                loop.remove_signal_handler(number)
                signal.signal(number, self._note)
            self._noted, self._over = 0, True
