"""Answers are read however they are cut, and whatever a server makes of the format."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from awf.domain.agent import TextDelta, Thought
from awf.domain.run import Usage
from awf.infrastructure.agents.openai_compatible.pieces import PieceReader, PieceTooLarge, Unreadable
from awf.infrastructure.agents.openai_compatible.turn import TurnReader

LIMIT = 1 << 20


def read(*chunks, limit=LIMIT):
    reader = PieceReader(limit)
    found = [piece for chunk in chunks for piece in reader.feed(chunk)]
    return [*found, *reader.end()]


def turn_of(*pieces):
    reader = TurnReader()
    shown = [event for piece in pieces for event in reader.read(piece)]
    return reader.turn(), shown


def calling(*parts, finish=None):
    return {"choices": [{"index": 0, "delta": {"tool_calls": list(parts)}, "finish_reason": finish}]}


def called(turn):
    return [(call.id, call.name, call.arguments) for call in turn.calls]


# -- bytes to pieces ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stream",
    [
        b'data: {"a": 1}\n\ndata: {"b": 2}\n\ndata: [DONE]\n\n',
        b'data:{"a": 1}\n\ndata:{"b": 2}\n\n',
        b'data: {"a": 1}\r\n\r\ndata: {"b": 2}\r\n\r\ndata: [DONE]\r\n\r\n',
        b'data: {"a": 1}\r\rdata: {"b": 2}\r\r',
        b': keep-alive\n\ndata: {"a": 1}\n\n:\n\nevent: x\nid: 7\nretry: 10\ndata: {"b": 2}\n\n',
        b'data: {"a": 1}\ndata: {"b": 2}\n',
        b'data: {"a": 1}\n\ndata: {"b": 2}',
        b'data: {"a":\ndata: 1}\n\ndata:\n\ndata: {"b": 2}\n\n',
        b'{"a": 1}\n{"b": 2}\n',
        b'\xef\xbb\xbfdata: {"a": 1}\n\ndata: {"b": 2}\n\n',
    ],
    ids=[
        "as it should be",
        "no space",
        "CRLF",
        "CR",
        "comments and other fields",
        "no empty lines",
        "no end",
        "several lines",
        "lines of JSON",
        "byte order mark",
    ],
)
def test_a_stream_is_read_however_it_is_written_and_cut(stream):
    wanted = [{"a": 1}, {"b": 2}]
    assert read(stream) == wanted
    assert read(*(stream[at : at + 1] for at in range(len(stream)))) == wanted


def test_one_document_instead_of_a_stream_is_read():
    assert read(b'{\n  "a": {\n    "b": [1]\n  }\n}\n') == [{"a": {"b": [1]}}]


def test_the_end_is_noticed():
    reader = PieceReader(LIMIT)
    assert list(reader.feed(b"data: [DO")) == []
    assert not reader.done
    assert list(reader.feed(b"NE]\n")) == []
    assert reader.done


@pytest.mark.parametrize(
    "garbage",
    [b"<html><body>Sorry</body></html>", b"data: {oops\n\n", b"data: 5\n\n", b"nope", b"[" * 200_000],
)
def test_garbage_is_reported_with_its_beginning(garbage):
    with pytest.raises(Unreadable) as caught:
        read(garbage)
    assert caught.value.text.strip()


@pytest.mark.parametrize("flood", [b"data: " + b"x" * 300, b"data: x\n" * 200, b"xxxxxxx\n" * 60])
def test_a_piece_without_an_end_is_refused(flood):
    with pytest.raises(PieceTooLarge):
        read(flood, limit=200)


@given(cuts=some.lists(some.integers(1, 40), max_size=60), text=some.text(max_size=60))
def test_text_survives_any_cut(cuts, text):
    data = b"data: %s\n\ndata: [DONE]\n\n" % json.dumps({"text": text}, ensure_ascii=False).encode(
        "utf-8", "replace"
    )
    chunks, start = [], 0
    for size in [*cuts, len(data)]:
        chunks.append(data[start : start + size])
        start += size
    assert read(*chunks) == read(data)


# -- pieces to a turn ---------------------------------------------------------------------------------------------------


@given(
    some.lists(some.integers(1, 9), max_size=30),
    some.dictionaries(some.text(max_size=8), some.integers() | some.text(max_size=20), max_size=4),
)
def test_arguments_are_put_together_from_any_parts(sizes, arguments):
    text, parts, start = json.dumps(arguments), [], 0
    for size in [*sizes, len(text)]:
        parts.append(text[start : start + size])
        start += size
    first = {"index": 0, "id": "a", "function": {"name": "Read", "arguments": ""}}
    pieces = [calling({"index": 0, "function": {"arguments": part}}) for part in parts]
    turn, _ = turn_of(calling(first), *pieces)
    assert called(turn) == [("a", "Read", text)]


def test_parallel_calls_are_told_apart_by_their_index_also_when_they_are_mixed():
    turn, _ = turn_of(
        calling({"index": 0, "id": "a", "function": {"name": "Read", "arguments": "{"}}),
        calling({"index": 1, "id": "b", "function": {"name": "Bash", "arguments": "["}}),
        calling({"index": 0, "function": {"arguments": "}"}}, {"index": 1, "function": {"arguments": "]"}}),
    )
    assert called(turn) == [("a", "Read", "{}"), ("b", "Bash", "[]")]


WHOLE = {"name": "Read", "arguments": "{}"}
OTHER = {"name": "Bash", "arguments": "{}"}


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        ([{"index": 3, "id": "a", "function": WHOLE}, {"index": 7, "id": "b", "function": OTHER}], "a:Read b:Bash"),
        ([{"index": 0, "id": "a", "function": WHOLE}, {"index": 0, "id": "b", "function": OTHER}], "a:Read b:Bash"),
        ([{"id": "a", "function": WHOLE}, {"id": "b", "function": OTHER}], "a:Read b:Bash"),
        ([{"function": WHOLE}, {"function": OTHER}], ":Read :Bash"),
        ([{"function": WHOLE}, {"function": WHOLE}], ":Read :Read"),
        ([{"index": "0", "id": "a", "function": WHOLE}, {"index": "1", "function": OTHER}], "a:Read :Bash"),
        ([{"index": 0, "id": None, "function": WHOLE}], ":Read"),
        ([{"index": 0, "id": "a", "function": {"name": "Read"}}, {"index": 0, "id": "z", "function": {"arguments": "{}"}}], "a:Read"),
        ([{"index": 0, "id": "a", "function": {"name": "Read", "arguments": None}}, {"index": 0, "id": "a", "function": WHOLE}], "a:Read"),
        ([{"id": "a", "function": {"name": "Read"}}, {"function": {"arguments": "{}"}}], "a:Read"),
        ([{"function": {"name": "Read", "arguments": "{"}}, {"function": {"name": "Read", "arguments": "}"}}], ":Read"),
        ([{"index": 0, "function": {"name": "Re"}}, {"index": 0, "function": {"name": "ad", "arguments": "{}"}}], ":Read"),
        ([{"index": 0, "id": "a", "function": {"name": "Read", "arguments": {}}}], "a:Read"),
        ([None, {"index": 0, "function": None}, {"index": 0, "id": "a", "function": WHOLE}], "a:Read"),
    ],
    ids=[
        "gaps in the index",
        "every call is number 0",
        "no index",
        "neither index nor id",
        "the same tool twice without index and id",
        "index as text",
        "no id",
        "a new id with each part",
        "everything again with each part",
        "id once, no index",
        "name with each part, no index",
        "a name in parts",
        "arguments as an object",
        "empty parts",
    ],
)  # fmt: skip
def test_calls_are_told_apart_although_the_server_numbers_them_oddly(parts, wanted):
    turn, _ = turn_of(*(calling(part) for part in parts))
    assert " ".join(f"{call.id}:{call.name}" for call in turn.calls) == wanted
    assert all(call.arguments == "{}" for call in turn.calls)


def test_thoughts_come_under_several_names_but_are_shown_once():
    for delta in (
        {"reasoning_content": "hm"},
        {"reasoning": "hm"},
        {"reasoning": "hm", "reasoning_content": "hm"},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
    ):
        turn, shown = turn_of({"choices": [{"delta": delta}]})
        assert (turn.thoughts, shown) == ("hm", [Thought("hm")])


def test_pieces_that_say_nothing_are_passed_over():
    turn, shown = turn_of(
        {},
        {"choices": []},
        {"choices": None, "usage": None},
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]},
        {"choices": [{"index": 0, "delta": None}]},
        {"choices": [{"index": 0}]},
        {"choices": ["?"]},
        {"choices": [{"index": 1, "delta": {"content": "another candidate"}}]},
        {"choices": [{"index": 0, "delta": {"content": None, "tool_calls": None}}]},
        {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]},
        {"object": "something.new", "payload": {"x": 1}},
    )
    assert (turn.text, turn.finish, shown) == ("Hi", "stop", [TextDelta("Hi")])


@pytest.mark.parametrize(
    ("pieces", "wanted"),
    [
        ([{"usage": None}, {"usage": {"prompt_tokens": 3, "completion_tokens": 2}}], Usage(3, 2)),
        ([{"usage": {"prompt_tokens": 3, "completion_tokens": n}} for n in (1, 2, 3)], Usage(3, 3)),
        ([{"usage": {"input_tokens": 3, "output_tokens": 2}}], Usage(3, 2)),
        ([{"x_groq": {"usage": {"prompt_tokens": 3, "completion_tokens": 2}}}], Usage(3, 2)),
        ([{"usage": {"prompt_tokens": 3, "completion_tokens": 2, "cost": 0.5}}], Usage(3, 2, 0.5, "reported")),
        ([{"usage": {"prompt_tokens": 3, "completion_tokens": 2}, "cost": 0.5}], Usage(3, 2, 0.5, "reported")),
        ([{"usage": {}}, {"usage": "?"}, {}], None),
        ([{"usage": {"prompt_tokens": float("nan"), "completion_tokens": -1, "cost": "free"}}], Usage()),
    ],
)  # fmt: skip
def test_usage_is_taken_from_where_it_is_told_and_its_last_word_counts(pieces, wanted):
    assert turn_of(*pieces)[0].usage == wanted
