from __future__ import annotations

from typing import TYPE_CHECKING

from awf.application.history.answer import answer_lines
from awf.domain import events
from awf.interfaces.cli.rendering import run_lines, step_lines
from awf.interfaces.cli.rendering.event_lines import TAIL_LINES, failure_output
from awf.interfaces.cli.rendering.figures import counted, duration_text
from awf.interfaces.cli.rendering.lines import Line, Span, indented, line
from awf.interfaces.cli.rendering.paths import is_top_level
from awf.interfaces.cli.rendering.rows import ended_text
from awf.interfaces.cli.rendering.terminal_text import neutral

if TYPE_CHECKING:
    from awf.domain.events import Stamped
    from awf.interfaces.cli.rendering.model import RunModel
    from awf.interfaces.cli.rendering.step_state import StepState

__all__ = ["settled_lines"]


def settled_lines(model: RunModel, stamped: Stamped, *, answer_elsewhere: bool) -> list[Line]:
    """What can be printed for good after an event, in a tree. A step of the workflow that ended is let go."""
    event = stamped.event
    if isinstance(event, events.StepCompleted | events.StepFailed | events.StepSkipped):
        return _ended(model, event) if is_top_level(event.path) else []
    match event:
        case events.LogLine():
            return run_lines.logged(event)
        case events.Warned():
            return run_lines.warned(event)
        case events.ApprovalResolved():
            return run_lines.approval_resolved(event)
        case _ if event.path:
            return []
        case events.WorkflowStarted():
            return run_lines.started(stamped.run_id, event)
        case events.WorkflowResumed():
            return run_lines.resumed(stamped.run_id, event)
        case events.WorkflowCompleted():
            answer = [] if answer_elsewhere else answer_lines(event.message, event.outputs)
            return [*run_lines.completed(event), *(line(neutral(text)) for text in answer)]
        case events.WorkflowFailed():
            return [*_abandoned(model), *run_lines.failed(stamped.run_id, event, model.cause)]
        case events.WorkflowCancelled():
            return [*_abandoned(model), *run_lines.cancelled(stamped.run_id, event)]
    return []


def _ended(
    model: RunModel, event: events.StepCompleted | events.StepFailed | events.StepSkipped
) -> list[Line]:
    top = model.tops.get(event.path)
    model.forget(event.path)
    inner = ended_text(top) if top else ""
    tail = line("  ", Span(inner, "dim")) if inner else ()
    match event:
        case events.StepCompleted():
            return [said + tail for said in step_lines.completed(event)]
        case events.StepSkipped():
            return step_lines.skipped(event)
    written = top.tail.lines() if top and top.tail else []
    first, *rest = step_lines.failed(event, (written or failure_output(event))[-TAIL_LINES:])
    return [first + tail, *rest, *(_failures_below(top) if top else [])]


def _failures_below(top: StepState) -> list[Line]:
    """The branches to blame, with their last lines."""
    if top.below is None:
        return []
    lines: list[Line] = []
    for step in top.below.failed:
        lines.append(step_lines.failure_line(step, duration_text(step.duration_ms or 0)))
        lines += step_lines.tail_lines(step.path, step.tail.lines() if step.tail else [])
    more = top.below.ended.get("failed", 0) - len(top.below.failed)
    return [*lines, indented(2, Span(f"… and {counted(more, 'more failure')}", "dim"))] if more > 0 else lines


def _abandoned(model: RunModel) -> list[Line]:
    """Steps that were in work when the run ended and said nothing about it."""
    return [step_lines.head("■", "dim", path) + line("cancelled") for path in model.tops]
