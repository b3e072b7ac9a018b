"""Puts the story of a run together from its recorded steps and its events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.history.step_path import (
    attempt_of,
    is_hook,
    is_iteration,
    name_of,
    parent_of,
    without_attempt,
)
from awf.application.history.story import Approval, Note, Retry, Said, StepStory, Story, ToolCall
from awf.domain.run import ErrorInfo, Usage, add_usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from awf.domain.ports.run_store import StepRow, StoredEvent
    from awf.domain.run import StepResult

__all__ = ["tell"]

_Fields = dict[str, Any]


def tell(steps: Sequence[StepRow], events: Sequence[StoredEvent], *, is_running: bool) -> Story:
    teller = _Teller()
    for event in events:
        teller.hear(event.fields)
    for row in steps:
        if not is_hook(row.path):
            teller.record(row.path, row.result)
    for step in teller.story.steps:
        _settle(step, is_running=is_running)
    return teller.story


class _Teller:
    """Listens to events in their order. What is recorded, which comes last, counts for more than they do."""

    def __init__(self) -> None:
        self.story = Story()
        self._steps: dict[str, StepStory] = {}
        self._calls: dict[tuple[str, str], ToolCall] = {}
        self._approvals: dict[str, Approval] = {}
        self._turn_over: set[str] = set()  # steps whose agent has finished an answer

    def hear(self, event: _Fields) -> None:
        kind = str(event.get("type", ""))
        self.story.counts[kind] = self.story.counts.get(kind, 0) + 1
        self.story.last_event = event.get("time", self.story.last_event)
        handle = _HANDLERS.get(kind)
        if handle is not None:
            handle(self, event)

    def step(self, path: str) -> StepStory:
        known = self._steps.get(path)
        if known is not None:
            return known
        parent = parent_of(path)
        siblings = self.step(parent).children if parent else self.story.steps
        new = StepStory(path, name_of(path), len(self._steps) + 1)
        new.kind = "iteration" if is_iteration(path) else ""
        self._steps[path] = new
        siblings.append(new)
        return new

    def record(self, path: str, result: StepResult) -> None:
        step = self.step(without_attempt(path))
        if step.result is None:
            step.started, step.usage = result.started_at or step.started, result.usage or step.usage
        else:
            step.earlier.append(step.result)
            step.usage = add_usage(step.usage, result.usage)
        step.result, step.status = result, result.status
        step.finished = result.finished_at or step.finished
        step.attempts = max(step.attempts, attempt_of(path), result.attempts)
        step.error = None if result.ok else result.error or step.error
        step.exit_code = result.exit_code
        step.output, step.stderr = result.output, result.stderr

    def started(self, event: _Fields) -> None:
        step = self.step(_path(event))
        step.kind = event.get("kind", "")
        step.detail, step.description = event.get("detail", ""), event.get("description", "")
        step.started = step.started or event.get("time")
        step.attempts = max(step.attempts, event.get("attempt", 1))
        step.status, step.finished = "running", None

    def completed(self, event: _Fields) -> None:
        step = self._ended(event, "success")
        step.usage = _usage(event["usage"]) if event.get("usage") else step.usage

    def failed(self, event: _Fields) -> None:
        step = self._ended(event, "cancelled" if event.get("cancelled") else "failed")
        step.stderr = event.get("stderr", "")
        step.is_handled = bool(event.get("handled"))
        step.error = ErrorInfo(event.get("code", ""), event.get("message", ""))

    def _ended(self, event: _Fields, status: str) -> StepStory:
        step = self.step(_path(event))
        step.kind = event.get("kind", step.kind)
        step.status, step.finished = status, event.get("time")
        step.exit_code, step.output = event.get("exit_code"), event.get("output", "")
        step.attempts = max(step.attempts, event.get("attempts", 1))
        if step.started is None and step.finished is not None:
            step.started = step.finished - event.get("duration_ms", 0) / 1000
        return step

    def skipped(self, event: _Fields) -> None:
        step = self.step(_path(event))
        step.kind, step.status, step.reason = event.get("kind", ""), "skipped", event.get("reason", "")

    def retrying(self, event: _Fields) -> None:
        attempt, of = event.get("attempt", 0), event.get("max_attempts", 0)
        delay = event.get("delay_ms", 0) / 1000
        self.step(_path(event)).retries.append(
            Retry(attempt, of, delay, event.get("code", ""), event.get("message", ""))
        )

    def printed(self, event: _Fields) -> None:
        self.step(_path(event)).live_output.append(str(event.get("text", "")))

    def said(self, by: str, path: str, text: str) -> None:
        transcript = self.step(path).transcript
        last = transcript[-1] if transcript else None
        if isinstance(last, Said) and last.by == by and path not in self._turn_over:
            last.parts.append(text)
        else:
            transcript.append(Said(by, [text]))
        self._turn_over.discard(path)

    def tool(self, event: _Fields) -> None:
        path, begins = _path(event), event.get("phase") == "started"
        key = (path, str(event.get("call_id", "")))
        call = self._calls.get(key)
        if call is None or (call.is_finished and begins):
            call = self._calls[key] = ToolCall(event.get("name", ""))
            self.step(path).transcript.append(call)
        call.input = event.get("input") or call.input
        if not begins:
            self.step(path).bypasses += bool(event.get("bypass"))
            call.output, call.is_error = event.get("output", ""), bool(event.get("is_error"))
            call.is_finished = True

    def carried_out(self, event: _Fields) -> None:
        """A call that passed through AWF: the one the agent tells of, or one it keeps to itself."""
        path, name = _path(event), str(event.get("tool", ""))
        key = (path, str(event.get("call_id", "")))
        call = self._calls.get(key)
        if call is None:
            told = [one for one in self.step(path).transcript if isinstance(one, ToolCall)]
            same = (
                one for one in told if not one.is_finished and not one.through and one.name.endswith(name)
            )
            call = next(same, None)
            if call is None:
                call = ToolCall(name)
                self.step(path).transcript.append(call)
            self._calls[key] = call
            call.through = str(event.get("source", ""))
            call.input = event.get("input") or call.input
        if event.get("type") == "tool.call.finished":
            call.milliseconds = event.get("duration_ms")
            if not call.is_finished:
                call.output, call.is_error = event.get("output", ""), bool(event.get("is_error"))
                call.is_finished = True

    def isolated(self, event: _Fields) -> None:
        step = self.step(_path(event))
        version = str(event.get("version", ""))
        known = f" ({event.get('provider')} {version})" if version else ""
        step.isolation = f"{str(event.get('isolation', '')).replace('_', ' ')}{known}"

    def used(self, event: _Fields) -> None:
        path = _path(event)
        step = self.step(path)
        step.usage = add_usage(step.usage, _usage(event))
        self._turn_over.add(path)

    def asked(self, event: _Fields) -> None:
        approval = self._approval(event)
        approval.message, approval.asked_at = event.get("message", ""), event.get("time")

    def answered(self, event: _Fields) -> None:
        approval = self._approval(event)
        approval.outcome, approval.by = event.get("outcome", ""), event.get("by", "")
        approval.answered_at = event.get("time")

    def _approval(self, event: _Fields) -> Approval:
        key = str(event.get("approval_id", ""))
        known = self._approvals.get(key)
        if known is None or known.outcome:
            known = self._approvals[key] = Approval(_path(event), "")
            self.story.approvals.append(known)
            self.step(known.path).approvals.append(known)
        return known

    def noted(self, event: _Fields) -> None:
        is_warning = event.get("type") == "warning"
        path, message, code = event.get("path", ""), event.get("message", ""), event.get("code", "")
        self.story.notes.append(Note(event.get("time"), path, message, is_warning, code))

    def finished(self, event: _Fields) -> None:
        if not event.get("path"):  # not the end of a called workflow
            self.story.ending = event

    def resumed(self, event: _Fields) -> None:
        self.story.resumed += not event.get("path")


def _settle(step: StepStory, *, is_running: bool) -> None:
    """Give a status to steps that have not ended, and to what has no record of its own."""
    for child in step.children:
        _settle(child, is_running=is_running)
    if not step.result and step.children and step.kind in {"", "iteration"}:
        statuses = {child.status for child in step.children if not (child.is_failed and child.is_handled)}
        step.status = next((status for status in _GRAVEST_FIRST if status in statuses), "success")
        step.started = min(
            (child.started for child in step.children if child.started is not None), default=None
        )
        ends = [child.finished for child in step.children if child.status != "skipped"]
        step.finished = None if None in ends else max((end for end in ends if end is not None), default=None)
    elif step.status in {"running", "unfinished"}:
        step.status = "running" if is_running else "unfinished"


_GRAVEST_FIRST = ("failed", "running", "unfinished", "cancelled", "success", "skipped")


def _path(event: _Fields) -> str:
    return without_attempt(str(event.get("path") or event.get("step", "")))


def _usage(said: _Fields) -> Usage:
    source = said.get("cost_source")
    return Usage(
        said.get("input_tokens"),
        said.get("output_tokens"),
        said.get("cost"),
        source if source in {"reported", "computed"} else "unknown",
        said.get("tool_calls") or 0,
    )


def _said(by: str, key: str) -> Callable[[_Teller, _Fields], None]:
    return lambda teller, event: teller.said(by, _path(event), str(event.get(key, "")))


_HANDLERS: dict[str, Callable[[_Teller, _Fields], None]] = {
    "workflow.resumed": _Teller.resumed,
    "workflow.completed": _Teller.finished,
    "workflow.failed": _Teller.finished,
    "workflow.cancelled": _Teller.finished,
    "step.started": _Teller.started,
    "step.completed": _Teller.completed,
    "step.failed": _Teller.failed,
    "step.skipped": _Teller.skipped,
    "step.retrying": _Teller.retrying,
    "step.output": _Teller.printed,
    "agent.text": _said("agent", "text"),
    "agent.thought": _said("thought", "text"),
    "agent.tool": _Teller.tool,
    "tool.call.started": _Teller.carried_out,
    "tool.call.finished": _Teller.carried_out,
    "agent.usage": _Teller.used,
    "agent.isolation": _Teller.isolated,
    "approval.required": _Teller.asked,
    "approval.resolved": _Teller.answered,
    "input.required": _said("question", "prompt"),
    "input.received": _said("person", "text"),
    "log": _Teller.noted,
    "warning": _Teller.noted,
}
