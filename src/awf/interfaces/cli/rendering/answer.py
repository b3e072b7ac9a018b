"""Writes what a workflow has to say in the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from awf.application.history.answer import answer_lines
from awf.interfaces.cli.rendering.line_writer import LineWriter
from awf.interfaces.cli.rendering.terminal_text import neutral

if TYPE_CHECKING:
    from awf.domain.events import WorkflowCompleted

__all__ = ["write_answer"]


def write_answer(stream: TextIO, event: WorkflowCompleted) -> None:
    """Into a file or a pipe it goes as it is; on a terminal nothing in it may move the cursor."""
    lines = answer_lines(event.message, event.outputs)
    LineWriter(stream).write(map(neutral, lines) if stream.isatty() else lines)
