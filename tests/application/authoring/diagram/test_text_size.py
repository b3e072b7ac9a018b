from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from awf.application.authoring.diagram.text_size import fitted, text_width


def test_wide_letters_count_about_double():
    assert 1.7 < text_width("漢字", 10) / text_width("ab", 10) < 2.3


def test_marks_on_letters_take_no_room():
    assert text_width("e\u0301", 10) == text_width("e", 10)


def test_short_text_is_left_alone_but_for_its_line_breaks():
    assert fitted("a\n  b", 10, 100) == "a b"


@given(st.text(max_size=200), st.floats(20, 300))
def test_fitted_text_is_never_wider_than_asked(text, width):
    assert text_width(fitted(text, 11, width), 11) <= width + 1e-6
