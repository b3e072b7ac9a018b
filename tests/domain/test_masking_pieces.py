"""Every spelling of a secret is masked also where it comes in pieces, and sealed where it must come back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awf.domain.redaction import MASK, Masker
from awf.domain.redaction import masker as masking
from awf.domain.redaction.redactor import Redactor
from awf.domain.redaction.spellings import spellings
from awf.domain.redaction.value_index import ValueIndex

SECRET = 'c0rrect/h+rse "ö"'
LONG = "-----\n" + "MIIBVgIBADANBgkqh" * 400


def masker(*values: str) -> Masker:
    made = Masker()
    for number, value in enumerate(values):
        made.add(f"s{number}", value)
    return made


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("spelled", sorted(spellings(SECRET)))
def test_a_spelling_is_masked_wherever_it_is_cut(spelled, size):
    text = f"say {spelled} and {spelled[:-1]}, {spelled}."
    whole = masker(SECRET).mask(text)
    assert whole.startswith("say ***")
    pieces = masker(SECRET).text()
    cut = [pieces.feed(text[at : at + size]) for at in range(0, len(text), size)]
    assert "".join(cut) + pieces.close() == whole
    stream, data = masker(SECRET).stream(), text.encode()
    out = [stream.feed(data[at : at + size]) for at in range(0, len(data), size)]
    assert b"".join(out) + stream.close() == whole.encode()


def test_text_that_begins_like_no_spelling_is_not_held_back():
    pieces = masker(LONG).text()
    assert pieces.feed("hello ") == "hello "


def test_a_value_of_many_lines_is_masked_plain_and_in_json():
    made = masker(LONG)
    assert made.mask(f"a {LONG} b") == f"a {MASK} b"
    assert made.mask("a " + LONG.replace("\n", "\\n") + " b") == f"a {MASK} b"


@pytest.mark.parametrize("spelled", sorted(spellings(SECRET)))
def test_every_spelling_is_sealed_and_comes_back(spelled):
    made = masker(SECRET, "another-one")
    text = f"x {spelled} y another-one"
    sealed = made.seal(text)
    assert spelled not in sealed
    assert made.is_readable(sealed)
    assert made.unseal(sealed) == text
    assert Masker().mask(sealed) == f"x {MASK} y {MASK}"


def test_a_value_that_is_nothing_but_asterisks_is_no_secret():
    assert masker("******", " **** ").mask("a ****** b") == "a ****** b"


def test_of_a_value_that_passes_the_last_two_are_known_and_it_is_masked_also_where_others_are_sealed():
    made = masker("stays-here")
    for token in ("token-number-1", "token-number-2", "token-number-2", "token-number-3"):
        made.renew("oauth", token)
    said = "stays-here token-number-1 token-number-2 token-number-3"
    assert made.mask(said) == "*** token-number-1 *** ***"
    assert made.unseal(made.seal(said)) == "stays-here token-number-1 *** ***"
    assert made.values == {"s0": "stays-here"}
    alone = Masker()
    alone.renew("oauth", "token-number-1")
    assert alone.mask("a token-number-1") == "a ***"
    assert alone.text().feed("token-num") == ""


def test_a_value_that_another_thread_adds_while_the_index_is_made_is_found_from_then_on(monkeypatch):
    made = masker("came-first")
    redactor = Redactor(made)
    spelled = masking.spellings

    def meanwhile(value):
        monkeypatch.setattr(masking, "spellings", spelled)
        made.add("late", "came-later")
        return spelled(value)

    monkeypatch.setattr(masking, "spellings", meanwhile)
    assert redactor.suspicious(b'{"a":"came-first"}')
    assert redactor.suspicious(b'{"a":"came-later"}')
    assert made.mask("came-later") == MASK


def test_a_value_with_a_line_break_at_its_end_is_known_without_it():
    assert masker("hunter22\n").mask("it is hunter22, yes") == f"it is {MASK}, yes"


@settings(deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=50), max_size=6), st.binary(max_size=200), st.data())
def test_an_index_finds_every_text_at_every_place(texts, around, data):
    index = ValueIndex(texts)
    if texts:
        one = data.draw(st.sampled_from(texts))
        at = data.draw(st.integers(0, len(around)))
        holding = around[:at] + one + around[at:]
        assert index.may_hold(holding)
        assert any(start <= at and at + len(one) <= end for start, end in index.spans(holding))
    found = index.spans(around)
    assert bool(found) == any(text in around for text in texts)


@pytest.mark.parametrize("length", [5, 10, 20, 30, 60])
def test_an_index_finds_a_text_in_one_of_many_megabytes(length):
    text = bytes(range(1, length + 1))
    index = ValueIndex([text])
    for at in (0, 5_001, 262_137, 262_144 - length // 2, 1_000_001):
        data = b"." * at + text + b"." * 100
        assert index.spans(data) == [(at, at + length)]
    assert not index.may_hold(b"." * 1_000_000)
