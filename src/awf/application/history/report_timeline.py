"""The timeline of a report: when each step ran, as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from awf.application.history.amounts import duration
from awf.application.history.markup import Markup, element
from awf.application.history.plain_text import plain
from awf.application.history.report_blocks import anchor, sign, took

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.application.history.story import StepStory, Story

__all__ = ["timeline"]

_ROWS = 120


class _Window(NamedTuple):
    begin: float
    end: float

    def share(self, at: float) -> float:
        """Where a moment lies, in percent."""
        length = max(self.end - self.begin, 1e-9)
        return max(0.0, min(100.0, (at - self.begin) / length * 100))


def timeline(story: Story, begin: float, end: float | None) -> Markup | None:
    timed = [(step, depth) for step, depth in story.walk() if step.started is not None]
    if not timed:
        return None
    shown = _fitting(timed)
    moments = [at for step, _ in timed for at in (step.started, step.finished) if at is not None]
    window = _Window(min([begin or moments[0], *moments]), max([*moments, *([end] if end else [])]))
    left_out = len(timed) - len(shown)
    note = element("p", f"{left_out:,} inner steps are not shown here.", class_="cut") if left_out else None
    rows = [_row(step, depth, window) for step, depth in shown]
    return element("div", element("ol", *rows, class_="timeline"), _scale(window), note)


def _fitting(timed: Sequence[tuple[StepStory, int]]) -> Sequence[tuple[StepStory, int]]:
    """As many levels as fit; of one level, the first rows."""
    for deepest in range(max(depth for _, depth in timed), 0, -1):
        chosen = [(step, depth) for step, depth in timed if depth <= deepest]
        if len(chosen) <= _ROWS:
            return chosen
    return [(step, depth) for step, depth in timed if depth == 0][:_ROWS]


def _row(step: StepStory, depth: int, window: _Window) -> Markup:
    assert step.started is not None
    left = window.share(step.started)
    right = window.share(step.finished if step.finished is not None else window.end)
    bar = element(
        "span", class_=f"bar {step.status}", style=f"left:{left:.2f}%;width:{max(right - left, 0.0):.2f}%"
    )
    last = step.path.rpartition("/")[2]
    name = element(
        "a",
        sign(step.status),
        " ",
        plain(last),
        href=f"#{anchor(step.number)}",
        style=f"--depth:{min(depth, 6)}",
    )
    length = took(step.seconds) or "not finished"
    return element(
        "li",
        name,
        element("span", bar, class_="track", aria_hidden="true"),
        element("span", length, class_="length"),
    )


def _scale(window: _Window) -> Markup:
    length = window.end - window.begin
    marks = [element("span", duration(length * part)) for part in (0.5, 1.0)]
    return element("p", element("span", "0"), *marks, class_="scale", aria_hidden="true")
