"""Plain data again with other texts in it, however deep it is nested.

How deep that is, is the choice of agents and servers, and recursion ends at some hundred levels: there is none here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Mark = TypeVar("Mark")

__all__ = ["by_masked_keys", "rebuilt"]

_INNER = (dict, list, tuple)


def rebuilt(
    value: Any, change: Callable[[Any, Mark], Any], name: Callable[[Any, Mark], tuple[Any, Mark]], mark: Mark
) -> Any:
    """The same object where nothing changes; else dicts and lists of the same shape.

    `change`: what stands in the place of a value; into what it leaves as it is, one looks. `name`: what stands in the place of a
    key, and the mark of what is below it. Items of lists have the mark of their list.
    """
    first = change(value, mark)
    if first is not value or not isinstance(value, _INNER):
        return first
    is_new = False
    whole = _empty(value)
    waiting: list[tuple[Any, Any, Mark]] = [(value, whole, mark)]

    def placed(item: Any, mark: Mark) -> Any:
        nonlocal is_new
        made = change(item, mark)
        if made is not item:
            is_new = True
        elif isinstance(item, _INNER):
            made = _empty(item)
            waiting.append((item, made, mark))
        return made

    while waiting:
        old, new, mark = waiting.pop()
        if not isinstance(old, dict):
            new += [placed(item, mark) for item in old]
            continue
        taken: dict[Any, int] = {}
        for key, item in old.items():
            shown, below = name(key, mark)
            is_new = is_new or shown != key
            new[_free(shown, new, taken)] = placed(item, below)
    return whole if is_new else value


def by_masked_keys(items: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Two keys may look the same once they are masked; neither may go."""
    made: dict[Any, Any] = {}
    taken: dict[Any, int] = {}
    for name, item in items:
        made[_free(name, made, taken)] = item
    return made


def _empty(value: Any) -> Any:
    return {} if isinstance(value, dict) else []


def _free(name: Any, made: dict[Any, Any], taken: dict[Any, int]) -> Any:
    """`taken`: up to which number each name is."""
    free = name
    while free in made:
        taken[name] = number = taken.get(name, 1) + 1
        free = f"{name} ({number})"
    return free
