"""What a person is shown before they allow something: all of it, and nothing that looks like something else. Pure.

Whoever asks chooses the words. Characters that nobody sees, or that move others around, are spelled out, and what is too
long says in its place how much of it is missing: its end counts as much as its beginning.
"""

from __future__ import annotations

import json
import re
from typing import Any

from awf.domain.canonical import canonical

__all__ = ["MOST", "as_json", "shown_arguments", "spelled_out"]

MOST = 4000  # characters of arguments
_LONGEST = (1600, 800, 400, 200, 100)  # of one text in them, tried in turn
_BEGINNING = 2 / 3
_DEEPEST = 20  # what lies deeper is only cut as a part of the whole

_NOT_PLAIN = re.compile("[^ -~]")
# Of the signs that Python takes for printable, those that leave no mark, or none of their own.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def spelled_out(text: str, keep: str = "") -> str:
    """The text with what cannot be seen in it written as in JSON; only plain spaces, and `keep`, stay as they are."""
    return _NOT_PLAIN.sub(lambda found: found[0] if found[0] in keep else _seen(found[0]), text)


def _seen(one: str) -> str:
    if one.isprintable() and not _UNSEEN.match(one):
        return one
    return json.dumps(one)[1:-1] if one != "\x7f" else "\\u007f"


def shown_arguments(arguments: Any, most: int = MOST) -> str:
    """As JSON on one line. Of long texts the middle is left out, so that every argument is named."""
    shown = arguments
    for longest in _LONGEST:
        text = as_json(shown)
        if len(text) <= most and len(text := spelled_out(text)) <= most:
            return text
        shown = _shortened(arguments, longest)
    return _without_middle(spelled_out(as_json(shown)), most)


def as_json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except RecursionError:  # that form has no end of depth
        return canonical(value).decode()


def _shortened(value: Any, longest: int, depth: int = _DEEPEST) -> Any:
    if isinstance(value, str):
        return _without_middle(value, longest)
    if isinstance(value, dict) and depth:
        return {key: _shortened(one, longest, depth - 1) for key, one in value.items()}
    if isinstance(value, list | tuple) and depth:
        return [_shortened(one, longest, depth - 1) for one in value]
    return value


def _without_middle(text: str, longest: int) -> str:
    left_out = len(text) - longest
    if left_out <= 0:
        return text
    beginning = int(longest * _BEGINNING)
    return f"{text[:beginning]} [… {left_out:,} characters are not shown …] {text[beginning + left_out :]}"
