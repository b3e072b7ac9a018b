from __future__ import annotations

import logging

from awf.infrastructure.plugins import output
from awf.infrastructure.plugins.output import PluginOutput


def collect(lines, stop=None):
    def take(line):
        lines.append(line)
        return line == stop

    return take


def test_lines_arrive_whole_however_they_are_cut():
    seen = []
    sink = PluginOutput("p", collect(seen))
    for byte in b"one\ntwo\nthree":
        sink("stdout", bytes([byte]))
    assert seen == [b"one", b"two"]
    sink.finish()
    assert seen == [b"one", b"two", b"three"]


def test_after_the_handshake_lines_are_only_output():
    seen = []
    sink = PluginOutput("p", collect(seen, stop=b"here"))
    sink("stdout", b"banner\nhere\nlater\n")
    assert seen == [b"banner", b"here"]
    assert sink.tail("stdout") == "banner\nlater"


def test_an_endless_line_is_cut_and_not_kept():
    sink = PluginOutput("p", lambda _: False)
    for _ in range(100):
        sink("stderr", b"x" * 100_000)
    sink("stderr", b"\nshort\n")
    assert [len(line) for line in sink.tail("stderr").split("\n")] == [output.LONGEST_LINE, 5]


def test_only_the_last_lines_are_kept_and_bytes_that_are_no_text_do_no_harm():
    sink = PluginOutput("p", lambda _: False)
    sink("stderr", b"".join(b"%d\n" % n for n in range(1000)) + b"\xff\n")
    assert sink.tail("stderr").split("\n") == [*(str(n) for n in range(989, 1000)), "�"]


def test_the_log_is_not_flooded_and_says_how_much_it_left_out(caplog, monkeypatch):
    caplog.set_level(logging.INFO, "awf.plugins")
    monkeypatch.setattr(output.time, "monotonic", lambda: 5.0)
    sink = PluginOutput("p", lambda _: False)
    sink("stdout", b"noise\n" * 1000)
    sink.finish()
    assert caplog.messages.count("p stdout: noise") == output.LINES_PER_SECOND
    assert caplog.messages[-1] == "p: 800 more lines of its output were not logged."
