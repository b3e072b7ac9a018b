"""One line of the result: a figure, what it is compared with, and what is asked of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bench.measuring import ratio

if TYPE_CHECKING:
    from bench.measuring import Series

__all__ = ["TIMES", "Limits", "Row", "compared", "figure", "within"]

TIMES = "\u00d7"


class Limits(NamedTuple):
    must: float | None = None
    aim: float | None = None
    unit: str = TIMES

    def shown(self, value: float | None) -> str:
        return "-" if value is None else f"≤ {value:g}{self.unit}"


NO_LIMITS = Limits()


class Row(NamedTuple):
    what: str
    ours: str
    reference: str = "-"
    ratio: float | None = None
    limits: Limits = NO_LIMITS
    judged: float | None = None  # what the limits are held against; the ratio when not given
    noise: str = ""
    small: bool = False  # measured with few rounds and small sizes

    @property
    def verdict(self) -> str:
        if self.small:
            return "not judged"
        value = self.ratio if self.judged is None else self.judged
        if value is None or self.limits.must is None:
            return "reported"
        if value > self.limits.must:
            return "MISSED"
        return "aim met" if self.limits.aim is None or value <= self.limits.aim else "must met"


def _time(seconds: float) -> str:
    if seconds < 0.001:
        return f"{seconds * 1e6:.1f} µs"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _spread(series: Series) -> str:
    return f"{_time(series.least)} / {_time(series.median)} / {_time(series.p90)}"


def _noise(ours: Series, reference: Series | None) -> str:
    text = f"ours {_spread(ours)}"
    if reference is None:
        return text
    quiet = ours.least / reference.least
    cpu = f", of processor time {ours.cpu / reference.cpu:.2f}{TIMES}" if reference.cpu else ""
    return f"{text}; reference {_spread(reference)}; ratio of the least {quiet:.2f}{TIMES}{cpu}"


def compared(what: str, ours: Series, reference: Series, limits: Limits = NO_LIMITS, *, per: int = 1) -> Row:
    """Ours against a reference that took turns with it. `per` divides the times shown, not the ratio."""
    shown = _time(ours.median / per), _time(reference.median / per)
    return Row(what, *shown, ratio(ours, reference), limits, noise=_noise(ours, reference))


def within(what: str, ours: Series, limits: Limits, reference: Series | None = None) -> Row:
    """Ours against a time in seconds, whatever it is compared with besides."""
    times = _time(reference.median) if reference else "-"
    multiple = ratio(ours, reference) if reference else None
    return Row(what, _time(ours.median), times, multiple, limits, ours.median, _noise(ours, reference))


def figure(
    what: str, value: str, reference: str = "-", limits: Limits = NO_LIMITS, judged: float | None = None
) -> Row:
    return Row(what, value, reference, None, limits, judged)
