"""Bytes to lines and messages: whatever arrives becomes a message or a coded complaint."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpserver.errors import Complaint, NotJsonError
from acpserver.framing import MAX_LINE, Lines, Oversize, decode, encode

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def shown(found):
    return ["too long" if isinstance(each, Oversize) else each for each in found]


@given(st.lists(json_values, max_size=6), st.data())
def test_messages_survive_any_cut_of_the_stream(values, data):
    stream = b"".join(json.dumps(value).encode() + b"\n" for value in values)
    lines, found = Lines(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += lines.feed(stream[:size])
        stream = stream[size:]
    assert [decode(line) for line in found + lines.end()] == values


@given(st.binary(max_size=400))
def test_no_bytes_raise_anything_but_a_complaint(noise):
    lines = Lines(ceiling=50)
    for line in lines.feed(noise) + lines.feed(b"\n"):
        if isinstance(line, bytes):
            try:
                decode(line)
            except Complaint as complaint:
                assert complaint.code == -32700
    assert lines.feed(b'{"a":1}\n') == [b'{"a":1}']


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
        b'{"a":1e400}',
        b'{"a":-1e999}',
        b'"\xff"',
        b'"\xed\xa0\x80"',
        b'{"a":1}\x00',
        "{}".encode("utf-16"),
        b"\xef\xbb\xbf{}",
        b"[" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"a\\ud800":' * 950 + b"1" + b"}" * 950,
        b'{"id":' + b"1" * 5000 + b"}",
        b"{} {}",
    ],
)
def test_what_is_not_json_is_a_parse_error(line):
    with pytest.raises(Complaint) as caught:
        decode(line)
    assert caught.value.code == -32700


def test_empty_lines_and_carriage_returns_mean_nothing():
    assert Lines().feed(b'\n\r\n  \t\n{"a":1}\r\n\r\n') == [b'{"a":1}']


def test_a_last_line_without_a_newline_is_read_at_the_end():
    lines = Lines()
    assert lines.feed(b'{"a":1}') == []
    assert lines.end() == [b'{"a":1}']
    assert lines.end() == []


def test_a_line_of_exactly_the_ceiling_is_read_and_one_byte_more_is_refused():
    whole = b'"' + b"x" * 98 + b'"'
    assert Lines(ceiling=100).feed(whole + b"\n") == [whole]
    assert Lines(ceiling=100).feed(whole + b"\r\n") == [whole]
    assert shown(Lines(ceiling=99).feed(whole + b"\n")) == ["too long"]


@pytest.mark.parametrize("step", [1, 7, 100, 1000])
def test_an_oversize_line_is_told_once_and_the_next_one_is_read(step):
    lines, found = Lines(ceiling=100), []
    stream = b"x" * 950 + b'\n{"a":1}\n' + b"y" * 101 + b"\n[2]\n"
    for start in range(0, len(stream), step):
        found += lines.feed(stream[start : start + step])
    assert shown(found) == ["too long", b'{"a":1}', "too long", b"[2]"]


def test_an_oversize_line_that_never_ends_is_told_once():
    lines = Lines(ceiling=100)
    assert shown(lines.feed(b"x" * 101)) == ["too long"]
    assert lines.feed(b"x" * 101) == []
    assert lines.end() == []


def test_an_oversize_line_is_not_kept_in_memory():
    lines, chunk = Lines(), b"x" * 65536
    tracemalloc.start()
    try:
        found = [each for _ in range(5 * MAX_LINE // len(chunk)) for each in lines.feed(chunk)]
        now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert shown(found) == ["too long"]
    assert peak < 2 * MAX_LINE
    assert now < MAX_LINE // 2


def test_a_long_line_in_small_pieces_costs_no_more_than_its_length():
    lines, found = Lines(), []
    stream = b'"' + b"x" * (2 * 1024 * 1024) + b'"\n'
    for start in range(0, len(stream), 64):  # searched from the start each time, this would take minutes
        found += lines.feed(stream[start : start + 64])
    assert [len(each) for each in found] == [2 * 1024 * 1024 + 2]


@given(st.text(st.characters()) | st.text(st.sampled_from(["a", "\ud800", "\udc00", "😀"])))
def test_half_a_surrogate_pair_is_replaced_in_both_directions_but_not_in_an_id(text):
    text = json.loads(json.dumps(text))  # as it can arrive: escapes that make a pair are one character
    message = {"id": text, "result": {text: [text, {"k": text}]}}
    told, heard = json.loads(encode(message).decode()), decode(json.dumps(message).encode())
    for each in (told, heard):
        assert each["id"] == text
        json.dumps(each["result"], ensure_ascii=False).encode()
        if not any(0xD800 <= ord(char) <= 0xDFFF for char in text):
            assert each == message


def test_the_id_that_a_cancellation_names_stays_as_it_is():
    message = {"method": "$/cancel_request", "params": {"requestId": "\ud800"}}
    assert decode(json.dumps(message).encode()) == message


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
    with pytest.raises(Complaint) as refused:
        decode(b"7" * 5000)
    assert "an integer has more than 4300 digits" in str(refused.value)
