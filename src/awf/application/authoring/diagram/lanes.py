"""Places beside items where arrows that lead back leave and arrive."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

__all__ = ["LANE", "Call", "Lane", "Lanes", "assign", "widened"]

LANE = 16.0


class Call(NamedTuple):
    """A link that needs a lane beside an item. Links with the same key share it."""

    link: int
    item: int
    side: int  # -1 before the item, 1 after it, across the flow
    key: Hashable
    arrives: bool


class Lane(NamedTuple):
    number: int
    of: int
    offset: float  # from the item's centre


class Lanes(NamedTuple):
    out: Mapping[int, Lane]  # link → its lane beside its source
    into: Mapping[int, Lane]  # link → its lane beside its target
    room: Mapping[tuple[int, int], float]  # (item, side) → how much room the lanes take there


def assign(calls: Iterable[Call], halves: Sequence[float], loops: Mapping[int, float]) -> Lanes:
    """`halves` is half of each item's size; `loops` the room that arrows from an item to itself take after it."""
    keys: dict[tuple[int, int, bool], dict[Hashable, None]] = {}
    every = list(calls)
    for call in every:
        keys.setdefault((call.item, call.side, call.arrives), {})[call.key] = None
    room = {(item, 1): width for item, width in loops.items()}
    for (item, side, _), found in keys.items():
        inner = loops.get(item, 0.0) if side > 0 else 0.0
        room[item, side] = max(room.get((item, side), 0.0), inner + LANE * len(found))
    out: dict[int, Lane] = {}
    into: dict[int, Lane] = {}
    for call in every:
        found = keys[call.item, call.side, call.arrives]
        number = list(found).index(call.key)
        inner = loops.get(call.item, 0.0) if call.side > 0 else 0.0
        offset = call.side * (halves[call.item] + inner + LANE * (number + 1))
        (into if call.arrives else out)[call.link] = Lane(number, len(found), offset)
    return Lanes(out, into, room)


def widened(lane: Lane, wanted: float, most: float) -> Lane:
    """The lane moved out to where its arrow comes from, so that the arrow need not swerve; at most so far."""
    if lane.of > 1 or wanted * lane.offset <= 0:
        return lane
    reach = max(abs(lane.offset), min(abs(wanted), most))
    return lane._replace(offset=math.copysign(reach, lane.offset))
