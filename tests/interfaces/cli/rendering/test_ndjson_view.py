from __future__ import annotations

import io
import json

from awf.domain import events as e
from awf.interfaces.cli.rendering.ndjson_view import NdjsonView


class Flushed(io.StringIO):
    """Shows only what has been flushed."""

    seen = ""

    def flush(self):
        self.seen = self.getvalue()


def test_each_event_is_on_its_way_before_the_next_happens(tell):
    out = Flushed()
    view = NdjsonView(out)
    for count, stamped in enumerate(tell.STORIES["success"](), start=1):
        view.on_event(stamped)
        assert len(out.seen.splitlines()) == count
    assert [json.loads(line)["seq"] for line in out.seen.splitlines()] == list(range(1, count + 1))


def test_the_text_of_a_program_cannot_break_a_line(tell):
    out = io.StringIO()
    NdjsonView(out).on_event(tell.stamp(tell.wrote("a", "one\ntwo\r\u2028\x1b[31m"))[0])
    assert out.getvalue().count("\n") == 1
    assert json.loads(out.getvalue())["text"] == "one\ntwo\r\u2028\x1b[31m"


def test_a_stream_of_another_encoding_gets_escapes():
    raw = io.BytesIO()
    view = NdjsonView(io.TextIOWrapper(raw, encoding="ascii"))
    view.on_event(e.Stamped("r", 1, 0.0, e.LogLine(message="déjà")))
    assert json.loads(raw.getvalue().decode("ascii"))["message"] == "déjà"


def test_half_a_character_does_not_stop_the_stream():
    out = io.StringIO()
    NdjsonView(out).on_event(e.Stamped("r", 1, 0.0, e.LogLine(message="\udce9")))
    assert json.loads(out.getvalue())["message"] == "\udce9"


class OnePipe(io.StringIO):
    writes = 0

    def write(self, text):
        self.writes += 1
        raise BrokenPipeError


def test_a_reader_that_went_away_is_left_in_peace(tell):
    out = OnePipe()
    view = NdjsonView(out)
    for stamped in tell.STORIES["success"]():
        view.on_event(stamped)
    view.close()
    assert out.writes == 1
