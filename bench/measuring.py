"""Measuring side by side: rounds that take turns, so that a busy machine troubles every contestant alike."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["Cost", "Series", "cpu_seconds", "interleaved", "process_cost", "ratio", "timed"]


class Cost(NamedTuple):
    """Seconds by the clock, and seconds of processor time with all children that were waited for."""

    wall: float
    cpu: float


class Series:
    """What the rounds of one contestant cost."""

    def __init__(self, costs: Sequence[Cost]) -> None:
        self.walls = [cost.wall for cost in costs]
        self.cpus = [cost.cpu for cost in costs]

    @property
    def least(self) -> float:
        return min(self.walls)

    @property
    def median(self) -> float:
        return statistics.median(self.walls)

    @property
    def p90(self) -> float:
        return sorted(self.walls)[-1 - len(self.walls) // 10]

    @property
    def cpu(self) -> float:
        return statistics.median(self.cpus)


def ratio(ours: Series, reference: Series) -> float:
    """The median over the rounds: both sides of a round met the same machine."""
    return statistics.median(mine / theirs for mine, theirs in zip(ours.walls, reference.walls, strict=True))


def interleaved(
    rounds: int, contestants: Mapping[str, Callable[[], Cost]], *, warm_up: bool = True
) -> dict[str, Series]:
    """Let the contestants take turns; who begins changes from round to round."""
    names = list(contestants)
    costs: dict[str, list[Cost]] = {name: [] for name in names}
    if warm_up:
        for name in names:
            contestants[name]()
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            costs[name].append(contestants[name]())
    return {name: Series(taken) for name, taken in costs.items()}


def cpu_seconds() -> float:
    """Processor time of this process and of its children that are over."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def timed(action: Callable[[], object]) -> Cost:
    cpu, began = cpu_seconds(), time.perf_counter()
    action()
    return Cost(time.perf_counter() - began, cpu_seconds() - cpu)


def process_cost(argv: Sequence[str], *, env: Mapping[str, str], cwd: str, errors: str) -> Cost:
    """A whole process from start to end. What it says on stderr goes to the file `errors`."""
    with open(errors, "wb") as stderr:
        began = time.perf_counter()
        process = subprocess.Popen(
            argv, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        with open(errors, encoding="utf-8", errors="replace") as said:
            raise RuntimeError(f"{' '.join(argv)} ended with {process.returncode}: {said.read()[-2000:]}")
    return Cost(wall, used.ru_utime + used.ru_stime)
