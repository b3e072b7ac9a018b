"""Where across the flow each slot of a layer stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Lines", "Segment", "Side", "placed", "spread", "straighten"]

_WORK = 300_000  # slots placed in all, so that huge pictures take a bounded time
_ROUNDS = 24
_LINED_UP = 4


class Segment(NamedTuple):
    """A piece of an arrow between neighbouring layers, and where it touches each end, from the slot's centre."""

    upper: int
    lower: int
    upper_offset: float
    lower_offset: float
    weight: float


class Side(NamedTuple):
    """How far a slot reaches to both sides of its centre."""

    left: float
    right: float


class Lines(NamedTuple):
    """Slots of following layers that should stand in line."""

    spines: Sequence[Sequence[int]]  # the main ways from item to item
    tracks: Sequence[Sequence[int]]  # what an arrow passes between its ends


Pull = tuple[int, float, float]  # the other slot, the shift that makes the piece straight, how much it matters


def spread(wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The places nearest to those wanted (least squares) that keep the order and the gaps."""
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    blocks: list[tuple[float, float, int]] = []  # average, weight, length
    for want, weight, offset in zip(wanted, weights, offsets, strict=True):
        block = (want - offset, weight, 1)
        while blocks and blocks[-1][0] > block[0]:
            value, mass, length = blocks.pop()
            total = mass + block[1]
            block = ((value * mass + block[0] * block[1]) / total, total, length + block[2])
        blocks.append(block)
    flat = [value for value, _, length in blocks for _ in range(length)]
    return [value + offset for value, offset in zip(flat, offsets, strict=True)]


def placed(
    layers: Sequence[Sequence[int]],
    sides: Sequence[Side],
    segments: Sequence[Segment],
    lines: Lines,
    gap: float,
) -> list[float]:
    """The centre of each slot: arrows as straight as can be, `lines` before all else, nothing overlapping."""
    up: list[list[Pull]] = [[] for _ in sides]
    down: list[list[Pull]] = [[] for _ in sides]
    for upper, lower, upper_offset, lower_offset, weight in segments:
        down[upper].append((lower, lower_offset - upper_offset, weight))
        up[lower].append((upper, upper_offset - lower_offset, weight))
    both = [above + below for above, below in zip(up, down, strict=True)]
    gaps = [_gaps(layer, sides, gap) for layer in layers]
    centres = [0.0] * len(sides)
    _pack(layers, gaps, centres)
    for pulls, backwards in _schedule(up, down, both, len(sides)):
        for number in range(len(layers) - 1, -1, -1) if backwards else range(len(layers)):
            _settle(layers[number], gaps[number], pulls, centres)
    for _ in range(_LINED_UP):
        _line_up(layers, gaps, both, lines, centres)
    return centres


def _line_up(
    layers: Sequence[Sequence[int]],
    gaps: Sequence[Sequence[float]],
    pulls: Sequence[Sequence[Pull]],
    lines: Lines,
    centres: list[float],
) -> None:
    """Pull each spine to its own middle and each track to what it joins; the first lines are the strongest."""
    pinned: list[Sequence[Pull]] = list(pulls)
    strength = 1e8
    for line in lines.spines:
        middle = sum(centres[slot] for slot in line) / len(line)
        for slot in line:
            pinned[slot] = [(slot, middle - centres[slot], strength)]
        strength = max(1e3, strength * 0.1)
    for line in lines.tracks:
        middle = _joining(line, pulls, centres)
        for slot in line:
            pinned[slot] = [(slot, middle - centres[slot], 1e3)]
    for layer, spaces in zip(layers, gaps, strict=True):
        _settle(layer, spaces, pinned, centres)


def _joining(line: Sequence[int], pulls: Sequence[Sequence[Pull]], centres: Sequence[float]) -> float:
    """The middle of what a track leads from and to."""
    own = set(line)
    ends = [pull for slot in line for pull in pulls[slot] if pull[0] not in own]
    mass = sum(weight for _, _, weight in ends)
    if not mass:
        return centres[line[0]]
    return sum((centres[other] + shift) * weight for other, shift, weight in ends) / mass


def _schedule(
    up: list[list[Pull]], down: list[list[Pull]], both: list[list[Pull]], slots: int
) -> list[tuple[list[list[Pull]], bool]]:
    rounds = max(4, min(_ROUNDS, _WORK // max(1, slots)))
    sweeps = [(up, False), (down, True)] * (rounds // 4)
    return [*sweeps, *[(both, False), (both, True)] * (rounds // 4)]


def _gaps(layer: Sequence[int], sides: Sequence[Side], gap: float) -> list[float]:
    return [sides[a].right + gap + sides[b].left for a, b in zip(layer, layer[1:], strict=False)]


def _pack(layers: Sequence[Sequence[int]], gaps: Sequence[Sequence[float]], centres: list[float]) -> None:
    for layer, spaces in zip(layers, gaps, strict=True):
        at = -sum(spaces) / 2
        for slot, space in zip(layer, [*spaces, 0.0], strict=False):
            centres[slot] = at
            at += space


def _settle(layer: Sequence[int], gaps: Sequence[float], pulls: Sequence[Sequence[Pull]], centres: list[float]) -> None:
    wanted, weights = [], []
    for slot in layer:
        mass = sum(weight for _, _, weight in pulls[slot])
        if mass:
            wanted.append(sum((centres[other] + shift) * weight for other, shift, weight in pulls[slot]) / mass)
        else:
            wanted.append(centres[slot])
        weights.append(mass or 0.1)
    for slot, centre in zip(layer, spread(wanted, weights, gaps), strict=True):
        centres[slot] = centre


def straighten(
    layers: Sequence[Sequence[int]],
    sides: Sequence[Side],
    lines: Lines,
    centres: list[float],
    gap: float,
) -> None:
    """Let each line in turn run straight as far as its neighbours leave room for it."""
    beside: dict[int, tuple[int | None, int | None]] = {}
    for layer in layers:
        padded = [None, *layer, None]
        beside |= {slot: (padded[at], padded[at + 2]) for at, slot in enumerate(layer)}
    for line in (*lines.spines, *lines.tracks):
        run: list[int] = []
        low, high = float("-inf"), float("inf")
        for slot in line:
            least, most = _room(slot, beside[slot], sides, centres, gap)
            if max(low, least) > min(high, most):
                _align(run, low, high, centres)
                run, low, high = [], float("-inf"), float("inf")
            run, low, high = [*run, slot], max(low, least), min(high, most)
        _align(run, low, high, centres)


def _room(
    slot: int,
    beside: tuple[int | None, int | None],
    sides: Sequence[Side],
    centres: Sequence[float],
    gap: float,
) -> tuple[float, float]:
    """How far a slot can move before it meets its neighbours."""
    before, after = beside
    least = float("-inf") if before is None else centres[before] + sides[before].right + gap + sides[slot].left
    most = float("inf") if after is None else centres[after] - sides[after].left - gap - sides[slot].right
    return least, most


def _align(run: Sequence[int], low: float, high: float, centres: list[float]) -> None:
    if len(run) > 1:
        middle = sum(centres[slot] for slot in run) / len(run)
        for slot in run:
            centres[slot] = max(low, min(high, middle))
