"""What one start of one contestant costs: until it answers, and under load."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from bench.gateway import processes
from bench.gateway.load import Load, Taken, echo, listing, put_on
from bench.gateway.starting import started

if TYPE_CHECKING:
    from bench.gateway.starting import Running
    from bench.gateway.targets import Bench, Target

__all__ = ["Figures", "Phase", "Plan", "measured", "phase", "warmed"]

_CALM = 0.25  # processors that others may use


class Plan(NamedTuple):
    """How much is measured."""

    seconds: float = 0.3  # that each load lasts, about
    most: int = 10_000  # calls in a load
    size: int = 100  # bytes of text
    width: int = 32
    tools: int = 200
    delay_ms: float = 0.0
    lists: bool = True
    warm: float = (
        0.0  # seconds of calls before anything is measured: what is new in a process, and in those it starts
    )


class Phase(NamedTuple):
    taken: Taken
    cpu: float  # seconds of the contestant's own processor time for each call
    others: float  # how many processors other programs used meanwhile

    @property
    def each(self) -> float:
        """Seconds for each call, when several are on their way."""
        return self.taken.seconds / len(self.taken.each)


class Figures(NamedTuple):
    hello: float
    listed: float
    one: Phase
    many: Phase
    lists: Phase | None
    rss: float

    @property
    def wrong(self) -> list[str]:
        phases = (self.one, self.many, *([self.lists] if self.lists else []))
        return [text for phase in phases for text in phase.taken.wrong]


async def measured(bench: Bench, target: Target, plan: Plan) -> Figures:
    async with started(bench, target, plan.tools, "--delay-ms", str(plan.delay_ms)) as running:
        calls = partial(echo, tool=running.access.tool, size=plan.size)
        measure = partial(phase, bench, running, plan.seconds / target.slow, plan.most)
        await warmed(running, plan, max(32, 200 // target.slow))
        one = await measure(calls(max(5, 30 // target.slow)))
        many = await measure(calls(max(plan.width, 8 * plan.width // target.slow), plan.width))
        rss = processes.megabytes(running.processes())
        lists = await measure(listing(5)) if plan.lists else None
    return Figures(running.hello, running.listed, one, many, lists, rss)


async def warmed(running: Running, plan: Plan, first: int = 200) -> None:
    calls = partial(echo, tool=running.access.tool, size=plan.size)
    end = time.perf_counter() + plan.warm
    await put_on(running.peer, calls(first, 8))
    while time.perf_counter() < end:
        await put_on(running.peer, calls(200, 8))


async def phase(bench: Bench, running: Running, seconds: float, most: int, probe: Load) -> Phase:
    """A few requests show how many fit into the time; then those are measured, again if others disturbed them."""
    tried = await put_on(running.peer, probe)
    fitting = int(seconds * len(tried.each) / tried.seconds)
    load = probe._replace(total=max(probe.total, min(fitting, most)))
    best = await _attempt(running, load)
    while best.others > _CALM and bench.spare > 0:
        began = time.perf_counter()
        again = await _attempt(running, load)
        bench.spare -= time.perf_counter() - began
        best = min(best, again, key=lambda phase: (bool(phase.taken.wrong), phase.others))
    return best


async def _attempt(running: Running, load: Load) -> Phase:
    members, everybody = running.processes(), running.everybody()
    own, known = processes.processor_seconds(members), processes.processor_seconds(everybody)
    busy = processes.busy_seconds()
    taken = await put_on(running.peer, load)
    busy = processes.busy_seconds() - busy
    known = processes.processor_seconds(everybody) - known
    own = processes.processor_seconds(members) - own
    return Phase(taken, own / len(taken.each), max(0.0, busy - known) / taken.seconds)
