"""Rounds in which the contestants take turns, each started afresh, and what came of them."""

from __future__ import annotations

import contextlib
import statistics
import sys
from typing import TYPE_CHECKING, NamedTuple

import uvloop

from bench.gateway.starting import started
from bench.gateway.trial import measured
from bench.gateway.wire import NoAnswer
from bench.measuring import Cost, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bench.gateway.targets import Bench, Target
    from bench.gateway.trial import Figures, Plan

__all__ = ["Outcome", "contest", "pairs"]


class Outcome(NamedTuple):
    """The rounds of one contestant; None stands for a round in which it failed."""

    target: Target
    rounds: list[Figures | None]
    failures: list[str]

    @property
    def good(self) -> list[Figures]:
        return [figures for figures in self.rounds if figures is not None]

    @property
    def wrong(self) -> list[str]:
        return [text for figures in self.good for text in figures.wrong]

    @property
    def reason(self) -> str:
        """Why there is nothing, in one line."""
        first = self.failures[0] if self.failures else "no round was made"
        return f"not measured: {' '.join(first.split())[:160]}"

    def median(self, figure: Callable[[Figures], float]) -> float:
        return statistics.median(map(figure, self.good))

    def series(self, figure: Callable[[Figures], float]) -> Series:
        return Series([Cost(figure(figures), figures.many.cpu) for figures in self.good])


def contest(bench: Bench, targets: Mapping[str, Target], plan: Plan, rounds: int) -> dict[str, Outcome]:
    """Who begins changes from round to round."""
    outcomes = {name: Outcome(target, [], []) for name, target in targets.items()}
    names = list(targets)
    uvloop.run(_compiled(bench, list(targets.values())))
    for number in range(rounds):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            _take_turn(bench, outcomes[name], plan)
    return outcomes


async def _compiled(bench: Bench, targets: list[Target]) -> None:
    """Start ours once for nothing: its first start compiles it, as no later one does."""
    for target in targets:
        if target.environment is bench.stage.environment and not bench.is_compiled:
            bench.is_compiled = True
            with contextlib.suppress(NoAnswer):
                async with started(bench, target):
                    pass


def _take_turn(bench: Bench, outcome: Outcome, plan: Plan) -> None:
    figures: Figures | None = None
    try:
        figures = uvloop.run(measured(bench, outcome.target, plan))
    except (NoAnswer, OSError, TimeoutError) as error:
        print(f"  {outcome.target.name} {outcome.target.path}: {error}", file=sys.stderr, flush=True)
        outcome.failures.append(str(error) or type(error).__name__)
    outcome.rounds.append(figures)


def pairs(
    ours: Outcome, reference: Outcome, figure: Callable[[Figures], float]
) -> tuple[Series, Series] | None:
    """Both sides of those rounds in which neither failed."""
    both: Sequence[tuple[Figures, Figures]] = [
        (mine, theirs)
        for mine, theirs in zip(ours.rounds, reference.rounds, strict=True)
        if mine is not None and theirs is not None
    ]
    if not both:
        return None
    mine = Series([Cost(figure(one), one.many.cpu) for one, _ in both])
    theirs = Series([Cost(figure(other), other.many.cpu) for _, other in both])
    return mine, theirs
