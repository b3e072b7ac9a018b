"""The steps that have begun and not ended, by path. A step that has ended is forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.application.editor.projection.step import Step
from awf.application.history.step_path import is_iteration, name_of, parent_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from awf.domain.editor import Update
    from awf.domain.workflow import State, Workflow

__all__ = ["StepBook"]

_ENDED_KEPT = 64  # paths; something may still be heard of a step that has just ended
_DETAILS = ("command", "script_file", "provider", "workflow", "operation", "step_type", "condition")


class StepBook:
    def __init__(
        self, run_id: str, workflow: Workflow | None, cwd: str, *, terminals: bool, showings: int = 0
    ) -> None:
        self.run_id = run_id
        self.terminals = terminals
        self._workflow = workflow
        self._cwd = cwd
        self._showings = showings
        self._most_showings = showings
        self._steps: dict[str, Step] = {}
        self._ended: dict[str, int] = {}  # path → how often it was shown

    def __iter__(self) -> Iterator[Step]:
        return iter(self._steps.values())

    def begin_again(self) -> int:
        """The run is taken up again: steps that have ended may come again, under ids that were not used."""
        self._showings = self._most_showings
        self._ended.clear()
        return self._showings

    def known(self, path: str) -> Step | None:
        return self._steps.get(path)

    def has_ended(self, path: str) -> bool:
        """Whether this path was just closed, so that what still comes from it is too late."""
        return path not in self._steps and path in self._ended

    def step(self, path: str, name: str, now: float, kind: str = "") -> Step:
        """The step, also when its beginning was not heard."""
        step = self._steps.get(path)
        if step is None:
            showings = max(self._showings, self._ended.pop(path, 0))
            step = Step(path, name or name_of(path), self.run_id, self._cwd, showings)
            self._steps[path] = step
            step.started = now
            self._foresee(step, kind)
        return step

    def _foresee(self, step: Step, kind: str) -> None:
        """What the workflow says of it. Names of called workflows are another matter."""
        state = self._state(step)
        step.kind = kind
        if state is None:
            return
        step.kind = state.kind
        step.description = state.description
        step.detail = next((text for key in _DETAILS if (text := getattr(state, key, None))), "")

    def _state(self, step: Step) -> State | None:
        if self._workflow is None:
            return None
        around = enclosing(step.path)
        while around:
            outer = self._workflow.states.get(name_of(around))
            if outer is None or outer.kind == "call_workflow":
                return None
            around = enclosing(around)
        return self._workflow.states.get(step.name)

    def parent_id(self, step: Step) -> str:
        around = enclosing(step.path)
        while around:
            outer = self._steps.get(around)
            if outer is not None and outer.row.showings:
                return outer.row.last_id
            around = enclosing(around)
        return ""

    def shown(self, step: Step, status: str = "in_progress") -> list[Update]:
        """Make sure that its row is open, and the rows of what it is in."""
        if not step.row.is_settled:
            return []
        step.row.is_open = False
        updates: list[Update] = []
        around = enclosing(step.path)
        outer = self._steps.get(around) if around else None
        if outer is not None and outer.has_begun:
            updates = self.shown(outer)
        step.describe(self.parent_id(step), terminals=self.terminals)
        if step.row.terminal and step.output is not None and step.row.showings:
            step.output = None  # a fresh terminal begins empty
        updates.append(step.row.begin(status))
        self._most_showings = max(self._most_showings, step.row.showings)
        step.calls.parent = step.row.last_id
        return updates

    def forget(self, step: Step) -> None:
        self._steps.pop(step.path, None)
        self._ended[step.path] = step.row.showings
        if len(self._ended) > _ENDED_KEPT:
            del self._ended[next(iter(self._ended))]

    def within(self, path: str) -> list[Step]:
        """Steps below a path that are still known, the innermost first."""
        inside = [
            one for one in self._steps.values() if one.path.startswith((f"{path}/", f"{path}[", f"{path}@"))
        ]
        return sorted(inside, key=lambda one: -one.path.count("/"))

    def innermost_first(self) -> list[Step]:
        return sorted(self._steps.values(), key=lambda one: -one.path.count("/"))


def enclosing(path: str) -> str:
    """The path of the step that runs this one, "" where it is the workflow itself."""
    around = parent_of(path)
    while around and is_iteration(around):
        around = parent_of(around)
    return around
