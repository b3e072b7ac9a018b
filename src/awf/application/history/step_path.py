"""What the path of a step says about where it belongs.

``build#2`` is the second visit of build, ``build@2`` its second attempt, ``loop[3]/test`` a step of one iteration,
``fan/lint`` a branch, ``call/check`` a step of a called workflow.
"""

from __future__ import annotations

import re

__all__ = ["attempt_of", "is_hook", "is_iteration", "name_of", "parent_of", "without_attempt"]

_ATTEMPT = re.compile(r"@(\d+)$")
_ITERATION = re.compile(r"\[\d+\]$")
_SUFFIXES = re.compile(r"(?:\[\d+\]|[#@]\d+)+$")


def attempt_of(path: str) -> int:
    found = _ATTEMPT.search(path)
    return int(found[1]) if found else 1


def without_attempt(path: str) -> str:
    return _ATTEMPT.sub("", path)


def name_of(path: str) -> str:
    """The name of the state."""
    return _SUFFIXES.sub("", path.rpartition("/")[2])


def is_iteration(path: str) -> bool:
    return bool(_ITERATION.search(path))


def is_hook(path: str) -> bool:
    return path.startswith("hooks/") or "/hooks/" in path


def parent_of(path: str) -> str:
    """The path of what holds this one, "" for the workflow itself."""
    if is_iteration(path):
        return without_attempt(_ITERATION.sub("", path))
    parent = path.rpartition("/")[0]
    return parent if is_iteration(parent) else without_attempt(parent)
