"""Contestants that are all up at once and take short turns: both sides of a ratio met the same moment.

Where two differ by a third, and the machine by as much from one second to the next, a few rounds of several seconds say little.
Those who wait for their turn do nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import TYPE_CHECKING, NamedTuple

import uvloop

from bench.gateway.load import echo
from bench.gateway.starting import started
from bench.gateway.trial import Plan, phase, warmed
from bench.gateway.wire import NoAnswer
from bench.measuring import Cost, Series

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bench.gateway.starting import Running
    from bench.gateway.targets import Bench, Target
    from bench.gateway.trial import Phase

__all__ = ["Schedule", "Taker", "alternating"]

_WIDTH = 32  # calls at once
_PROBE = 16  # calls before a turn, for each of those that are on their way
_MOST = 60_000  # calls in a turn


class Schedule(NamedTuple):
    """How often they take turns. A turn lasts for longer than the time between two merges of the audit."""

    starts: int = 6  # of all of them
    ones: int = 8  # turns with one call at a time, in each
    one_seconds: float = 0.6
    manies: int = 6  # turns with many at once
    many_seconds: float = 1.1
    rest: float = 0.6  # seconds, after the turn of one who has something left to do
    warm: float = 1.0


class Taker(NamedTuple):
    """A contestant, and what its turns came to."""

    target: Target
    ones: list[Phase]
    manies: list[Phase]
    failures: list[str]

    @property
    def p50(self) -> Series:
        return Series([Cost(one.taken.quantile(0.5), one.cpu) for one in self.ones])

    @property
    def each(self) -> Series:
        return Series([Cost(many.each, many.cpu) for many in self.manies])

    @property
    def good(self) -> bool:
        return bool(self.ones)

    @property
    def wrong(self) -> list[str]:
        return [text for turn in (*self.ones, *self.manies) for text in turn.taken.wrong]

    @property
    def reason(self) -> str:
        """Why there is nothing, in one line."""
        first = self.failures[0] if self.failures else "another contestant failed"
        return f"not measured: {' '.join(first.split())[:160]}"


def alternating(
    bench: Bench,
    targets: Mapping[str, Target],
    schedule: Schedule,
    *,
    many: Sequence[str] = (),
    resting: Sequence[str] = (),
) -> dict[str, Taker]:
    """`many`: those who are measured with many calls at once, too. `resting`: those who go on working after their last call, for
    which the next one waits. A start that fails counts for nobody.
    """
    takers = {name: Taker(target, [], [], []) for name, target in targets.items()}
    for number in range(schedule.starts):
        uvloop.run(_Start(bench, takers, schedule, resting).run(many, number))
    return takers


class _Start:
    def __init__(
        self, bench: Bench, takers: Mapping[str, Taker], schedule: Schedule, resting: Sequence[str]
    ) -> None:
        self._bench, self._takers, self._schedule, self._resting = bench, takers, schedule, resting
        self._running: dict[str, Running] = {}
        self._at_work = ""

    async def run(self, many: Sequence[str], number: int) -> None:
        schedule, everybody = self._schedule, list(self._takers)
        try:
            async with contextlib.AsyncExitStack() as stack:
                for name in everybody:
                    await self._begin(name, stack)
                ones = await self._turns(everybody, number, schedule.ones, schedule.one_seconds, 1)
                manies = await self._turns(many, number, schedule.manies, schedule.many_seconds, _WIDTH)
        except (NoAnswer, OSError, TimeoutError) as error:
            taker = self._takers[self._at_work]
            print(f"  {taker.target.name} {taker.target.path}: {error}", file=sys.stderr, flush=True)
            taker.failures.append(str(error) or type(error).__name__)
            return
        for name, taker in self._takers.items():
            taker.ones.extend(ones[name])
            taker.manies.extend(manies.get(name, ()))

    async def _begin(self, name: str, stack: contextlib.AsyncExitStack) -> None:
        self._at_work = name
        running = await stack.enter_async_context(started(self._bench, self._takers[name].target))
        await warmed(running, Plan(warm=self._schedule.warm))
        self._running[name] = running

    async def _turns(
        self, names: Sequence[str], number: int, turns: int, seconds: float, width: int
    ) -> dict[str, list[Phase]]:
        """Who begins changes from turn to turn."""
        taken: dict[str, list[Phase]] = {name: [] for name in names}
        for turn in range(number, number + turns):
            for place in range(len(names)):
                name = self._at_work = names[(turn + place) % len(names)]
                running = self._running[name]
                probe = echo(_PROBE * width, width, tool=running.access.tool)
                taken[name].append(await phase(self._bench, running, seconds, _MOST, probe))
                if name in self._resting:
                    await asyncio.sleep(self._schedule.rest)
        return taken
