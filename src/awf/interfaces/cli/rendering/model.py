"""A run as it stands: events folded into a state, with nothing of a terminal in it.

The tree has two levels. Whatever happens further down shows up as what the step of the second level is doing now.
`keep=False` is for a view of a long run: a step that has ended is let go, and only counts and a few failures stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from awf.domain import events
from awf.domain.errors import EXIT_CANCELLED
from awf.domain.run import ErrorInfo, Usage, add_usage
from awf.interfaces.cli.rendering.cause import FailureCause
from awf.interfaces.cli.rendering.figures import usage_from
from awf.interfaces.cli.rendering.line_buffer import Tail
from awf.interfaces.cli.rendering.paths import family, is_within, iteration
from awf.interfaces.cli.rendering.step_state import Below, Progress, StepState
from awf.interfaces.cli.rendering.tool_text import tool_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.domain.events import Stamped

__all__ = ["Question", "RunModel"]

_FAILURES_KEPT = 5


@dataclass(frozen=True, slots=True)
class Question:
    path: str
    kind: str  # approval | input
    message: str


class RunModel:
    def __init__(self, *, keep: bool = True, tail: int = 0) -> None:
        self.run_id = ""
        self.workflow = ""
        self.started_at = 0.0
        self.duration_ms: int | None = None
        self.message = ""
        self.outputs: dict[str, Any] = {}
        self.error: ErrorInfo | None = None
        self.exit_status: int | None = None
        self.steps: dict[str, StepState] = {}  # every one, by path
        self.tops: dict[str, StepState] = {}  # those of the workflow itself
        self.questions: dict[str, Question] = {}
        self.cause = FailureCause()
        self._status = "running"
        self._usage: Usage | None = None
        self._keep = keep
        self._tail = tail
        self._fold: dict[type[events.Event], Callable[[Any, float], None]] = {
            events.WorkflowStarted: self._started, events.WorkflowResumed: self._resumed,
            events.WorkflowCompleted: self._completed, events.WorkflowFailed: self._failed,
            events.WorkflowCancelled: self._cancelled, events.StepStarted: self._step_started,
            events.StepCompleted: self._step_completed, events.StepFailed: self._step_failed,
            events.StepRetrying: self._step_retrying, events.StepSkipped: self._step_skipped,
            events.StepOutput: self._step_output, events.AgentText: self._agent_text,
            events.AgentThought: self._agent_thought, events.AgentTool: self._agent_tool,
            events.ApprovalRequired: self._approval_required, events.ApprovalResolved: self._approval_resolved,
            events.InputRequired: self._input_required, events.InputReceived: self._input_received,
        }  # fmt: skip

    @property
    def status(self) -> str:
        return "waiting" if self._status == "running" and self.questions else self._status

    @property
    def usage(self) -> Usage | None:
        return self._usage

    def apply(self, stamped: Stamped) -> None:
        fold = self._fold.get(type(stamped.event))
        if fold is not None:
            self.run_id = stamped.run_id
            fold(stamped.event, stamped.time)

    def forget(self, path: str) -> None:
        """Let go of a top-level step and of all that is left below it."""
        self.tops.pop(path, None)
        for gone in [known for known in self.steps if known == path or is_within(known, path)]:
            del self.steps[gone]

    # The run as a whole. Events of a called workflow carry the path of the step that called it.

    def _started(self, event: events.WorkflowStarted, time: float) -> None:
        if not event.path:
            self.workflow, self.started_at = event.workflow, time

    def _resumed(self, event: events.WorkflowResumed, time: float) -> None:
        if event.path:
            return
        self._close_open_steps()
        self.workflow, self._status, self.cause = event.workflow, "running", FailureCause()
        self.started_at = self.started_at or time
        self.duration_ms, self.error, self.exit_status = None, None, None

    def _completed(self, event: events.WorkflowCompleted, _time: float) -> None:
        if not event.path:
            self.message, self.outputs = event.message, event.outputs
            self._end("completed", 0, event)

    def _failed(self, event: events.WorkflowFailed, _time: float) -> None:
        if not event.path:
            self.message = event.message
            self.error = ErrorInfo(
                code=event.code,
                message=event.message,
                hint=event.hint,
                state=event.state,
                exit_status=event.exit_status,
            )
            self._end("failed", event.exit_status, event)

    def _cancelled(self, event: events.WorkflowCancelled, _time: float) -> None:
        if not event.path:
            self.message = event.reason
            self._end("cancelled", EXIT_CANCELLED, event)

    def _end(
        self,
        status: str,
        exit_status: int,
        event: events.WorkflowCompleted | events.WorkflowFailed | events.WorkflowCancelled,
    ) -> None:
        self._status, self.exit_status = status, exit_status
        self.workflow, self.duration_ms = event.workflow, event.duration_ms
        if not isinstance(event, events.WorkflowCancelled):
            self._usage = usage_from(event.usage) or self._usage
        self._close_open_steps()

    def _close_open_steps(self) -> None:
        self.questions.clear()
        for step in [step for step in self.steps.values() if step.is_open]:
            self._finish(step, "cancelled")

    # Steps.

    def _step(self, path: str, name: str, time: float) -> StepState:
        step = self.steps.get(path)
        if step is None:
            step = self.steps[path] = StepState(path, name, started_at=time)
            self._take_in_work(step)
        return step

    def _take_in_work(self, step: StepState) -> None:
        top, child, below = family(step.path)
        if not child:
            self.tops[top] = step
        parent = self.tops.get(top) if child and not below else None
        if parent is None:
            return
        if parent.below is None:
            parent.below = Below()
        parent.below.in_work[step.path] = step
        parent.below.iteration = max(parent.below.iteration, iteration(step.path))

    def _step_started(self, event: events.StepStarted, time: float) -> None:
        step = self._step(event.path, event.step, time)
        if not step.is_open:
            self._take_back(step)
        step.kind, step.detail, step.total = event.kind, event.detail or event.description, event.total
        step.status, step.attempts, step.note = "running", event.attempt, ""
        step.started_at = time
        step.tail = Tail(self._tail) if self._tail else None

    def _take_back(self, step: StepState) -> None:
        """It ended once and now begins again: a resumed run. What ended below it stays."""
        parent = self.tops.get(family(step.path).top)
        below = parent.below if parent is not step and parent else None
        if below and below.ended.get(step.status):
            below.ended[step.status] -= 1
            below.failed = [failed for failed in below.failed if failed is not step]
            below.last = None if below.last is step else below.last
        step.duration_ms, step.code, step.message, step.handled, step.exit_code = None, "", "", False, 0
        self._take_in_work(step)

    def _step_completed(self, event: events.StepCompleted, time: float) -> None:
        step = self._step(event.path, event.step, time)
        step.kind, step.duration_ms, step.exit_code = event.kind, event.duration_ms, event.exit_code
        step.attempts, step.usage = event.attempts, usage_from(event.usage)
        if event.kind == "agent":  # what holds agents sums them up again
            self._usage = add_usage(self._usage, step.usage)
        self._finish(step, "success")

    def _step_failed(self, event: events.StepFailed, time: float) -> None:
        self.cause.heard(event)
        step = self._step(event.path, event.step, time)
        step.kind, step.duration_ms, step.exit_code = event.kind, event.duration_ms, event.exit_code
        step.attempts, step.code, step.message = event.attempts, event.code, event.message
        step.handled = event.handled
        if step.tail and not step.tail.last():
            step.tail.feed(f"{event.output}\n{event.stderr}")
        self._tell_parent(step)
        self._finish(step, "cancelled" if event.cancelled else "failed")

    def _tell_parent(self, step: StepState) -> None:
        """Steps below the second level are not shown: their last lines become those of the one that is."""
        _, child, below = family(step.path)
        shown = self.steps.get(child) if below else None
        if shown and shown.tail and step.tail:
            shown.tail.add([f"{below}: {step.message}", *step.tail.lines()])

    def _step_skipped(self, event: events.StepSkipped, time: float) -> None:
        step = self._step(event.path, event.step, time)
        step.kind, step.message, step.duration_ms = event.kind, event.reason, 0
        self._finish(step, "skipped")

    def _finish(self, step: StepState, status: Progress) -> None:
        step.status, step.now, step.note = status, "", ""
        step.tail = step.tail if status == "failed" else None
        top, child, _ = family(step.path)
        parent = self.tops.get(top) if child else None
        below = parent.below if parent else None
        if below and below.in_work.pop(step.path, None):
            below.ended[status] = below.ended.get(status, 0) + 1
            below.last = step
            if status == "failed" and len(below.failed) < _FAILURES_KEPT:
                below.failed.append(step)
        if child and not self._keep:
            self.steps.pop(step.path, None)

    def _step_retrying(self, event: events.StepRetrying, time: float) -> None:
        step = self._step(event.path, event.step, time)
        step.status, step.attempts = "retrying", event.attempt
        step.note = f"attempt {event.attempt} of {event.max_attempts}: {event.message}"
        step.now, step.tail = "", Tail(self._tail) if self._tail else None

    # What a step is doing.

    def _doing(self, path: str, what: str) -> None:
        top, child, below = family(path)
        shown = self.steps.get(child) or self.tops.get(top)
        if shown is not None:
            shown.now = f"{below}: {what}" if below else what

    def _step_output(self, event: events.StepOutput, _time: float) -> None:
        self._write(event.path, event.text)

    def _agent_text(self, event: events.AgentText, _time: float) -> None:
        self._write(event.path, event.text)

    def _write(self, path: str, text: str) -> None:
        step = self.steps.get(path)
        if step is not None and step.tail is not None:
            step.tail.feed(text)
            self._doing(path, step.tail.last())

    def _agent_thought(self, event: events.AgentThought, _time: float) -> None:
        if self._tail:
            self._doing(event.path, "thinking")

    def _agent_tool(self, event: events.AgentTool, _time: float) -> None:
        if self._tail and event.phase == "started":
            self._doing(event.path, tool_text(event.name, event.input))

    # Questions to the person.

    def _ask(self, question: Question, id_: str, name: str, time: float) -> None:
        self.questions[id_] = question
        step = self._step(question.path, name, time)
        step.status, step.note = "waiting", question.message

    def _approval_required(self, event: events.ApprovalRequired, time: float) -> None:
        self._ask(Question(event.path, "approval", event.message), event.approval_id, event.step, time)

    def _input_required(self, event: events.InputRequired, time: float) -> None:
        self._ask(Question(event.path, "input", event.prompt), event.input_id, event.step, time)

    def _approval_resolved(self, event: events.ApprovalResolved, _time: float) -> None:
        self._answered(event.approval_id, event.path)

    def _input_received(self, event: events.InputReceived, _time: float) -> None:
        self._answered(event.input_id, event.path)

    def _answered(self, id_: str, path: str) -> None:
        self.questions.pop(id_, None)
        step = self.steps.get(path)
        if step is not None and step.status == "waiting":
            step.status, step.note = "running", ""
