"""Questions to the person: whether something may be done, and what to answer an agent."""

from __future__ import annotations

import re
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Any

from awf.application.editor.projection.frames import fenced, text_content

if TYPE_CHECKING:
    from awf.application.editor.projection.calls import Call
    from awf.application.editor.projection.row import Row
    from awf.application.editor.projection.stage import Stage
    from awf.application.editor.projection.step import Step
    from awf.domain import events
    from awf.domain.editor import Update

__all__ = ["QuestionScribe"]

_TURN = re.compile(r"/turn-(\d+)$")
# Nobody looks beyond the right edge of a block.
_LINES = TextWrapper(
    100, replace_whitespace=False, drop_whitespace=False, break_on_hyphens=False, expand_tabs=False
)
_REFUSALS = {"reject": "Not approved", "timeout": "Nobody answered in time"}


class QuestionScribe:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._book = stage.book

    # -- may it be done? -----------------------------------------------------------------------------------------------

    def approval_required(self, event: events.ApprovalRequired, now: float) -> list[Update]:
        step = self._book.step(event.path, event.step, now)
        step.questions.add(event.approval_id)
        call_id = _call_id(event)
        question = _question(event, step.name)
        if call_id:
            return [
                *self._book.shown(step),
                *self._ask_call(step.calls.asked(call_id, event.tool, event.input), question),
            ]
        step.row.content = [question]
        if step.row.is_settled:
            return self._book.shown(step, "pending")
        return [step.row.change(status="pending", content=[question])]

    def _ask_call(self, call: Call, question: dict[str, object]) -> list[Update]:
        was_refused = call.row.is_open and call.row.is_settled
        if call.is_finished or was_refused:
            return []
        asked = [question, *call.row.content]
        begun = [] if call.row.is_open else [call.row.begin("pending")]
        return [*begun, call.row.change(status="pending", content=asked)]

    def approval_resolved(self, event: events.ApprovalResolved, now: float) -> list[Update]:
        del now
        step = self._book.known(event.path)
        if step is None:
            return []
        step.questions.discard(event.approval_id)
        refusal = _REFUSALS.get(event.outcome, "")
        call_id = _call_id(event)
        if not call_id:
            return self._refused(step.row, refusal, step.terminal_end(None) if refusal else {})
        call = step.calls.carried(call_id)
        if call is None or call.is_finished:
            return []
        if not refusal and not call.row.is_settled:
            return [call.row.change(status="in_progress", content=call.row.content)]
        return self._refused(call.row, refusal, {})

    def _refused(self, row: Row, refusal: str, meta: dict[str, Any]) -> list[Update]:
        """Said at once; the row stays open for what comes of it."""
        if not refusal or row.is_settled:
            return []
        return [row.change(status="failed", content=[text_content(refusal)], meta=meta)]

    def permission(self, event: events.ApprovalRequired, now: float) -> Update:
        """What a permission request says of the call it is about. Changes nothing that is shown."""
        step = self._book.known(event.path) or self._book.step(event.path, event.step, now)
        question = _question(event, step.name)
        call_id = _call_id(event)
        if call_id:
            shown = step.calls.asked(call_id, event.tool, event.input).row.tool_call()
        else:
            if not step.row.is_open:
                step.describe(self._book.parent_id(step), terminals=self._book.terminals)
            shown = step.row.tool_call()
        rest = [one for one in shown["content"] if one != question]
        return {**shown, "content": [question, *rest]}

    # -- what to answer? -----------------------------------------------------------------------------------------------

    def input_required(self, event: events.InputRequired, now: float) -> list[Update]:
        step = self._book.step(event.path, event.step, now, "agent")
        step.is_waiting, step.turn = True, _turn(event.input_id) or step.turn
        updates: list[Update] = []
        if event.said and not self._stage.floor.spoke(event.path) and not self._was_shown(step):
            step.has_spoken = True
            updates = [*self._book.shown(step), *self._stage.floor.say(event.path, event.said, now)]
        return [*updates, *self._stage.floor.pause(event.path, turn_over=True)]

    def _was_shown(self, step: Step) -> bool:
        """The question of an earlier turn is asked again when a run is taken up: what led to it is known."""
        if f"{step.path}/turn-{step.turn}" in self._stage.done:
            return True
        return self._stage.resumed and not step.has_worked

    def input_received(self, event: events.InputReceived, now: float) -> list[Update]:
        from awf.application.running.conversation import END_WORDS

        step = self._book.step(event.path, event.step, now, "agent")
        step.is_waiting, step.turn = False, (_turn(event.input_id) or step.turn) + 1
        ends = event.text.strip().lower() in END_WORDS
        if ends:
            return []
        step.has_worked = True
        if not step.row.is_open:
            return self._book.shown(step)
        step.describe(self._book.parent_id(step), terminals=self._book.terminals)
        return [step.row.change(title=step.row.title)]


def _question(event: events.ApprovalRequired, name: str) -> dict[str, Any]:
    """Editors render Markdown. What a call is about was written by an agent, and must be seen as it is: also `<!-- … -->`."""
    message = event.message or f"Run '{name}'?"
    return fenced("\n".join(_LINES.wrap(message))) if _call_id(event) else text_content(message)


def _call_id(event: events.ApprovalRequired | events.ApprovalResolved) -> str:
    """`approval:{path}/{call}` asks about a tool call, `approval:{path}` about the step."""
    start = f"approval:{event.path}/"
    return event.approval_id[len(start) :] if event.approval_id.startswith(start) else ""


def _turn(input_id: str) -> int:
    found = _TURN.search(input_id)
    return int(found[1]) if found else 0
