"""The last words about a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from awf.application.editor.projection.frames import fenced
from awf.application.editor.projection.words import last_lines, one_line, spent
from awf.application.history.amounts import duration
from awf.application.history.plain_text import plain

if TYPE_CHECKING:
    from awf.domain import events
    from awf.domain.run import Usage

__all__ = ["FailureCause", "cancelled_text", "completed_text", "failed_text"]

_LAST_OUTPUT = 1500


class _Blamed(NamedTuple):
    path: str
    step: str
    exit_code: int
    message: str
    output: str
    handled: bool


class FailureCause:
    """The step that a failed run is to be blamed on: of the top-level state that failed last, the first step inside
    that failed, for a failure is passed on to what is around it. One that the workflow had a way on from counts only
    when there is no other.
    """

    def __init__(self) -> None:
        self.blamed: _Blamed | None = None
        self._top = ""

    def heard(self, event: events.StepFailed) -> None:
        if event.cancelled:
            return
        top = event.path.partition("/")[0].partition("[")[0]
        printed = last_lines(event.stderr or event.output, _LAST_OUTPUT)
        new = _Blamed(event.path, event.step, event.exit_code, event.message, printed, event.handled)
        if self.blamed is None or top != self._top:
            self._top, self.blamed = top, new
        elif self.blamed.handled and not _is_within(self.blamed.path, event.path):
            self.blamed = new


def _is_within(path: str, around: str) -> bool:
    return path.startswith((f"{around}/", f"{around}[", f"{around}@"))


def completed_text(run_id: str, event: events.WorkflowCompleted, usage: Usage | None) -> str:
    took = duration(event.duration_ms / 1000)
    return f"✓ {one_line(event.workflow)} completed in {took} · run {run_id}{spent(usage)}"


def failed_text(run_id: str, event: events.WorkflowFailed, cause: FailureCause, usage: Usage | None) -> str:
    blamed = cause.blamed
    name = blamed.step if blamed is not None else event.state or event.workflow
    status = f" (exit {blamed.exit_code})" if blamed is not None and blamed.exit_code else ""
    message = plain(event.message).strip() or "no reason was given"
    parts = [f"✗ {one_line(name)} failed{status}: {message}"]
    if blamed is not None and blamed.message and blamed.message not in event.message:
        parts.append(f"Cause: {plain(blamed.message).strip()}")
    hint = plain(event.hint).strip()
    if hint:
        parts.append(f"`{hint}`" if hint.startswith("awf ") else hint)
    if blamed is not None and blamed.output.strip():
        parts.append(str(fenced(blamed.output)["content"]["text"]))
    look = "" if f"awf show {run_id}" in hint else f"`awf show {run_id}`"
    parts.append(f"{look}{spent(usage)}".removeprefix(" · "))
    return "\n\n".join(filter(None, parts))


def cancelled_text(run_id: str, event: events.WorkflowCancelled) -> str:
    known = {"", "cancelled", "interrupted"}
    reason = "" if event.reason in known else f" ({one_line(event.reason)})"
    return f"Cancelled{reason} · run {run_id} · `awf resume {run_id}` goes on from here"
