"""A run that an editor watches. It outlives turns: a conversation waits between them."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from awf.application.running.fan_out import FanOut
from awf.application.running.tasks import spawn
from awf.domain.events import AgentText, AgentThought

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.application.editor.person import EditorPerson
    from awf.application.editor.projection import Projector
    from awf.application.editor.screen import Screen
    from awf.application.running.service import Prepared
    from awf.domain.events import Stamped
    from awf.domain.ports.durability import RunOutcome
    from awf.domain.ports.event_publisher import EventListener

__all__ = ["LiveRun"]

_log = logging.getLogger("awf.editor")
_SETTLE = 0.02  # between two steps of a parallel branch nothing seems to be at work
_SLOW, _TOO_MUCH = 256 * 1024, 8 * 1024 * 1024  # bytes that an editor has not read
_CONGESTED = 0.2  # how long an editor that is slow to read is left in peace


class LiveRun:
    def __init__(
        self,
        prepared: Prepared,
        projector: Projector,
        person: EditorPerson,
        screen: Screen,
        listeners: Sequence[EventListener],
    ) -> None:
        self.prepared = prepared
        self.projector = projector
        self.person = person
        self._first_seq = 0  # of the events of this turn
        self._last_seq = 0
        self._screen = screen
        self._boundary = asyncio.Event()
        self._over = False
        self._muted = False
        self._unheard = 0  # characters of an agent that were not shown
        self._loop = asyncio.get_running_loop()
        self._quiet: asyncio.TimerHandle | None = None
        self._ticking: asyncio.TimerHandle | None = None
        self._listeners = listeners
        person.describe = projector.permission
        person.on_wait = self._look
        self._task: asyncio.Task[RunOutcome] | None = None

    @property
    def run_id(self) -> str:
        return self.prepared.run_id

    @property
    def task(self) -> asyncio.Task[RunOutcome]:
        assert self._task is not None
        return self._task

    def begin(self) -> None:
        self._task = spawn(self._run(), f"editor run {self.run_id}", awaited=True)

    async def _run(self) -> RunOutcome:
        fan_out = FanOut()
        fan_out.add(self._heard)
        for listener in self._listeners:
            fan_out.add(listener)
        try:
            return await self.prepared.execute(fan_out)
        finally:
            fan_out.close()
            self._disarm()
            self._over = True
            self._boundary.set()

    # -- turns ---------------------------------------------------------------------------------------------------------

    def next_turn(self, line: str) -> None:
        """The person has answered."""
        self._boundary.clear()
        self.person.answer(line)
        self._arm()

    async def boundary(self) -> bool:
        """Wait until it has ended, or waits for the next prompt; whether it has ended."""
        while not self._over:
            await self._boundary.wait()
            if self.person.waits and not self._over:
                return False
            if not self._over:  # answered from elsewhere at the last moment: it goes on
                self._boundary.clear()
                self._arm()
        await asyncio.wait([self.task])
        return True

    def take_span(self) -> tuple[int, int]:
        """The first and the last event of this turn. What happens between turns belongs to the next one."""
        span = self._first_seq, self._last_seq
        self._first_seq = self._last_seq + 1 if self._last_seq else 0
        return span

    async def wound_down(self) -> None:
        """Wait for its end, whatever that is."""
        await asyncio.wait([self.task])
        if not self.task.cancelled() and self.task.exception() is not None:
            _log.error("the run %s failed", self.run_id, exc_info=self.task.exception())

    def mute(self) -> None:
        """The turn is answered, and nobody is to hear how what it began winds down."""
        self._muted = True
        self._disarm()

    def cancel(self, reason: str) -> None:
        self.prepared.cancel(reason)

    def leave(self) -> None:
        self.prepared.leave()

    # -- events --------------------------------------------------------------------------------------------------------

    def _heard(self, stamped: Stamped) -> None:
        if self._muted:
            return
        self._first_seq = self._first_seq or stamped.seq
        self._last_seq = stamped.seq
        if isinstance(stamped.event, AgentText | AgentThought) and self._screen.editor.unread() > _TOO_MUCH:
            self._unheard += len(stamped.event.text)
            return
        if self._unheard:
            self._tell_unheard()
        self._screen.show(self.projector.event(stamped))
        self._arm()
        self._look()

    def _tell_unheard(self) -> None:
        """An editor that does not read cannot be told everything; what was left out can be looked up."""
        text = f"(… {self._unheard} characters were left out here; `awf logs {self.run_id}` has them.)"
        self._unheard = 0
        self._screen.say(text, f"{self.run_id}/left-out-{self._last_seq}")

    def _look(self) -> None:
        """A conversation waits, and nothing else is at work: the turn can end."""
        if self._quiet is not None:
            self._quiet.cancel()
            self._quiet = None
        if self.person.waits and not self.projector.busy():
            self._quiet = self._loop.call_later(_SETTLE, self._settled)

    def _settled(self) -> None:
        self._quiet = None
        if self.person.waits and not self.projector.busy():
            self._boundary.set()

    def _arm(self) -> None:
        """Call the projector when it has something to say by itself; an earlier moment replaces a later one."""
        due = self.projector.next_tick()
        if due is None:
            return
        at = self._loop.time() + max(0.0, due - time.time())
        if self._screen.editor.unread() > _SLOW:
            at = max(at, self._loop.time() + _CONGESTED)
        if self._ticking is not None:
            if self._ticking.when() <= at:
                return
            self._ticking.cancel()
        self._ticking = self._loop.call_at(at, self._tick)

    def _tick(self) -> None:
        self._ticking = None
        if self._boundary.is_set():
            return
        if not self._screen.editor.unread() > _SLOW:
            self._screen.show(self.projector.tick(time.time()))
        self._arm()

    def _disarm(self) -> None:
        for timer in (self._quiet, self._ticking):
            if timer is not None:
                timer.cancel()
        self._quiet = self._ticking = None
