from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from awf.interfaces.cli.rendering.figures import counted, duration_text, elapsed_text, usage_text
from awf.interfaces.cli.rendering.lines import Line, Span, fields, line, line_text
from awf.interfaces.cli.rendering.rows import SIGNS, counts_text, ended_text, tree_rows
from awf.interfaces.cli.rendering.run_lines import next_commands, reason_entries
from awf.interfaces.cli.rendering.step_lines import failure_line, head
from awf.interfaces.cli.rendering.terminal_text import flat

if TYPE_CHECKING:
    from awf.interfaces.cli.rendering.model import RunModel
    from awf.interfaces.cli.rendering.step_state import StepState

__all__ = ["status_lines"]

_ENDED_SHOWN = 30
_ROWS = 20


def status_lines(model: RunModel, *, now: float = 0.0, status: str = "", color: bool = False) -> list[str]:
    """A run at a glance. `status` is for what events cannot tell, such as a run whose process died."""
    state = status or model.status
    lines = [_opening(model, state, now), *_ended_lines(model)]
    if state in {"running", "waiting"}:
        lines += tree_rows(model, now=now or model.started_at, height=_ROWS)
    lines += [_summary(model), *_next_lines(model, state)]
    return [line_text(said, color=color) for said in lines if said]


def _opening(model: RunModel, state: str, now: float) -> Line:
    if model.duration_ms is not None:
        time = f"in {duration_text(model.duration_ms)}"
    else:
        age = elapsed_text(now - model.started_at) if now else ""
        time = f"for {age}" if age and state in {"running", "waiting"} else ""
    return line(
        Span("run ", "dim"),
        f"{model.run_id} ",
        Span(flat(model.workflow), "name"),
        f"  {state} {time}".rstrip(),
    )


def _ended_lines(model: RunModel) -> list[Line]:
    ended = [step for step in model.tops.values() if not step.is_open and step.kind != "terminal"]
    hidden = len(ended) - _ENDED_SHOWN
    earlier = [line(Span(f"… {counted(hidden, 'earlier step')}", "dim"))] if hidden > 0 else []
    return earlier + [_ended_line(step) for step in ended[-_ENDED_SHOWN:]]


def _ended_line(step: StepState) -> Line:
    spent = duration_text(step.duration_ms) if step.duration_ms is not None else ""
    below = ended_text(step)
    if step.status == "failed":
        return failure_line(step, spent) + line(f"  {below}" if below else "")
    sign, style = SIGNS[step.status]
    if step.status == "skipped":
        return head(sign, style, step.path) + line(f"skipped: {flat(step.message)}")
    how = "cancelled" if step.status == "cancelled" else ""
    return head(sign, style, step.path) + fields(how, spent, usage_text(step.usage), below)


def _summary(model: RunModel) -> Line:
    ended = Counter(step.status for step in model.steps.values() if not step.is_open)
    steps = (
        f"{counted(ended.total(), 'step')} ended: {counts_text(ended)}" if ended else "nothing has ended yet"
    )
    return line(" · ".join(filter(None, (steps, usage_text(model.usage)))))


def _next_lines(model: RunModel, state: str) -> list[Line]:
    if model.error is not None:
        return _failure_lines(model)
    if state == "waiting" and any(question.kind == "approval" for question in model.questions.values()):
        return [line(f"awf approve {model.run_id}")]
    if state in {"cancelled", "interrupted"}:
        return [line(f"awf resume {model.run_id}")]
    return []


def _failure_lines(model: RunModel) -> list[Line]:
    error = model.error
    assert error is not None
    blamed = model.cause.blamed(error.state)
    place = f" at {flat(blamed.path)}" if blamed.path else ""
    said = line(Span("✗ ", "bad"), f"failed{place}: {flat(error.message)}")
    reasons = reason_entries(blamed, error.code, error.hint)
    return [said, *reasons, *next_commands(model.run_id, blamed.path, error.code)]
