"""How wide text will be, near enough to size a box without a font at hand."""

from __future__ import annotations

import unicodedata
from functools import cache

__all__ = ["fitted", "text_width"]

_NARROW = frozenset("iljtfrI.,:;|!'`()[]{}/\\ -\"")
_WIDE = frozenset("mwMW@%&…—<>=+~#→")
_MARGIN = 1.04  # people's fonts differ


@cache
def _share(char: str) -> float:
    """The width of a character as a share of the font size."""
    if unicodedata.combining(char) or unicodedata.category(char) in {"Cf", "Me", "Mn"}:
        return 0.0
    if unicodedata.east_asian_width(char) in "WF":
        return 1.1
    if char in _NARROW:
        return 0.36
    if char in _WIDE:
        return 0.92
    return 0.69 if char.isupper() else 0.58


def text_width(text: str, size: float) -> float:
    return sum(map(_share, text)) * size * _MARGIN


def fitted(text: str, size: float, width: float) -> str:
    """The text on one line, cut so that it is no wider than asked."""
    line = " ".join(text.split())
    if text_width(line, size) <= width:
        return line
    room, kept = width - text_width("…", size), 0
    while kept < len(line) and (room := room - text_width(line[kept], size)) >= 0:
        kept += 1
    return line[:kept].rstrip() + "…"
