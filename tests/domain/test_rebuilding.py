"""Plain data rebuilt with other texts: the same as recursion would make, without its end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from awf.domain.redaction.rebuilding import by_masked_keys, rebuilt

TEXTS = st.sampled_from(["a", "b", "secret", "secret 2", "x (2)", "x"])
VALUES = st.recursive(
    TEXTS | st.integers(0, 3) | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=20,
)


def hidden(text):
    return "x" if text.startswith("secret") else text


def by_recursion(value):
    if isinstance(value, str):
        return hidden(value)
    if isinstance(value, dict):
        made = {}
        for key, item in value.items():
            number, free = 1, hidden(key)
            while free in made:
                number += 1
                free = f"{hidden(key)} ({number})"
            made[free] = by_recursion(item)
        return made
    return [by_recursion(item) for item in value] if isinstance(value, list) else value


def ours(value):
    return rebuilt(
        value,
        lambda one, _: hidden(one) if isinstance(one, str) else one,
        lambda key, mark: (hidden(key), mark),
        None,
    )


@given(VALUES)
def test_it_is_what_recursion_makes_in_the_same_order_and_the_same_object_where_nothing_changes(value):
    made = ours(value)
    assert repr(made) == repr(by_recursion(value))
    assert (made is value) == (made == value)


def test_marks_go_down_from_names_and_through_lists():
    seen = []
    rebuilt(
        {"a": [1, {"b": (2,)}], "c": 3},
        lambda one, mark: seen.append((one, mark)) or one,
        lambda key, mark: (key, mark + key),
        "",
    )
    assert [(one, mark) for one, mark in seen if isinstance(one, int)] == [(3, "c"), (1, "a"), (2, "ab")]


def test_a_container_may_be_replaced_as_a_whole():
    made = rebuilt(
        [{"drop": 1}, {"keep": 2}],
        lambda one, _: "gone" if isinstance(one, dict) and "drop" in one else one,
        lambda key, mark: (key, mark),
        None,
    )
    assert made == ["gone", {"keep": 2}]


@given(st.lists(st.tuples(TEXTS, st.integers()), max_size=30))
def test_no_entry_is_lost_to_another_of_the_same_name(items):
    made = by_masked_keys(items)
    assert list(made.values()) == [item for _, item in items]
