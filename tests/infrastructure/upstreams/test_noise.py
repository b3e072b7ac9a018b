"""What servers print beside their messages, as it is told in the log: by whichever handler, it has no known secret in it."""

from __future__ import annotations

import pytest

from awf.domain.redaction import Masker
from awf.infrastructure.upstreams.last_words import TAIL, LastWords
from awf.infrastructure.upstreams.noise import LOGGED, Noise

SECRET = "very-secret-value-1234"
LINES = "-----BEGIN KEY-----\nAAAAbbbbCCCC\nDDDDeeeeFFFF\n-----END KEY-----"


@pytest.fixture
def masker():
    made = Masker()
    made.add("KEY", SECRET)
    made.add("PEM", LINES)
    return made


@pytest.fixture
def told(caplog):
    caplog.set_level("INFO", "awf.upstreams")
    return lambda: [record.getMessage() for record in caplog.records]


def test_a_line_that_is_no_message_is_told_without_secrets_and_without_orders_to_a_terminal(masker, told):
    noise = Noise("kb", masker.text())
    noise.hear("printed a line", f"key \x1b[31m{SECRET}\r".encode())
    assert told() == ["MCP server kb printed a line that is not a message: key \\u001b[31m***"]


def test_no_part_of_a_secret_is_told_where_a_long_line_is_cut(masker, told):
    noise = Noise("kb", masker.text())
    for before in range(150, 200):
        noise = Noise("kb", masker.text())
        noise.hear("sent a text", b"x" * before + SECRET.encode() + b"y" * 100_000)
    for before in range(4000, 4100):
        noise = Noise("kb", masker.text())
        noise.hear("sent a text", b"\0" * before + SECRET.encode())
    assert not any("very" in one for one in told())
    assert max(map(len, told())) < 300


def test_a_secret_of_several_lines_is_told_in_none_of_them(masker, told):
    noise = Noise("kb", masker.text())
    for line in ["before", *LINES.split("\n"), "after"]:
        noise.hear("printed a line", line.encode())
    assert "before" in told()[0]
    assert not any("KEY" in one or "AAAA" in one or "DDDD" in one for one in told())


def test_what_is_no_message_is_told_a_few_times_only(masker, told):
    noise = Noise("kb", masker.text())
    for _ in range(100):
        noise.hear("printed a line", b"noise")
    assert len(told()) == LOGGED + 1


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_the_standard_error_is_told_without_secrets_however_it_comes(masker, told, size):
    words = LastWords("kb", masker.text())
    said = f"ä \x1b[2J{SECRET}\r\n{LINES}\nlast {SECRET}".encode()
    for at in range(0, len(said), size):
        words.add(said[at : at + size])
    assert told() == ["MCP server kb: ä \\u001b[2J***", "MCP server kb: ***"]
    assert words.text() == "ä \x1b[2J***\r\n***\nlast ***"


def test_no_end_of_a_secret_is_left_where_the_last_words_are_cut(masker):
    for behind in range(TAIL - 30, TAIL + 1):
        words = LastWords("kb", masker.text())
        words.add(f"{SECRET}{'x' * behind}".encode())
        assert "1234" not in words.text()


def test_no_end_of_a_secret_is_told_where_the_beginning_of_a_line_is_cut(masker, told):
    for behind in range(470, 501):
        words = LastWords("kb", masker.text())
        words.add(f"{SECRET}{'x' * behind}".encode())
        words.add(b"\n")
    assert not any("1234" in one for one in told())


def test_the_beginning_of_a_secret_that_does_not_go_on_is_not_lost(masker):
    words = LastWords("kb", masker.text())
    words.add(b"it was very")
    assert words.text() == "it was very"
