"""One level of the picture: items in layers, and the slots through which arrows pass the layers between.

Everything here is measured *across* and *along* the flow; only at the end does someone decide whether the flow runs
down or to the right. Arrows of one style to the same target share their slots, like tracks that join: a failure
state that every step leads to gets one line, not hundreds. Arrows that lead back run in lanes beside the items.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from awf.application.authoring.diagram.lanes import LANE, Call, assign, widened
from awf.application.authoring.diagram.layering import back_links, longest_paths
from awf.application.authoring.diagram.placement import Segment, Side

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from awf.application.authoring.diagram.parts import EdgeStyle

__all__ = ["Flow", "Item", "Link", "Size"]

_MARGIN = 9.0  # kept free on both sides of an item
_TRACK = 3.0  # and of an arrow that passes
_STRAIGHT = {
    "success": 12.0,
    "sequence": 12.0,
    "complete": 8.0,
    "failure": 0.4,
}  # the main way before all others


class Size(NamedTuple):
    across: float
    along: float


class Item(NamedTuple):
    size: Size
    door: int = 0  # -1: a door through which arrows come in, 1: one through which they leave


class Link(NamedTuple):
    source: int
    target: int
    style: EdgeStyle
    label: Size | None = None
    leaves: float | None = None  # where at the source's border, from its centre; None: wherever it looks best
    enters: float | None = None

    @property
    def track(self) -> tuple[int, float | None, str]:
        return (self.target, self.enters, self.style)


class Flow:
    """Items and links with their layers, slots and lanes worked out. Slots below `len(items)` are the items."""

    def __init__(self, items: Sequence[Item], links: Sequence[Link], per_layer: int) -> None:
        self.items = items
        self.links = links
        self._loop_labels: dict[int, list[float]] = {}
        for link in links:
            if link.source == link.target and link.label:
                self._loop_labels.setdefault(link.source, []).append(link.label.along)
        pairs = [(link.source, link.target) for link in links]
        self.back = back_links(len(items), pairs)
        self.layer = self._layers(pairs, per_layer)
        self.sizes = [Size(item.size.across, self._length(number)) for number, item in enumerate(items)]
        self._tracks: dict[tuple[tuple[int, float | None, str], bool, int], int] = {}
        self.label_slots: dict[int, int] = {}
        self.chains = [self._chain(number) for number in range(len(links))]
        self.choose_lanes([0.0] * len(self.sizes))

    def choose_lanes(self, centres: Sequence[float]) -> None:
        """Once it is known roughly where things stand: the side of its items on which each arrow back runs."""
        halves = [item.size.across / 2 for item in self.items]
        self.lanes = assign(self._calls(centres), halves, self._loops())
        self.sides = [self._side(slot) for slot in range(len(self.sizes))]

    def widen_lanes(self, layers: Sequence[Sequence[int]], centres: Sequence[float], gap: float) -> None:
        """Once everything stands: lanes as far out as the arrows in them, where there is room."""
        room = self._rooms(layers, centres, gap)
        out, into = dict(self.lanes.out), dict(self.lanes.into)
        for lanes, near in ((out, 1), (into, -2)):
            for number, lane in lanes.items():
                item = self.links[number].source if near > 0 else self.links[number].target
                towards = self.chains[number][near]
                if towards >= len(self.items):
                    most = room[item][lane.offset > 0]
                    lanes[number] = widened(lane, centres[towards] - centres[item], most)
        self.lanes = self.lanes._replace(out=out, into=into)

    def _rooms(
        self, layers: Sequence[Sequence[int]], centres: Sequence[float], gap: float
    ) -> dict[int, tuple[float, float]]:
        """For each item, how far to both sides of its centre nothing else stands."""
        rooms = {}
        for layer in layers:
            for at, slot in enumerate(layer):
                before = centres[layer[at - 1]] + self.sides[layer[at - 1]].right + gap if at else -math.inf
                last = at == len(layer) - 1
                after = math.inf if last else centres[layer[at + 1]] - self.sides[layer[at + 1]].left - gap
                rooms[slot] = (centres[slot] - before, after - centres[slot])
        return rooms

    def _calls(self, centres: Sequence[float]) -> Iterator[Call]:
        for number in sorted(self.back):
            link, chain = self.links[number], self.chains[number]
            if len(chain) > 1:
                yield Call(
                    number, link.source, self._turn(centres, link.source, chain[1]), number, arrives=False
                )
            if len(chain) > 1 and chain[-1] == link.target:
                side = self._turn(centres, link.target, chain[-2])
                yield Call(number, link.target, side, link.track, arrives=True)

    def _turn(self, centres: Sequence[float], item: int, towards: int) -> int:
        away = centres[towards] - centres[item]
        return -1 if away < -self.sizes[item].across / 4 else 1

    def _length(self, item: int) -> float:
        """An item's size along the flow, with the labels beside it."""
        return max(self.items[item].size.along, *self._loop_labels.get(item, [0.0]))

    def _loops(self) -> dict[int, float]:
        """Room beside items that arrows lead to from themselves: for the arrow, then for the labels."""
        room: dict[int, float] = {}
        for link in self.links:
            if link.source == link.target:
                room[link.source] = room.get(link.source, LANE) + (link.label.across if link.label else 0.0)
        return room

    def _layers(self, pairs: Sequence[tuple[int, int]], per_layer: int) -> list[int]:
        forward = [pair for number, pair in enumerate(pairs) if number not in self.back]
        layer = [2 * length for length in longest_paths(len(self.items), forward)]
        self._wrap(layer, {end for pair in pairs for end in pair}, per_layer)
        first = -2 if any(item.door < 0 for item in self.items) else 0
        last = max(layer) + 2
        for number, item in enumerate(self.items):
            if item.door:
                layer[number] = first if item.door < 0 else last
        return self._without_empty_rows(layer)

    def _wrap(self, layer: list[int], linked: set[int], per_layer: int) -> None:
        """Many items that nothing leads to or from stand in several rows."""
        loose = [number for number in range(len(self.items)) if number not in linked]
        for count, number in enumerate(loose):
            layer[number] = 2 * (count // per_layer)

    def _without_empty_rows(self, layer: Sequence[int]) -> list[int]:
        """Labels have rows of their own between the items; keep those rows that are used."""
        used = set(layer)
        for number, link in enumerate(self.links):
            if link.label and link.source != link.target:
                used.add(layer[link.source] + (-1 if number in self.back else 1))
        rank = {row: number for number, row in enumerate(sorted(used))}
        return [rank[row] for row in layer]

    def _chain(self, number: int) -> list[int]:
        """The slots from a link's source to its target, or to the slot where it joins another link's track."""
        link = self.links[number]
        start, end = self.layer[link.source], self.layer[link.target]
        if link.source == link.target:
            return [link.source]
        step = 1 if end > start else -1
        chain = [link.source]
        if link.label:
            start += step
            chain.append(self._slot(start, link.label))
            self.label_slots[number] = chain[-1]
        for layer in range(start + step, end, step):
            key = (link.track, step < 0, layer)
            joined = key in self._tracks
            if not joined:
                self._tracks[key] = self._slot(layer, Size(0.0, 0.0))
            chain.append(self._tracks[key])
            if joined:
                return chain
        return [*chain, link.target]

    def _slot(self, layer: int, size: Size) -> int:
        self.layer.append(layer)
        self.sizes.append(size)
        return len(self.sizes) - 1

    def _side(self, slot: int) -> Side:
        half = self.sizes[slot].across / 2
        if slot >= len(self.items) or self.items[slot].door:
            return Side(half + _TRACK, half + _TRACK)
        before, after = self.lanes.room.get((slot, -1), 0.0), self.lanes.room.get((slot, 1), 0.0)
        return Side(half + _MARGIN + before, half + _MARGIN + after)

    def segments(self) -> Iterator[Segment]:
        for number, chain in enumerate(self.chains):
            for at, (near, far) in enumerate(pairwise(chain)):
                near_offset = self.source_offset(number) if at == 0 else 0.0
                far_offset = self.target_offset(number) if far == self.links[number].target else 0.0
                weight = self._weight(number, near, far)
                if number in self.back:
                    yield Segment(far, near, far_offset, near_offset, weight)
                else:
                    yield Segment(near, far, near_offset, far_offset, weight)

    def source_offset(self, number: int) -> float:
        return self.lanes.out[number].offset if number in self.back else self.links[number].leaves or 0.0

    def target_offset(self, number: int) -> float:
        return self.lanes.into[number].offset if number in self.back else self.links[number].enters or 0.0

    def _weight(self, number: int, near: int, far: int) -> float:
        passing = (near >= len(self.items)) + (far >= len(self.items))
        weight = 0.3 if number in self.back else _STRAIGHT.get(self.links[number].style, 1.0)
        return weight * (1.0, 2.0, 6.0)[passing]
