from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from awf.interfaces.cli.rendering.line_buffer import LineBuffer, Tail


def test_pieces_become_lines_when_their_end_comes():
    buffer = LineBuffer()
    assert buffer.feed("one\ntw") == ["one"]
    assert buffer.feed("o") == []
    assert buffer.feed("\n\nthree") == ["two", ""]
    assert buffer.flush() == ["three"]
    assert buffer.flush() == []


def test_an_escape_sequence_in_two_pieces_is_still_one():
    buffer = LineBuffer()
    assert buffer.feed("\x1b[3") == []
    assert buffer.feed("1mred\n") == ["red"]


def test_a_line_that_never_ends_is_given_out_in_bounded_parts():
    buffer = LineBuffer()
    given_out = [line for _ in range(10) for line in buffer.feed("x" * 10_000)]
    assert given_out
    assert len("".join(given_out)) + len("".join(buffer.flush())) == 100_000


@given(st.lists(st.text(alphabet="ab\n"), max_size=20), st.integers(min_value=1, max_value=5))
def test_a_tail_is_the_end_of_the_whole_text_however_it_was_cut(pieces, size):
    tail = Tail(size)
    for piece in pieces:
        tail.feed(piece)
    *ended, rest = "".join(pieces).split("\n")
    assert tail.lines() == "\n".join([*ended[-size:], rest]).rstrip().split("\n") * bool(tail.lines())
    assert bool(tail.lines()) == any(line.strip() for line in [*ended[-size:], rest])


def test_a_tail_stays_small_when_much_is_written_at_once():
    tail = Tail(3)
    tail.feed("x" * 1_000_000)
    tail.feed("\n".join(str(n) for n in range(100_000)))
    assert tail.lines() == ["99996", "99997", "99998", "99999"]
    assert tail.last() == "99999"


def test_the_last_line_of_a_tail_is_one_that_says_something():
    tail = Tail(3)
    assert tail.last() == ""
    tail.feed("told\n\n  ")
    assert tail.last() == "told"


def test_whole_lines_can_be_put_after_an_unfinished_one():
    tail = Tail(5)
    tail.feed("half")
    tail.add(["one", "two"])
    assert tail.lines() == ["half", "one", "two"]
