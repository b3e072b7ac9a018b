"""Where across the flow each slot of a layer stands."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Lines", "Segment", "Side", "placed", "spread"]

_WORK = 120_000  # slots placed in all, so that huge pictures take a bounded time
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


class _Wish(NamedTuple):
    """Where a slot would like to stand: the weighted middle of its neighbours, each moved by the same shift."""

    weight: float
    shift: float
    neighbours: Sequence[tuple[int, float]]  # a slot and its share


def spread(wanted: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The places nearest to those wanted (least squares) that keep the order and the gaps."""
    blocks: list[tuple[float, float, int]] = []  # average, weight, length
    offset = 0.0
    for at, (want, weight) in enumerate(zip(wanted, weights, strict=True)):
        offset += gaps[at - 1] if at else 0.0
        block = (want - offset, weight, 1)
        while blocks and blocks[-1][0] > block[0]:
            value, mass, length = blocks.pop()
            total = mass + block[1]
            block = ((value * mass + block[0] * block[1]) / total, total, length + block[2])
        blocks.append(block)
    found: list[float] = []
    offset = 0.0
    for value, _, length in blocks:
        for _ in range(length):
            offset += gaps[len(found) - 1] if found else 0.0
            found.append(value + offset)
    return found


def placed(
    layers: Sequence[Sequence[int]],
    sides: Sequence[Side],
    segments: Iterable[Segment],
    lines: Lines,
    gap: float,
    rounds: int,
) -> list[float]:
    """The centre of each slot: arrows as straight as can be, `lines` before all else, nothing overlapping."""
    up: list[list[tuple[int, float, float]]] = [[] for _ in sides]
    down: list[list[tuple[int, float, float]]] = [[] for _ in sides]
    for upper, lower, upper_offset, lower_offset, weight in segments:
        down[upper].append((lower, lower_offset - upper_offset, weight))
        up[lower].append((upper, upper_offset - lower_offset, weight))
    both = [_wish([*above, *below]) for above, below in zip(up, down, strict=True)]
    spaces = [[sides[a].right + gap + sides[b].left for a, b in pairwise(row)] for row in layers]
    settling = _Settling(layers, spaces, len(sides))
    upwards, downwards = [_wish(pulls) for pulls in up], [_wish(pulls) for pulls in down]
    for _ in range(max(1, min(rounds, _WORK // (4 * len(sides))))):
        settling.sweep(upwards)
        settling.sweep(downwards, backwards=True)
    for _ in range(max(1, min(rounds, _WORK // (4 * len(sides))))):
        settling.sweep(both)
        settling.sweep(both, backwards=True)
    for _ in range(_LINED_UP):
        settling.sweep(_lined_up(both, lines, settling.centres))
    _straighten(layers, spaces, lines, settling.centres)
    return settling.centres


def _wish(pulls: Sequence[tuple[int, float, float]]) -> _Wish:
    weight = sum(pull[2] for pull in pulls)
    if not weight:
        return _Wish(0.1, 0.0, ())
    shift = sum(pull[1] * pull[2] for pull in pulls) / weight
    return _Wish(weight, shift, [(pull[0], pull[2] / weight) for pull in pulls])


class _Settling:
    def __init__(
        self, layers: Sequence[Sequence[int]], spaces: Sequence[Sequence[float]], slots: int
    ) -> None:
        self._rows = list(zip(layers, spaces, strict=True))
        self.centres = [0.0] * slots
        for layer, gaps in self._rows:
            at = -sum(gaps) / 2
            for slot, space in zip(layer, [*gaps, 0.0], strict=False):
                self.centres[slot] = at
                at += space

    def sweep(self, wishes: Sequence[_Wish], *, backwards: bool = False) -> None:
        """Let the slots of one layer after the other come as near to where they wish as the others allow."""
        centres = self.centres
        for layer, gaps in reversed(self._rows) if backwards else self._rows:
            wanted, weights = [], []
            for slot in layer:
                weight, at, neighbours = wishes[slot]
                for other, share in neighbours:
                    at += centres[other] * share
                wanted.append(at if neighbours else centres[slot])
                weights.append(weight)
            for slot, centre in zip(layer, spread(wanted, weights, gaps), strict=True):
                centres[slot] = centre


def _lined_up(wishes: Sequence[_Wish], lines: Lines, centres: Sequence[float]) -> list[_Wish]:
    """Each spine to its own middle, each track to the middle of what it joins; the longest spine gives way last."""
    pinned = list(wishes)
    strength = 1e8
    for line in lines.spines:
        middle = sum(centres[slot] for slot in line) / len(line)
        for slot in line:
            pinned[slot] = _Wish(strength, middle - centres[slot], [(slot, 1.0)])
        strength = max(1e3, strength * 0.1)
    for line in lines.tracks:
        middle = _joined(line, wishes, centres)
        for slot in line:
            pinned[slot] = _Wish(1e3, middle - centres[slot], [(slot, 1.0)])
    return pinned


def _joined(line: Sequence[int], wishes: Sequence[_Wish], centres: Sequence[float]) -> float:
    own = set(line)
    total = mass = 0.0
    for slot in line:
        weight, shift, neighbours = wishes[slot]
        for other, share in neighbours:
            if other not in own:
                total += (centres[other] + shift) * weight * share
                mass += weight * share
    return total / mass if mass else centres[line[0]]


def _straighten(
    layers: Sequence[Sequence[int]], spaces: Sequence[Sequence[float]], lines: Lines, centres: list[float]
) -> None:
    """Let each line in turn run straight as far as its neighbours leave room for it; twice, as some move away."""
    beside: dict[int, tuple[int, float, int, float]] = {}
    for layer, gaps in zip(layers, spaces, strict=True):
        slots, room = [-1, *layer, -1], [0.0, *gaps, 0.0]
        for at, slot in enumerate(layer):
            beside[slot] = (slots[at], room[at], slots[at + 2], room[at + 1])
    for line in (*lines.spines, *lines.tracks) * 2:
        run: list[int] = []
        low, high = -math.inf, math.inf
        for slot in line:
            before, space_before, after, space_after = beside[slot]
            least = centres[before] + space_before if before >= 0 else -math.inf
            most = centres[after] - space_after if after >= 0 else math.inf
            if max(low, least) > min(high, most):
                _align(run, low, high, centres)
                run, low, high = [], -math.inf, math.inf
            run.append(slot)
            low, high = max(low, least), min(high, most)
        _align(run, low, high, centres)


def _align(run: Sequence[int], low: float, high: float, centres: list[float]) -> None:
    if len(run) > 1:
        middle = sum(centres[slot] for slot in run) / len(run)
        for slot in run:
            centres[slot] = max(low, min(high, middle))
