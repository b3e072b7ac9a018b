r"""Replacing text exactly, with the line endings of the place where it stands. Pure.

Models write `\n`. A file may have `\r\n`, or both. A line break in `old` therefore matches either, and those in `new`
become what the replaced text had; if it had none, what its line ends with.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from awf.domain.tool import ToolFailure

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Replaced", "line_of", "occurrences", "replaced"]


class Replaced(NamedTuple):
    text: str
    times: int
    start: int  # of the first replacement, in the new text
    end: int


class Occurrence(NamedTuple):
    start: int
    end: int


def occurrences(text: str, old: str) -> list[Occurrence]:
    return list(_occurrences(text, _plain(old)))


def replaced(text: str, old: str, new: str, found: list[Occurrence]) -> Replaced:
    """With these occurrences replaced. Refuses what would change nothing but line endings, as those are kept."""
    if _plain(old) == _plain(new):
        raise ToolFailure(
            "INVALID_ARGUMENTS",
            "old_string and new_string are the same, so there is nothing to do."
            if old == new
            else "old_string and new_string differ in line endings only, which Edit keeps. Use Bash to convert them.",
        )
    parts: list[str] = []
    last = 0
    for start, end in found:
        parts += [text[last:start], _with_ending(_plain(new), _ending_at(text, start))]
        last = end
    parts.append(text[last:])
    first = found[0].start
    return Replaced("".join(parts), len(found), first, first + len(parts[1]))


def line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _with_ending(text: str, ending: str) -> str:
    return text if ending == "\n" else text.replace("\n", ending)


def _occurrences(text: str, old: str) -> Iterator[Occurrence]:
    if "\n" in old and "\r\n" in text:
        pattern = re.compile("\r?\n".join(map(re.escape, old.split("\n"))))
        yield from (Occurrence(*match.span()) for match in pattern.finditer(text))
        return
    position = text.find(old)
    while position >= 0:
        yield Occurrence(position, position + len(old))
        position = text.find(old, position + len(old))


def _ending_at(text: str, start: int) -> str:
    """That of the text itself, else of its line, else of the line before."""
    place = text.find("\n", start)
    if place < 0:
        place = text.rfind("\n", 0, start)
    return "\r\n" if place > 0 and text[place - 1] == "\r" else "\n"
