"""One line of the result: a figure, what it is compared with, and what is asked of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bench.measuring import ratio

if TYPE_CHECKING:
    from bench.measuring import Series

__all__ = ["TIMES", "Limits", "Row", "compared", "counted", "figure", "per_second", "within"]

TIMES = "\u00d7"


class Limits(NamedTuple):
    must: float | None = None
    aim: float | None = None
    unit: str = TIMES
    at_least: bool = False  # of a speed: more is better

    def shown(self, value: float | None) -> str:
        sign = "≥" if self.at_least else "≤"
        return "-" if value is None else f"{sign} {value:g}{self.unit}"

    def allow(self, value: float, limit: float | None) -> bool:
        if limit is None:
            return True
        return value >= limit if self.at_least else value <= limit


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
    by_the_clock: bool = True  # else it is right or wrong on any machine and at any size

    @property
    def verdict(self) -> str:
        if self.small and self.by_the_clock:
            return "not judged"
        value = self.ratio if self.judged is None else self.judged
        if value is None or self.limits.must is None:
            return "reported"
        if not self.limits.allow(value, self.limits.must):
            return "MISSED"
        return "aim met" if self.limits.allow(value, self.limits.aim) else "must met"

    @property
    def is_wrong(self) -> bool:
        return self.verdict == "MISSED" and not self.by_the_clock


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


def per_second(what: str, ours: Series, reference: Series, limits: Limits = NO_LIMITS) -> Row:
    """Speeds, from the seconds that each took; the ratio is of the speeds, too."""
    shown = f"{1 / ours.median:.0f}/s", f"{1 / reference.median:.0f}/s"
    return Row(what, *shown, 1 / ratio(ours, reference), limits, noise=_noise(ours, reference))


def counted(what: str, found: int, most: int = 0) -> Row:
    """Something of which there may be so many, whatever the machine."""
    return Row(what, str(found), limits=Limits(most, unit=""), judged=found, by_the_clock=False)


def figure(
    what: str, value: str, reference: str = "-", limits: Limits = NO_LIMITS, judged: float | None = None
) -> Row:
    return Row(what, value, reference, None, limits, judged)
