"""What a value has to look like. A check takes a value and its place, and gives back what the agent is to see.

It raises a Complaint that names the place. Fields nobody asked about are passed on; null for a field that may be left
out is the same as leaving it out; and where the protocol says that a bad value counts as none, it is taken away.
"""

from __future__ import annotations

from acpserver.errors import Complaint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Final, NoReturn

    Check = Callable[[Any, str], Any]

__all__ = ["absolute_path", "either", "flag", "list_of", "number", "record", "table", "text", "wrong"]

_NONE: Final[Mapping[str, Check]] = {}
_ABSENT: Final = object()


def wrong(place: str, needed: str, value: Any = _ABSENT) -> NoReturn:
    missing = " (it is missing)" if value is None else ""
    raise Complaint("invalid_params", f"{place} must be {needed}{missing}")


def text(value: Any, place: str) -> str:
    return value if isinstance(value, str) else wrong(place, "a string", value)


def flag(value: Any, place: str) -> bool:
    return value if isinstance(value, bool) else wrong(place, "true or false", value)


def number(value: Any, place: str) -> int:
    """1.0 is an integer in JSON, and true is none."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        wrong(place, "an integer", value)
    return value


def table(value: Any, place: str) -> dict[str, Any]:
    return value if isinstance(value, dict) else wrong(place, "an object", value)


def absolute_path(value: Any, place: str) -> str:
    if not isinstance(value, str) or not value.startswith("/") or "\0" in value:
        wrong(place, "an absolute path", value)
    return value


def list_of(item: Check) -> Check:
    def check(value: Any, place: str) -> list[Any]:
        if not isinstance(value, list):
            wrong(place, "a list", value)
        return [item(each, f"{place}[{index}]") for index, each in enumerate(value)]

    return check


def either(needed: str, *checks: Check) -> Check:
    def check(value: Any, place: str) -> Any:
        for each in checks:
            try:
                return each(value, place)
            except Complaint:
                continue
        wrong(place, needed, value)

    return check


def record(
    required: Mapping[str, Check] = _NONE,
    *,
    optional: Mapping[str, Check] = _NONE,
    hints: Mapping[str, Check] = _NONE,
    lists: Mapping[str, Check] = _NONE,
) -> Check:
    """An object. `hints` are dropped when they are wrong; `lists` are there, and empty, when they are not sent."""

    def check(value: Any, place: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            wrong(place or "params", "an object", value)
        seen = dict(value)
        prefix = f"{place}." if place else ""
        for name, each in required.items():
            seen[name] = each(value.get(name), prefix + name)
        for name, each in lists.items():
            given = value.get(name)
            seen[name] = [] if given is None else each(given, prefix + name)
        for name, each in optional.items():
            _set(seen, name, each, prefix)
        for name, each in {"_meta": table, **hints}.items():
            try:
                _set(seen, name, each, prefix)
            except Complaint:
                del seen[name]
        return seen

    return check


def _set(seen: dict[str, Any], name: str, check: Check, prefix: str) -> None:
    if seen.get(name) is None:
        seen.pop(name, None)
    else:
        seen[name] = check(seen[name], prefix + name)
