"""Secrets are found by name, masked by value, and sealed where they must come back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.domain.events import AgentTool
from awf.domain.redaction import MASK, Masker, looks_secret
from awf.domain.redaction.spellings import spellings
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


def test_what_is_learned_in_the_midst_of_a_run_is_masked_but_never_taken_for_another_value():
    made = Masker()
    for value in ("first-4711", "second-4712", "third-4713"):
        made.learn(value)
    sealed = [made.seal(value) for value in ("first-4711", "second-4712")]
    assert made.mask("first-4711 second-4712 third-4713") == f"{MASK} {MASK} {MASK}"
    assert [made.unseal(one) for one in sealed] == [MASK, MASK]


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


def _escaped(text: str, signs: str, form: str, others: str = "") -> str:
    """As other writers of JSON do it."""
    plain = json.dumps(text, ensure_ascii=False)[1:-1]
    made = "".join(f"\\u{ord(sign):{form}}" if sign in signs else sign for sign in plain)
    return (
        made if not others else "".join(one if one.isascii() else f"\\u{ord(one):{others}}" for one in made)
    )


@pytest.mark.parametrize(
    ("signs", "form", "others"),
    [
        ("<>&", "04x", ""),  # Go, Rails
        ("<>&='", "04x", ""),  # Gson
        ("<>&'", "04X", "04x"),  # PHP
        ("", "04X", "04X"),  # Jackson
        ("<>&'+`", "04X", "04X"),  # .NET
    ],
)
def test_a_secret_is_known_as_careful_writers_of_json_write_it(signs, form, others):
    for secret in ("sk/live+0123/456789==", "geheim-äö-<0123>&'`", "plain-0123456789"):
        masker = Masker()
        masker.add("env.KEY", secret)
        written = _escaped(secret, signs, form, others)
        for text in (written, written.replace("/", "\\/"), json.dumps(written, ensure_ascii=False)[1:-1]):
            assert masker.mask(f'{{"k":"{text}"}}') == '{"k":"***"}'


def test_quotes_that_are_written_as_numbers_hide_no_secret():
    masker = Masker()
    masker.add("env.KEY", 'ab"cd"0123')
    assert masker.mask("ab\\u0022cd\\u00220123") == "***"


def test_spellings_keep_their_numbers_and_most_secrets_have_few():
    """What was sealed by an earlier version names a spelling by its number."""
    assert len(spellings("sk-live-0123456789abcdef")) == 10
    assert spellings("sk/live+0123/456789==")[:3] == (
        "sk/live+0123/456789==",
        "sk\\/live+0123\\/456789==",
        "sk\\\\/live+0123\\\\/456789==",
    )
    assert [one for one in spellings("geheim-äöü-0123456")[14:] if "u00E4" not in one] == []
    assert max(len(spellings(text)) for text in ("a<b>&'c\"+d`=e/f-0123", "ä<b>&'c\"+d`=e/f-0123")) < 50
