"""Stretches of a text that must not be seen, and the text without them."""

from __future__ import annotations

from typing import TYPE_CHECKING, AnyStr

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MASK", "Span", "covered", "merged"]

MASK = "***"
Span = tuple[int, int]


def merged(spans: Iterable[Span]) -> list[Span]:
    """In order, and those that overlap as one: what is left between two halves would tell."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            if end > found[-1][1]:
                found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def covered(text: AnyStr, spans: Iterable[Span], mask: AnyStr) -> AnyStr:
    """The text with the mask in place of each stretch. They are in order and do not overlap."""
    parts: list[AnyStr] = []
    last = 0
    for start, end in spans:
        parts += (text[last:start], mask)
        last = end
    parts.append(text[last:])
    return text[:0].join(parts)
