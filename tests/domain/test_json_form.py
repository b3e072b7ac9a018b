"""Values that JSON can say, and those that it cannot."""

from __future__ import annotations

import json
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.domain.json_form import without_json_form

ANY_TEXT = st.text(st.characters(codec=None, categories=None))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"a": "x\ud800"}, "a: a text has half of a surrogate pair in it"),
        ({"a": [{}, {"b": "\udc00"}]}, "a.1.b: a text has half"),
        ({"a": {"\ud800": 1}}, "a: a name has half"),
        ({"\ud800": {"b": "\udc00"}}, "a name has half"),
        ({"a": nan}, "a: nan is no number"),
        ({"a": [None, -inf]}, "a.1: -inf is no number"),
        ({"a": object()}, "object"),
        ({"a": [10**5000]}, "a.0: an integer has more than 4300 digits"),
    ],
)
def test_what_json_cannot_say_is_named_with_its_place(value, said):
    assert said in without_json_form(value)


def test_what_holds_itself_is_nested_too_deeply():
    around: list[object] = []
    around.append(around)
    assert "nested" in without_json_form({"a": around})


def test_what_holds_itself_beside_something_that_cannot_be_sent_comes_to_an_end():
    around: list[object] = []
    around.append(around)
    assert "object" in without_json_form({"a": object(), "b": around})


@given(VALUES)
def test_a_value_has_a_form_exactly_where_a_strict_writer_finds_one(value):
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, UnicodeEncodeError):
        assert without_json_form(value)
    else:
        assert without_json_form(value) == ""


@given(VALUES)
def test_what_is_said_of_a_value_can_itself_be_sent(value):
    without_json_form({"a": value}).encode()
