"""One look at many payloads finds what a look at each of them finds: a secret is not passed over for its company."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from awf.domain.canonical import canonical_lines
from awf.domain.redaction import Masker
from awf.domain.redaction.redactor import _TOGETHER, Redactor

VALUES = (
    "abc-12",
    "hunter2-secret",
    "a long value with more than fifteen bytes",
    'quo"ted\\value',
    "zeile\nzwei",
)
KEYS = ("ssn", "Geheim-Wort")
PATTERNS = (r"^EMP-\d{4}$", r"case [a-z]{3}\d")


def redactor(values=(), keys=(), patterns=()):
    masker = Masker()
    for number, value in enumerate(values):
        masker.add(f"s{number}", value)
    return Redactor(masker, keys=keys, patterns=patterns)


REDACTORS = (
    redactor(),
    redactor(VALUES),
    redactor(keys=KEYS),
    redactor(patterns=PATTERNS),
    redactor(VALUES, KEYS, PATTERNS),
)
names = st.sampled_from(
    [
        "a",
        "b",
        "",
        "password",
        "API_KEY",
        "s.s.n",
        "geheimwort",
        ":password",
        " :token",
        "nextPageToken",
        "ü",
        '"',
        "\\",
    ]
)
said = st.sampled_from(
    [*VALUES, "x", "", ":", "EMP-1234", "xEMP-1234", "case abc1", "AKIA" + "A1B2" * 4, "ghp_" + "a" * 36, "token",
     "Bearer abcdefghij123456789", "https://u:p4ss@host/", "a" * 40, '{"password":"x"}', "-----BEGIN PRIVATE KEY-----",
     "hunter2-secre", "\n", "line\nline", "ü😀", "\x00", "Cookie: a=b"],
) | st.text(max_size=8)  # fmt: skip
items = st.recursive(
    said | st.none() | st.booleans() | st.integers(-5, 5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)
payloads = st.lists(st.dictionaries(names, items, max_size=3), min_size=1, max_size=5)


@given(st.sampled_from(REDACTORS), payloads)
@example(REDACTORS[0], [{"a": "x"}, {":password": "hunter2"}])
@example(REDACTORS[0], [{"a": "x"}, {" :token": "hunter2"}])
def test_whatever_would_be_redacted_is_suspect_in_any_company(judge, values):
    joined, lines = canonical_lines(values)
    suspects = judge.suspects(joined, lines)
    for at, value in enumerate(values):
        if at not in suspects and judge.suspicious(lines[at]):
            assert judge.redacted(value) == value, "passed over in company only"


@given(st.sampled_from(REDACTORS), payloads)
def test_nothing_is_suspect_that_is_not_by_itself(judge, values):
    joined, lines = canonical_lines(values)
    assert set(judge.suspects(joined, lines)) <= {
        at for at, line in enumerate(lines) if judge.suspicious(line)
    }


@given(st.sampled_from([one for one in REDACTORS if not one._masker.index.texts]), payloads)
@example(REDACTORS[0], [{"a": "x"}, {":password": "hunter2"}])
def test_where_no_value_is_known_one_look_at_all_tells_the_same_as_one_at_each(judge, values):
    """Known values are told by some of their bytes, which may be met in a line by itself and not in the whole."""
    joined, lines = canonical_lines(values)
    assert set(judge.suspects(joined, lines)) == {
        at for at, line in enumerate(lines) if judge.suspicious(line)
    }


@pytest.mark.parametrize("judge", REDACTORS)
@pytest.mark.parametrize("size", [_TOGETHER // 4, _TOGETHER, 3 * _TOGETHER])
def test_payloads_of_any_length_are_looked_at(judge, size):
    values = [{"a": "long " * (size // 10)}, {"password": "x"}, {"b": "long " * (size // 10)}, {"token": "y"}]
    joined, lines = canonical_lines(values)
    assert set(judge.suspects(joined, lines)) == {1, 3}


@pytest.mark.parametrize("value", VALUES)
def test_a_known_value_is_found_wherever_it_stands_among_the_payloads(value):
    judge = redactor(VALUES)
    for shift in range(70):
        values = [{"a": "n" * shift}, {"b": f"{'m ' * shift}{value}"}, {"c": "o"}]
        joined, lines = canonical_lines(values)
        assert set(judge.suspects(joined, lines)) == {1}


def test_a_value_that_becomes_known_is_found_from_then_on():
    masker = Masker()
    judge = Redactor(masker)
    joined, lines = canonical_lines([{"a": "x"}, {"b": "this one"}])
    assert not judge.suspects(joined, lines)
    masker.add("late", "this one")
    assert set(judge.suspects(joined, lines)) == {1}


def test_of_payloads_without_anything_none_is_suspect():
    for judge in REDACTORS:
        joined, lines = canonical_lines([{}, {"a": 1}, {"b": ["c", None, 2.5]}])
        assert not judge.suspects(joined, lines)


@pytest.mark.parametrize("value", [{"!": "x", ":password": "hunter2"}, {"!": ["x"], " :token": "hunter2"}])
def test_a_name_that_begins_with_a_colon_is_found_behind_another_text(value):
    _, (line,) = canonical_lines([value])
    assert REDACTORS[0].redacted(value) != value
    assert REDACTORS[0].suspicious(line)
