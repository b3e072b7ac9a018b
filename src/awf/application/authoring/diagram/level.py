"""Lays out one level: items and links in, places and lines out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from awf.application.authoring.diagram.doors import doors
from awf.application.authoring.diagram.flow import Flow, Item, Link, Size
from awf.application.authoring.diagram.lanes import LANE
from awf.application.authoring.diagram.lines import lines_of, rows_of
from awf.application.authoring.diagram.paths import Path, Point
from awf.application.authoring.diagram.placement import placed
from awf.application.authoring.diagram.routing import Places, routes

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Frame", "Level", "lay_out"]

_GAP = 12.0  # between slots, beside their own margins
_LEAST, _MOST = 30.0, 120.0  # between layers


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


def lay_out(items: Sequence[Item], links: Sequence[Link], per_layer: int, frame: Frame) -> Level:
    flow = Flow(items, links, per_layer)
    layers = rows_of(flow)
    lines = lines_of(flow)
    if flow.back:
        flow.choose_lanes(placed(layers, flow.sides, flow.segments(), lines, _GAP, rounds=2))
    centres = placed(layers, flow.sides, flow.segments(), lines, _GAP, rounds=6)
    flow.widen_lanes(layers, centres, _GAP)
    across = _moved_to_zero(flow, centres, frame.least.across)
    rows = _rows(flow, layers, centres)
    slack = max(0.0, frame.least.along - rows[-1][1]) / 2
    rows = [(begin + slack, end + slack) for begin, end in rows]
    size = Size(across, rows[-1][1] + slack)
    out_doors, in_doors = doors(flow, centres)
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
    if end - begin > 2.5 * flow.sizes[number].along:
        return begin, begin + item.size.along
    slack = (end - begin - item.size.along) / 2
    return begin + slack, end - slack


def _labels(flow: Flow, places: Places) -> dict[int, Point]:
    found = {}
    reach = {
        number: places.centres[number] + item.size.across / 2 + LANE for number, item in enumerate(flow.items)
    }
    for number, link in enumerate(flow.links):
        if link.label and link.source == link.target:
            middle = reach[link.source] + link.label.across / 2
            reach[link.source] += link.label.across
            found[number] = Point(middle, sum(places.items[link.source]) / 2)
        elif link.label:
            slot = flow.label_slots[number]
            found[number] = Point(places.centres[slot], sum(places.layers[flow.layer[slot]]) / 2)
    return found
