"""One text for one value. The package rfc8785 is the judge wherever it has an answer."""

from __future__ import annotations

import json
import math

import msgspec
import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from awf.domain.canonical import _exact, canonical, canonical_line, canonical_lines, sha256_hex

DEEP = 10_000
ODD_KEYS = st.sampled_from(["$awf", "a", "b", "\ue000", "\U0001f600", "é", "", "\ud800", '"', "\x00"])

texts = st.text(max_size=8)
jcs_scalars = (
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**53) + 1, max_value=2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
jcs_values = st.recursive(
    jcs_scalars, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(texts, inner, max_size=5)
)
all_scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**53, 2**53 + 1, 2**60, float(2**60), 1152921504606847000, 10**400, 1, 1.0, -0.0, 0])
    | st.floats()
    | st.text(alphabet=st.characters(exclude_categories=()), max_size=5)
)
all_values = st.recursive(
    all_scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD_KEYS | texts, inner, max_size=3),
    max_leaves=8,
)


def same(one, other) -> bool:
    """Whether two values are one JSON value. Written without a look at bytes."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other or (one != one and other != other)
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return one == other


def tagless(value) -> bool:
    if isinstance(value, dict):
        return "$awf" not in value and all(map(tagless, value.values()))
    return all(map(tagless, value)) if isinstance(value, list) else True


@given(jcs_values.filter(tagless))
@example({"\ue000": 1, "\U0001f600": 2})
@example([1e21, 1e-7, 123456789012345680.0, 5e-324, 1.7976931348623157e308, 0.000001, 1e15, 1.5, 4.35])
@example('\x00\x08\x0b\x1f\x7f\u2028\\/"')
def test_what_jcs_has_a_form_for_is_written_as_jcs(value):
    assert canonical(value) == rfc8785.dumps(value)


@given(jcs_values)
def test_the_fast_way_and_the_exact_way_write_the_same(value):
    assert canonical(value) == _exact(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_written_as_ecmascript_writes_them(number):
    assert canonical(number) == rfc8785.dumps(number)


@given(all_values, all_values)
@example(2**53, 2**53 + 1)
@example(float(2**60), 1152921504606847000)
@example({"$awf": ["integer", "0x20000000000001"]}, 2**53 + 1)
@example({"$awf": ["number", "NaN"]}, math.nan)
@example("\ud83d\ude00", "😀")
@example({"$awf": 1}, {"$awf": ["object", [["$awf", 1]]]})
@example(math.nan, None)
@example(True, 1)
def test_equal_values_and_only_those_have_equal_hashes(one, other):
    assert (sha256_hex(one) == sha256_hex(other)) == same(one, other)


@given(all_values, st.randoms())
def test_the_order_of_keys_and_the_form_of_numbers_do_not_matter(value, random):
    def shuffled(one):
        if isinstance(one, dict):
            items = list(one.items())
            random.shuffle(items)
            return {key: shuffled(inner) for key, inner in items}
        if isinstance(one, list):
            return tuple(map(shuffled, one))
        return float(one) if type(one) is int and abs(one) < 2**53 else one

    assert canonical(shuffled(value)) == canonical(value)


@given(all_values)
def test_the_result_is_always_json_and_already_canonical_for_others(value):
    def as_doubles(one):  # as a JSON parser with doubles only would read it
        if isinstance(one, dict):
            return {key: as_doubles(inner) for key, inner in one.items()}
        if isinstance(one, list):
            return list(map(as_doubles, one))
        return float(one) if type(one) is int else one

    written = canonical(value)
    assert rfc8785.dumps(as_doubles(json.loads(written))) == written


@pytest.mark.parametrize("make", [lambda inner: [inner], lambda inner: {"k": inner}], ids=["list", "object"])
def test_depth_is_no_matter(make):
    value = inner = make(0)
    for _ in range(DEEP):
        value = make(value)
    written = canonical(value)
    assert written.count(b"0") == 1
    assert len(sha256_hex(value)) == 64
    del inner
    while not isinstance(value, int):  # one by one: to let go of it all at once is deep as well
        value = value[0] if isinstance(value, list) else value["k"]


class Mute:
    def __repr__(self):
        raise RuntimeError


class Point(msgspec.Struct):
    x: int


NOT_JSON = [
    b"YQ==", bytearray(b"a"), {1: "a"}, {"1": "a"}, {None: 1}, {"x": {1, 2}}, frozenset({(1,), "a"}), Mute(), Point(1), Point(2),
    1j, ..., {("a", 1): 2}, "YQ==", "a", range(3), {1.5: 1}, {"\udfff": 1},
]  # fmt: skip


def test_what_is_no_json_has_a_form_of_its_own_and_never_raises():
    assert len({canonical(one) for one in NOT_JSON}) == len(NOT_JSON)
    assert all(json.loads(canonical(one)) is not None for one in NOT_JSON)


def test_a_value_that_holds_itself_has_an_end():
    value = {"a": [1]}
    value["a"].append(value)
    assert canonical(value) == b'{"a":[1,{"$awf":["cycle"]}]}'
    twice = [1]
    assert canonical([twice, twice]) == b"[[1],[1]]"


def test_nested_objects_with_the_key_of_the_tags_are_no_cycle():
    value = {"$awf": {"$awf": {"$awf": {"$awf": 1}}}}
    assert b"cycle" not in canonical(value)


def test_subclasses_count_as_what_they_are_made_of():
    class Name(str):
        __slots__ = ()

        def __str__(self):
            return "other"

    class Count(int):
        pass

    class Fields(dict):
        pass

    assert canonical(Fields(b=Count(1), a=Name("x"))) == b'{"a":"x","b":1}'


# -- several at once -------------------------------------------------------------------------------------------------

plain_values = st.recursive(
    st.none() | st.booleans() | st.text('ab:[,0-9 "\\\n\t\x00\x7f', max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('ab:,-1"\n', max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


def objects(values):
    return st.lists(
        st.dictionaries(ODD_KEYS.filter(lambda key: key != "\ud800") | texts, values, max_size=4),
        min_size=1,
        max_size=4,
    )


@given(objects(plain_values) | objects(jcs_values) | objects(plain_values | jcs_scalars))
@example([{"a": -1}])
@example([{"a": [0]}])
@example([{"a": [True, 1.0]}])
@example([{"a": 1e22}, {}])
@example([{"b": None, "a": ":0,-1[2"}, {"$awf": "x"}])
@example([{"a": "line\nend"}, {"b\n": "\r\u2028"}])
@example([{"\U0001f600": 1, "\ue000": 2}, {"a": "b"}])
def test_several_are_written_as_each_by_itself_with_line_ends_between(values):
    joined, lines = canonical_lines(values)
    assert lines == [canonical(value) for value in values]
    assert joined.removesuffix(b"\n") == b"\n".join(lines)
    assert [canonical_line(value) for value in values] == lines


def test_several_of_any_depth_are_written():
    deep: dict = {}
    for _ in range(DEEP):
        deep = {"a": deep}
    joined, lines = canonical_lines([deep, {"b": "c"}])
    assert lines == [b'{"a":' * DEEP + b"{}" + b"}" * DEEP, b'{"b":"c"}']
    assert joined == b"\n".join(lines)
    assert canonical_line(deep) == lines[0]


def test_of_nothing_there_is_no_line():
    assert canonical_lines([]) == (b"", [])
