from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.application.history.plain_text import excerpt, plain


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;never ended\nnext line", "\nnext line"),
        ("\x1b(Bx\x1b=y", "xy"),
        ("a\x1b", "a"),
        ("10%\r50%\r100%\ndone", "100%\ndone"),
        ("one\r\ntwo\r\n", "one\ntwo\n"),
        ("a\x00b\x08c\x7f\x85", "abc"),
        ("tab\tstays", "tab\tstays"),
        ("safe\u202etxt.exe", "safe�txt.exe"),
        ("half \ud800 pair", "half � pair"),
        ("日本語 ✓", "日本語 ✓"),
    ],
)
def test_only_what_can_be_read_remains(written, read):
    assert plain(written) == read


@given(st.text(alphabet=st.characters(), max_size=300))
def test_what_remains_can_be_written_to_a_file_and_holds_no_control_characters(text):
    clean = plain(text)
    clean.encode("utf-8")
    assert not [char for char in clean if ord(char) < 32 and char not in "\n\t"]
    assert plain(clean) == clean


def test_very_long_lines_take_no_longer_than_others():
    assert plain("x" * 2_000_000 + "\r\n") == "x" * 2_000_000 + "\n"


def test_a_short_text_is_kept_whole():
    assert excerpt("a\nb", 10) == ("a\nb", 0, "")


@given(st.integers(200, 3000), st.integers(0, 60_000))
def test_an_excerpt_keeps_both_ends_and_counts_what_is_gone(limit, length):
    text = "".join(f"{number}\n" for number in range(length // 5))
    head, left_out, tail = excerpt(text, limit)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + left_out + len(tail) == len(text)
    assert len(head) + len(tail) <= max(limit, len(text) if not left_out else 0)


def test_colours_do_not_count_against_the_limit():
    assert excerpt("\x1b[31mabc\x1b[0m", 3) == ("abc", 0, "")
