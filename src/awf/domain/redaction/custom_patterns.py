"""Regular expressions of the operator for texts that are secret.

A text is looked at in windows, so that an expression that takes long on long texts takes long never; one that can take
forever on a short text is refused when the file is read.
"""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any

from awf.domain.redaction.spans import MASK, covered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from awf.domain.redaction.spans import Span

__all__ = ["CustomPatterns", "problem_with"]

_LONGEST = 500  # characters of an expression
_WINDOW = 2000  # characters of a text
_OVERLAP = 500  # what is found has at most this length, or is cut


def problem_with(expression: str) -> str:
    """Why it cannot be used; nothing if it can."""
    if not expression:
        return "it is empty"
    if len(expression) > _LONGEST:
        return f"it is longer than {_LONGEST} characters"
    try:
        found = re.compile(expression)
    except (re.error, OverflowError, RecursionError) as error:
        return str(error) or "it is nested too deeply"
    if found.search("") is not None:
        return "it fits everywhere, also where nothing is"
    if _may_explode(importlib.import_module("re._parser").parse(expression)):
        return "a repetition stands inside another one, which can take forever; write it without, or as (?>…)"
    return ""


def _may_explode(tree: Any, *, repeated: bool = False) -> bool:
    """Whether something that may be of several lengths is repeated within a repetition without end."""
    for kind, value in tree:
        name = str(kind)
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            least, most, body = value
            if (repeated and least != most) or _may_explode(body, repeated=repeated or int(most) > 20):
                return True
        elif name == "ATOMIC_GROUP":
            if _may_explode(value):
                return True
        elif any(_may_explode(part, repeated=repeated) for part in _inside(value)):
            return True
    return False


def _inside(value: Any) -> Iterable[Any]:
    """The parts of a group, a choice or a look-around."""
    parser: Any = importlib.import_module("re._parser")
    if isinstance(value, parser.SubPattern):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _inside(part)


class CustomPatterns:
    """Expressions that were found to be usable."""

    def __init__(self, expressions: Iterable[str]) -> None:
        self._patterns = [re.compile(one) for one in expressions]

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def fit(self, text: str) -> bool:
        return any(map(self._spans, text.split(MASK)))

    def masked(self, text: str) -> str:
        """What is masked already is never looked into, and side by side it is one: masking twice is masking once."""
        if not self._patterns:
            return text
        parts = [covered(part, self._spans(part), MASK) for part in text.split(MASK)]
        if len(parts) == 1 and parts[0] == text:
            return text
        return MASK.join(parts) if parts == text.split(MASK) else _RUN.sub(MASK, MASK.join(parts))

    def _spans(self, text: str) -> list[Span]:
        found: list[Span] = []
        for start in range(0, max(len(text) - _OVERLAP, 1), _WINDOW - _OVERLAP):
            window = text[start : start + _WINDOW]
            for pattern in self._patterns:
                found += [(start + a, start + b) for a, b in map(_span, pattern.finditer(window)) if b > a]
        return _joined(found)


_RUN = re.compile(rf"(?:{re.escape(MASK)}){{2,}}")


def _span(found: re.Match[str]) -> Span:
    return found.span()


def _joined(spans: list[Span]) -> list[Span]:
    """Also those that only touch."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found
