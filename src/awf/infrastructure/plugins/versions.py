"""Version constraints as plugins write them: `>=0.1, <2`, `^1.2`, `~1.2.3`, `1.x`, `1.2 || >=2.1`."""

from __future__ import annotations

import re

__all__ = ["is_constraint", "satisfies"]

_TERM = re.compile(r"(>=|<=|!=|==|=|>|<|\^|~>|~)?v?(\d+(?:\.\d+)*)((?:\.[xX*])*)(?:[-+][0-9A-Za-z.+-]*)?")
_AFTER_OPERATOR = re.compile(r"(?<=[=<>^~])\s+")
_ANY = {"", "*", "x", "X"}
Release = tuple[int, ...]


def is_constraint(text: str) -> bool:
    return all(_terms(choice) is not None for choice in text.split("||"))


def satisfies(version: str, constraint: str) -> bool:
    """Whether a version meets one of the choices. Only release numbers count; a pre-release is its release."""
    numbers = _release(version)
    return any(
        terms is not None and all(_holds(numbers, *term) for term in terms)
        for terms in map(_terms, constraint.split("||"))
    )


def _terms(choice: str) -> list[tuple[str, Release, bool]] | None:
    """Operator, numbers, and whether the numbers end in a wildcard; None for what cannot be read."""
    if choice.strip() in _ANY:
        return []
    joined = _AFTER_OPERATOR.sub("", choice.strip().rstrip(","))
    matches = [_TERM.fullmatch(word) for word in re.split(r"\s*,\s*|\s+", joined)]
    if not all(matches):
        return None
    return [(match[1] or "=", _release(match[2]), bool(match[3])) for match in matches if match]


def _release(version: str) -> Release:
    match = re.match(r"v?(\d+(?:\.\d+)*)", version)
    return tuple(int(number) for number in match[1].split(".")) if match else (0,)


def _holds(have: Release, operator: str, want: Release, wildcard: bool) -> bool:
    if operator in {"=", "=="}:
        return _begins(have, want) if wildcard or len(want) < 3 else _compare(have, want) == 0
    if operator == "!=":
        return not _holds(have, "=", want, wildcard)
    if operator in {"^", "~", "~>"}:
        return _compare(have, want) >= 0 and _begins(have, _kept(operator, want))
    order = _compare(have, want)
    return {">=": order >= 0, "<=": order <= 0, ">": order > 0, "<": order < 0}[operator]


def _kept(operator: str, want: Release) -> Release:
    """The numbers that may not change: up to the first that is not zero (`^`), the first two (`~`), all but the last (`~>`)."""
    if operator == "^":
        first = next((index for index, number in enumerate(want) if number), len(want) - 1)
        return want[: first + 1]
    return want[:2] if operator == "~" else want[: max(1, len(want) - 1)]


def _begins(have: Release, start: Release) -> bool:
    return _padded(have, len(start))[: len(start)] == start


def _compare(left: Release, right: Release) -> int:
    width = max(len(left), len(right))
    one, two = _padded(left, width), _padded(right, width)
    return (one > two) - (one < two)


def _padded(numbers: Release, width: int) -> Release:
    return numbers + (0,) * (width - len(numbers))
