"""One step of the run as the projection knows it: what it is, how far it has come, and the row that shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.editor.projection.calls import Calls
from awf.application.editor.projection.frames import modest
from awf.application.editor.projection.live_output import LastLines, TerminalText
from awf.application.editor.projection.row import Row
from awf.application.editor.projection.words import one_line

if TYPE_CHECKING:
    from awf.application.editor.projection.live_output import LiveOutput

__all__ = ["CONTAINERS", "Step"]

CONTAINERS = frozenset({"parallel", "for_each", "while", "call_workflow"})
_ROW_KINDS = {"step": "execute", "agent": "think"}
_DETAIL_NAMES = {
    "step": "command",
    "agent": "provider",
    "call_workflow": "workflow",
    "operation": "operation",
    "plugin": "type",
    "while": "condition",
    "for_each": "body",
}


class Step:
    def __init__(self, path: str, name: str, run_id: str, cwd: str, showings: int) -> None:
        base = f"{run_id}/{path}"
        self.path = path
        self.name = name
        self.kind = ""
        self.detail = ""
        self.description = ""
        self.started = 0.0
        self.attempt = 1
        self.max_attempts = 0
        self.turn = 1
        self.has_begun = False
        self.questions: set[str] = set()  # what a person is asked about it and has not answered
        self.is_waiting = False  # for a line of conversation
        self.has_spoken = False
        self.has_worked = False  # something of its work was heard here
        self.was_parked = False  # its row was closed with a turn
        self.warnings: list[str] = []
        self.output: LiveOutput | None = None
        self.row = Row(base, showings)
        self.calls = Calls(base, cwd, showings)
        self._ended_terminal = ""
        self._run_id = run_id
        self._cwd = cwd

    @property
    def is_leaf(self) -> bool:
        return self.kind not in CONTAINERS

    @property
    def is_working(self) -> bool:
        """At work, or about to be when a person has agreed."""
        return self.is_leaf and not self.is_waiting

    def describe(self, parent_id: str, *, terminals: bool) -> None:
        """Bring the row up to date with what is known."""
        row = self.row
        row.kind = _ROW_KINDS.get(self.kind, "other")
        row.title = self._title()
        row.raw_input = self._input()
        row.about = {"runId": self._run_id, "path": self.path, "step": self.name, "kind": self.kind}
        if parent_id:
            row.about["parentToolCallId"] = parent_id
        if self.warnings:
            row.about["warnings"] = list(self.warnings)
        if terminals and self.kind == "step" and not row.is_open:
            row.terminal = {"cwd": self._cwd}

    def _title(self) -> str:
        told = one_line(self.detail) or one_line(self.description)
        first = f"{self.name} — {told}" if told else self.name
        if self.attempt > 1:
            of = f"/{self.max_attempts}" if self.max_attempts else ""
            first += f" (attempt {self.attempt}{of})"
        return f"{first} (turn {self.turn})" if self.turn > 1 else first

    def _input(self) -> dict[str, Any]:
        kind = "command" if self.kind == "step" else self.kind
        named = {_DETAIL_NAMES[self.kind]: self.detail} if self.detail and self.kind in _DETAIL_NAMES else {}
        told = {"description": self.description} if self.description else {}
        return dict(modest({"kind": kind, **named, **told}))

    def live_output(self, *, terminals: bool) -> LiveOutput:
        if self.output is None:
            self.output = TerminalText() if terminals and self.row.terminal else LastLines()
        return self.output

    def terminal_end(self, exit_code: int | None) -> dict[str, Any]:
        """The last that its terminal hears, for the _meta of the row's last update."""
        row_id = self.row.id
        if not self.row.terminal or not self.row.is_open or self._ended_terminal == row_id:
            return {}
        self._ended_terminal = row_id
        written = self.output.final(row_id) if self.output is not None else {}
        known = exit_code if exit_code is not None and exit_code >= 0 else None
        return {**written, "terminal_exit": {"terminal_id": row_id, "exit_code": known, "signal": None}}
