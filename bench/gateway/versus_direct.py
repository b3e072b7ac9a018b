"""`awf gateway serve` beside the direct connection, and beside the least that a gateway in Python can cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.gateway.contest import Outcome, contest, pairs
from bench.gateway.idle import idle_sessions
from bench.gateway.profiled import profile_notes
from bench.gateway.targets import Bench
from bench.gateway.trial import Plan
from bench.gateway.wire import LEGACY, MODERN
from bench.measuring import ratio
from bench.rows import Limits, Row, compared, figure, per_second, within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bench.gateway.alternating import Taker
    from bench.gateway.targets import Target
    from bench.gateway.trial import Figures
    from bench.stage import Stage

__all__ = ["path_rows", "run", "trouble"]

PATHS = (("http", "http"), ("http", "stdio"), ("stdio", "stdio"))

_P50 = Limits(2.5, 2.0)
_SPEED = Limits(0.15, 0.25, at_least=True)
_CPU = Limits(75, 40, " µs")
_LIST = Limits(1.5, 1.0)
_START = Limits(0.35, 0.2, " s")
_RSS = Limits(90, 60, " MB")
_FLAT = Limits(1.2, 1.05)
_NONE = Limits()


def run(stage: Stage) -> list[Row]:
    bench = Bench(stage)
    rows = [
        *_era(bench, LEGACY),
        *_era(bench, MODERN),
        *_large_answers(bench),
        *_slow_tool(bench),
        *_number_of_tools(bench),
        *idle_sessions(bench),
    ]
    if stage.profile:
        stage.notes += profile_notes(bench)
    return rows


def _plan(bench: Bench, plan: Plan) -> Plan:
    return plan._replace(seconds=0.05, most=200) if bench.stage.quick else plan


# -- the paths through it --------------------------------------------------------------------------------------------


def _era(bench: Bench, protocol: str) -> list[Row]:
    targets: dict[str, Target] = {}
    for front, back in PATHS:
        targets[f"direct {front}"] = bench.direct(front, protocol)
        if protocol == LEGACY:  # the limit does the same in both
            targets[f"limit {front} {back}"] = bench.limit(front, back)
        targets[f"ours {front} {back}"] = bench.ours(front, back, protocol)
    outcomes = contest(
        bench, targets, _plan(bench, Plan()), bench.stage.rounds(4 if protocol == LEGACY else 3)
    )
    rows: list[Row] = []
    for front, back in PATHS:
        ours, limit = outcomes[f"ours {front} {back}"], outcomes.get(f"limit {front} {back}")
        rows += path_rows(ours, outcomes[f"direct {front}"], limit, judged=front == "http")
    return [*rows, *trouble(bench.stage, outcomes)]


def path_rows(ours: Outcome, direct: Outcome, limit: Outcome | None, *, judged: bool) -> list[Row]:
    """The budgets are for clients that come over HTTP; pipes are reported."""
    what = f"gateway {ours.target.path}, {ours.target.protocol}"
    if not ours.good:
        return [figure(what, ours.reason)]
    p50, speed, lists = (_P50, _SPEED, _LIST) if judged else (_NONE, _NONE, _NONE)
    return [
        *_beside(f"{what}: tools/call p50 / direct", ours, direct, lambda f: f.one.taken.quantile(0.5), p50),
        *_beside("  the limit's / direct", limit, direct, lambda f: f.one.taken.quantile(0.5)),
        *_beside("  p99 / direct", ours, direct, lambda f: f.one.taken.quantile(0.99)),
        *_speeds("  calls at 32 at once / direct", ours, direct, speed),
        *_speeds("  the limit's / direct", limit, direct),
        *_own_figures(ours, limit, judged=judged),
        *_beside("  tools/list p50, 200 tools / direct", ours, direct, _list_p50, lists),
    ]


def _list_p50(figures: Figures) -> float:
    assert figures.lists is not None
    return figures.lists.taken.quantile(0.5)


def _beside(
    what: str, ours: Outcome | None, other: Outcome, of: Callable[[Figures], float], limits: Limits = _NONE
) -> list[Row]:
    both = pairs(ours, other, of) if ours else None
    return [compared(what, *both, limits)] if both else []


def _speeds(what: str, ours: Outcome | None, other: Outcome, limits: Limits = _NONE) -> list[Row]:
    both = pairs(ours, other, lambda figures: figures.many.each) if ours else None
    return [per_second(what, *both, limits)] if both else []


def _own_figures(ours: Outcome, limit: Outcome | None, *, judged: bool) -> list[Row]:
    """What has no direct counterpart stands beside the limit's."""
    cpu, most = ours.median(lambda f: f.many.cpu * 1e6), _CPU if judged else _NONE
    rss = ours.median(lambda f: f.rss)
    limit = limit if limit and limit.good else None
    reference = f"{limit.median(lambda f: f.many.cpu * 1e6):.1f} µs" if limit else "-"
    memory = f"{limit.median(lambda f: f.rss):.1f} MB" if limit else "-"
    return [
        figure(
            "  processor time a call, 32 at once / the limit's", f"{cpu:.1f} µs", reference, most, cpu
        )._replace(ratio=_multiple(ours, limit)),
        figure("  memory under that load / the limit's", f"{rss:.1f} MB", memory, _RSS, rss),
        _start_row("  start to the first answer", ours, limit, lambda f: f.hello, _START),
        _start_row("  start to the list of tools", ours, limit, lambda f: f.listed),
    ]


def _multiple(ours: Outcome, limit: Outcome | None) -> float | None:
    both = pairs(ours, limit, lambda f: f.many.cpu) if limit else None
    return ratio(*both) if both else None


def _start_row(
    what: str, ours: Outcome, limit: Outcome | None, of: Callable[[Figures], float], limits: Limits = _NONE
) -> Row:
    both = pairs(ours, limit, of) if limit else None
    if both is None:
        return within(what, ours.series(of), limits)
    return within(f"{what} / the limit's", both[0], limits, both[1])


def trouble(stage: Stage, outcomes: Mapping[str, Outcome] | Mapping[str, Taker]) -> list[Row]:
    """Wrong answers and failed starts are rows, so that nobody overlooks them."""
    rows = []
    for outcome in outcomes.values():
        who = f"{outcome.target.name} {outcome.target.path}, {outcome.target.protocol}"
        if outcome.wrong:
            rows.append(figure(f"{who}: wrong answers", str(len(outcome.wrong))))
            stage.notes += [f"{who}: {text}" for text in outcome.wrong[:2] if text]
        if outcome.failures and outcome.good:
            rows.append(figure(f"{who}: rounds that failed", str(len(outcome.failures))))
        stage.notes += [f"{who}: {text}" for text in dict.fromkeys(outcome.failures)]
    return rows


# -- what else may matter --------------------------------------------------------------------------------------------


def _large_answers(bench: Bench) -> list[Row]:
    return _beside_direct(bench, "text of 64 kB", ("http", "stdio"), Plan(size=64 * 1024, lists=False), 3)


def _slow_tool(bench: Bench) -> list[Row]:
    """The gateway has to let calls overlap: 32 of 20 ms each are at most 1 600 a second."""
    return _beside_direct(bench, "a tool that takes 20 ms", ("stdio",), Plan(delay_ms=20, lists=False), 2)


def _beside_direct(bench: Bench, what: str, backs: tuple[str, ...], plan: Plan, rounds: int) -> list[Row]:
    targets = {"direct": bench.direct("http")}
    for back in backs:
        targets |= {f"limit {back}": bench.limit("http", back), f"ours {back}": bench.ours("http", back)}
    outcomes = contest(bench, targets, _plan(bench, plan), bench.stage.rounds(rounds))
    rows: list[Row] = []
    for back in backs:
        ours, limit = outcomes[f"ours {back}"], outcomes[f"limit {back}"]
        rows += _short_rows(f"{what}, {ours.target.path}", ours, outcomes["direct"], limit)
    return [*rows, *trouble(bench.stage, outcomes)]


def _short_rows(what: str, ours: Outcome, direct: Outcome, limit: Outcome) -> list[Row]:
    if not ours.good:
        return [figure(what, ours.reason)]
    cpu = f"{ours.median(lambda f: f.many.cpu * 1e6):.1f} µs"
    reference = f"{limit.median(lambda f: f.many.cpu * 1e6):.1f} µs" if limit.good else "-"
    return [
        *_beside(f"{what}: p50 / direct", ours, direct, lambda f: f.one.taken.quantile(0.5)),
        *_beside("  the limit's / direct", limit, direct, lambda f: f.one.taken.quantile(0.5)),
        *_speeds("  calls at 32 at once / direct", ours, direct),
        figure("  processor time a call, 32 at once / the limit's", cpu, reference)._replace(
            ratio=_multiple(ours, limit)
        ),
    ]


def _number_of_tools(bench: Bench) -> list[Row]:
    """The cost of a call must not grow with the number of tools beside it."""
    few, many = _with_tools(bench, 10, 1000)
    if not (few.good and many.good):
        return [figure("1000 tools / 10 tools", (many if few.good else few).reason)]
    return [
        *_beside(
            "1000 tools / 10 tools, HTTP\u2192stdio: p50", many, few, lambda f: f.one.taken.quantile(0.5)
        ),
        *_beside("  processor time a call, 32 at once", many, few, lambda f: f.many.cpu, _FLAT),
    ]


def _with_tools(bench: Bench, few: int, many: int) -> tuple[Outcome, Outcome]:
    """They take turns as all do; each has another plan, so the rounds are made one at a time."""
    target, plan = bench.ours("http", "stdio"), _plan(bench, Plan(lists=False))
    small, large = Outcome(target, [], []), Outcome(target, [], [])
    for number in range(bench.stage.rounds(3)):
        sides = [(few, small), (many, large)]
        for tools, side in sides if number % 2 else reversed(sides):
            made = contest(bench, {"ours": target}, plan._replace(tools=tools), 1)["ours"]
            side.rounds.extend(made.rounds)
            side.failures.extend(made.failures)
    return small, large
