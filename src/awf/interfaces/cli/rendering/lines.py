"""A line as spans of text with a meaning; each view decides what a meaning looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Line", "Span", "Style", "fields", "indented", "line", "line_text"]

Style = Literal["", "good", "bad", "wait", "dim", "name"]

_SGR: dict[str, str] = {"good": "32", "bad": "31", "wait": "33", "dim": "2", "name": "1"}


class Span(NamedTuple):
    text: str
    style: Style = ""


Line = tuple[Span, ...]


def line(*parts: str | Span) -> Line:
    return tuple(part if isinstance(part, Span) else Span(part) for part in parts if part)


def indented(cells: int, *parts: str | Span) -> Line:
    return line(" " * cells, *parts)


def fields(*parts: str | Span) -> Line:
    """The parts that say something, two spaces apart."""
    spans: list[str | Span] = []
    for part in parts:
        text = part.text if isinstance(part, Span) else part
        if text:
            spans += ["  ", part] if spans else [part]
    return line(*spans)


def _painted(spans: Iterable[Span]) -> Iterable[str]:
    for text, style in spans:
        yield f"\x1b[{_SGR[style]}m{text}\x1b[0m" if style else text


def line_text(spans: Line, *, color: bool = False) -> str:
    return "".join(_painted(spans) if color else (span.text for span in spans))
