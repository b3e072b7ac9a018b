"""What is wrong with a file, shown where it is; and errors, with what to do about them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.errors import InvalidWorkflowError
from awf.domain.problem import as_note
from awf.interfaces.cli.rendering.figures import counted
from awf.interfaces.cli.rendering.lines import Line, Span, Style, indented, line, line_text
from awf.interfaces.cli.rendering.terminal_text import cell_width, cut, flat, neutral, text_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.domain.errors import AwfError
    from awf.domain.problem import Place, Problem

__all__ = [
    "error_document",
    "error_lines",
    "problem_lines",
    "problem_summary",
    "problems_document",
    "warning_line",
]

_SOURCE_CELLS = 120
_LEAD = 40  # characters kept before the place in a very long line
_TOKEN = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\{\{.*?\}\}|[^\s,\]}#:]+""")


def problem_lines(problems: Sequence[Problem], *, color: bool = False) -> list[str]:
    """Every problem with its place, its line and what to do; then how many there are."""
    shown = [said for problem in problems for said in _problem(problem)]
    return [line_text(said, color=color) for said in shown] + [problem_summary(problems)]


def warning_line(problem: Problem) -> str:
    """One that is told beside what was asked for."""
    return neutral(f"warning: {as_note(problem)} [{problem.code}]")


def problem_summary(problems: Sequence[Problem]) -> str:
    errors = sum(problem.severity == "error" for problem in problems)
    warnings = len(problems) - errors
    if not problems:
        return "No problems."
    parts = [counted(errors, "error") if errors else "", counted(warnings, "warning") if warnings else ""]
    files = {problem.place.file for problem in problems if problem.place}
    where = f" in {counted(len(files), 'file')}" if files else ""
    return f"{', '.join(filter(None, parts))}{where}."


def _problem(problem: Problem) -> list[Line]:
    style: Style = "bad" if problem.severity == "error" else "wait"
    where = flat(str(problem.place)) if problem.place else ".".join(map(str, problem.path))
    first = line(
        Span(f"{where}: ", "name") if where else "", Span(problem.severity, style), f" {problem.code}"
    )
    message = [indented(2, text) for text in text_lines(problem.message)]
    source = _source(problem.source_line, problem.place) if problem.place else []
    return [first, *message, *source, *_hint(problem.hint)]


def _source(source: str, place: Place) -> list[Line]:
    """The line of the file, and carets below the word that is meant."""
    if not source.strip() or not place.line:
        return []
    at = max(0, place.column - 1)
    start = at - _LEAD if at > _SOURCE_CELLS else 0
    lead = ("…" if start else "") + neutral(source[start:at])
    rest = neutral(source[at:].rstrip())
    gutter = f"{place.line:>5} | "
    shown = [line(Span(gutter, "dim"), lead, cut(rest, max(10, _SOURCE_CELLS - len(lead))))]
    if not place.column:
        return shown
    gap = "".join("\t" if char == "\t" else " " * cell_width(char) for char in lead)
    return [*shown, line(Span(" " * 6 + "| ", "dim"), gap, Span("^" * _word_cells(rest), "bad"))]


def _word_cells(rest: str) -> int:
    word = _TOKEN.match(rest)
    return max(1, min(cell_width(word.group()), 60)) if word else 1


def _hint(hint: str) -> list[Line]:
    first, *more = text_lines(hint) or [""]
    return [indented(2, Span("hint: ", "dim"), first), *(indented(8, text) for text in more)] if first else []


def problems_document(problems: Sequence[Problem]) -> dict[str, Any]:
    valid = all(problem.severity != "error" for problem in problems)
    return {"valid": valid, "problems": [_problem_fields(problem) for problem in problems]}


def _problem_fields(problem: Problem) -> dict[str, Any]:
    place = problem.place
    return {
        "code": problem.code,
        "severity": problem.severity,
        "message": problem.message,
        "file": place.file if place else None,
        "line": place.line or None if place else None,
        "column": place.column or None if place else None,
        "hint": problem.hint,
    }


def error_lines(error: AwfError, *, color: bool = False) -> list[str]:
    """An error in words, its code, what to do, and where to read more."""
    if isinstance(error, InvalidWorkflowError):
        return problem_lines(error.problems, color=color)
    first, *more = text_lines(error.message) or ["something went wrong"]
    lines = [line(Span("error: ", "bad"), first), *(indented(2, text) for text in more)]
    lines += [indented(2, Span(error.code, "dim")), *_hint(error.hint)]
    lines.append(indented(2, f"awf explain {error.code}"))
    return [line_text(said, color=color) for said in lines]


def error_document(error: AwfError) -> dict[str, Any]:
    """The same for programs."""
    body = {
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "exit_status": error.exit_status,
    }
    if isinstance(error, InvalidWorkflowError):
        return {"error": body, **problems_document(error.problems)}
    from awf.domain.audit import BrokenAuditError

    if isinstance(error, BrokenAuditError):
        return {"error": body, **msgspec.to_builtins(error.report)}
    return {"error": body}
