"""The lines of the arrows, once every slot has its place.

Between layers a line may bend; through a layer it runs straight, in a slot of its own. So no line crosses a box.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from awf.application.authoring.diagram.lanes import LANE
from awf.application.authoring.diagram.paths import Path, Point

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from awf.application.authoring.diagram.flow import Flow

__all__ = ["Places", "routes"]

_HOOK = 18.0


class Places(NamedTuple):
    """Where everything stands: slots across, layers and items along, and the doors of links at their items."""

    centres: Sequence[float]
    layers: Sequence[tuple[float, float]]  # begin and end, along the flow
    items: Sequence[tuple[float, float]]
    out_doors: Mapping[int, float]  # link → across
    in_doors: Mapping[int, float]


def routes(flow: Flow, places: Places) -> list[Path]:
    return [_route(flow, places, number) for number in range(len(flow.links))]


def _route(flow: Flow, places: Places, number: int) -> Path:
    chain = flow.chains[number]
    if len(chain) == 1:
        return _loop(flow, places, chain[0])
    back = number in flow.back
    path = _departure_back(flow, places, number) if back else _departure(flow, places, number)
    for slot in chain[1:-1]:
        begin, end = places.layers[flow.layer[slot]]
        near, far = (end, begin) if back else (begin, end)
        path = path.flow_to(Point(places.centres[slot], near)).line_to(Point(places.centres[slot], far))
    if chain[-1] != flow.links[number].target:
        begin, end = places.layers[flow.layer[chain[-1]]]
        return path.flow_to(Point(places.centres[chain[-1]], end if back else begin))
    return _arrival_back(flow, places, number, path) if back else _arrival(flow, places, number, path)


def _departure(flow: Flow, places: Places, number: int) -> Path:
    item, across = flow.links[number].source, places.out_doors[number]
    return Path(Point(across, places.items[item][1])).line_to(
        Point(across, places.layers[flow.layer[item]][1])
    )


def _arrival(flow: Flow, places: Places, number: int, path: Path) -> Path:
    item, across = flow.links[number].target, places.in_doors[number]
    return path.flow_to(Point(across, places.layers[flow.layer[item]][0])).line_to(
        Point(across, places.items[item][0])
    )


def _departure_back(flow: Flow, places: Places, number: int) -> Path:
    """Out of the item's side, or in a hook out of a door, into the lane and up."""
    link, lane = flow.links[number], flow.lanes.out[number]
    begin, end = places.items[link.source]
    x = places.centres[link.source] + lane.offset
    top = Point(x, places.layers[flow.layer[link.source]][0])
    if link.leaves is not None:
        door = Point(places.out_doors[number], end)
        hook = Path(door).curve_to(Point(door.x, end + _HOOK), Point(x, end + _HOOK), Point(x, end))
        return hook.line_to(top)
    edge = places.centres[link.source] + math.copysign(flow.sizes[link.source].across / 2, lane.offset)
    y = begin + (end - begin) / 2 * (lane.number + 1) / (lane.of + 1)
    turned = Point(x, max(top.y, y - LANE / 2))
    return Path(Point(edge, y)).curve_to(Point((x + edge) / 2, y), Point(x, y), turned).line_to(top)


def _arrival_back(flow: Flow, places: Places, number: int, path: Path) -> Path:
    link, lane = flow.links[number], flow.lanes.into[number]
    begin, end = places.items[link.target]
    x = places.centres[link.target] + lane.offset
    path = path.flow_to(Point(x, places.layers[flow.layer[link.target]][1]))
    if link.enters is not None:
        door = Point(places.in_doors[number], begin)
        return path.line_to(Point(x, begin)).curve_to(
            Point(x, begin - _HOOK), Point(door.x, begin - _HOOK), door
        )
    edge = places.centres[link.target] + math.copysign(flow.sizes[link.target].across / 2, lane.offset)
    y = end - (end - begin) / 2 * (lane.number + 1) / (lane.of + 1)
    turn = Point(x, min(path.end.y, y + LANE / 2))
    return path.line_to(turn).curve_to(Point(x, y), Point((x + edge) / 2, y), Point(edge, y))


def _loop(flow: Flow, places: Places, item: int) -> Path:
    edge = places.centres[item] + flow.sizes[item].across / 2
    begin, end = places.items[item]
    middle, reach = (begin + end) / 2, edge + LANE * 1.2
    return Path(Point(edge, middle - 5)).curve_to(
        Point(reach, middle - 9), Point(reach, middle + 9), Point(edge, middle + 5)
    )
