"""Output of programs as plain text: no colours, no cursor movements, nothing invisible that changes its meaning."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Excerpt", "excerpt", "plain"]

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor movements
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # titles, links and other strings
    r"|\x1b[ -/]*[0-~]?"
)
_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MISLEADING = re.compile(r"[\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_HEAD_SHARE = 8  # of a long text, one part in so many is kept from its beginning, the rest from its end
_ROUGHLY = 6  # times what is shown, is looked at


def plain(text: str) -> str:
    """What would have remained to be read on a terminal."""
    if text.isprintable():
        return text
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _MISLEADING.sub("�", _INVISIBLE.sub("", text))


class Excerpt(NamedTuple):
    head: str
    left_out: int  # characters
    tail: str


def excerpt(text: str, limit: int) -> Excerpt:
    """The text, or of a long one its beginning and its end, cut at line ends where there are some nearby."""
    first = limit // _HEAD_SHARE
    if len(text) <= limit * _ROUGHLY:
        clean = plain(text)
        if len(clean) <= limit:
            return Excerpt(clean, 0, "")
        beginning = ending = clean
    else:
        beginning, ending = plain(text[: first * _ROUGHLY]), plain(text[-limit * _ROUGHLY :])
        clean = text
    line_end = beginning.rfind("\n", 0, first)
    head = beginning[: line_end + 1 if line_end > first // 2 else first]
    tail = ending[-(limit - len(head)) :]
    line_start = tail.find("\n", 0, 300)
    tail = tail[line_start + 1 :]
    return Excerpt(head, len(clean) - len(head) - len(tail), tail)
