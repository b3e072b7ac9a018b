"""The rows of the calm tree: steps, and below the one in work a line of what it is doing. Pure: a model in, lines out."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from awf.interfaces.cli.rendering.figures import counted, duration_text, elapsed_text, number_text
from awf.interfaces.cli.rendering.lines import Line, Span, Style, fields, indented, line
from awf.interfaces.cli.rendering.terminal_text import flat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.interfaces.cli.rendering.model import Question, RunModel
    from awf.interfaces.cli.rendering.step_state import Below, StepState

__all__ = ["SIGNS", "counts_text", "ended_text", "tree_rows"]

SIGNS: dict[str, tuple[str, Style]] = {
    "running": ("▶", ""), "waiting": ("?", "wait"), "retrying": ("↻", "wait"), "success": ("✓", "good"),
    "failed": ("✗", "bad"), "skipped": ("○", "dim"), "cancelled": ("■", "dim"),
}  # fmt: skip
_WORDS = {"success": "✓", "failed": "✗", "skipped": "skipped", "cancelled": "cancelled"}
_NOW_CELLS = 160
_BUSY_SHOWN = 8
_FAILED_SHOWN = 3
_FAILED_OUTPUT = 5


def tree_rows(model: RunModel, *, now: float, height: int) -> list[Line]:
    """What is in work, in at most `height` rows."""
    rows: list[Line] = []
    for top in model.tops.values():
        if top.is_open and len(rows) < height:
            asked = [question for question in model.questions.values() if _belongs(question, top)]
            rows += _top_rows(top, asked, now, height - len(rows))
    return rows


def _belongs(question: Question, top: StepState) -> bool:
    return question.path == top.path or question.path.startswith((f"{top.path}/", f"{top.path}["))


def _top_rows(top: StepState, asked: list[Question], now: float, room: int) -> list[Line]:
    sign, style = SIGNS["waiting" if asked else top.status]
    state = fields(_doing_what(top), elapsed_text(now - top.started_at))
    rows = [line(Span(sign, style), f" {flat(top.path)}  ") + state]
    rows += [_question_row(question, top) for question in islice(asked, max(0, room - 1))]
    below = top.below
    if below:
        rows += _rows_below(top, below, now, room - len(rows))
    elif room > len(rows) and not asked and (what := flat(top.note or top.now, _NOW_CELLS)):
        rows.append(indented(4, Span(what, "dim")))
    return rows


def _question_row(question: Question, top: StepState) -> Line:
    place = "" if question.path == top.path else f"{_short(question.path, top.path)}  "
    text = flat(question.message, _NOW_CELLS)
    return indented(4, place, Span("waiting for you" + (f": {text}" if text else ""), "wait"))


def _doing_what(top: StepState) -> Span | str:
    below = top.below
    if below is None:
        return Span(flat(top.detail, 60), "dim")
    if below.iteration:
        return f"iteration {below.iteration}" + (f" of {top.total}" if top.total else "")
    if top.total:
        return f"{number_text(below.done)} of {number_text(top.total)}"
    return Span(flat(top.detail, 60), "dim")


def _rows_below(top: StepState, below: Below, now: float, room: int) -> list[Line]:
    """Those in work, a few failures, the last that ended; then how many more there are."""
    if room <= 0:
        return []
    known = below.done + len(below.in_work)
    busy = [step for step in below.in_work.values() if step.status != "waiting"]  # a question has its own row
    shown = _chosen(below, busy, room if known <= room else room - 1)
    rows = [_child_row(step, top, now) for step in shown]
    coming = max(0, top.total - known) if top.kind == "parallel" else 0
    if more := _more_text(below, shown, len(busy), coming):
        rows.append(indented(2, Span(more, "dim")))
    return rows[:room] if len(rows) > room else _unfolded(rows, shown, room)


def _chosen(below: Below, busy: list[StepState], room: int) -> list[StepState]:
    failed = below.failed[-_FAILED_SHOWN:]
    last = [below.last] if below.last and below.last not in failed else []
    places = min(_BUSY_SHOWN, max(1, room - len(failed) - len(last)))
    return [*failed, *busy[:places], *last][: max(0, room)]


def _child_row(step: StepState, top: StepState, now: float) -> Line:
    sign, style = SIGNS[step.status]
    name = _short(step.path, top.path)
    if step.is_open:
        note = flat(step.note or step.now or step.detail, _NOW_CELLS)
        state = fields(elapsed_text(now - step.started_at), Span(note, "dim"))
    else:
        cause = flat(step.message, _NOW_CELLS) if step.status in {"failed", "skipped"} else ""
        state = fields(duration_text(step.duration_ms or 0), cause, Span(step.code, "dim"))
    return indented(2, Span(sign, style), f" {name}  ") + state


def _short(path: str, top: str) -> str:
    """The path as seen from the top-level step: `lint`, `[3]/test`."""
    return flat(path[len(top) :].removeprefix("/"))


def _more_text(below: Below, shown: list[StepState], busy: int, coming: int) -> str:
    hidden = dict(below.ended)
    for step in shown:
        if not step.is_open:
            hidden[step.status] -= 1
    running = busy - sum(step.is_open for step in shown)
    total = sum(hidden.values()) + running + coming
    parts = [counts_text(hidden), f"{number_text(running)} running" if running else ""]
    parts.append(f"{number_text(coming)} to come" if coming else "")
    return f"… and {number_text(total)} more ({', '.join(filter(None, parts))})" if total else ""


def counts_text(ended: Mapping[Any, int]) -> str:
    """How many ended in which way: `198 ✓, 2 ✗`."""
    return ", ".join(f"{number_text(ended[name])} {word}" for name, word in _WORDS.items() if ended.get(name))


def _unfolded(rows: list[Line], shown: list[StepState], room: int) -> list[Line]:
    """The last lines that failed steps wrote, below their rows, as far as there is room."""
    spare = room - len(rows)
    unfolded: list[Line] = []
    for index, row in enumerate(rows):
        unfolded.append(row)
        step = shown[index] if index < len(shown) else None
        written = step.tail.lines()[-min(_FAILED_OUTPUT, spare) :] if step and step.tail and spare > 0 else []
        if step and step.status == "failed":
            unfolded += [indented(6, Span(f"| {text}", "dim")) for text in written]
            spare -= len(written)
    return unfolded


def ended_text(top: StepState) -> str:
    """What came of the steps below one that has ended: `198 ✓, 2 ✗`."""
    below = top.below
    if below is None or not below.done:
        return ""
    turns = f"{counted(below.iteration, 'iteration')}: " if below.iteration else ""
    return turns + counts_text(below.ended)
