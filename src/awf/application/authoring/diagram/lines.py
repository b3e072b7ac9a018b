"""What should stand in line, and in which order a level is looked at first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.application.authoring.diagram.layering import discovery
from awf.application.authoring.diagram.ordering import Tie, ordered
from awf.application.authoring.diagram.parts import MAIN_STYLES
from awf.application.authoring.diagram.placement import Lines

if TYPE_CHECKING:
    from awf.application.authoring.diagram.flow import Flow

__all__ = ["lines_of", "rows_of"]

_FAR = 1e6
_STARTS = (
    (0.5, 0.5),
    (_FAR, _FAR),
    (-_FAR, -_FAR),
    (-_FAR, _FAR),
    (_FAR, -_FAR),
)  # of arrows back and of failures


def rows_of(flow: Flow) -> list[list[int]]:
    """The slots of each layer, in order."""
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
    met = [
        float(place)
        for place in discovery(len(flow.items), [(link.source, link.target) for link in flow.links])
    ]
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


def lines_of(flow: Flow) -> Lines:
    following = _main_ways(flow)
    led_to = {chain[-1] for chain in following.values()}
    spines = [_spine(item, following) for item in following if item not in led_to]
    taken = {slot for spine in spines for slot in spine}
    tracks = []
    for chain in flow.chains:
        track = [slot for slot in chain if slot not in taken and _passes(flow, slot)]
        taken.update(track)
        tracks.append(track)
    return Lines(sorted(spines, key=len, reverse=True), sorted(filter(None, tracks), key=len, reverse=True))


def _main_ways(flow: Flow) -> dict[int, list[int]]:
    """For each item the slots to the one after it on the main way. No item comes after two others."""
    following: dict[int, list[int]] = {}
    led_to: set[int] = set()
    for number, (link, chain) in enumerate(zip(flow.links, flow.chains, strict=True)):
        free = link.leaves is None and link.enters is None and chain[-1] == link.target
        main = link.style in MAIN_STYLES and number not in flow.back
        if main and free and link.source not in following and link.target not in led_to:
            following[link.source] = chain[1:]
            led_to.add(link.target)
    return following


def _spine(item: int, following: dict[int, list[int]]) -> list[int]:
    spine = [item]
    while spine[-1] in following:
        spine += following[spine[-1]]
    return spine


def _passes(flow: Flow, slot: int) -> bool:
    return slot >= len(flow.items) or bool(flow.items[slot].door)
