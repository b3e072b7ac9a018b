"""What agents say, think, do and use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.editor.projection.frames import sound
from awf.domain.run import Usage, add_usage

if TYPE_CHECKING:
    from awf.application.editor.projection.stage import Stage
    from awf.application.editor.projection.step import Step
    from awf.domain import events
    from awf.domain.editor import Update

__all__ = ["AgentScribe"]


class AgentScribe:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._book = stage.book
        self.usage: Usage | None = None

    def text(self, event: events.AgentText, now: float) -> list[Update]:
        return self._speech(event, now, thought=False)

    def thought(self, event: events.AgentThought, now: float) -> list[Update]:
        return self._speech(event, now, thought=True)

    def _speech(
        self, event: events.AgentText | events.AgentThought, now: float, *, thought: bool
    ) -> list[Update]:
        if self._book.has_ended(event.path):
            return []
        step = self._at_work(event.path, event.step, now)
        step.has_spoken = step.has_spoken or (not thought and bool(event.text.strip()))
        return [*self._book.shown(step), *self._stage.floor.say(event.path, event.text, now, thought=thought)]

    def _at_work(self, path: str, name: str, now: float) -> Step:
        step = self._book.step(path, name, now, "agent")
        step.has_worked, step.is_waiting = True, False
        return step

    # -- tools ---------------------------------------------------------------------------------------------------------

    def tool(self, event: events.AgentTool, now: float) -> list[Update]:
        if self._book.has_ended(event.path):
            return []
        step = self._at_work(event.path, event.step, now)
        shown = self._book.shown(step)
        return self._after_call(step, shown, step.calls.told(event))

    def call_started(self, event: events.ToolCallStarted, now: float) -> list[Update]:
        if self._book.has_ended(event.path):
            return []
        step = self._at_work(event.path, event.step, now)
        shown = self._book.shown(step)
        return self._after_call(step, shown, step.calls.begun(event))

    def call_finished(self, event: events.ToolCallFinished, now: float) -> list[Update]:
        if self._book.has_ended(event.path):
            return []
        step = self._at_work(event.path, event.step, now)
        shown = self._book.shown(step)
        return self._after_call(step, shown, step.calls.finished(event))

    def _after_call(self, step: Step, shown: list[Update], told: list[Update]) -> list[Update]:
        """A call that is new interrupts what its agent was saying."""
        is_new = any(update["sessionUpdate"] == "tool_call" for update in told)
        heard = self._stage.floor.pause(step.path) if is_new else []
        return [*shown, *told, *heard]

    # -- facts ---------------------------------------------------------------------------------------------------------

    def isolation(self, event: events.AgentIsolation, now: float) -> list[Update]:
        if self._book.has_ended(event.path):
            return []
        step = self._at_work(event.path, event.step, now)
        fact: dict[str, Any] = {"level": event.isolation, "provider": event.provider}
        if event.version:
            fact["version"] = sound(event.version)
        return [*self._book.shown(step), step.row.change(about={"isolation": fact})]

    def used(self, event: events.AgentUsage, now: float) -> list[Update]:
        del now
        source = event.cost_source if event.cost_source in {"reported", "computed"} else "unknown"
        spent = Usage(event.input_tokens, event.output_tokens, event.cost, source)  # type: ignore[arg-type]
        self.usage = add_usage(self.usage, spent)
        step = self._book.known(event.path)
        if step is not None:
            step.has_worked = True
        size = event.context_window or 0
        if size <= 0 or spent.tokens is None:
            return []
        # What an agent counts over several requests may be more than was in its context at any time.
        update: Update = {"sessionUpdate": "usage_update", "used": min(spent.tokens, size), "size": size}
        cost = self.usage.cost if self.usage is not None else None
        return [update if cost is None else {**update, "cost": {"amount": cost, "currency": "USD"}}]
