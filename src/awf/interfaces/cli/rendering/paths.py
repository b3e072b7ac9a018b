"""What a step's path says: ``build``, ``build#2``, ``loop[3]/test``, ``fan/lint``, ``call/check``."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Family", "depth", "family", "is_top_level", "is_within", "iteration"]


class Family(NamedTuple):
    """Where a path hangs in a tree of two levels."""

    top: str  # the step of the workflow itself
    child: (
        str  # the branch, the step of an iteration, the step of a called workflow; empty for the top itself
    )
    below: str  # what is left, further down


def depth(path: str) -> int:
    return path.count("/")


def is_top_level(path: str) -> bool:
    return bool(path) and "/" not in path and "[" not in path


def family(path: str) -> Family:
    first, slash, more = path.partition("/")
    top = first.partition("[")[0]
    if not slash:
        return Family(top, "" if top == first else first, "")
    second, _, below = more.partition("/")
    name, bracket, turn = second.partition("[")
    return Family(top, f"{first}/{name}", "/".join(filter(None, (bracket + turn, below))))


def iteration(path: str) -> int:
    """Which turn of the top-level loop the path belongs to, counted from 1; 0 when it is no loop."""
    number = path.partition("/")[0].partition("[")[2].rstrip("]")
    return int(number) + 1 if number.isdigit() else 0


def is_within(path: str, parent: str) -> bool:
    return len(path) > len(parent) and path.startswith(parent) and path[len(parent)] in "/["
