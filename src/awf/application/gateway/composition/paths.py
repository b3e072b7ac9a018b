r"""Paths to fields as people write them: `city`, `location.lat`, `items[].id`, and `a\.b` for a dot inside a name."""

from __future__ import annotations

import re

__all__ = ["EACH", "Path", "parse_path", "path_text"]

EACH = None  # the step into every item of an array
Path = tuple[str | None, ...]

_NAME = re.compile(r"(?:\\.|[^.\[\]\\])+", re.DOTALL)
_SPECIAL = re.compile(r"[.\[\]\\]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def parse_path(text: str) -> Path:
    """Raises ValueError with what is wrong, as a clause."""
    if text and not _SPECIAL.search(text):
        return (text,)
    steps: list[str | None] = []
    at, fresh = 0, True  # fresh: a name may follow
    while at < len(text):
        if text.startswith("[]", at):
            steps.append(EACH)
            at, fresh = at + 2, False
        elif text[at] == "." and not fresh:
            at, fresh = at + 1, True
        elif fresh and (name := _NAME.match(text, at)):
            steps.append(_ESCAPED.sub(r"\1", name[0]))
            at, fresh = name.end(), False
        else:
            raise ValueError(f"“{text[at:]}” is not expected there")
    if fresh:
        raise ValueError("a name is missing" if text else "it is empty")
    return tuple(steps)


def path_text(path: Path) -> str:
    text = ""
    for step in path:
        if step is None:
            text += "[]"
        else:
            text += ("." if text else "") + _SPECIAL.sub(r"\\\g<0>", step)
    return text
