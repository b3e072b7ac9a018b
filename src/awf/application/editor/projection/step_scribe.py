"""Rows for steps: they begin, are tried again, show their output, and end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.editor.projection.frames import fenced, modest, text_content
from awf.application.editor.projection.step import CONTAINERS
from awf.application.editor.projection.words import last_lines

if TYPE_CHECKING:
    from awf.application.editor.projection.stage import Stage
    from awf.application.editor.projection.step import Step
    from awf.domain import events
    from awf.domain.editor import Update

__all__ = ["StepScribe"]

_OUTPUT_SHOWN = 4000
_NOT_APPROVED = "not approved"


class StepScribe:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._book = stage.book

    # -- beginning -----------------------------------------------------------------------------------------------------

    def started(self, event: events.StepStarted, now: float) -> list[Update]:
        step = self._book.step(event.path, event.step, now, event.kind)
        step.kind, step.description = event.kind, event.description
        step.detail = event.detail or step.detail
        step.attempt = event.attempt
        step.started = now if event.attempt == 1 else step.started
        step.has_begun, step.is_waiting = True, False
        step.questions.clear()
        step.row.content = []
        self._stage.board.begun(event.path, event.kind, event.description)
        return [*self._stage.board.changes(now, event.path), *self._begun(step)]

    def _begun(self, step: Step) -> list[Update]:
        row = step.row
        if row.is_settled:
            return self._book.shown(step)
        before = (row.title, row.raw_input)
        step.describe(self._book.parent_id(step), terminals=self._book.terminals)
        fields: dict[str, Any] = {"title": row.title, "rawInput": row.raw_input}
        if row.status != "in_progress":  # it was asked about, and the question has been answered
            return [row.change(**fields, kind=row.kind, status="in_progress", content=[])]
        return [row.change(**fields)] if (row.title, row.raw_input) != before else []

    def retrying(self, event: events.StepRetrying, now: float) -> list[Update]:
        step = self._book.step(event.path, event.step, now)
        updates = self._book.shown(step)
        step.attempt, step.max_attempts = event.attempt, event.max_attempts
        step.describe(self._book.parent_id(step), terminals=self._book.terminals)
        why = f"Attempt {event.attempt - 1} failed: {event.message}"
        if event.delay_ms >= 1000:
            why += f"\n\nThe next one begins in {event.delay_ms / 1000:g} s."
        updates += step.calls.close("failed", "The attempt ended before this call did.")
        updates += self._stage.floor.pause(step.path, turn_over=True)
        meta: dict[str, Any] = {}
        if step.output is not None:
            step.output.again(f"attempt {event.attempt} of {event.max_attempts}")
            meta = step.output.final(step.row.id)
        step.has_spoken = False
        updates.append(step.row.change(title=step.row.title, content=[text_content(why)], meta=meta))
        return updates

    def output(self, event: events.StepOutput, now: float) -> list[Update]:
        if self._book.has_ended(event.path):
            return []
        step = self._book.step(event.path, event.step, now, "step")
        updates = self._book.shown(step)
        fields = step.live_output(terminals=self._book.terminals).feed(event.text, now, step.row.id)
        return [*updates, step.row.change(**fields)] if fields else updates

    # -- end -----------------------------------------------------------------------------------------------------------

    def completed(self, event: events.StepCompleted, now: float) -> list[Update]:
        step = self._book.step(event.path, event.step, now, event.kind)
        step.kind = event.kind
        self._stage.board.completed(event.path)
        raw: dict[str, Any] = {"exitCode": event.exit_code, "durationMs": event.duration_ms}
        if event.attempts > 1:
            raw["attempts"] = event.attempts
        if event.usage:
            raw["usage"] = event.usage
        updates = self._left_over(step, "The step ended before this did.")
        if not self._told_already(step):
            updates += self._book.shown(step)
            updates.append(step.row.end("completed", rawOutput=raw, **self._result(step, event)))
        return [*updates, *self._over(step, now)]

    def _told_already(self, step: Step) -> bool:
        """It was closed with its turn, and nothing came of it since that a person would want to see."""
        is_quiet = step.kind in CONTAINERS or step.kind == "agent"
        return is_quiet and step.was_parked and not step.row.is_open

    def _result(self, step: Step, event: events.StepCompleted) -> dict[str, Any]:
        meta = step.terminal_end(event.exit_code)
        text = self._printed(step, event.output)
        if step.row.terminal:
            content: list[dict[str, Any]] | None = None if step.output is not None else []
            if content is not None and text:
                content = [fenced(text)]
        elif step.kind in CONTAINERS:
            content = [text_content(text)] if text else []
        elif step.kind == "agent":
            content = [text_content(text)] if text and not step.has_spoken else []
        else:
            content = [fenced(text)] if text else []
        fields: dict[str, Any] = {"meta": meta}
        return fields if content is None else {**fields, "content": content}

    def _printed(self, step: Step, told: str) -> str:
        """Both streams as they came, where they were heard."""
        heard = step.output.last(_OUTPUT_SHOWN) if step.output is not None else ""
        return heard or last_lines(told, _OUTPUT_SHOWN)

    def failed(self, event: events.StepFailed, now: float) -> list[Update]:
        step = self._book.step(event.path, event.step, now, event.kind)
        step.kind = event.kind
        if event.cancelled:
            return self._cancelled(step, event, now)
        self._stage.board.failed(event.path, event.exit_code)
        raw = {
            "exitCode": event.exit_code,
            "durationMs": event.duration_ms,
            "code": event.code,
            "message": event.message,
            **({"attempts": event.attempts} if event.attempts > 1 else {}),
        }
        updates = self._left_over(step, "The step failed before this ended.")
        updates += [] if step.row.is_open else self._book.shown(step)
        meta = step.terminal_end(event.exit_code)
        content = self._why(step, event)
        updates.append(step.row.end("failed", content=content, rawOutput=modest(raw), meta=meta))
        return [*updates, *self._over(step, now)]

    def _why(self, step: Step, event: events.StepFailed) -> list[dict[str, Any]]:
        code = f"\n\n`{event.code}`" if event.code else ""
        told = [text_content(f"{event.message or 'It failed.'}{code}")]
        printed = self._printed(step, event.stderr or event.output)
        if printed and not (step.row.terminal and step.output is not None):
            told.append(fenced(printed))
        return told

    def _cancelled(self, step: Step, event: events.StepFailed, now: float) -> list[Update]:
        self._stage.board.cancelled(event.path)
        updates: list[Update] = []
        if step.row.is_open or not step.row.showings:
            updates = [*self._left_over(step, "Cancelled by user", cancelled=True), *self._book.shown(step)]
            updates.append(
                step.row.end(
                    "failed",
                    content=[text_content("Cancelled by user")],
                    rawOutput={"durationMs": event.duration_ms, "code": event.code},
                    about={"cancelled": True},
                    meta=step.terminal_end(None),
                )
            )
        return [*updates, *self._over(step, now)]

    def skipped(self, event: events.StepSkipped, now: float) -> list[Update]:
        self._stage.board.skipped(event.path, event.kind)
        step = self._book.known(event.path)
        updates: list[Update] = []
        if step is not None and step.row.is_open:
            refused = event.reason == _NOT_APPROVED
            text = "Not approved; skipped" if refused else f"Skipped: {event.reason}"
            status = "failed" if refused else "completed"
            updates = self._left_over(step, text)
            fields = {"content": [text_content(text)], "meta": step.terminal_end(None)}
            updates.append(step.row.end(status, **fields, about={"skipped": True}))
        elif step is not None:
            updates = self._left_over(step, "The step was skipped.")
        if step is None:
            return self._stage.board.changes(now, event.path)
        return [*updates, *self._over(step, now)]

    def _left_over(self, step: Step, text: str, *, cancelled: bool = False) -> list[Update]:
        """Close what is open inside: nothing more will be heard of it."""
        about = {"cancelled": True} if cancelled else None
        updates: list[Update] = []
        for inner in self._book.within(step.path):
            updates += inner.calls.close("failed", text, about)
            meta = inner.terminal_end(None)
            updates += inner.row.cut_off("failed", content=[text_content(text)], about=about, meta=meta)
            updates += self._stage.floor.leave(inner.path)
            self._book.forget(inner)
        return [*updates, *step.calls.close("failed", text, about)]

    def _over(self, step: Step, now: float) -> list[Update]:
        self._book.forget(step)
        return [*self._stage.floor.leave(step.path), *self._stage.board.changes(now, step.path)]
