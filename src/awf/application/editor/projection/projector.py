"""Events of a run in, session updates out. No clock, no input or output: time comes with the events and with `tick`.

Theory of operation. Every step is a row (a `tool_call`) of its own, and so is every tool call inside it. Rows are begun,
changed and ended by the scribes, each of which knows one kind of event. Three things are shared: the book of steps that
have begun and not ended, the floor that decides whose text is shown, and the board with the plan.

A turn of the editor and a run are different things. A turn may end while the run waits (`park`) or is being stopped
(`close`); then every open row is ended, and a step that goes on later begins a new row under a fresh id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.editor.projection.agent_scribe import AgentScribe
from awf.application.editor.projection.floor import Floor
from awf.application.editor.projection.frames import fenced, text_content
from awf.application.editor.projection.messages import Messages
from awf.application.editor.projection.plan_board import PlanBoard
from awf.application.editor.projection.question_scribe import QuestionScribe
from awf.application.editor.projection.run_scribe import RunScribe
from awf.application.editor.projection.stage import Stage
from awf.application.editor.projection.step_book import StepBook
from awf.application.editor.projection.step_scribe import StepScribe
from awf.application.editor.projection.words import elapsed
from awf.domain import events
from awf.domain.workflow import AgentState

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from awf.application.editor.projection.step import Step
    from awf.domain.editor import Update
    from awf.domain.events import (
        ApprovalRequired,
        Stamped,
        WorkflowCancelled,
        WorkflowCompleted,
        WorkflowFailed,
    )
    from awf.domain.run import Usage
    from awf.domain.workflow import Workflow

__all__ = ["Projector"]

_SILENCE = 10.0  # seconds after which a sign of life is given
_TAIL_AT_PARK = 2000


class Projector:
    """`done`: paths that finished in earlier turns. `shown_before`: how often this session was shown the run before, so
    that no id is used twice.
    """

    def __init__(
        self,
        *,
        run_id: str,
        workflow: Workflow | None,
        cwd: str,
        terminals: bool = False,
        done: Collection[str] = (),
        shown_before: int = 0,
    ) -> None:
        base = f"{run_id}~{shown_before + 1}" if shown_before else run_id
        book = StepBook(run_id, workflow, cwd, terminals=terminals, showings=shown_before)
        floor = Floor(base, several=_several_speak(workflow))
        self._stage = Stage(book, floor, PlanBoard(workflow, done), done)
        self._steps = StepScribe(self._stage)
        self._agents = AgentScribe(self._stage)
        self._questions = QuestionScribe(self._stage)
        self._run = RunScribe(self._stage, base)
        self._messages = Messages()
        self._now: float | None = None
        self._sent_at: float | None = None
        self._tell = self._scribes()

    def _scribes(self) -> dict[type[events.Event], Callable[[Any, float], list[Update]]]:
        steps, agents, questions, run = self._steps, self._agents, self._questions, self._run
        return {
            events.WorkflowStarted: run.started, events.WorkflowResumed: run.resumed,
            events.WorkflowCompleted: self._ending(run.completed),
            events.WorkflowFailed: self._ending(run.failed),
            events.WorkflowCancelled: self._ending(run.cancelled),
            events.StepStarted: steps.started, events.StepCompleted: steps.completed,
            events.StepFailed: self._failed, events.StepRetrying: steps.retrying,
            events.StepSkipped: steps.skipped, events.StepOutput: steps.output,
            events.AgentText: agents.text, events.AgentThought: agents.thought, events.AgentTool: agents.tool,
            events.AgentUsage: agents.used, events.AgentIsolation: agents.isolation,
            events.ToolCallStarted: agents.call_started, events.ToolCallFinished: agents.call_finished,
            events.ApprovalRequired: questions.approval_required,
            events.ApprovalResolved: questions.approval_resolved,
            events.InputRequired: questions.input_required, events.InputReceived: questions.input_received,
            events.LogLine: run.logged, events.Warned: run.warned,
        }  # fmt: skip

    # -- what the run tells --------------------------------------------------------------------------------------------

    def event(self, stamped: Stamped) -> list[Update]:
        self._now = stamped.time
        tell = self._tell.get(type(stamped.event))
        updates = tell(stamped.event, stamped.time) if tell is not None else []
        return self._sent(updates, stamped.time)

    def _sent(self, updates: list[Update], now: float) -> list[Update]:
        if updates or self._sent_at is None:
            self._sent_at = now
        return self._messages.apart(updates)

    def _failed(self, event: events.StepFailed, now: float) -> list[Update]:
        self._run.cause.heard(event)
        return self._steps.failed(event, now)

    def _ending(self, tell: Callable[[Any, float], list[Update]]) -> Callable[[Any, float], list[Update]]:
        """Whatever is still open is closed before the last words."""

        def end(event: Any, now: float) -> list[Update]:
            if event.path:
                return []
            cancelled = isinstance(event, events.WorkflowCancelled)
            text = "Cancelled by user" if cancelled else "The run ended before this did."
            closed = [*self._stage.floor.flush(), *self._end_rows(text, cancelled=cancelled)]
            for step in list(self._stage.book):
                self._stage.book.forget(step)
            self._run.usage = self._run.usage or self._agents.usage
            return [*closed, *tell(event, now)]

        return end

    # -- time ----------------------------------------------------------------------------------------------------------

    def tick(self, now: float) -> list[Update]:
        """Output that was held back and is due, and a sign of life after a long silence."""
        updates: list[Update] = []
        for step in self._holding():
            assert step.output is not None
            fields = step.output.release(now, step.row.id) if step.output.due <= now else None
            updates += [step.row.change(**fields)] if fields else []
        board = self._stage.board
        if board.is_held and board.due <= now:
            updates += board.current(now)
        floor_due = self._stage.floor.due
        if floor_due is not None and floor_due <= now:
            updates += self._stage.floor.pass_on(now)
        if not updates and self._sent_at is not None and now - self._sent_at >= _SILENCE:
            updates = self._sign_of_life(now)
        return self._sent(updates, now)

    def next_tick(self) -> float | None:
        times = [step.output.due for step in self._holding() if step.output is not None]
        if self._stage.board.is_held:
            times.append(self._stage.board.due)
        if (floor_due := self._stage.floor.due) is not None:
            times.append(floor_due)
        if self._sent_at is not None and any(_is_at_work(step) for step in self._stage.book):
            times.append(self._sent_at + _SILENCE)
        return min(times, default=None)

    def _holding(self) -> list[Step]:
        return [step for step in self._stage.book if step.row.is_open and step.output and step.output.is_held]

    def _sign_of_life(self, now: float) -> list[Update]:
        step = min(filter(_is_at_work, self._stage.book), key=lambda one: one.started, default=None)
        if step is None:
            return []
        age = max(0.0, now - step.started)
        step.row.told_time = True
        title = f"{step.row.title} ({elapsed(age)})"
        return [step.row.change(title=title, about={"elapsedMs": int(age * 1000)})]

    # -- the turn ------------------------------------------------------------------------------------------------------

    def permission(self, request: ApprovalRequired) -> Update:
        return self._questions.permission(request, self._now or 0.0)

    def park(self) -> list[Update]:
        """The turn ends and the run goes on waiting."""
        updates = self._stage.floor.flush()
        waiting = {step.path for step in self._stage.book if step.is_waiting}
        for step in self._stage.book.innermost_first():
            step.was_parked = step.was_parked or step.row.is_open
            is_waiting = any(path == step.path or _is_within(path, step.path) for path in waiting)
            updates += self._parked(step, is_waiting=is_waiting)
        return self._turn_over([*updates, *self._stage.board.current()])

    def _parked(self, step: Step, *, is_waiting: bool) -> list[Update]:
        updates = step.calls.close("completed", "Still at work when the turn ended.")
        if step.row.is_settled:
            return [*updates, *step.row.cut_off("completed")]
        printed = step.output.last(_TAIL_AT_PARK) if step.output and not step.row.terminal else ""
        note = "Waiting for your answer" if is_waiting else "Still at work; it goes on in the background"
        content = [*([fenced(printed)] if printed else []), text_content(note)]
        return [*updates, step.row.end("completed", content=content, meta=step.terminal_end(None))]

    def close(self, reason: str = "cancelled") -> list[Update]:
        """The turn ends whatever happened."""
        cancelled = reason == "cancelled"
        text = "Cancelled by user" if cancelled else reason
        updates = [*self._stage.floor.flush(), *self._end_rows(text, cancelled=cancelled)]
        if self._run.ended is None:
            self._stage.board.stop("cancelled" if cancelled else "stopped")
        return self._turn_over([*updates, *self._stage.board.current()])

    def _turn_over(self, updates: list[Update]) -> list[Update]:
        shown = self._messages.apart(updates)
        self._messages.turn_over()
        return shown

    def _end_rows(self, text: str, *, cancelled: bool) -> list[Update]:
        about = {"cancelled": True} if cancelled else None
        updates: list[Update] = []
        for step in self._stage.book.innermost_first():
            updates += step.calls.close("failed", text, about)
            meta = step.terminal_end(None)
            updates += step.row.cut_off("failed", content=[text_content(text)], about=about, meta=meta)
        return updates

    def waits(self) -> bool:
        return any(step.is_waiting for step in self._stage.book)

    def busy(self) -> bool:
        return any(step.is_working for step in self._stage.book)

    @property
    def ended(self) -> WorkflowCompleted | WorkflowFailed | WorkflowCancelled | None:
        return self._run.ended

    @property
    def usage(self) -> Usage | None:
        return self._run.usage or self._agents.usage


def _several_speak(workflow: Workflow | None) -> bool:
    if workflow is None:
        return False
    return sum(isinstance(state, AgentState) for state in workflow.states.values()) > 1


def _is_at_work(step: Step) -> bool:
    return step.row.is_open and step.is_working and not step.questions and step.row.status == "in_progress"


def _is_within(path: str, around: str) -> bool:
    return path.startswith((f"{around}/", f"{around}[", f"{around}@"))
