"""Where arrows touch the borders of their items: towards where they go, the main one straight on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from awf.application.authoring.diagram.parts import MAIN_STYLES
from awf.application.authoring.diagram.placement import spread

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from awf.application.authoring.diagram.flow import Flow

__all__ = ["doors"]

_BETWEEN = 15.0  # arrows at one border


class _Wish(NamedTuple):
    link: int
    item: int
    key: Hashable  # arrows with the same key share a door
    place: float  # from the item's centre


def doors(flow: Flow, centres: Sequence[float]) -> tuple[dict[int, float], dict[int, float]]:
    """For each link, where across the flow it leaves its source and where it reaches its target."""
    leaving, arriving = [], []
    for number, (link, chain) in enumerate(zip(flow.links, flow.chains, strict=True)):
        if number in flow.back:
            continue
        if link.leaves is None:
            leaving.append(_Wish(number, link.source, number, _wanted(flow, centres, link.source, chain[1])))
        if link.enters is None and chain[-1] == link.target:
            arriving.append(
                _Wish(number, link.target, link.track, _wanted(flow, centres, link.target, chain[-2]))
            )
    out, into = _granted(flow, centres, leaving), _granted(flow, centres, arriving)
    for number, link in enumerate(flow.links):
        if link.leaves is not None:
            out[number] = centres[link.source] + link.leaves
        if link.enters is not None:
            into[number] = centres[link.target] + link.enters
    return out, into


def _wanted(flow: Flow, centres: Sequence[float], item: int, other: int) -> float:
    """Between two items they meet half-way, so that the line is straight when it can be."""
    away = centres[other] - centres[item]
    return away / 2 if other < len(flow.items) and not flow.items[other].door else away


def _granted(flow: Flow, centres: Sequence[float], wishes: Sequence[_Wish]) -> dict[int, float]:
    by_item: dict[int, dict[Hashable, list[_Wish]]] = {}
    for wish in wishes:
        by_item.setdefault(wish.item, {}).setdefault(wish.key, []).append(wish)
    granted: dict[int, float] = {}
    for item, groups in by_item.items():
        places = _apart(flow, flow.items[item].size.across, list(groups.values()))
        for group, place in zip(groups.values(), places, strict=True):
            granted |= {wish.link: centres[item] + place for wish in group}
    return granted


def _apart(flow: Flow, across: float, groups: Sequence[Sequence[_Wish]]) -> list[float]:
    """A place for each group of arrows, as near to its wish as the border and the others allow."""
    limit = across / 2 - min(14.0, across * 0.22) if across > 20 else 0.0
    wanted = [_limited(sum(wish.place for wish in group) / len(group), limit) for group in groups]
    order = sorted(range(len(groups)), key=wanted.__getitem__)
    gap = min(_BETWEEN, limit, 2 * limit / max(1, len(groups) - 1))
    weights = [max(_importance(flow, wish.link) for wish in groups[at]) for at in order]
    found = spread([wanted[at] for at in order], weights, [gap] * (len(groups) - 1))
    places = [0.0] * len(groups)
    for rank, (at, place) in enumerate(zip(order, found, strict=True)):
        least, most = gap * rank - limit, limit - gap * (len(groups) - 1 - rank)
        places[at] = max(least, min(most, place))
    return places


def _limited(wanted: float, limit: float) -> float:
    """A line that cannot be straight anyway need not begin at the very corner."""
    return wanted if abs(wanted) <= limit else math.copysign(limit * 0.5, wanted)


def _importance(flow: Flow, number: int) -> float:
    return 1000.0 if flow.links[number].style in MAIN_STYLES else 1.0
