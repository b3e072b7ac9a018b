"""What a workflow has to say in the end: its message and its outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from awf.interfaces.cli.rendering.line_writer import LineWriter
from awf.interfaces.cli.rendering.terminal_text import neutral

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.domain.events import WorkflowCompleted

__all__ = ["answer_lines", "write_answer"]


def answer_lines(message: str, outputs: Mapping[str, Any]) -> list[str]:
    said = message.rstrip("\n").split("\n") if message.strip() else []
    return said + [text for name, value in outputs.items() for text in _output_lines(name, value)]


def _output_lines(name: str, value: Any) -> list[str]:
    text = value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
    first, *more = text.rstrip("\n").split("\n")
    return [f"{name}:", *(f"  {one}" for one in (first, *more))] if more else [f"{name}: {first}"]


def write_answer(stream: TextIO, event: WorkflowCompleted) -> None:
    """Into a file or a pipe it goes as it is; on a terminal nothing in it may move the cursor."""
    lines = answer_lines(event.message, event.outputs)
    LineWriter(stream).write(map(neutral, lines) if stream.isatty() else lines)
