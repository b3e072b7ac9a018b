"""A result within its limits stays as it is; of a longer one the head is shown, cut where it can be read."""

from __future__ import annotations

import base64
import unicodedata

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awf.application.gate.output_limits import Bounds, Shown, bounds_of, limited
from awf.application.gate.text_cutting import Size, cut_text, position, size_of_text
from awf.domain.gate_file import Limits


def text(said):
    return {"type": "text", "text": said}


def result(*blocks, **more):
    return {"content": list(blocks), **more}


def image(size):
    return {"type": "image", "data": base64.b64encode(bytes(size)).decode(), "mimeType": "image/png"}


@pytest.mark.parametrize(
    ("limits", "bounds"),
    [
        (Limits(), None),
        (Limits(timeout_ms=5), None),
        (Limits(max_output_bytes=10), Bounds(10, None)),
        (Limits(max_output_lines=3), Bounds(None, 3)),
        (Limits(max_output_bytes=10, max_output_lines=3), Bounds(10, 3)),
    ],
)
def test_only_the_limits_that_are_named_hold(limits, bounds):
    assert bounds_of(limits) == bounds


@pytest.mark.parametrize(
    "raw",
    [
        result(text("0123456789")),
        result(text("01234"), text("56789")),
        result(text("a\nb\n")),
        result(text("a\nb")),
        result(image(10)),
        result({"type": "resource", "resource": {"uri": "x:y", "text": "0123456789"}}),
        result(),
        {},
        {"content": None},
        result(text(""), structuredContent={"a": 1}),
    ],
)
def test_what_is_exactly_within_the_limits_stays(raw):
    assert limited(raw, Bounds(10, 2)) is None
    assert limited(raw, Bounds(10, 2), msgspec.json.encode(raw)) is None


@pytest.mark.parametrize(
    ("raw", "whole"),
    [
        (result(text("0123456789a")), Size(11, 1)),
        (result(text("01234é6789")), Size(11, 1)),
        (result(text("a\nb\nc")), Size(5, 3)),
        (result(text("a"), text("b"), text("c")), Size(3, 3)),
        (result(image(11)), Size(11, 1)),
        (result(text("1"), image(10)), Size(11, 2)),
        (result({"type": "resource", "resource": {"uri": "x:y", "blob": "AAAAAAAAAAAAAAAA"}}), Size(12, 1)),
        (result({"type": "of tomorrow", "x": 1}), Size(28, 1)),
    ],
)
def test_what_is_one_more_is_cut(raw, whole):
    for encoded in (None, msgspec.json.encode(raw)):
        cut = limited(raw, Bounds(10, 2), encoded)
        assert cut is not None
        assert cut.whole == whole
        assert cut.shown.bytes <= 10
        assert cut.shown.lines <= 2


def test_structured_content_stays_whole_or_goes_whole():
    small = limited(result(text("x" * 50), structuredContent={"a": 1}), Bounds(10, None))
    assert small.keeps_structured
    large = limited(result(text("x"), structuredContent={"a": "y" * 50}), Bounds(10, None))
    assert not large.keeps_structured
    assert large.blocks == (Shown(0, text("x")),)


def test_a_picture_that_does_not_fit_becomes_a_link_and_what_fits_after_it_is_shown():
    cut = limited(result(text("one"), image(100), text("two")), Bounds(50, None))
    assert cut.blocks == (Shown(0, text("one")), Shown(1, None), Shown(2, text("two")))


def test_after_a_text_was_cut_no_other_text_follows():
    cut = limited(result(text("x" * 20), text("y")), Bounds(10, None))
    assert cut.blocks == (Shown(0, text("x" * 10)),)


def test_annotations_of_a_block_stay_when_it_is_cut():
    block = {"type": "resource", "resource": {"uri": "a:b", "text": "x" * 20}, "annotations": {"priority": 1}}
    (shown,) = limited(result(block), Bounds(10, None)).blocks
    assert shown.block == {**block, "resource": {"uri": "a:b", "text": "x" * 10}}


def test_a_thousand_pictures_become_a_few_links():
    cut = limited(result(*[image(100)] * 1000), Bounds(10, None))
    assert len(cut.blocks) == 20


# -- where it is cut -------------------------------------------------------------------------------------------------


@settings(max_examples=300)
@given(st.text(st.characters(), max_size=60), st.integers(0, 80), st.integers(0, 6))
def test_a_cut_text_is_a_beginning_within_both_limits(said, max_bytes, max_lines):
    head = cut_text(said, max_bytes, max_lines)
    assert said.startswith(head)
    size = size_of_text(head)
    assert size.bytes <= max_bytes
    assert size.lines <= max_lines
    if size_of_text(said).bytes <= max_bytes and size_of_text(said).lines <= max_lines:
        assert head == said


@pytest.mark.parametrize(
    "whole", ["é", "😀", "e\u0301", "👩\u200d💻", "👍\U0001f3fd", "❤\ufe0f", "\r\n", "\ud83d\ude00", "中"]
)
@pytest.mark.parametrize("room", range(1, 12))
def test_what_is_seen_as_one_is_not_cut_in_two(whole, room):
    head = cut_text("ab" + whole + "cdefghijklmnop", 2 + room, None)
    assert head == "ab" or head.startswith("ab" + whole)


def test_a_heap_of_accents_does_not_eat_the_whole_text():
    said = "x" * 100 + "\u0301" * 1000
    assert unicodedata.combining(said[-1])
    assert size_of_text(cut_text(said, 500, None)).bytes >= 400


def test_a_text_is_cut_at_the_end_of_a_line_that_is_near():
    assert cut_text("x" * 95 + "\n" + "y" * 100, 100, None) == "x" * 95 + "\n"
    assert cut_text("x" * 50 + "\n" + "y" * 100, 100, None) == "x" * 50 + "\n" + "y" * 49


@given(st.text(max_size=30), st.integers(0, 100))
def test_a_position_is_never_within_a_character(said, offset):
    at = position(said, offset)
    assert len(said[:at].encode()) <= offset
    assert at == len(said) or len(said[: at + 1].encode()) > offset
