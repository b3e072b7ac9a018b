"""What a person is shown of a call before they allow it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.domain.plain_sight import MOST, shown_arguments, spelled_out

ANYTHING = st.text(alphabet=st.characters(exclude_categories=()), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | ANYTHING,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANYTHING, inner, max_size=4),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rm -rf ~ é 日本 👍", "rm -rf ~ é 日本 👍"),
        ("a\x1b[2Jb", r"a\u001b[2Jb"),
        ("a\x9dhidden\x9cb", r"a\u009dhidden\u009cb"),
        ("a\u202eb\u2066c", r"a\u202eb\u2066c"),
        ("a\nb\tc\rd\x7f", r"a\nb\tc\rd\u007f"),
        ("a\u200b\u2028\ufeff\xa0b", r"a\u200b\u2028\ufeff\u00a0b"),
        ("a\U000e0041\ufe0f\u3164b", r"a\udb40\udc41\ufe0f\u3164b"),
        ("a\ud800b", r"a\ud800b"),
    ],
)
def test_what_cannot_be_seen_is_spelled_out(text, shown):
    assert spelled_out(text) == shown


def test_lines_may_be_kept_where_a_text_has_some():
    assert spelled_out("a\nb\u202e", keep="\n") == "a\nb\\u202e"


@given(VALUES)
def test_short_arguments_are_shown_exactly_and_can_be_read_back(value):
    shown = shown_arguments(value)
    assert shown.isprintable()
    if "characters are not shown" not in shown:
        assert json.loads(shown) == value


def test_an_argument_behind_a_long_one_is_named_and_the_end_of_a_long_one_is_seen():
    shown = shown_arguments({"body": "x" * 100_000 + "; rm -rf ~", "to": ["eve@example.com"]})
    assert "; rm -rf ~" in shown
    assert "eve@example.com" in shown
    assert "98,410 characters are not shown" in shown
    assert len(shown) < MOST


@pytest.mark.parametrize(
    "value",
    [{f"key{number}" * 10: 1 for number in range(1000)}, ["\u202e" * 50] * 1000, {"a": "\u202e" * 3900}],
)
def test_of_what_is_still_too_long_the_beginning_and_the_end_are_shown(value):
    shown = shown_arguments(value)
    assert len(shown) < MOST + 60
    assert "characters are not shown" in shown
    whole = spelled_out(json.dumps(value, ensure_ascii=False))
    assert (shown[:50], shown[-20:]) == (whole[:50], whole[-20:])


def test_arguments_deep_in_each_other_are_shown():
    value: object = "x" * 10_000
    for _ in range(100):
        value = [value]
    assert "characters are not shown" in shown_arguments(value)
