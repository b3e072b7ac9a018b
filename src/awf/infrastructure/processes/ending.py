"""How a command comes to its end. This file owns every step of that.

    RUNNING ──asked to end──► ASKED ──grace──► FORCED ──patience──► OVER
       │                        ▲                 ▲
       └─exits─► SETTLING ─moment┘   (told to hurry: from anywhere)

A command is over when its main process is reaped and nothing it started is left, whichever stage it is in. ASKED
means SIGTERM was sent (and SIGCONT, for a stopped process cannot act on the first), FORCED means SIGKILL. SETTLING
gives helpers that finish by themselves, such as a `tee` behind a redirection, a moment to do so: they are not left
behind, and their last words are wanted. After SIGKILL only the kernel can keep a process; we do not wait for ever.
"""

from __future__ import annotations

import enum
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from awf.infrastructure.processes.kin import Kin

__all__ = ["Ending"]

SETTLING_TIME = 0.1
PATIENCE = 5.0
FIRST_LOOK = 0.001
SLOWEST_LOOK = 0.025
ASK = (signal.SIGTERM, signal.SIGCONT)


class Stage(enum.Enum):
    RUNNING = enum.auto()
    SETTLING = enum.auto()
    ASKED = enum.auto()
    FORCED = enum.auto()
    OVER = enum.auto()


class Ending:
    def __init__(
        self, loop: asyncio.AbstractEventLoop, kin: Kin, grace: float, on_over: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._kin = kin
        self._grace = grace
        self._on_over = on_over
        self._stage = Stage.RUNNING
        self._main_runs = True
        self._escaped_asked = False
        self._until = 0.0
        self._look_after = FIRST_LOOK
        self._timer: asyncio.TimerHandle | None = None
        self.leftovers = 0

    def main_exited(self) -> None:
        self._main_runs = False
        if not self._kin.any_left():
            self._finish()
            return
        if self._stage is Stage.RUNNING:
            self._enter(Stage.SETTLING, SETTLING_TIME)
        self._come_back()

    def ask(self) -> None:
        """End it kindly. Without effect when that is already under way."""
        if self._stage in {Stage.RUNNING, Stage.SETTLING}:
            self._ask()
            self._come_back()

    def force(self) -> None:
        """End it now."""
        if self._stage is not Stage.OVER:
            self._force()
            self._come_back()

    def _ask(self) -> None:
        if self._main_runs:
            self._kin.signal_group(*ASK)
        else:
            self.leftovers = self._kin.signal_all(*ASK)
            self._escaped_asked = True
        self._enter(Stage.ASKED, self._grace)

    def _ask_escaped(self) -> None:
        """The group was asked together with the main process; what is left of it is not counted again."""
        self.leftovers = self._kin.signal_escaped(*ASK)
        self._escaped_asked = True

    def _force(self) -> None:
        self._kin.signal_group(signal.SIGKILL)
        if not self._main_runs:
            self._kin.signal_escaped(signal.SIGKILL)
        if self._stage is not Stage.FORCED:
            self._enter(Stage.FORCED, PATIENCE)

    def _enter(self, stage: Stage, seconds: float) -> None:
        self._stage = stage
        self._until = self._loop.time() + seconds
        self._look_after = FIRST_LOOK

    def _come_back(self) -> None:
        delay = max(0.0, self._until - self._loop.time())
        if not self._main_runs:  # its exit is told to us; that of the others is not
            delay = min(delay, self._look_after)
            self._look_after = min(self._look_after * 2, SLOWEST_LOOK)
        if self._timer:
            self._timer.cancel()
        self._timer = self._loop.call_later(delay, self._look)

    def _look(self) -> None:
        late = self._loop.time() >= self._until
        gone = not self._main_runs and not self._kin.any_left()
        if gone or (late and self._stage is Stage.FORCED):
            self._finish()
            return
        if self._stage is Stage.FORCED or (late and self._stage is Stage.ASKED):
            self._force()  # again and again: something may have been born in between
        elif self._stage is Stage.ASKED and not self._main_runs and not self._escaped_asked:
            self._ask_escaped()
        elif self._escaped_asked:
            self.leftovers += self._kin.signal_newcomers(*ASK)
        elif late:
            self._ask()
        self._come_back()

    def _finish(self) -> None:
        self._stage = Stage.OVER
        if self._timer:
            self._timer.cancel()
        self._on_over()
