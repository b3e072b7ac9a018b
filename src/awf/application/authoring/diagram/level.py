"""Lays out one level: items and links in, places and lines out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from awf.application.authoring.diagram.flow import Flow, Item, Link, Size
from awf.application.authoring.diagram.lanes import LANE
from awf.application.authoring.diagram.layering import discovery
from awf.application.authoring.diagram.ordering import Tie, ordered
from awf.application.authoring.diagram.paths import Path, Point
from awf.application.authoring.diagram.placement import Lines, placed, spread, straighten
from awf.application.authoring.diagram.routing import Places, routes

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Frame", "Level", "lay_out"]

_GAP = 12.0  # between slots, beside their own margins
_LEAST, _MOST = 30.0, 120.0  # between layers
_DOORS = 15.0  # between arrows at one border
_MAIN = frozenset({"success", "sequence", "complete"})
_FAR = 1e6
_STARTS = ((0.5, 0.5), (_FAR, _FAR), (-_FAR, -_FAR), (-_FAR, _FAR), (_FAR, -_FAR))  # of arrows back and of failures


class Level(NamedTuple):
    size: Size
    centres: tuple[Point, ...]  # of the items
    lines: tuple[Path, ...]  # of the links
    joined: tuple[bool, ...]  # whether a link ends in another's line
    labels: dict[int, Point]  # link → the centre of its label


class Frame(NamedTuple):
    """What goes around a level: its least size, and how far beyond it the border lies, along the flow."""

    least: Size = Size(0.0, 0.0)
    before: float = 0.0
    after: float = 0.0


def lay_out(items: Sequence[Item], links: Sequence[Link], per_layer: int, frame: Frame = Frame()) -> Level:
    flow = Flow(items, links, per_layer)
    layers = _ordered(flow)
    lines = _lines(flow)
    centres = placed(layers, flow.sides, list(flow.segments()), lines, _GAP)
    if flow.back:
        flow.choose_lanes(centres)
        centres = placed(layers, flow.sides, list(flow.segments()), lines, _GAP)
    straighten(layers, flow.sides, lines, centres, _GAP)
    flow.widen_lanes(layers, centres, _GAP)
    across = _moved_to_zero(flow, centres, frame.least.across)
    rows = _rows(flow, layers, centres)
    slack = max(0.0, frame.least.along - rows[-1][1]) / 2
    rows = [(begin + slack, end + slack) for begin, end in rows]
    size = Size(across, rows[-1][1] + slack)
    out_doors, in_doors = _doors(flow, centres)
    borders = (-frame.before, size.along + frame.after)
    spans = [_span(flow, rows, number, borders) for number in range(len(items))]
    places = Places(centres, rows, spans, out_doors, in_doors)
    return Level(
        size,
        tuple(Point(centres[number], sum(spans[number]) / 2) for number in range(len(items))),
        tuple(routes(flow, places)),
        tuple(chain[-1] != link.target for chain, link in zip(flow.chains, links, strict=True)),
        _labels(flow, places),
    )


def _moved_to_zero(flow: Flow, centres: list[float], least: float) -> float:
    """Move everything so that it begins at zero; how far it then reaches."""
    left = min(centre - side.left for centre, side in zip(centres, flow.sides, strict=True))
    right = max(centre + side.right for centre, side in zip(centres, flow.sides, strict=True))
    slack = max(0.0, least - (right - left)) / 2
    centres[:] = [centre - left + slack for centre in centres]
    return right - left + 2 * slack


def _ordered(flow: Flow) -> list[list[int]]:
    above: list[list[Tie]] = [[] for _ in flow.sizes]
    below: list[list[Tie]] = [[] for _ in flow.sizes]
    for upper, lower, upper_offset, lower_offset, _ in flow.segments():
        up, down = _share(flow, upper, upper_offset), _share(flow, lower, lower_offset)
        below[upper].append(Tie(lower, up, down))
        above[lower].append(Tie(upper, down, up))
    return ordered([_first_order(flow, *shifts) for shifts in _STARTS], above, below)


def _share(flow: Flow, slot: int, offset: float) -> float:
    half = flow.sizes[slot].across
    return max(-0.5, min(0.5, offset / half)) if half else 0.0


def _first_order(flow: Flow, back: float, failure: float) -> list[list[int]]:
    """As a walk along the links meets the items; passing arrows near where they come from, or at one of the ends."""
    met = [float(place) for place in discovery(len(flow.items), [(link.source, link.target) for link in flow.links])]
    met += [0.0] * (len(flow.sizes) - len(met))
    for number, (link, chain) in enumerate(zip(flow.links, flow.chains, strict=True)):
        shift = back if number in flow.back else failure if link.style == "failure" else 0.5
        for slot in chain[1:]:
            if slot >= len(flow.items):
                met[slot] = met[link.source] + shift
    layers: list[list[int]] = [[] for _ in range(max(flow.layer) + 1)]
    for slot in sorted(range(len(flow.sizes)), key=met.__getitem__):
        layers[flow.layer[slot]].append(slot)
    return layers


def _lines(flow: Flow) -> Lines:
    following: dict[int, list[int]] = {}
    led_to: set[int] = set()
    for link, chain in zip(flow.links, flow.chains, strict=True):
        main = link.style in _MAIN and link.leaves is None and link.enters is None
        if main and chain[-1] == link.target != link.source and link.source not in following and link.target not in led_to:
            following[link.source] = chain[1:]
            led_to.add(link.target)
    spines = [_spine(item, following) for item in following if item not in led_to]
    taken = {slot for spine in spines for slot in spine}
    tracks = []
    for chain in flow.chains:
        track = [slot for slot in chain if slot not in taken and _passes(flow, slot)]
        taken.update(track)
        tracks.append(track)
    return Lines(sorted(spines, key=len, reverse=True), sorted(filter(None, tracks), key=len, reverse=True))


def _spine(item: int, following: dict[int, list[int]]) -> list[int]:
    spine = [item]
    while spine[-1] in following:
        spine += following[spine[-1]]
    return spine


def _passes(flow: Flow, slot: int) -> bool:
    return slot >= len(flow.items) or bool(flow.items[slot].door)


def _rows(flow: Flow, layers: Sequence[Sequence[int]], centres: Sequence[float]) -> list[tuple[float, float]]:
    """Where along the flow each layer begins and ends: further apart where arrows have far to go."""
    reach = [0.0] * len(layers)
    for upper, lower, upper_offset, lower_offset, _ in flow.segments():
        away = abs(centres[upper] + upper_offset - centres[lower] - lower_offset)
        reach[flow.layer[upper]] = max(reach[flow.layer[upper]], away)
    rows: list[tuple[float, float]] = []
    at = 0.0
    for layer, away in zip(layers, reach, strict=True):
        end = at + max(flow.sizes[slot].along for slot in layer)
        rows.append((at, end))
        items = any(slot < len(flow.items) for slot in layer)
        at = end + min(_MOST, max(_LEAST if items else _LEAST * 0.7, 18 + away * 0.12))
    return rows


def _span(
    flow: Flow, rows: Sequence[tuple[float, float]], number: int, borders: tuple[float, float]
) -> tuple[float, float]:
    """Where along the flow an item begins and ends."""
    begin, end = rows[flow.layer[number]]
    item = flow.items[number]
    if item.door:
        border = borders[0 if item.door < 0 else 1]
        return border, border
    if end - begin > 2.5 * item.size.along:
        return begin, begin + item.size.along
    slack = (end - begin - item.size.along) / 2
    return begin + slack, end - slack


def _doors(flow: Flow, centres: Sequence[float]) -> tuple[dict[int, float], dict[int, float]]:
    """Where arrows touch the borders of their items: towards where they go, the main one first of all."""
    leaving: dict[int, dict[object, list[tuple[int, float]]]] = {}
    arriving: dict[int, dict[object, list[tuple[int, float]]]] = {}
    for number, (link, chain) in enumerate(zip(flow.links, flow.chains, strict=True)):
        if number not in flow.back and link.leaves is None:
            towards = _wanted(flow, centres, link.source, chain[1])
            leaving.setdefault(link.source, {}).setdefault(number, []).append((number, towards))
        if number not in flow.back and link.enters is None and chain[-1] == link.target:
            towards = _wanted(flow, centres, link.target, chain[-2])
            arriving.setdefault(link.target, {}).setdefault(link.track, []).append((number, towards))
    out, into = _spread_doors(flow, centres, leaving), _spread_doors(flow, centres, arriving)
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


def _spread_doors(
    flow: Flow, centres: Sequence[float], by_item: dict[int, dict[object, list[tuple[int, float]]]]
) -> dict[int, float]:
    doors: dict[int, float] = {}
    for item, groups in by_item.items():
        across = flow.items[item].size.across
        limit = across / 2 - min(14.0, across * 0.22) if across > 20 else 0.0
        wanted = {key: sum(want for _, want in group) / len(group) for key, group in groups.items()}
        keys = sorted(groups, key=lambda key: wanted[key])
        gap = min(_DOORS, limit, 2 * limit / max(1, len(keys) - 1))
        weights = [max(_importance(flow, number) for number, _ in groups[key]) for key in keys]
        clamped = [want if abs(want) <= limit else math.copysign(limit * 0.5, want) for want in map(wanted.get, keys)]
        found = spread(clamped, weights, [gap] * (len(keys) - 1))
        for at, (key, place) in enumerate(zip(keys, found, strict=True)):
            low, high = -limit + gap * at, limit - gap * (len(keys) - 1 - at)
            doors |= {number: centres[item] + max(low, min(high, place)) for number, _ in groups[key]}
    return doors


def _importance(flow: Flow, number: int) -> float:
    return 1000.0 if flow.links[number].style in _MAIN else 1.0


def _labels(flow: Flow, places: Places) -> dict[int, Point]:
    found = {}
    for number, link in enumerate(flow.links):
        if link.label and link.source == link.target:
            edge = places.centres[link.source] + flow.sizes[link.source].across / 2 + LANE
            found[number] = Point(edge + link.label.across / 2, sum(places.items[link.source]) / 2)
        elif link.label:
            slot = flow.label_slots[number]
            found[number] = Point(places.centres[slot], sum(places.layers[flow.layer[slot]]) / 2)
    return found
