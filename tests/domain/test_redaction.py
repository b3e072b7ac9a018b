"""Secrets are found by name, masked by value, and sealed where they must come back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.domain.events import AgentTool
from awf.domain.redaction import MASK, Masker, looks_secret
from awf.domain.run import StepResult


@pytest.mark.parametrize(
    "name",
    [
        "SECRET_X",
        "API_KEY",
        "OPENAI_API_KEY",
        "PASSWORD",
        "db_password",
        "GITHUB_TOKEN",
        "token",
        "apiKey",
        "my-token",
        "AWS_SECRET_ACCESS_KEY",
        "privateKey",
    ],
)
def test_names_that_look_secret(name):
    assert looks_secret(name)


@pytest.mark.parametrize(
    "name",
    ["PATH", "monkey", "KEYBOARD", "tokens_used", "keyword", "author", "PASSAGE", "max_tokens", "file"],
)
def test_names_that_do_not(name):
    assert not looks_secret(name)


def masker(*values: str) -> Masker:
    made = Masker()
    for number, value in enumerate(values):
        made.add(f"s{number}", value)
    return made


def test_the_longer_of_two_overlapping_secrets_is_masked_whole():
    assert masker("abcd", "abcdefgh").mask("x abcdefgh y abcd z") == f"x {MASK} y {MASK} z"


def test_short_values_are_masked_only_under_a_key_that_looks_secret():
    made = masker("abc")
    assert made.mask("abc") == "abc"
    assert made.mask_data({"pin": "abc", "password": "abc", "list": [{"token": "x"}]}) == {
        "pin": "abc",
        "password": MASK,
        "list": [{"token": MASK}],
    }


def test_what_is_sealed_comes_back_and_is_masked_for_those_who_do_not_know_it():
    made = masker("s3cr3t-one", "s3cr3t-two")
    sealed = made.seal("a s3cr3t-one b s3cr3t-two c")
    assert "s3cr3t" not in sealed
    assert made.unseal(sealed) == "a s3cr3t-one b s3cr3t-two c"
    assert Masker().mask(sealed) == f"a {MASK} b {MASK} c"
    assert made.is_readable(sealed)
    assert not Masker().is_readable({"x": [sealed]})


@given(st.lists(st.binary(min_size=0, max_size=40), max_size=20), st.integers(1, 7))
def test_a_stream_is_masked_wherever_it_is_cut(chunks, size):
    secret = b"hunter2"
    whole = secret.join(chunks)
    stream = masker("hunter2").stream()
    out = b"".join(stream.feed(whole[at : at + size]) for at in range(0, len(whole), size)) + stream.close()
    assert out == whole.replace(secret, MASK.encode())


@pytest.mark.parametrize("size", range(1, 9))
def test_a_secret_that_comes_in_pieces_is_masked_and_nothing_else_is_lost(size):
    masker = Masker()
    for name, value in {"a": "sesame-open", "b": "aba-aba", "c": "abab"}.items():
        masker.add(name, value)
    text = "say sesame-open and sesame, then aba-aba aba-ab abab ab"
    pieces = masker.text()
    said = "".join(pieces.feed(text[at : at + size]) for at in range(0, len(text), size)) + pieces.close()
    assert said == "say *** and sesame, then *** aba-ab *** ab"


def test_text_that_cannot_become_a_secret_is_not_held_back():
    masker = Masker()
    masker.add("a", "xyzzy")
    pieces = masker.text()
    assert [pieces.feed("hello "), pieces.feed("box"), pieces.feed("es")] == ["hello ", "bo", "xes"]


@pytest.mark.parametrize("word", ["completed", "step", "text", "success", "finished", "stdout", "build"])
def test_a_secret_that_is_one_of_our_own_words_breaks_no_record(word):
    masker = Masker()
    masker.add("odd", word)
    event = AgentTool(
        path="build", step="build", call_id="1", name=word, phase="finished", input={"a": [word]}
    )
    masked = masker.map_struct(event, masker.mask)
    assert (masked.path, masked.phase, masked.name, masked.input) == (
        "build",
        "finished",
        MASK,
        {"a": [MASK]},
    )
    result = StepResult(status="success", output=f"x {word}", branches={"b": StepResult(status="failed")})
    sealed = masker.map_struct(result, masker.seal)
    assert word not in sealed.output
    assert masker.map_struct(sealed, masker.unseal) == result
