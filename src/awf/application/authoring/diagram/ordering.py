"""The order inside each layer: neighbours close together, few crossings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Tie", "ordered"]

_WORK = 80_000  # slots looked at in all, so that huge pictures take a bounded time
_ROUNDS = 12
_SMALL = 3_000  # slots, up to which trying exchanges is worth its time


class Tie(NamedTuple):
    """A slot in a neighbouring layer. Wide slots are touched at doors: -0.5 is one end of a slot, 0.5 the other."""

    slot: int
    here: float
    there: float


class _Order:
    """One attempt: layers that are sorted in place, and the place of each slot in its layer."""

    def __init__(
        self, layers: Sequence[Sequence[int]], above: Sequence[Sequence[Tie]], below: Sequence[Sequence[Tie]]
    ) -> None:
        self.layers = [list(layer) for layer in layers]
        self._above, self._below = above, below
        self._place = [0] * len(above)
        for layer in self.layers:
            self._number(layer)

    def _number(self, layer: Sequence[int]) -> None:
        for number, slot in enumerate(layer):
            self._place[slot] = number

    def sweep(self, *, down: bool) -> None:
        """Sort each layer by the average place of its neighbours in the layer before."""
        ties = self._above if down else self._below
        for layer in self.layers[1:] if down else self.layers[-2::-1]:
            averages = {slot: self._average(slot, ties[slot]) for slot in layer}
            layer.sort(key=averages.__getitem__)
            self._number(layer)

    def _average(self, slot: int, ties: Sequence[Tie]) -> float:
        if not ties:
            return float(self._place[slot])
        return sum(self._place[tie.slot] + tie.there * 0.9 for tie in ties) / len(ties)

    def exchange(self) -> None:
        """Let neighbours change places where that takes away crossings."""
        for layer in self.layers:
            for at in range(len(layer) - 1):
                a, b = layer[at], layer[at + 1]
                if self._pair(b, a) < self._pair(a, b):
                    layer[at], layer[at + 1] = b, a
                    self._place[a], self._place[b] = at + 1, at

    def _pair(self, first: int, second: int) -> int:
        """The crossings between the arrows of two neighbours."""
        place = self._place
        return sum(
            place[one.slot] + one.there > place[other.slot] + other.there
            for ties in (self._above, self._below)
            for one in ties[first]
            for other in ties[second]
        )

    def crossings(self) -> int:
        return sum(_inversions(self._ends(layer)) for layer in self.layers)

    def _ends(self, layer: Sequence[int]) -> Iterable[float]:
        """Where the arrows out of a layer end, in the order in which they begin."""
        for slot in layer:
            ends = [(tie.here, self._place[tie.slot] + tie.there * 0.9) for tie in self._below[slot]]
            yield from (end for _, end in sorted(ends))


def ordered(
    starts: Sequence[Sequence[Sequence[int]]], above: Sequence[Sequence[Tie]], below: Sequence[Sequence[Tie]]
) -> list[list[int]]:
    """From each of several first orders, sweep down and up; the order with the fewest crossings of all."""
    slots = max(1, len(above))
    best: list[list[int]] = []
    fewest = -1
    for start in starts if slots < _SMALL else starts[:1]:
        order = _Order(start, above, below)
        for number in range(max(2, min(_ROUNDS, _WORK // slots)) + 1):
            crossings = order.crossings()
            if fewest < 0 or crossings < fewest:
                best, fewest = [list(layer) for layer in order.layers], crossings
            if not fewest:
                return best
            order.sweep(down=number % 2 == 0)
            if slots < _SMALL:
                order.exchange()
    return best


def _inversions(ends: Iterable[float]) -> int:
    """How many pairs stand in the wrong order, counted with a tree of sums."""
    listed = list(ends)
    rank = {end: number for number, end in enumerate(sorted(set(listed)), start=1)}
    tree = [0] * (len(rank) + 1)
    total = 0
    for number, end in enumerate(listed):
        at, before = rank[end], 0
        while at:
            before += tree[at]
            at &= at - 1
        total += number - before
        at = rank[end]
        while at < len(tree):
            tree[at] += 1
            at += at & -at
    return total
