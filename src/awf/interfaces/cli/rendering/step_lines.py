"""What is said about a step: one line for each thing that happens to it. Pure: an event in, lines out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from awf.interfaces.cli.rendering.figures import counted, duration_text, usage_text
from awf.interfaces.cli.rendering.lines import Line, Span, Style, fields, indented, line
from awf.interfaces.cli.rendering.paths import depth
from awf.interfaces.cli.rendering.terminal_text import cell_width, cut, flat, text_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.domain import events

__all__ = [
    "Failure", "completed", "failed", "failure_line", "head", "output_line", "retrying", "size_text", "skipped",
    "speech_line", "started", "tail_lines",
]  # fmt: skip

_LABEL_CELLS = 4
_DETAIL_CELLS = 80
_OUTPUT_CELLS = 400
_PARTS = {
    "parallel": ("branch", "branches"),
    "for_each": ("item", "items"),
    "while": ("iteration", "iterations"),
}


class Failure(Protocol):
    """What a failed step has to say, as an event or as a remembered state."""

    @property
    def path(self) -> str: ...
    @property
    def exit_code(self) -> int: ...
    @property
    def code(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def handled(self) -> bool: ...


def head(sign: str, style: Style, path: str) -> Line:
    """The sign and the whole path, moved in as deep as the path is."""
    label = flat(path)
    gap = " " * max(0, _LABEL_CELLS - cell_width(label))
    return indented(2 * depth(path), Span(sign, style), f" {label}{gap}  ")


def size_text(kind: str, total: int) -> str:
    one, many = _PARTS.get(kind, ("part", "parts"))
    return counted(total, one, many) if total else ""


def started(event: events.StepStarted) -> list[Line]:
    if event.kind == "terminal":
        return []
    attempt = f"attempt {event.attempt}" if event.attempt > 1 else ""
    what = flat(event.detail or event.description, _DETAIL_CELLS) or event.kind
    tail = fields(Span(what, "dim"), Span(size_text(event.kind, event.total), "dim"), attempt)
    return [head("▶", "", event.path) + tail]


def completed(event: events.StepCompleted) -> list[Line]:
    if event.kind == "terminal":
        return []
    spent = " · ".join(filter(None, (duration_text(event.duration_ms), usage_text(event.usage))))
    tries = f"after {event.attempts} attempts" if event.attempts > 1 else ""
    code = f"exit {event.exit_code}" if event.exit_code else ""
    return [head("✓", "good", event.path) + fields(code, spent, tries)]


def failed(event: events.StepFailed, output: Sequence[str]) -> list[Line]:
    """The failure, and the last lines of what the step wrote."""
    spent = duration_text(event.duration_ms)
    if event.cancelled:
        return [head("■", "dim", event.path) + fields("cancelled", spent)]
    more = [] if _is_plain_exit(event) else text_lines(event.message)[1:]
    first = failure_line(event, spent)
    return [
        first,
        *(indented(2 * depth(event.path) + 4, text) for text in more),
        *tail_lines(event.path, output),
    ]


def failure_line(failure: Failure, spent: str) -> Line:
    style: Style = "wait" if failure.handled else "bad"
    cause = f"exit {failure.exit_code}" if _is_plain_exit(failure) else _first_line(failure.message)
    way_on = "handled" if failure.handled else ""
    return head("✗", style, failure.path) + fields(cause, spent, Span(failure.code, "dim"), way_on)


def _is_plain_exit(failure: Failure) -> bool:
    return bool(failure.exit_code) and failure.code == "EXECUTION.COMMAND.FAILED"


def _first_line(message: str) -> str:
    return (text_lines(message) or [""])[0]


def retrying(event: events.StepRetrying) -> list[Line]:
    turn = f"attempt {event.attempt} of {event.max_attempts}"
    delay = f" in {duration_text(event.delay_ms)}" if event.delay_ms else ""
    cause = flat(event.message, _DETAIL_CELLS)
    return [head("↻", "wait", event.path) + line(f"{turn}{delay}", f": {cause}" if cause else "")]


def skipped(event: events.StepSkipped) -> list[Line]:
    return [head("○", "dim", event.path) + line(f"skipped: {flat(event.reason)}")]


def output_line(path: str, text: str) -> Line:
    """A line of a command's output. Steps at the top never run side by side, so only deeper ones need their name."""
    name = Span(f"{flat(path)} ", "dim") if depth(path) else ""
    return indented(2 * depth(path) + 2, name, Span("| ", "dim"), text)


def speech_line(path: str, text: str, mark: str = ":") -> Line:
    """A line that an agent says."""
    return indented(2 * depth(path) + 2, Span(f"{flat(path)}{mark} ", "dim"), text)


def tail_lines(path: str, output: Sequence[str]) -> list[Line]:
    return [output_line(path, cut(text, _OUTPUT_CELLS)) for text in output]
