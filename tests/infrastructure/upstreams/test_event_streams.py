from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.infrastructure.upstreams.http.events import EventReader, EventTooLarge

STREAM = (
    b'\xef\xbb\xbf: a comment\n\nevent: message\nid: 7\ndata: {"a":\r\ndata:  1}\r\n\r\nretry: 250\rdata\r\r'
    b"id\nevent: other\ndata:x:y\nunknown: z\n\n\n\nevent: lost\n\ndata: \xc3\xa4\n\ndata: unfinished"
)
EVENTS = [("message", b'{"a":\n 1}'), ("message", b""), ("other", b"x:y"), ("message", "ä".encode())]


def read(chunks, limit=10_000):
    reader = EventReader(limit)
    return [tuple(event) for chunk in chunks for event in reader.feed(chunk)], reader


def test_events_are_read_as_the_standard_says():
    found, reader = read([STREAM])

    assert found == EVENTS
    assert (reader.last_id, reader.retry) == ("", 0.25)


def test_events_are_the_same_wherever_the_stream_is_cut_in_two():
    for place in range(len(STREAM)):
        assert read([STREAM[:place], STREAM[place:]])[0] == EVENTS


@given(st.lists(st.integers(0, len(STREAM)), max_size=40).map(sorted))
def test_events_are_the_same_however_often_the_stream_is_cut(places):
    cuts = [0, *places, len(STREAM)]

    assert read([STREAM[a:b] for a, b in itertools.pairwise(cuts)])[0] == EVENTS


@pytest.mark.parametrize("line", [b"data: " + b"x" * 200, b"data: xxxxxxxxxx\n" * 20])
def test_an_event_over_the_limit_is_refused_and_many_small_ones_are_not(line):
    with pytest.raises(EventTooLarge):
        read([line[place : place + 7] for place in range(0, len(line), 7)], limit=100)

    assert len(read([b"data: x\n\n"] * 100, limit=100)[0]) == 100
