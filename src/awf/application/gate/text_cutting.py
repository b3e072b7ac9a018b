"""Where a text can be cut: not within a character, not between a letter and its accent, best at the end of a line."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

__all__ = ["Size", "cut_text", "position", "size_of_text"]

_NEAR = 8  # a line may end within the last eighth of what is shown
_MOST_MARKS = 32  # accents on one letter; beyond that somebody is joking
_JOINER = "\u200d"


class Size(NamedTuple):
    bytes: int
    lines: int


def size_of_text(text: str) -> Size:
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return Size(size, text.count("\n") + (not text.endswith("\n") and text != ""))


def cut_text(text: str, max_bytes: int | None, max_lines: int | None) -> str:
    """The longest beginning within the limits that ends well; perhaps nothing."""
    end = len(text)
    if max_lines is not None:
        end = _end_of_lines(text, max_lines)
    if max_bytes is None or size_of_text(text[:end]).bytes <= max_bytes:
        return text[:end]
    end = position(text, max(max_bytes, 0))
    line = text.rfind("\n", end - end // _NEAR, end)
    return text[: line + 1] if line >= 0 else text[: _between_characters(text, end)]


def position(text: str, offset: int) -> int:
    """The place in a text that so many bytes lead to, or the last one before."""
    start = text[:offset]
    if start.isascii():
        return len(start)
    data = start.encode("utf-8", "surrogatepass")[: offset + 1]
    if len(data) > offset:
        while offset and data[offset] & 0xC0 == 0x80:  # within a character
            offset -= 1
        data = data[:offset]
    return len(data.decode("utf-8", "surrogatepass"))


def _end_of_lines(text: str, lines: int) -> int:
    end = 0
    for _ in range(lines):
        end = text.find("\n", end) + 1
        if not end:
            return len(text)
    return end


def _between_characters(text: str, end: int) -> int:
    for place in range(end, max(end - _MOST_MARKS, 0), -1):
        if place >= len(text) or not _belongs_to(text[place - 1], text[place]):
            return place
    return end


def _belongs_to(before: str, sign: str) -> bool:
    """Whether the second is a part of what the first begins, as it is seen."""
    return (
        _JOINER in (before, sign)
        or unicodedata.combining(sign) != 0
        or unicodedata.category(sign) in ("Mn", "Me")
        or "\U0001f3fb" <= sign <= "\U0001f3ff"  # skin tones
        or ("\ud800" <= before <= "\udbff" and "\udc00" <= sign <= "\udfff")
        or (before == "\r" and sign == "\n")
    )
