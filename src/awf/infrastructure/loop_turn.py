"""The end of a turn of the event loop; implements the `Turn` port."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LoopTurn"]

_log = logging.getLogger("awf.turns")


class LoopTurn:
    def __init__(self) -> None:
        self.is_ending = False
        self.looks = 0
        self._works: list[Callable[[], None]] = []

    def at_end(self, work: Callable[[], None], *, patient: bool = False) -> None:
        if not self._works:
            asyncio.get_running_loop().call_soon(self._look if patient else self._end)
        self._works.append(work)

    def _look(self) -> None:
        """The loop does so between this and what it is asked to do soon."""
        self.looks += 1
        asyncio.get_running_loop().call_soon(self._end)

    def _end(self) -> None:
        """What is asked for meanwhile still belongs to it."""
        self.is_ending = True
        try:
            for work in self._works:
                try:
                    work()
                except (Exception, asyncio.CancelledError):  # noqa: BLE001  the others have nothing to do with it
                    _log.exception("something at the end of a turn failed")
        finally:
            self._works.clear()
            self.is_ending = False
