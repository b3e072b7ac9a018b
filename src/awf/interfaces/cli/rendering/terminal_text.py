"""Text from commands and agents, made safe and short enough for a person's terminal."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

__all__ = ["ASCII_FORMS", "cell_width", "cut", "flat", "neutral", "text_lines"]

# Every ESC starts one of these, so none survives a single pass. A sequence never reaches over a line end:
# otherwise one that is never closed would swallow the rest of the text.
_SEQUENCE = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"  # colours, cursor movements
    "|(?:\x1b[\\]P^_X]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)?"  # titles, links, clipboard
    "|\x1b[ -/]*[0-~]?"
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_SURROGATE = re.compile("[\ud800-\udfff]")

# What stands in for our signs where the stream's encoding has no room for them.
ASCII_FORMS = str.maketrans(
    {
        "▶": ">", "✓": "+", "✗": "x", "↻": "~", "○": "-", "■": "#", "⚒": "$",
        "…": "...", "·": "-", "\u202f": " ", "\xbb": ">",
    }
)  # fmt: skip


def neutral(text: str) -> str:
    """The text without escape sequences, control characters (tab and newline stay) and changes of direction."""
    if text.isprintable():
        return text
    text = _CONTROL.sub("", _SEQUENCE.sub("", text))
    return _SURROGATE.sub("\ufffd", text)


def _as_shown(line: str) -> str:
    """What a terminal would show of a line in which carriage returns started over."""
    return line.rstrip("\r").rpartition("\r")[2]


def text_lines(text: str) -> list[str]:
    """The lines of a text, neutral, without empty ones at the end."""
    return [neutral(_as_shown(line)) for line in text.rstrip().split("\n")] if text.strip() else []


def flat(text: str, cells: int = 0) -> str:
    """One neutral line for a text of any shape: its first line that is not blank, cut to a number of cells."""
    lines = text.strip().split("\n", 1)
    first = neutral(_as_shown(lines[0])).replace("\t", " ").strip()
    whole = first + " …" if len(lines) > 1 else first
    return cut(whole, cells) if cells else whole


@lru_cache(maxsize=4096)
def _cells(char: str) -> int:
    if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def cell_width(text: str) -> int:
    """How many columns of a terminal the text takes."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def cut(text: str, cells: int) -> str:
    """The text, or as much of it as fits with an ellipsis."""
    if len(text) <= cells * 8 and cell_width(text) <= cells:
        return text
    room, kept = cells - 1, 0
    for char in text:
        room -= _cells(char)
        if room < 0:
            break
        kept += 1
    return text[:kept] + "…"
