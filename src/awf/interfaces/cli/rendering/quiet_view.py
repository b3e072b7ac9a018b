from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from awf.domain import events
from awf.interfaces.cli.rendering import run_lines
from awf.interfaces.cli.rendering.answer import write_answer
from awf.interfaces.cli.rendering.cause import FailureCause
from awf.interfaces.cli.rendering.line_writer import LineWriter
from awf.interfaces.cli.rendering.lines import Line, line_text

if TYPE_CHECKING:
    from awf.domain.events import Stamped

__all__ = ["QuietView"]


class QuietView:
    """The answer on one stream; on the other only why there is none, or that somebody is waited for."""

    def __init__(self, out: TextIO, err: TextIO, *, color: bool = False) -> None:
        self._out = out
        self._writer = LineWriter(err)
        self._color = color
        self._cause = FailureCause()

    def on_event(self, stamped: Stamped) -> None:
        event = stamped.event
        if isinstance(event, events.StepFailed):
            self._cause.heard(event)
        elif isinstance(event, events.WorkflowCompleted) and not event.path:
            write_answer(self._out, event)
        else:
            self._writer.write(line_text(said, color=self._color) for said in self._trouble(stamped))

    def _trouble(self, stamped: Stamped) -> list[Line]:
        match stamped.event:
            case events.WorkflowFailed(path="") as event:
                return run_lines.failed(stamped.run_id, event, self._cause)
            case events.WorkflowCancelled(path="") as event:
                return run_lines.cancelled(stamped.run_id, event)
            case events.ApprovalRequired() as event:
                return run_lines.approval_required(stamped.run_id, event)
            case events.InputRequired() as event:
                return run_lines.input_required(event)
        return []

    def close(self) -> None:
        """Nothing is held back."""
