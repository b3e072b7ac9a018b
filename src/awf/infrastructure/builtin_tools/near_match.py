"""Why a text was not found: the most likely slip, and what stands in the file instead. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from awf.infrastructure.builtin_tools.reading import numbered

if TYPE_CHECKING:
    import difflib

__all__ = ["why_not_found"]

MOST_LINES_SHOWN = 12
LONGEST_SHOWN = 160
MOST_COMPARED = 200_000  # characters; comparing is slow, and an error should come at once
LONGEST_COMPARED = 200  # of a line
MOST_EXACT = 30  # lines that are compared letter by letter, which is the slowest
ALIKE = 0.6
_NUMBERED = re.compile(r"^\s*\d+\t")
_LOOK_ALIKE = str.maketrans(
    {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-", "\u2014": "-", "\u00a0": " "}
)


class Region(NamedTuple):
    first: int  # line number
    lines: list[str]


def why_not_found(text: str, old: str) -> str:
    """A sentence or two for the model. May be empty."""
    text, old = text.replace("\r\n", "\n"), old.replace("\r\n", "\n")
    return _slip(text, old) or _closest(text, old)


def _slip(text: str, old: str) -> str:
    bare = "\n".join(_NUMBERED.sub("", line) for line in old.split("\n"))
    if bare != old and bare.strip() and bare in text:
        return (
            "It begins with the line numbers that Read shows; they are not part of the file. Leave them out."
        )
    unescaped = old.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
    if unescaped != old and unescaped in text:
        return 'It holds escape sequences such as \\n or \\" where the file has the characters themselves.'
    if old.translate(_LOOK_ALIKE) in text.translate(_LOOK_ALIKE):
        where = text.translate(_LOOK_ALIKE).index(old.translate(_LOOK_ALIKE))
        region = _region_at(text, where, old.count("\n") + 1)
        return (
            f"It differs in quotation marks, dashes or no-break spaces only. In the file:\n{_shown(region)}"
        )
    return _whitespace(text, old)


def _whitespace(text: str, old: str) -> str:
    """The same lines but for blanks."""
    wanted = [line.strip() for line in old.strip("\n").split("\n")]
    lines = text.split("\n")
    if any(wanted):
        squeezed = [line.strip() for line in lines]
        for at in _starts(squeezed, wanted):
            region = Region(at + 1, lines[at : at + len(wanted)])
            return f"It differs in {_which_blanks(region.lines, old)} only. In the file:\n{_shown(region)}"
    return ""


def _starts(lines: list[str], wanted: list[str]) -> list[int]:
    last = len(lines) - len(wanted)
    return [
        at
        for at, line in enumerate(lines[: last + 1])
        if line == wanted[0] and lines[at : at + len(wanted)] == wanted
    ][:1]


def _which_blanks(lines: list[str], old: str) -> str:
    given = old.strip("\n").split("\n")
    if [line.rstrip() for line in lines] == [line.rstrip() for line in given]:
        return "spaces at the end of lines" if lines != given else "empty lines before or after"
    if any(line.startswith("\t") for line in lines) != any(line.startswith("\t") for line in given):
        return "indentation (tabs or spaces)"
    return "indentation"


def _closest(text: str, old: str) -> str:
    if len(text) > MOST_COMPARED:
        return ""
    lines, wanted = text.split("\n"), old.strip("\n").split("\n")
    anchor = max(range(len(wanted)), key=lambda at: len(wanted[at].strip()))
    target = wanted[anchor].strip()
    best = _likest(target, lines)
    if best is None:
        return ""
    first = max(0, best - anchor)
    region = Region(first + 1, lines[first : first + len(wanted)])
    return f"The nearest text in the file:\n{_shown(region)}"


def _likest(target: str, lines: list[str]) -> int | None:
    if not target:
        return None
    import difflib  # late: most edits fit

    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(target[:LONGEST_COMPARED])
    rough: list[tuple[float, int]] = []
    for at, line in enumerate(lines):
        matcher.set_seq1(line.strip()[:LONGEST_COMPARED])
        if matcher.real_quick_ratio() > ALIKE and (likeness := matcher.quick_ratio()) > ALIKE:
            rough.append((-likeness, at))
    exact = [(_ratio(matcher, lines[at]), -at) for _, at in sorted(rough)[:MOST_EXACT]]
    best, place = max(exact, default=(0.0, 0))
    return -place if best > ALIKE else None


def _ratio(matcher: difflib.SequenceMatcher[str], line: str) -> float:
    matcher.set_seq1(line.strip()[:LONGEST_COMPARED])
    return matcher.ratio()


def _region_at(text: str, position: int, count: int) -> Region:
    first = text.count("\n", 0, position)
    return Region(first + 1, text.split("\n")[first : first + count])


def _shown(region: Region) -> str:
    lines = [
        numbered(number, line if len(line) <= LONGEST_SHOWN else f"{line[:LONGEST_SHOWN]} …")
        for number, line in enumerate(region.lines[:MOST_LINES_SHOWN], region.first)
    ]
    return "\n".join([*lines, *(["   …"] if len(region.lines) > MOST_LINES_SHOWN else [])])
