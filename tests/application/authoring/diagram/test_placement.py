from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.application.authoring.diagram.placement import Lines, Segment, Side, placed, spread


def test_places_that_fit_are_given_as_wanted():
    assert spread([0.0, 50.0, 90.0], [1.0, 1.0, 1.0], [20.0, 20.0]) == [0.0, 50.0, 90.0]


def test_neighbours_that_want_the_same_place_share_it_out():
    assert spread([0.0, 0.0], [1.0, 1.0], [10.0]) == [-5.0, 5.0]


def test_the_heavier_moves_less():
    heavy, light = spread([0.0, 0.0], [9.0, 1.0], [10.0])
    assert (heavy, light) == (pytest.approx(-1.0), pytest.approx(9.0))


@given(
    st.lists(
        st.tuples(st.floats(-1e4, 1e4), st.floats(0.1, 100.0), st.floats(0.0, 100.0)), min_size=1, max_size=30
    )
)
def test_order_and_gaps_are_always_kept(slots):
    wanted, weights, gaps = zip(*slots, strict=True)
    found = spread(wanted, weights, gaps[1:])
    assert len(found) == len(slots)
    assert all(b - a >= gap - 1e-6 for a, b, gap in zip(found, found[1:], gaps[1:], strict=False))


def test_a_line_stands_straight_and_the_rest_makes_way():
    layers = [[0], [1, 2], [3, 4]]
    segments = [
        Segment(0, 2, 0.0, 0.0, 5.0),
        Segment(2, 4, 0.0, 0.0, 5.0),
        Segment(0, 1, 0.0, 0.0, 1.0),
        Segment(1, 3, 0.0, 0.0, 1.0),
    ]
    centres = placed(layers, [Side(10.0, 10.0)] * 5, segments, Lines([[0, 2, 4]], []), 5.0, rounds=6)
    assert centres[0] == pytest.approx(centres[2]) == pytest.approx(centres[4])
    assert centres[1] <= centres[2] - 25.0 + 1e-9
