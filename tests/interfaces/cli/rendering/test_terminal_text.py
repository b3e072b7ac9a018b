from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.interfaces.cli.rendering.terminal_text import cell_width, cut, flat, neutral, text_lines


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("plain ünïcode 漢字 🎉", "plain ünïcode 漢字 🎉"),
        ("a\tb", "a\tb"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[1;1Hgone", "gone"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;ZXZpbA==\x07x", "x"),
        ("\x9b31mred", "red"),
        ("\x1bPq#0;1;2\x1b\\sixel", "sixel"),
        ("a\x00\x07\x08b\x7f", "ab"),
        ("\x1b", ""),
        ("\x1b[", ""),
        ("\x1b]never closed\nnext", "\nnext"),
        ("\x1b\x1b[31m[31m", "[31m"),
        ("\u202eevil\u2066", "evil"),
        ("half \udce9", "half \ufffd"),
    ],
)
def test_what_could_move_the_cursor_is_taken_out(text, safe):
    assert neutral(text) == safe


@given(st.text(alphabet=st.sampled_from("\x1b[]0;31mPX^_\\\x07\x9b\x9c\x9d\x00\r\n\tab漢\u202e")))
def test_no_text_gets_a_control_character_through(text):
    left = neutral(text)
    assert all(unicodedata.category(char) != "Cc" or char in "\t\n" for char in left)
    assert neutral(left) == left


def test_a_line_that_was_written_over_shows_its_last_state():
    assert text_lines("10%\r50%\r100%\r\nnext\n\n") == ["100%", "next"]


def test_a_blank_text_has_no_lines():
    assert text_lines(" \n\n") == []


def test_a_flat_text_is_its_first_line_with_a_mark_for_more():
    assert flat("\n  make\ttest\nmake lint") == "make test …"
    assert flat("make test\n") == "make test"


def test_wide_and_combining_characters_are_measured_in_cells():
    assert [cell_width(text) for text in ("abc", "漢字", "e\u0301", "🎉", "")] == [3, 4, 1, 2, 0]


def test_a_cut_never_splits_a_wide_character():
    assert cut("漢字漢字", 5) == "漢字…"
    assert cut("漢字漢字", 4) == "漢…"
    assert cut("漢字", 4) == "漢字"


@given(st.text(), st.integers(min_value=1, max_value=30))
def test_a_cut_text_fits(text, cells):
    assert cell_width(cut(text, cells)) <= cells


def test_a_cut_looks_at_no_more_than_it_needs():
    assert cut("\u0301" * 10_000 + "x", 3).endswith("…")
