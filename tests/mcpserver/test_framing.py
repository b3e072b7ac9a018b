"""Bytes to messages: whatever arrives becomes a message or a coded error."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpserver.errors import NotJsonError, PeerError
from mcpserver.framing import MAX_LINE, Frames, decode, encode

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def codes(found):
    return [each.code if isinstance(each, PeerError) else each for each in found]


@given(st.lists(json_values, max_size=6), st.data())
def test_messages_survive_any_cut_of_the_stream(values, data):
    stream = b"".join(json.dumps(value).encode() + b"\n" for value in values)
    frames, found = Frames(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += frames.feed(stream[:size])
        stream = stream[size:]
    assert found + frames.end() == values


@given(st.binary(max_size=400))
def test_no_bytes_raise(noise):
    frames = Frames(ceiling=50)
    frames.feed(noise)
    frames.feed(b"\n")
    assert frames.feed(b'{"a":1}\n') == [{"a": 1}]


@given(json_values)
def test_what_is_encoded_is_one_line_that_says_the_same(value):
    line = encode({"value": value})
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"value": value}


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"nope",
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":-Infinity}',
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'{"a":1}\x00',
        b'\x00{"a":1}',
        "{}".encode("utf-16"),
        b"\xef\xbb\xbf{}",
        b"[" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b"9" * 5000,
        b'{"id":' + b"1" * 5000 + b"}",
        b"{} {}",
    ],
)
def test_what_is_not_json_is_a_parse_error(line):
    assert decode(line).code == -32700
    assert codes(Frames().feed(line + b"\n")) == [-32700]


def test_empty_lines_and_carriage_returns_mean_nothing():
    assert Frames().feed(b'\n\r\n  \t\n{"a":1}\r\n\r\n') == [{"a": 1}]


def test_a_last_line_without_a_newline_is_read_at_the_end():
    frames = Frames()
    assert frames.feed(b'{"a":1}') == []
    assert frames.end() == [{"a": 1}]
    assert frames.end() == []


def test_a_line_of_exactly_the_ceiling_is_read_and_one_byte_more_is_refused():
    whole = b'"' + b"x" * 98 + b'"'
    assert Frames(ceiling=100).feed(whole + b"\n") == ["x" * 98]
    assert Frames(ceiling=100).feed(whole + b"\r\n") == ["x" * 98]
    assert codes(Frames(ceiling=99).feed(whole + b"\n")) == [-32600]


@pytest.mark.parametrize("step", [1, 7, 100, 1000])
def test_an_oversize_line_is_answered_once_and_the_next_one_is_read(step):
    frames, found = Frames(ceiling=100), []
    stream = b"x" * 950 + b'\n{"a":1}\n' + b"y" * 101 + b"\n[2]\n"
    for start in range(0, len(stream), step):
        found += frames.feed(stream[start : start + step])
    assert codes(found) == [-32600, {"a": 1}, -32600, [2]]


def test_an_oversize_line_that_never_ends_is_answered_once():
    frames = Frames(ceiling=100)
    assert codes(frames.feed(b"x" * 101)) == [-32600]
    assert frames.feed(b"x" * 101) == []
    assert frames.end() == []


def test_an_oversize_line_is_not_kept_in_memory():
    frames, chunk = Frames(), b"x" * 65536
    tracemalloc.start()
    try:
        found = [each for _ in range(5 * MAX_LINE // len(chunk)) for each in frames.feed(chunk)]
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert codes(found) == [-32600]
    assert peak < 2 * MAX_LINE
    assert now < MAX_LINE // 2


def test_a_long_line_in_small_pieces_costs_no_more_than_its_length():
    frames, reads = Frames(), []
    stream = b'"' + b"x" * (2 * 1024 * 1024) + b'"\n'
    for start in range(
        0, len(stream), 64
    ):  # were each piece searched from the start, this would take minutes
        reads += frames.feed(stream[start : start + 64])
    assert [len(each) for each in reads] == [2 * 1024 * 1024]


@given(st.text(st.characters()) | st.text(st.sampled_from(["a", "\ud800", "\udc00", "😀"])))
def test_half_a_surrogate_pair_is_replaced_in_what_we_say_but_not_in_an_id(text):
    text = json.loads(json.dumps(text))  # as it can arrive: escapes that make a pair are one character
    line = encode({"id": text, "result": {text: [text, {"k": text}]}})
    told = json.loads(line.decode())
    assert told["id"] == text
    json.dumps(told["result"], ensure_ascii=False).encode()
    if not any(0xD800 <= ord(char) <= 0xDFFF for char in text):
        assert told["result"] == {text: [text, {"k": text}]}


@pytest.mark.parametrize("value", [object(), b"bytes", {1, 2}, float("nan"), float("inf"), {(1, 2): 3}])
def test_a_value_without_a_json_form_is_named_before_anything_is_written(value):
    with pytest.raises(NotJsonError):
        encode({"value": value})


def test_a_value_that_holds_itself_is_refused():
    loop: list = []
    loop.append(loop)
    with pytest.raises(NotJsonError):
        encode({"value": loop})


def test_what_is_too_deep_or_too_long_is_told_without_advice_for_whoever_writes_python():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    for value, said in ((deep, "nested too deeply"), (10**5000, "an integer has more than 4300 digits")):
        with pytest.raises(NotJsonError) as caught:
            encode({"value": value})
        assert str(caught.value) == said
    complaint = decode(b"7" * 5000)
    assert complaint.message == "Parse error: an integer has more than 4300 digits"
