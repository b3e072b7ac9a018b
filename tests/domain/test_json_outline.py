from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.domain.json_outline import outline

PLAIN = (
    st.none()
    | st.integers(-(2**60), 2**60)
    | st.text(st.characters(exclude_characters="[]{}", codec="utf-8"))
)


@given(
    st.dictionaries(st.text(st.characters(exclude_characters="[]{}", codec="utf-8")), PLAIN),
    st.integers(0, 3),
    st.booleans(),
)
def test_what_stands_around_the_nested_is_told(around, at, escaped):
    pairs = list(around.items())
    message = dict([*pairs[:at], ("nested", {"deep": ["}]", "\\"]}), *pairs[at:]])
    message["nested"] = {"deep": ["}]", "\\"]}
    assert outline(json.dumps(message, ensure_ascii=escaped).encode()) == {**message, "nested": None}


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{", b"}", b"[1,2]", b"{}", b'{"a":1}', b"{]", b'"{}"', b"\xff{}", b'{"a":{}', b"5"]
)
def test_where_nothing_is_nested_or_there_is_no_object_nothing_is_told(data):
    assert outline(data) == {}


def test_of_several_that_are_nested_only_what_is_around_all_is_told():
    assert outline(b'{"a":1,"b":{},"c":2,"d":[],"e":3}') == {"a": 1, "b": None, "e": 3}


@given(st.binary() | st.text(alphabet='{}[]":,a1\\ ').map(str.encode))
def test_whatever_it_is_it_never_raises(data):
    assert isinstance(outline(data), dict)
