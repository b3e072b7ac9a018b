"""Many conditions as one program: which is the first that holds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awf.domain.ports.expressions import ExpressionError
from awf.infrastructure.expressions import ExpressionLanguage

LANGUAGE = ExpressionLanguage()


def first(conditions: list[str], document: dict) -> int:
    match = LANGUAGE.first_match([conditions])
    return match.first(match.facts(document))


def test_the_first_that_holds_is_told_by_its_place():
    assert first(["a == 1", "a == 2", "a > 0"], {"a": 2}) == 1
    assert first(["a == 1"], {"a": 2}) == -1
    assert first([], {}) == -1


@pytest.mark.parametrize("number", [0, 11, 12, 13, 59])
def test_more_than_fit_into_one_program_keep_their_order(number):
    conditions = [f"a == {at} || a == {at}" for at in range(60)]
    assert first(conditions, {"a": number}) == number


def test_several_lists_share_one_look_at_the_document():
    match = LANGUAGE.first_match([["a.b == 'x'"], ["a.b == 'y'", "true"], []])
    facts = match.facts({"a": {"b": "y"}})
    assert [match.first(facts, at) for at in range(3)] == [-1, 0, -1]


def test_one_name_can_be_given_another_value():
    match = LANGUAGE.first_match([["path == '/é'"]])
    facts = match.facts({"path": ""})
    assert match.first(facts) == -1
    match.put(facts, "path", "/é")
    match.put(facts, "unused", "x")
    assert match.first(facts) == 0


@pytest.mark.parametrize(
    "condition",
    [
        "has(a.b) && a.b == 'x'",
        "a['b'] == 'x'",
        "a.list[1] == 'z'",
        "a.list.exists(v, v == a.b || v == 'z')",
        "a.items.exists(one, has(one.c) && one.c == a.b)",
        "a.items.exists(b, has(b.c) && b.c == 'x')",
        "a[k] == 'x'",
        "'b' in a && !('q' in a)",
        "{'x': 1}[a.b] == 1",
        "[a.b, 'y'][0] == 'x'",
        "a.b == 'x' ? has(a.list) : false",
        "size(a) == 3 && type(a.b) == string",
        "upper(a.b) == 'X' && -a.list.size() < 0",
    ],
)
def test_it_says_what_a_condition_alone_says(condition):
    document = {"a": {"b": "x", "list": ["y", "z"], "items": [{}, {"c": "x"}]}, "k": "b"}
    assert LANGUAGE.condition(condition).holds(document) is True
    assert first([condition], document) == 0


@pytest.mark.parametrize(
    ("condition", "document", "told"),
    [
        ("a.b == 1", {"a": {}}, "a.b is not defined"),
        ("a.b == 1", {}, "a.b is not defined"),
        ("a > 1", {"a": "x"}, "do not fit"),
        ("a", {"a": 1}, "do not fit"),
        ("a / 0 == 1", {"a": 1}, "cannot be evaluated"),
    ],
)
def test_a_failure_says_what_was_wrong_with_the_document(condition, document, told):
    match = LANGUAGE.first_match([[condition]])
    with pytest.raises(ExpressionError) as caught:
        match.first(match.facts(document), 0, document)
    assert told in caught.value.message
    with pytest.raises(ExpressionError):
        match.first(match.facts(document))


def nested(levels: int) -> list:
    inner: list = []
    for _ in range(levels):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    "value", [2**63, -(2**63) - 1, float("nan"), float("inf"), nested(200), object(), {"a": {1, 2}}]
)
def test_values_that_would_become_others_are_refused(value):
    with pytest.raises(ExpressionError):
        LANGUAGE.first_match([["size([a]) == 1"]]).facts({"a": value})


def test_what_no_condition_names_is_not_looked_at():
    assert first(["a.b == 1"], {"a": {"b": 1, "odd": object()}, "other": object()}) == 0


def test_half_characters_are_replaced_by_what_nobody_can_have_meant():
    assert first(["a == '\\ufffd\\ufffd\\ufffd'"], {"a": "\ud800"}) == 0
    assert first(["a.contains('?')"], {"a": "x\udc80"}) == -1


def test_names_that_begin_like_ours_are_refused():
    with pytest.raises(ExpressionError, match="taken"):
        LANGUAGE.first_match([["a.exists(awf_value_0, awf_value_0 == b)"]])


@settings(deadline=None, max_examples=150)
@given(
    st.lists(
        st.sampled_from(
            [
                "a == 'x'",
                "has(o.k)",
                "has(o.k) && o.k == n",
                "n > 3",
                "o.l.exists(e, e == n)",
                "!has(o.z)",
                "a != o.t",
            ]
        ),
        max_size=20,
    ),
    st.sampled_from(["x", "y", ""]),
    st.integers(-5, 5),
    st.dictionaries(st.sampled_from(["k", "z"]), st.integers(-5, 5)),
)
def test_the_place_is_that_of_the_first_condition_that_holds_alone(conditions, a, n, more):
    document = {"a": a, "n": n, "o": {"l": [1, 2, n], "t": "y", **more}}
    expected = next(
        (at for at, text in enumerate(conditions) if LANGUAGE.condition(text).holds(document)), -1
    )
    assert first(conditions, document) == expected
