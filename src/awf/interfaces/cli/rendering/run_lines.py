"""What is said about a run as a whole, and about the questions it asks. Pure: an event in, lines out."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from awf.interfaces.cli.rendering.figures import counted, duration_text, usage_text
from awf.interfaces.cli.rendering.lines import Line, Span, fields, indented, line
from awf.interfaces.cli.rendering.step_lines import head
from awf.interfaces.cli.rendering.terminal_text import flat, text_lines

if TYPE_CHECKING:
    from awf.domain import events
    from awf.interfaces.cli.rendering.cause import Blamed, FailureCause

__all__ = [
    "approval_required", "approval_resolved", "cancelled", "completed", "failed", "input_required", "logged",
    "next_commands", "reason_entries", "resumed", "started", "warned",
]  # fmt: skip

_OUTCOMES = {
    "once": "approved",
    "run": "approved for this run",
    "reject": "denied",
    "timeout": "nobody answered in time",
}


def started(run_id: str, event: events.WorkflowStarted) -> list[Line]:
    again = f"  again from {event.parent}" if event.parent else ""
    return [_opening(run_id, event.workflow) + line(again)]


def resumed(run_id: str, event: events.WorkflowResumed) -> list[Line]:
    done = counted(event.finished_steps, "finished step")
    return [_opening(run_id, event.workflow) + line(f"  resumed after {done}")]


def _opening(run_id: str, workflow: str) -> Line:
    return line(Span("run ", "dim"), f"{run_id} ", Span(flat(workflow), "name"))


def completed(event: events.WorkflowCompleted) -> list[Line]:
    said = f"completed in {duration_text(event.duration_ms)}{_spent(event.usage)}"
    return [head("✓", "good", flat(event.workflow)) + line(said)]


def _spent(usage: dict[str, object] | None) -> str:
    text = usage_text(usage)
    return f" · {text}" if text else ""


def failed(run_id: str, event: events.WorkflowFailed, cause: FailureCause) -> list[Line]:
    """Where, why, under which code, and what to type next."""
    reason, *more = text_lines(event.message) or ["no reason was given"]
    blamed = cause.blamed(event.state)
    place = f" at {flat(blamed.path)}" if blamed.path else ""
    said = f"failed{place} in {duration_text(event.duration_ms)}: {reason}{_spent(event.usage)}"
    first = head("✗", "bad", flat(event.workflow)) + line(said)
    reasons = [*(indented(2, text) for text in more), *reason_entries(blamed, event.code, event.hint)]
    return [first, *reasons, *next_commands(run_id, blamed.path, event.code)]


def reason_entries(blamed: Blamed, code: str, hint: str) -> list[Line]:
    """The code; before it the cause, where a step further down failed for a reason of its own."""
    own = f"{flat(blamed.message, 100)}  {blamed.code}" if blamed.code not in {"", code} else ""
    named = (("cause", own), ("code", code), ("hint", flat(hint)))
    return [_entry(name, text) for name, text in named if text]


def next_commands(run_id: str, step: str, code: str) -> list[Line]:
    at = f" --step {shlex.quote(step)}" if step else ""
    lines = [_entry("look", f"awf show {run_id}{at}"), _entry("resume", f"awf resume {run_id}")]
    return [*lines, _entry("explain", f"awf explain {code}")] if code else lines


def _entry(name: str, text: str) -> Line:
    return indented(2, Span(f"{name:<8} ", "dim"), text)


def cancelled(run_id: str, event: events.WorkflowCancelled) -> list[Line]:
    reason = f": {flat(event.reason)}" if event.reason else ""
    said = f"cancelled in {duration_text(event.duration_ms)}{reason}"
    return [head("■", "wait", flat(event.workflow)) + line(said), _entry("resume", f"awf resume {run_id}")]


def approval_required(run_id: str, event: events.ApprovalRequired) -> list[Line]:
    question = flat(event.message) or "May it go on?"
    return [head("?", "wait", event.path) + line(f"waiting for you: {question}   awf approve {run_id}")]


def approval_resolved(event: events.ApprovalResolved) -> list[Line]:
    given = event.outcome in {"once", "run"}
    said = _OUTCOMES[event.outcome] + (f" by {flat(event.by)}" if event.by else "")
    return [head("✓" if given else "○", "good" if given else "wait", event.path) + line(said)]


def input_required(event: events.InputRequired) -> list[Line]:
    prompt = f": {flat(event.prompt)}" if event.prompt else ""
    return [head("?", "wait", event.path) + line(f"waiting for you{prompt}")]


def logged(event: events.LogLine) -> list[Line]:
    where = head("·", "dim", event.path) if event.path else line(Span("·", "dim"), " ")
    return [where + line(text) for text in text_lines(event.message)]


def warned(event: events.Warned) -> list[Line]:
    where = head("!", "wait", event.path) if event.path else line(Span("!", "wait"), " ")
    return [where + fields(flat(event.message), Span(event.code, "dim"))]
