"""Names, values and patterns: what the gate writes down has no secrets in it, and a clean payload is known for one."""

from __future__ import annotations

import base64
import json
import urllib.parse

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from awf.domain.redaction import MASK, Masker, is_secret_key
from awf.domain.redaction.redactor import Redactor
from awf.domain.redaction.spellings import spellings


def redactor(*values: str, keys=(), patterns=()) -> Redactor:
    masker = Masker()
    for number, value in enumerate(values):
        masker.add(f"s{number}", value)
    return Redactor(masker, keys=keys, patterns=patterns)


def texts_in(value):
    if isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)
    else:
        yield value if isinstance(value, str) else msgspec.json.encode(value).decode()


# -- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["apiKey", "token", "secret", "password", "API-KEY", "x_api_key", "X.Api.Key", "Authorization", "proxy-authorization",
     "Cookie", "set-cookie", "accessToken", "ACCESS_TOKEN", "accesstoken", "refresh token", "id_token", "clientSecret",
     "private_key", "privatekey", "passphrase", "credentials", "db-credential", "connectionString", "githubtoken"],
)  # fmt: skip
def test_a_value_under_a_secret_name_is_redacted(name):
    assert is_secret_key(name)
    value = {"a": [{name: "x"}], "n": 1}
    assert redactor().redacted(value) == {"a": [{name: MASK}], "n": 1}
    assert redactor().suspicious(msgspec.json.encode(value))


@pytest.mark.parametrize(
    "name",
    ["max_tokens", "tokens_used", "monkey", "nextPageToken", "keyboard", "key", "author", "secretary", "pwd"],
)
def test_a_value_under_another_name_stays(name):
    value = {name: "x"}
    assert redactor().redacted(value) == value
    assert not redactor().suspicious(msgspec.json.encode(value))


def test_under_a_secret_name_numbers_and_whole_trees_go_and_only_the_shape_stays():
    value = {
        "credentials": {"user": "u", "pin": 12, "on": True, "none": None, "empty": "", "more": ["x", 1.5]}
    }
    assert redactor().redacted(value) == {
        "credentials": {
            "user": MASK,
            "pin": MASK,
            "on": True,
            "none": None,
            "empty": "",
            "more": [MASK, MASK],
        }
    }


@pytest.mark.parametrize("written", ["ssn", "SSN", "s-s-n", "S_s_N"])
def test_more_names_can_be_configured_and_given_with_a_call(written):
    value = {"ssn": "1", "x": {"S-S-N": 2}, "ssnumber": "3"}
    hidden = {"ssn": MASK, "x": {"S-S-N": MASK}, "ssnumber": "3"}
    assert redactor(keys=[written]).redacted(value) == redactor().redacted(value, [written]) == hidden
    encoded = msgspec.json.encode(value)
    assert redactor(keys=[written]).suspicious(encoded)
    assert redactor().suspicious(encoded, [written])
    assert not redactor().suspicious(encoded)


def test_names_beyond_ascii_are_known_in_small_and_capital_letters():
    for name in ("пароль", "ПАРОЛЬ", "Пароль"):
        assert redactor(keys=["пароль"]).redacted({name: "x"}) == {name: MASK}
        assert redactor(keys=["пароль"]).suspicious(msgspec.json.encode({name: "x"}))


@pytest.mark.parametrize("depth", range(4))
def test_json_that_is_carried_as_text_is_redacted_at_any_depth_of_escaping(depth):
    text = json.dumps({"user": "u", "api_key": 'a"b\\c\n' + "d", "rest": "stays"})
    for _ in range(depth):
        text = json.dumps(text)
    value = {"text": text}
    assert redactor().suspicious(msgspec.json.encode(value))
    hidden = redactor().redacted(value)["text"]
    for _ in range(depth):
        hidden = json.loads(hidden)
    assert json.loads(hidden) == {"user": "u", "api_key": MASK, "rest": "stays"}


def test_json_that_was_cut_is_redacted_up_to_the_end_of_its_line():
    assert redactor().mask('{"token": "abc\nnext') == '{"token": "***\nnext'


def test_programs_are_left_as_they_are():
    text = (
        'token = get_token()\npassword: str\ndef f(secret="x"): ...\nsk-learn disk-usage-of-the-whole-machine'
    )
    assert redactor().mask(text) == text


# -- values ----------------------------------------------------------------------------------------------------------

SECRET = "pä$s/w+rd?&\"it's\\x"


@pytest.mark.parametrize(
    "spell",
    [
        str,
        lambda value: json.dumps(value)[1:-1],
        lambda value: json.dumps(value, ensure_ascii=False),
        lambda value: json.dumps(value).replace("/", "\\/"),
        lambda value: json.dumps(json.dumps({"a": value})),
        lambda value: value.encode().hex(),
        lambda value: value.encode().hex().upper(),
        urllib.parse.quote,
        urllib.parse.quote_plus,
        lambda value: urllib.parse.quote(value, safe="").replace("%C3", "%c3").replace("%A4", "%a4").lower(),
        lambda value: base64.b64encode(value.encode()).decode(),
        lambda value: base64.b64encode(value.encode()).decode().rstrip("="),
        lambda value: base64.urlsafe_b64encode(value.encode()).decode(),
        *(
            lambda value, before=before, after=after: base64.b64encode(
                b"u" * before + value.encode() + b"v" * after
            ).decode()
            for before in range(4)
            for after in range(4)
        ),
    ],
)
def test_a_known_value_is_masked_in_every_spelling(spell):
    written = spell(SECRET)
    value = {"text": f"before {written} after"}
    assert redactor(SECRET).suspicious(msgspec.json.encode(value))
    hidden = redactor(SECRET).redacted(value)["text"]
    assert MASK in hidden
    assert hidden.startswith("before ")
    assert hidden.endswith(" after")
    assert SECRET[4:-4] not in hidden
    assert len(hidden) <= 40


def test_the_base64_of_what_ends_with_a_value_is_masked_to_its_end():
    written = base64.b64encode(b"user:correct-horse").decode()
    assert redactor("correct-horse").without_values(f"x {written} y").endswith("*** y")


def test_a_value_in_a_key_or_a_number_is_masked_and_no_entry_is_lost():
    value = {"one-value": 1, "two-value": 2, "n": 123456, "m": 4.5678}
    hidden = redactor("one-value", "two-value", "123456", "4.5678").redacted(value)
    assert hidden == {"***": 1, "*** (2)": 2, "n": MASK, "m": MASK}


def test_overlapping_values_are_masked_as_one():
    assert redactor("abcdef", "defghi").mask("x abcdefghi y") == "x *** y"


def test_values_that_are_added_later_are_known_from_then_on():
    masker = Masker()
    one = Redactor(masker)
    encoded = msgspec.json.encode({"a": "hunter22"})
    assert not one.suspicious(encoded)
    masker.add("late", "hunter22")
    assert one.suspicious(encoded)
    assert one.redacted({"a": "hunter22"}) == {"a": MASK}


# -- patterns --------------------------------------------------------------------------------------------------------

RUN = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0fG3hJ6"  # 36 signs


@pytest.mark.parametrize(
    "token",
    ["AKIA" + "ABCDEFGH12345678", "ghp_" + RUN, "gho_" + RUN, "github_pat_" + RUN, "glpat-" + RUN[:20],
     "xoxb-" + "1234567890-" + RUN, "sk_live_" + RUN, "sk-" + RUN, "sk-ant-api03-" + RUN, "sk-proj-" + RUN,
     "AIza" + RUN[:35], "ya29." + RUN, "npm_" + RUN, "hf_" + RUN, "SG." + RUN[:22] + "." + RUN,
     "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + RUN,
     "-----BEGIN PRIVATE KEY-----\nMIIB\nabc\n-----END PRIVATE KEY-----",
     "-----BEGIN RSA PRIVATE KEY-----\\nMIIB\\n-----END RSA PRIVATE KEY-----",
     "-----BEGIN OPENSSH PRIVATE KEY-----\nMIIB that was cut"],
)  # fmt: skip
@pytest.mark.parametrize("before", ["", "x ", "\n", "\\n", '"', "é", "\x01"])
def test_what_looks_like_a_key_of_a_well_known_service_is_masked(token, before):
    value = {"text": before + token}
    assert redactor().suspicious(msgspec.json.encode(value))
    assert redactor().redacted(value) == {"text": before + MASK}


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        (f"Authorization: Bearer {RUN}", "Authorization: Bearer ***"),
        ("authorization: token 0123456789abcdef", "authorization: token ***"),
        ("curl -H 'X-API-Key: 0123456789abcdef' x", "curl -H 'X-API-Key: ***' x"),
        ("Basic dXNlcjpwYXNzd29yZDE=", "Basic ***"),
        ("bearer " + RUN + ", and", "bearer ***, and"),
        ("Set-Cookie: sid=abc; Path=/\nnext", "Set-Cookie: ***\nnext"),
        ("postgres://me:pa55@db:5432/x", "postgres://me:***@db:5432/x"),
        ("AccountKey=" + RUN + "==;End", "AccountKey=***;End"),
        (f"https://hooks.slack.com/services/T01234567/B01234567/{RUN[:24]}", "https://hooks.slack.com/services/***"),
    ],
)  # fmt: skip
def test_of_a_header_or_an_address_only_the_secret_part_is_masked(text, hidden):
    assert redactor().suspicious(msgspec.json.encode([text]))
    assert redactor().mask(text) == hidden


@pytest.mark.parametrize(
    "text",
    ["550e8400-e29b-41d4-a716-446655440000", "a" * 64, "basic understanding-of-things", "mail me@example.org",
     "https://example.org/a@b", "ASKIA", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
     "a cookie: a small biscuit", "Authorization: required for all requests"],
)  # fmt: skip
def test_what_only_resembles_one_stays(text):
    assert redactor().mask(text) == text


def test_patterns_of_the_operator_are_masked_too():
    one = redactor(patterns=[r"\bEMP-\d{4}\b", r"^only$"])
    value = {"a": "see\nEMP-1234.", "b": ["only", "not only"], "EMP-9999": 1}
    assert one.suspicious(msgspec.json.encode({"a": "see\nEMP-1234."}))
    assert one.suspicious(msgspec.json.encode(["only"]))
    assert not one.suspicious(msgspec.json.encode(["not only"]))
    assert one.redacted(value) == {"a": "see\n***.", "b": [MASK, "not only"], MASK: 1}


@pytest.mark.parametrize("pattern", [".", "..", r"\*", "x|\\*+", "a.*b", "^.|y", "(?<=a)b"])
@given(text=st.text(alphabet="ab*xy\n ", max_size=40))
def test_no_pattern_of_the_operator_makes_masking_twice_differ(pattern, text):
    one = redactor(patterns=[pattern])
    assert one.mask(one.mask(text)) == one.mask(text)


def test_a_long_text_is_searched_from_end_to_end():
    one = redactor(patterns=[r"EMP-\d{4}"])
    for at in (0, 1499, 1998, 2000, 9_990):
        text = "." * at + "EMP-1234" + "." * (10_000 - at)
        assert one.mask(text) == text.replace("EMP-1234", MASK)


# -- of all of them --------------------------------------------------------------------------------------------------

_WORDS = st.sampled_from(
    ["token", "max_tokens", "password", "api", "key", "x-api-key", "Cookie: a=b", "Bearer ", "sk-", "ghp_", RUN, "AKIA",
     "://a:b@c", "@", '"', '\\"', "\\", "secret", '"token": "', '"}', "eyJ", ".", "***", "*", "/", " ", "\n", "é", "-----BEGIN ",
     "PRIVATE KEY-----", "s3cr3t-value", "s3cr3t", "value", "ABCDEFGH12345678", "ſecret", "toKen", "\x7f", "\x01"]
)  # fmt: skip
_TEXTS = st.lists(_WORDS, max_size=6).map("".join) | st.text(max_size=12)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
_SECRETS = st.lists(
    st.text(min_size=4, max_size=24) | st.sampled_from(["s3cr3t-value", 'q"u\\o/te\n1', "a***b"]), max_size=3
)
_KEYS = st.lists(st.sampled_from(["value", "é", "s3cr3t", "a b"]), max_size=2)


def encodable(value) -> bytes | None:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return None


@settings(max_examples=400, deadline=None)
@given(_VALUES, _SECRETS, _KEYS, st.sampled_from([(), (r"\bval\w*$",)]))
@example({'tokenABCDEFGH12345678"': 0}, [], [], ())  # a quotation mark in a key
@example({'{"tokenABC"x': 0}, [], [], ())
def test_where_nothing_is_suspicious_nothing_is_redacted(value, secrets, keys, patterns):
    one = redactor(*secrets, keys=keys[:1], patterns=patterns)
    encoded = encodable(value)
    if encoded is not None and not one.suspicious(encoded, keys[1:]):
        assert one.redacted(value, keys[1:]) == value


@settings(max_examples=400, deadline=None)
@given(_VALUES, _SECRETS)
def test_redacting_twice_is_redacting_once_and_equal_values_come_out_equal(value, secrets):
    one = redactor(*secrets)
    once = one.redacted(value)
    assert one.redacted(once) == once
    assert redactor(*secrets).redacted(value) == once


@st.composite
def _hiding(draw):
    secret = draw(st.text(min_size=4, max_size=24).filter(lambda text: text.strip("* \t\r\n")))
    spelled = draw(st.sampled_from(spellings(secret)))
    text = draw(_TEXTS) + spelled + draw(_TEXTS)
    wrap = draw(st.sampled_from(["leaf", "key", "list", "deep"]))
    shapes = {"leaf": text, "key": {text: 1}, "list": ["a", [text]], "deep": {"a": [{"b": {"c": text}}]}}
    return secret, shapes[wrap]


@settings(max_examples=400, deadline=None)
@given(_hiding())
def test_a_known_value_never_comes_through_however_and_wherever_it_is_written(hiding):
    secret, value = hiding
    one = redactor(secret)
    for hidden in (one.redacted(value), one.without_values(value)):
        for text in texts_in(hidden):
            assert not [spelled for spelled in spellings(secret) if spelled in text]


@pytest.mark.parametrize("levels", [1, 330, 100_000])
def test_how_deep_a_secret_is_hidden_makes_no_difference(levels):
    told: object = "it is hunter22"
    for _ in range(levels):
        told = {"a": [told]}
    for taken in (redactor("hunter22").redacted(told), redactor("hunter22").without_values(told)):
        inner = taken
        for _ in range(levels):
            ((inner,),) = inner.values()
        assert inner == f"it is {MASK}"


def test_what_has_no_secret_in_it_is_the_same_object_however_deep_it_is():
    told: object = "nothing"
    for _ in range(100_000):
        told = [told]
    assert redactor("hunter22").redacted(told) is told
    assert redactor("hunter22").without_values(told) is told


def test_many_names_that_look_the_same_when_masked_all_stay():
    names = [f"ghp_{number:036}" for number in range(20_000)]
    taken = redactor().redacted(dict.fromkeys(names, 1))
    assert list(taken)[:3] == [MASK, f"{MASK} (2)", f"{MASK} (3)"]
    assert len(taken) == len(names)


def test_a_result_without_known_values_is_the_servers_own_words():
    raw = {
        "content": [{"type": "text", "text": f"token ghp_{RUN}", "_meta": {"password": "x"}}],
        "isError": False,
    }
    assert redactor("hunter22").without_values(raw) == raw


def test_a_result_keeps_its_form_whatever_the_secret_is():
    raw = {
        "content": [
            {"type": "text", "text": "some text"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        ]
    }
    assert redactor("text", "image").without_values(raw) == {
        "content": [
            {"type": "text", MASK: "some ***"},
            {"type": "image", "data": "AAAA", "mimeType": "***/png"},
        ]
    }


def test_a_picture_with_a_secret_in_it_is_left_out():
    data = base64.b64encode(b"\x89PNG hunter22hunter22 ...").decode()
    raw = {"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}
    (block,) = redactor("hunter22hunter22").without_values(raw)["content"]
    assert block["type"] == "text"
    assert block["text"].startswith(MASK)


def test_a_number_that_is_too_long_to_be_written_breaks_nothing():
    masker = Masker()
    masker.add("a", "12345678")
    redactor = Redactor(masker)
    assert redactor.redacted({"a": 10**5000, "b": 1}) == {"a": "***", "b": 1}
    assert redactor.without_values([-(10**5000), 2]) == ["***", 2]
