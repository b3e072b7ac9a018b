"""Reading a dotted path such as ``states.my-step.json.items.0['a name']`` out of a longer text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from awf.infrastructure.expressions.vocabulary import hyphens_join, present_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.infrastructure.expressions.values import Part

__all__ = ["Path", "Segment", "read_path", "read_segment"]

_ROOT = re.compile(r"[^\W\d]\w*")
_NAME = re.compile(r"\w+(?:-\w+)*")
_SUBSCRIPT = re.compile(r"""\[\s*(?:'([^'\\]*)'|"([^"\\]*)"|([0-9]{1,18}))\s*\]""")
_MOST_DIGITS = 19


class Segment(NamedTuple):
    """One step of a path. `verbatim` means that its text needs no rewriting."""

    parts: tuple[Part, ...]
    start: int
    end: int
    verbatim: bool


class Path(NamedTuple):
    root: str
    segments: tuple[Segment, ...]
    start: int
    end: int

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.root, *(part for segment in self.segments for part in segment.parts))


def read_path(text: str, start: int) -> Path:
    """Read the path that starts with the name at `start`."""
    root = _ROOT.match(text, start)
    assert root is not None
    before = [root.group()]
    end, segments = root.end(), []
    while segment := _read_dot(text, end, before) or _read_subscript(text, end):
        segments.append(segment)
        before.extend(map(str, segment.parts))
        end = segment.end
    return Path(root.group(), tuple(segments), start, end)


def _read_dot(text: str, start: int, before: Sequence[str]) -> Segment | None:
    if not text.startswith(".", start):
        return None
    segment = read_segment(text, start + 1, before)
    return segment and segment._replace(start=start)


def read_segment(text: str, start: int, before: Sequence[str]) -> Segment | None:
    """Read the ``name`` or ``0`` after a dot, where `before` is the path so far."""
    match = _NAME.match(text, start)
    if match is None:
        return None
    name = match.group()
    if "-" in name and not hyphens_join(before):
        name = name.partition("-")[0]
    end = start + len(name)
    if name.isascii() and name.isdigit() and len(name) < _MOST_DIGITS:
        return Segment((int(name),), start, end, verbatim=True)
    if not name.isidentifier():
        return Segment((name,), start, end, verbatim=False) if hyphens_join(before) else None
    parts = present_names(before, name)
    return Segment(parts, start, end, verbatim=parts == (name,))


def _read_subscript(text: str, start: int) -> Segment | None:
    match = _SUBSCRIPT.match(text, start)
    if match is None:
        return None
    single, double, number = match.groups()
    part: Part = int(number) if number is not None else single if single is not None else double
    return Segment((part,), start, match.end(), verbatim=True)
