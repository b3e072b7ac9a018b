from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from awf.application.authoring.diagram.ordering import Tie, ordered


def ties(count, pairs):
    above, below = [[] for _ in range(count)], [[] for _ in range(count)]
    for upper, lower in pairs:
        below[upper].append(Tie(lower, 0.0, 0.0))
        above[lower].append(Tie(upper, 0.0, 0.0))
    return above, below


def crossings(layers, pairs):
    place = {slot: at for layer in layers for at, slot in enumerate(layer)}
    layer_of = {slot: number for number, layer in enumerate(layers) for slot in layer}
    return sum(
        (place[a] - place[c]) * (place[b] - place[d]) < 0
        for (a, b), (c, d) in itertools.combinations(pairs, 2)
        if layer_of[a] == layer_of[c]
    )


def test_two_arrows_that_cross_are_untangled():
    pairs = [(0, 3), (1, 2)]
    assert crossings(ordered([[[0, 1], [2, 3]]], *ties(4, pairs)), pairs) == 0


def test_the_first_order_is_kept_when_nothing_crosses():
    assert ordered([[[0, 1], [2, 3]]], *ties(4, [(0, 2), (1, 3)])) == [[0, 1], [2, 3]]


def test_the_better_of_several_first_orders_is_taken():
    pairs = [(0, 2), (1, 3)]
    assert crossings(ordered([[[0, 1], [3, 2]], [[0, 1], [2, 3]]], *ties(4, pairs)), pairs) == 0


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(5, 9)), max_size=15, unique=True))
def test_there_are_never_more_crossings_than_before(pairs):
    start = [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    found = ordered([start], *ties(10, pairs))
    assert [sorted(layer) for layer in found] == start
    assert crossings(found, pairs) <= crossings(start, pairs)
