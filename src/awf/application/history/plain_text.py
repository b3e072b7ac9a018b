"""Output of programs as plain text: no colours, no cursor movements, nothing invisible that changes its meaning."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Excerpt", "excerpt", "plain"]

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor movements
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)"  # titles, links and other strings
    r"|\x1b[ -/]*[0-~]"
    r"|[\x80-\x9f]",
    re.DOTALL,
)
_OVERWRITTEN = re.compile(r"[^\n]*\r(?=[^\n])")
_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_MISLEADING = re.compile(r"[\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_HEAD_SHARE = 8  # of a long text, one part in so many is kept from its beginning, the rest from its end


def plain(text: str) -> str:
    """What would have remained to be read on a terminal."""
    if "\x1b" in text or "\r" in text or not text.isprintable():
        text = _ESCAPES.sub("", text).replace("\r\n", "\n")
        text = _OVERWRITTEN.sub("", text)
        text = _INVISIBLE.sub("", text)
        text = _MISLEADING.sub("�", text)
    return text


class Excerpt(NamedTuple):
    head: str
    left_out: int
    tail: str


def excerpt(text: str, limit: int) -> Excerpt:
    """The text, or of a long one its beginning and its end, cut at line ends where there are some nearby."""
    clean = plain(text)
    if len(clean) <= limit:
        return Excerpt(clean, 0, "")
    first = limit // _HEAD_SHARE
    line_end = clean.rfind("\n", 0, first)
    head = clean[: line_end + 1 if line_end > first // 2 else first]
    at = len(clean) - (limit - len(head))
    line_start = clean.find("\n", at, at + 300)
    tail = clean[line_start + 1 if line_start >= 0 else at :]
    return Excerpt(head, len(clean) - len(head) - len(tail), tail)
