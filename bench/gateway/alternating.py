"""Contestants that are all up at once and take turns of a fraction of a second: both sides of a ratio met the same moment.

Where two differ by a third, and the machine by as much from one second to the next, rounds of several seconds say little. Those
who wait for their turn do nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from functools import partial
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


class Schedule(NamedTuple):
    """How often they take turns."""

    starts: int = 6  # of all of them
    ones: int = 24  # turns with one call at a time, in each
    manies: int = 6  # turns with many at once
    seconds: float = 0.1  # that a turn with one at a time lasts
    long_seconds: float = 1.1  # that one with many lasts: the audit is merged twice a second
    rest: float = (
        0.6  # seconds after such a turn: what a contestant still has to do then must not fall on the next one
    )
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
    bench: Bench, targets: Mapping[str, Target], schedule: Schedule, many: Sequence[str]
) -> dict[str, Taker]:
    """`many`: those who are measured with many calls at once, too. A start that fails counts for nobody."""
    takers = {name: Taker(target, [], [], []) for name, target in targets.items()}
    for number in range(schedule.starts):
        uvloop.run(_start(bench, takers, schedule, many, number))
    return takers


async def _start(
    bench: Bench, takers: Mapping[str, Taker], schedule: Schedule, many: Sequence[str], number: int
) -> None:
    taken: dict[str, tuple[list[Phase], list[Phase]]] = {name: ([], []) for name in takers}
    at_work = next(iter(takers))
    try:
        async with contextlib.AsyncExitStack() as stack:
            running: dict[str, Running] = {}
            for at_work, taker in takers.items():
                running[at_work] = await stack.enter_async_context(started(bench, taker.target))
                await warmed(running[at_work], Plan(warm=schedule.warm))
            for turn in range(schedule.ones):
                for at_work in _from(list(takers), number + turn):
                    taken[at_work][0].append(await _one(bench, running[at_work], schedule))
            for turn in range(schedule.manies):
                for at_work in _from(list(many), number + turn):
                    taken[at_work][1].append(await _many(bench, running[at_work], schedule))
                    await asyncio.sleep(schedule.rest)
    except (NoAnswer, OSError, TimeoutError) as error:
        target = takers[at_work].target
        print(f"  {target.name} {target.path}: {error}", file=sys.stderr, flush=True)
        takers[at_work].failures.append(str(error) or type(error).__name__)
        return
    for name, (ones, manies) in taken.items():
        takers[name].ones.extend(ones)
        takers[name].manies.extend(manies)


def _from(names: list[str], number: int) -> list[str]:
    """Who begins changes from turn to turn."""
    at = number % len(names)
    return names[at:] + names[:at]


async def _one(bench: Bench, running: Running, schedule: Schedule) -> Phase:
    calls = partial(echo, tool=running.access.tool)
    return await phase(bench, running, schedule.seconds, 10_000, calls(100))


async def _many(bench: Bench, running: Running, schedule: Schedule) -> Phase:
    calls = partial(echo, tool=running.access.tool)
    return await phase(bench, running, schedule.long_seconds, 60_000, calls(512, 32))
