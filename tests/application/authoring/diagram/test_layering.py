from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from awf.application.authoring.diagram.layering import back_links, discovery, longest_paths

PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40)


def test_only_the_link_that_closes_a_circle_leads_back():
    assert back_links(3, [(0, 1), (1, 2), (2, 0)]) == {2}
    assert back_links(2, [(0, 1), (0, 1), (1, 1)]) == {2}


def test_the_walk_begins_where_nothing_leads_to():
    assert discovery(3, [(2, 0), (0, 1)]) == [1, 2, 0]


def test_layers_follow_the_longest_way():
    assert longest_paths(4, [(0, 1), (1, 2), (0, 2), (2, 3)]) == [0, 1, 2, 3]


def test_very_long_chains_need_no_deep_recursion():
    pairs = [(number, number + 1) for number in range(20_000)]
    assert not back_links(20_001, pairs)
    assert longest_paths(20_001, pairs)[-1] == 20_000


@given(PAIRS)
def test_without_the_links_back_every_link_leads_on(pairs):
    back = back_links(10, pairs)
    forward = [pair for number, pair in enumerate(pairs) if number not in back]
    layer = longest_paths(10, forward)
    assert all(layer[source] < layer[target] for source, target in forward)
