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
        self._works: list[Callable[[], None]] = []

    def at_end(self, work: Callable[[], None]) -> None:
        if not self._works:
            asyncio.get_running_loop().call_soon(self._end)
        self._works.append(work)

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
