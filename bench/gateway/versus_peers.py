"""Ours, the limit, and the gateways of others, all in one run and each beside the direct connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.gateway.contest import Outcome, contest, pairs
from bench.gateway.peers import peer_targets
from bench.gateway.targets import Bench
from bench.gateway.trial import Plan
from bench.gateway.versus_direct import trouble
from bench.measuring import ratio
from bench.rows import TIMES, Row, compared, figure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bench.gateway.targets import Target
    from bench.gateway.trial import Figures
    from bench.stage import Stage

__all__ = ["run"]

_PATHS = (("http", "http"), ("http", "stdio"), ("stdio", "http"), ("stdio", "stdio"))
_HEADINGS = (
    "who", "path", "p50", "p99", "calls/s", "CPU a call", "list p50", "first answer", "list", "memory"
)  # fmt: skip


def run(stage: Stage) -> list[Row]:
    bench = Bench(stage)
    targets: dict[str, Target] = {"direct http": bench.direct("http"), "direct stdio": bench.direct("stdio")}
    for front, back in _PATHS:
        targets[f"limit {front} {back}"] = bench.limit(front, back)
        targets[f"ours {front} {back}"] = bench.ours(front, back)
    peers, missing = peer_targets(bench)
    targets |= peers
    plan = Plan(seconds=0.1, most=200) if stage.quick else Plan(seconds=1.0)
    outcomes = contest(bench, targets, plan, 1 if stage.quick else 4)
    stage.notes.append("\n".join(_table(outcomes)))
    rows = [figure(requirement, f"not measured: {reason}") for requirement, reason in missing.items()]
    for name in peers:
        peer = outcomes[name]
        ours = outcomes[f"ours {peer.target.front} {peer.target.back}"]
        rows += _beside_peer(ours, peer)
    return [*rows, *trouble(stage, outcomes)]


def _beside_peer(ours: Outcome, peer: Outcome) -> list[Row]:
    what = f"{peer.target.name}, {peer.target.path}"
    if not peer.good:
        return [figure(what, "-", peer.reason)]
    if not ours.good:
        p50 = f"{peer.median(lambda f: f.one.taken.quantile(0.5)) * 1e3:.3f} ms"
        return [figure(f"tools/call p50 / {what}", ours.reason, p50)]

    return [
        _multiple(f"tools/call p50 / {what}", ours, peer, lambda f: f.one.taken.quantile(0.5)),
        _multiple("  for each call, 32 at once", ours, peer, lambda f: f.many.each),
        _multiple("  processor time a call, 32 at once", ours, peer, lambda f: f.many.cpu),
        _multiple("  tools/list p50, 200 tools", ours, peer, _list_p50),
        _multiple("  start to the first answer", ours, peer, lambda f: f.hello),
        figure(
            "  memory under that load",
            f"{ours.median(lambda f: f.rss):.1f} MB",
            f"{peer.median(lambda f: f.rss):.1f} MB",
        ),
    ]


def _multiple(what: str, ours: Outcome, peer: Outcome, of: Callable[[Figures], float]) -> Row:
    """Theirs by ours: the other way round there would be nothing but zeros to read."""
    both = pairs(ours, peer, of)
    if both is None:
        return figure(what, "-", "no round in which both were measured")
    row = compared(what, *both)
    return row._replace(reference=f"{row.reference}, {1 / ratio(*both):.3g} times ours", ratio=None)


def _list_p50(figures: Figures) -> float:
    return figures.lists.taken.quantile(0.5) if figures.lists else 0.0


# -- everybody beside the direct connection --------------------------------------------------------------------------


def _table(outcomes: Mapping[str, Outcome]) -> list[str]:
    """All contestants, each figure with its multiple of the direct connection's from the same kind of client."""
    direct = {front: outcomes[f"direct {front}"] for front in ("http", "stdio")}
    measured = [outcome for outcome in outcomes.values() if outcome.good]
    lines: list[tuple[str, ...]] = [_HEADINGS, *(_line(one, direct[one.target.front]) for one in measured)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


def _line(outcome: Outcome, direct: Outcome) -> tuple[str, ...]:
    def beside(of: Callable[[Figures], float], shown: str, *, speed: bool = False) -> str:
        both = pairs(outcome, direct, of)
        if both is None or outcome is direct:
            return shown
        multiple = ratio(*both)
        return f"{shown} ({1 / multiple if speed else multiple:.3g}{TIMES})"

    target = outcome.target
    started = target.command is not None
    p50, p99 = (lambda f: f.one.taken.quantile(0.5)), (lambda f: f.one.taken.quantile(0.99))
    return (
        target.name,
        target.path,
        beside(p50, f"{outcome.median(p50) * 1e3:.3f} ms"),
        beside(p99, f"{outcome.median(p99) * 1e3:.3f} ms"),
        beside(lambda f: f.many.each, f"{1 / outcome.median(lambda f: f.many.each):.0f}", speed=True),
        f"{outcome.median(lambda f: f.many.cpu) * 1e6:.0f} µs" if started else "-",
        beside(_list_p50, f"{outcome.median(_list_p50) * 1e3:.2f} ms"),
        f"{outcome.median(lambda f: f.hello):.2f} s" if started else "-",
        f"{outcome.median(lambda f: f.listed):.2f} s" if started else "-",
        f"{outcome.median(lambda f: f.rss):.0f} MB" if started else "-",
    )
