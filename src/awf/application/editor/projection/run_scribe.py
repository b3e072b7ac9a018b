"""The run as a whole: its plan, what is noted on the way, and how it ends."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from awf.application.editor.projection.ending import FailureCause, cancelled_text, completed_text, failed_text
from awf.application.editor.projection.frames import chunks
from awf.application.editor.projection.words import usage_of
from awf.application.history.answer import answer_lines
from awf.application.history.plain_text import plain

if TYPE_CHECKING:
    from awf.application.editor.projection.stage import Stage
    from awf.domain import events
    from awf.domain.editor import Update
    from awf.domain.run import Usage

__all__ = ["RunScribe"]

_MESSAGE = "agent_message_chunk"
_OF_ISOLATION = "USER.MCP_PROXY.UNSUPPORTED_PROVIDER"
_WARNINGS_KEPT = 64


class RunScribe:
    def __init__(self, stage: Stage, base: str) -> None:
        self._stage = stage
        self._base = base
        self._notes = 0
        self._warned: deque[str] = deque(maxlen=_WARNINGS_KEPT)
        self.cause = FailureCause()
        self.usage: Usage | None = None
        self.ended: events.WorkflowCompleted | events.WorkflowFailed | events.WorkflowCancelled | None = None

    def started(self, event: events.WorkflowStarted, now: float) -> list[Update]:
        return [] if event.path else self._stage.board.current(now)

    def resumed(self, event: events.WorkflowResumed, now: float) -> list[Update]:
        if event.path:
            return []
        self._stage.resumed, self.ended, self.cause = True, None, FailureCause()
        if showings := self._stage.book.begin_again():
            self._base = f"{self._stage.book.run_id}~{showings + 1}"
            self._stage.floor.begin_again(self._base)
        return self._stage.board.current(now)

    # -- notes ---------------------------------------------------------------------------------------------------------

    def logged(self, event: events.LogLine, now: float) -> list[Update]:
        del now
        return self._note(plain(event.message))

    def warned(self, event: events.Warned, now: float) -> list[Update]:
        """How an agent is kept to its tools is a fact about its step; anything else is said, once."""
        del now
        step = self._stage.book.known(event.path)
        if event.code == _OF_ISOLATION:
            if step is None or plain(event.message) in step.warnings:
                return []
            step.warnings.append(plain(event.message))
            return [step.row.change(about={"warnings": list(step.warnings)})] if step.row.is_open else []
        if event.message in self._warned:
            return []
        self._warned.append(event.message)
        return self._note(f"⚠ {plain(event.message)}")

    def _note(self, text: str) -> list[Update]:
        if not text.strip():
            return []
        self._notes += 1
        return chunks(_MESSAGE, text.rstrip(), f"{self._base}/note-{self._notes}")

    # -- end -----------------------------------------------------------------------------------------------------------

    def completed(self, event: events.WorkflowCompleted, now: float) -> list[Update]:
        if event.path:
            return []
        self._end(event, usage_of(event.usage))
        self._stage.board.finish(success=True)
        answer = "\n".join(answer_lines(event.message, event.outputs))
        said = [] if not answer.strip() or self._stage.floor.said(answer) else self._say("answer", answer)
        line = completed_text(self._stage.book.run_id, event, self.usage)
        return [*self._stage.board.current(now), *said, *self._say("end", line)]

    def failed(self, event: events.WorkflowFailed, now: float) -> list[Update]:
        if event.path:
            return []
        self._end(event, usage_of(event.usage))
        self._stage.board.finish(success=False)
        text = failed_text(self._stage.book.run_id, event, self.cause, self.usage)
        return [*self._stage.board.current(now), *self._say("end", text)]

    def cancelled(self, event: events.WorkflowCancelled, now: float) -> list[Update]:
        if event.path:
            return []
        self._end(event, None)
        self._stage.board.finish(success=False)
        text = cancelled_text(self._stage.book.run_id, event)
        return [*self._stage.board.current(now), *self._say("end", text)]

    def _end(
        self,
        event: events.WorkflowCompleted | events.WorkflowFailed | events.WorkflowCancelled,
        usage: Usage | None,
    ) -> None:
        self.ended, self.usage = event, usage or self.usage

    def _say(self, name: str, text: str) -> list[Update]:
        return chunks(_MESSAGE, text, f"{self._base}/{name}")
