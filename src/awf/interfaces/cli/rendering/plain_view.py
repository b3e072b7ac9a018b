from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from awf.application.history.answer import answer_lines
from awf.domain.events import WorkflowCompleted
from awf.interfaces.cli.rendering.answer import write_answer
from awf.interfaces.cli.rendering.event_lines import EventLines
from awf.interfaces.cli.rendering.line_writer import LineWriter
from awf.interfaces.cli.rendering.lines import line_text
from awf.interfaces.cli.rendering.terminal_text import neutral

if TYPE_CHECKING:
    from awf.domain.events import Stamped

__all__ = ["PlainView"]


class PlainView:
    """For pipes and the logs of CI systems: lines that can be read in order and searched.

    The workflow's message and outputs go to `answer` when one is given, else below the lines about the run.
    """

    def __init__(self, out: TextIO, *, verbose: int, color: bool, answer: TextIO | None = None) -> None:
        self._writer = LineWriter(out)
        self._lines = EventLines(verbose=verbose)
        self._color = color
        self._answer = answer

    def on_event(self, stamped: Stamped) -> None:
        self._writer.write(line_text(said, color=self._color) for said in self._lines.lines(stamped))
        event = stamped.event
        if isinstance(event, WorkflowCompleted) and not event.path:
            self._give(event)

    def _give(self, event: WorkflowCompleted) -> None:
        if self._answer is None:
            self._writer.write(neutral(text) for text in answer_lines(event.message, event.outputs))
        else:
            write_answer(self._answer, event)

    def close(self) -> None:
        self._writer.write(line_text(said, color=self._color) for said in self._lines.rest())
