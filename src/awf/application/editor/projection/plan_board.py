"""The plan: the states of the workflow in the order they can run, and how far each has come.

The protocol knows pending, in_progress and completed only. What failed or was skipped is `completed` and says so in its
text, because a plan with something left over never closes in an editor.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from awf.application.editor.projection.frames import plan, sound
from awf.application.editor.projection.words import one_line
from awf.application.history.step_path import name_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from awf.domain.editor import Update
    from awf.domain.workflow import State, Workflow

__all__ = ["PlanBoard"]

_MOST = 100
_GAP = 0.25  # seconds between two plans, where only a loop goes round
_TURN = re.compile(r"\[(\d+)\](?=/)")

_Key = tuple[str, ...]


class _Entry:
    def __init__(self, key: _Key, description: str = "", total: int = 0) -> None:
        self.label = " / ".join(key)
        self.description = one_line(description, 100)
        self.total = total  # of the loop around it
        self.status = "pending"
        self.mark = ""
        self.note = ""
        self.turn = 0

    def content(self) -> str:
        turn = f" ({self.turn}/{self.total})" if self.turn and self.total else ""
        turn = turn or (f" ({self.turn})" if self.turn > 1 else "")
        told = f" — {self.description}" if self.description else ""
        return sound(f"{self.mark}{self.label}{turn}{self.note}{told}")


class PlanBoard:
    def __init__(self, workflow: Workflow | None, done: Collection[str] = ()) -> None:
        self._workflow = workflow
        self._entries: dict[_Key, _Entry] = {}
        self._called: set[_Key] = set()  # steps that call workflows: what is inside is not in the plan
        self._last: list[dict[str, str]] = []
        self._sent_at: float | None = None
        self.is_held = False
        if workflow is not None:
            self._entries = {key: _entry(workflow, key) for key in _keys(workflow)}
        for path in done:
            if (entry := self._entries.get(_key(path))) is not None:
                entry.status = "completed"

    # -- what happens to a step ----------------------------------------------------------------------------------------

    def begun(self, path: str, kind: str = "", description: str = "") -> None:
        entry = self._entry_of(path, kind, description)
        if entry is not None:
            entry.status, entry.mark, entry.note = "in_progress", "", ""
            turns = _TURN.findall(path)
            entry.turn = int(turns[-1]) + 1 if turns else 0

    def completed(self, path: str) -> None:
        self._ended(path, "completed")

    def failed(self, path: str, exit_code: int) -> None:
        self._ended(path, "completed", "✗ ", f" (exit {exit_code})" if exit_code else " (failed)")

    def skipped(self, path: str, kind: str = "") -> None:
        self._ended(path, "completed", "\u2013 ", " (skipped)", kind)

    def cancelled(self, path: str) -> None:
        self._ended(path, "pending", "", " (cancelled)")

    def _ended(self, path: str, status: str, mark: str = "", note: str = "", kind: str = "") -> None:
        entry = self._entry_of(path, kind, "")
        if entry is not None:
            entry.status, entry.mark, entry.note = status, mark, note

    def finish(self, *, success: bool) -> None:
        """Routes not taken go; what was at work when a run was stopped says so."""
        if success:
            self._entries = {key: entry for key, entry in self._entries.items() if entry.status != "pending"}
            for entry in self._entries.values():
                entry.status = "completed"
        else:
            self.stop("cancelled")

    def stop(self, word: str) -> None:
        """What was at work says that it was stopped, and is left over."""
        for entry in self._entries.values():
            if entry.status == "in_progress":
                entry.status, entry.note = "pending", f" ({word})"

    # -- entries -------------------------------------------------------------------------------------------------------

    def _entry_of(self, path: str, kind: str, description: str) -> _Entry | None:
        key = _key(path)
        known = self._entries.get(key)
        if known is not None:
            return known
        if not self._belongs(key):
            return None
        if kind == "call_workflow":
            self._called.add(key)
        new = _Entry(key, description) if self._workflow is None else _entry(self._workflow, key)
        self._insert(key, new)
        return new

    def _belongs(self, key: _Key) -> bool:
        """Whether it is a state of the workflow itself, as far as that can be told."""
        if not key or not all(key):
            return False
        if self._workflow is None:
            return not any(key[:length] in self._called for length in range(1, len(key)))
        states = self._workflow.states
        inside = all(inner in _contained(states.get(outer)) for outer, inner in pairwise(key))
        return inside and key[-1] in states

    def _insert(self, key: _Key, entry: _Entry) -> None:
        """Behind everything that belongs to the same state."""
        keys = list(self._entries)
        family = [at for at, one in enumerate(keys) if len(key) > 1 and one[: len(key) - 1] == key[:-1]]
        at = family[-1] + 1 if family else len(keys)
        items = list(self._entries.items())
        self._entries = dict([*items[:at], (key, entry), *items[at:]])

    # -- what is sent --------------------------------------------------------------------------------------------------

    @property
    def due(self) -> float:
        return (self._sent_at or 0.0) + _GAP

    def changes(self, now: float, path: str = "") -> list[Update]:
        """The plan, if it says something new. That a loop goes round is not told more often than can be followed."""
        goes_round = bool(_TURN.search(path))
        if goes_round and self._sent_at is not None and self._sent_at <= now < self.due:
            self.is_held = True
            return []
        return self.current(now)

    def current(self, now: float | None = None) -> list[Update]:
        self.is_held = False
        shown = self._shown()
        if shown == self._last:
            return []
        self._last = shown
        self._sent_at = self._sent_at if now is None else now
        return [plan(shown)]

    def _shown(self) -> list[dict[str, str]]:
        entries = list(self._entries.values())
        shown = [_fields(entry.content(), entry.status) for entry in entries[:_MOST]]
        rest = entries[_MOST:]
        if rest:
            shown.append(_fields(f"… {len(rest)} more", _together(rest)))
        return shown


def _fields(content: str, status: str) -> dict[str, str]:
    return {"content": content, "priority": "medium", "status": status}


def _together(entries: list[_Entry]) -> str:
    statuses = {entry.status for entry in entries}
    if len(statuses) == 1:
        return statuses.pop()
    return "in_progress"


def _key(path: str) -> _Key:
    return tuple(name_of(part) for part in path.split("/"))


def _keys(workflow: Workflow) -> Iterator[_Key]:
    """Every state that does something, below the states that run it."""
    from awf.application.running.plan_order import order_of
    from awf.domain.workflow import TerminalState

    listed = order_of(workflow).listed
    for name in listed:
        if isinstance(workflow.states.get(name), TerminalState):
            continue
        key: _Key = (name,)
        while (within := listed.get(key[0], "")) and within not in key:
            key = (within, *key)
        yield key


def _entry(workflow: Workflow, key: _Key) -> _Entry:
    state = workflow.states[key[-1]]
    around = next(
        (workflow.states[name] for name in reversed(key[:-1]) if _total(workflow.states[name])), None
    )
    return _Entry(key, state.description, _total(around) if around is not None else 0)


def _contained(state: State | None) -> list[str]:
    from awf.domain.checks.graph import contained

    return contained(state) if state is not None else []


def _total(state: Any) -> int:
    """How often a loop goes round, where its items are written down."""
    items = getattr(state, "items", None)
    if not isinstance(items, list):
        return 0
    most = getattr(state, "max_iterations", None)
    return min(len(items), most) if isinstance(most, int) and most > 0 else len(items)
