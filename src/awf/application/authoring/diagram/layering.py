"""Which layer each item stands in, so that arrows lead on to later layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["back_links", "discovery", "longest_paths"]

_Pair = tuple[int, int]


def _leaving(count: int, pairs: Sequence[_Pair]) -> list[list[int]]:
    """For each item, the numbers of the links that leave it."""
    leaving: list[list[int]] = [[] for _ in range(count)]
    for number, (source, _) in enumerate(pairs):
        leaving[source].append(number)
    return leaving


def _walk(count: int, pairs: Sequence[_Pair]) -> tuple[list[int], set[int]]:
    """Visit everything depth first, in order: the order of discovery, and the links that lead back."""
    leaving = _leaving(count, pairs)
    order: list[int] = []
    back: set[int] = set()
    open_now = [False] * count
    seen = [False] * count
    led_to = {target for _, target in pairs}
    for root in sorted(range(count), key=led_to.__contains__):
        stack = [] if seen[root] else [(root, 0)]
        while stack:
            item, at = stack.pop()
            if at == 0:
                seen[item] = open_now[item] = True
                order.append(item)
            if at == len(leaving[item]):
                open_now[item] = False
                continue
            stack.append((item, at + 1))
            target = pairs[leaving[item][at]][1]
            if open_now[target]:
                back.add(leaving[item][at])
            elif not seen[target]:
                stack.append((target, 0))
    return order, back


def back_links(count: int, pairs: Sequence[_Pair]) -> set[int]:
    """The links to leave out so that no circle remains."""
    return _walk(count, pairs)[1]


def discovery(count: int, pairs: Sequence[_Pair]) -> list[int]:
    """For each item, when a walk along the links meets it."""
    place = [0] * count
    for number, item in enumerate(_walk(count, pairs)[0]):
        place[item] = number
    return place


def longest_paths(count: int, pairs: Sequence[_Pair]) -> list[int]:
    """For each item the length of the longest way to it. There must be no circle."""
    leaving = _leaving(count, pairs)
    waiting_for = [0] * count
    for _, target in pairs:
        waiting_for[target] += 1
    ready = [item for item in range(count) if not waiting_for[item]]
    longest = [0] * count
    for item in ready:
        for number in leaving[item]:
            target = pairs[number][1]
            longest[target] = max(longest[target], longest[item] + 1)
            waiting_for[target] -= 1
            if not waiting_for[target]:
                ready.append(target)
    return longest
