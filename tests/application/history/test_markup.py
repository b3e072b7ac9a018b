from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from awf.application.history.markup import Markup, element, joined


def test_text_is_escaped_and_markup_is_not():
    assert element("p", "<b>", element("i", "&"), None) == "<p>&lt;b&gt;<i>&amp;</i></p>"


def test_attributes_are_escaped_and_can_be_left_out():
    made = element("a", "x", class_='"q"', aria_label="<", open=True, hidden=False, title=None)
    assert made == '<a class="&quot;q&quot;" aria-label="&lt;" open>x</a>'


def test_empty_elements_are_not_closed():
    assert element("meta", charset="utf-8") == '<meta charset="utf-8">'


@given(st.text())
def test_joined_text_holds_no_tag(text):
    assert not set("<>\"'") & set(joined(text))
    assert joined(Markup("<br>")) == "<br>"
