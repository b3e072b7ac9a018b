"""Conditions that only compare texts: they say what the library says, and leave to it whatever else they meet."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awf.domain.ports.expressions import ExpressionError
from awf.infrastructure.expressions import ExpressionLanguage
from awf.infrastructure.expressions.conditions.flattening import Flattening
from awf.infrastructure.expressions.conditions.parser import parse
from awf.infrastructure.expressions.conditions.plain_texts import plain_texts

LANGUAGE = ExpressionLanguage()


def plain(*conditions: str):
    flattening = Flattening()
    nodes = [flattening.flat(parse(text)) for text in conditions]
    return plain_texts(nodes, frozenset(flattening.values.values()), frozenset(flattening.questions.values()))


@pytest.mark.parametrize(
    "condition",
    ["a.b.startsWith('x')", "!(a.b == 'x' || a.b != 'y') && has(a.c)", "a.b in ['x', 'y']", "true"],
)
def test_what_only_compares_texts_is_ours(condition):
    assert plain(condition) is not None


@pytest.mark.parametrize(
    "condition",
    [
        "a.b.matches('x')",
        "a.b == 1",
        "a.b in [1]",
        "a.b in a.c",
        "a.b < 'x'",
        "a.b == a.c",
        "a.b",
        "a.b == 'x' ? true : false",
        "a.list.exists(x, x == 'y')",
        "a[k] == 'x'",
        "'x' in a",
        "lower(a.b) == 'x'",
        "'x'.startsWith(a.b)",
    ],
)
def test_everything_else_is_left_to_the_library(condition):
    assert plain(condition) is None
    assert plain("a.b == 'x'", condition) is None


def test_values_that_are_no_texts_are_left_to_the_library():
    made = plain("a.b == 'x'", "a.c == 'y'")
    assert made is not None
    assert made.first({"awf_value_0": "q", "awf_value_1": "y"}) == 1
    assert made.first({"awf_value_0": "q", "awf_value_1": "q"}) == -1
    assert made.first({"awf_value_0": "x", "awf_value_1": 1}) is None
    assert made.first({"awf_value_0": "x"}) is None


VALUES = st.one_of(st.sampled_from(["", "x", "xy", "é", "yx", "\ud800"]), st.none(), st.integers(0, 2))
ATOMS = st.builds(
    "{}{}".format,
    st.sampled_from(["a.b", "a.c", "k"]),
    st.sampled_from(
        [
            " == 'x'",
            " != 'xy'",
            ".startsWith('x')",
            ".endsWith('')",
            ".contains('é')",
            " in ['x', 'é']",
            " in []",
        ]
    ),
) | st.sampled_from(["has(a.b)", "has(a.c)", "true", "false"])
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.builds("!({})".format, inner),
        st.builds("({}) && ({})".format, inner, inner),
        st.builds("({}) || ({}) || ({})".format, inner, inner, inner),
    ),
    max_leaves=6,
)


@settings(deadline=None, max_examples=300)
@given(condition=CONDITIONS, inside=st.dictionaries(st.sampled_from(["b", "c"]), VALUES), k=VALUES)
def test_both_say_the_same(condition, inside, k):
    document = {"a": inside, "k": k}
    match = LANGUAGE.first_match([[condition]])
    assert plain(condition) is not None
    try:
        expected = 0 if LANGUAGE.condition(condition).holds(document) else -1
    except ExpressionError:
        with pytest.raises(ExpressionError):
            match.first(match.facts(document))
    else:
        assert match.first(match.facts(document)) == expected


BEGINNINGS = st.builds(
    "arguments.{}.startsWith('{}')".format, st.sampled_from("aab"), st.sampled_from(["x", "xy", "q", ""])
)
OTHERS = st.builds(
    "arguments.{}{}".format,
    st.sampled_from("aab"),
    st.sampled_from([" == 'x'", ".endsWith('y')", ".contains('é')", " in ['q']"]),
)
ARGUMENTS = st.dictionaries(st.sampled_from("abc"), VALUES) | st.none() | st.just([])


@settings(deadline=None)
@given(st.lists(BEGINNINGS | OTHERS, min_size=1, max_size=14) | st.lists(BEGINNINGS, min_size=1), ARGUMENTS)
def test_a_glance_at_the_arguments_says_what_a_look_says_or_nothing(conditions, arguments):
    match = LANGUAGE.first_match([conditions])
    glance = match.glance()
    assert glance is not None
    said = glance(arguments)
    texts = isinstance(arguments, dict) and all(
        isinstance(arguments.get(name), str) and arguments[name].isascii()
        for name in "ab"
        if any(f"arguments.{name}" in condition for condition in conditions)
    )
    assert (said is not None) == texts
    if said is not None:
        assert said == match.first_in({"arguments": arguments, "tool": {}})
