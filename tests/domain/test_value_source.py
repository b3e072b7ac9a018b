"""References in configured values."""

from __future__ import annotations

import json

import pytest

from awf.domain.errors import AwfError
from awf.domain.value_source import (
    CallFacts,
    Loading,
    Sources,
    ValueSource,
    asks_headers,
    chosen,
    is_reference,
    parse_value,
    resolve,
    without_headers,
)

FILES = {"key.txt": "s3cret\n", "two.txt": "a\n\n", "crlf.txt": "x\r\n", "empty.txt": ""}


def read_file(name: str) -> str:
    if name == "binary":
        raise ValueError("it holds no text")
    if name not in FILES:
        raise FileNotFoundError(2, "No such file or directory")
    return FILES[name]


def loading(**environment: str) -> Loading:
    return Loading(Sources(environment, read_file))


def facts(session: str = "s1", **headers: str) -> CallFacts:
    numbers = iter(range(100))
    return CallFacts(session, headers, lambda: 1_700_000_000.5, lambda: f"uuid-{next(numbers)}")


def test_text_without_references_is_the_same_object():
    text = "plain $5 {x}"
    made = loading()
    assert made.value(text, ()) is text
    assert resolve(text, facts()) is text
    assert made.problems == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${env:USER}", "ann"),
        ("a-${env:USER}-${env:USER}", "a-ann-ann"),
        ("${env:NONE:-nobody}", "nobody"),
        ("${env:NONE:-}", ""),
        ("${env:USER:-nobody}", "ann"),
        ("${file:key.txt}", "s3cret"),
        ("${file:two.txt}", "a\n"),
        ("${file:crlf.txt}", "x"),
        ("${file:empty.txt}", ""),
        ("$${env:USER}", "${env:USER}"),
        ("$$${env:USER}", "$${env:USER}"),
        ("${env:DOLLARS}", "${uuid()}"),
    ],
)
def test_what_is_known_at_load_is_filled_in_once_and_for_all(text, value):
    made = loading(USER="ann", DOLLARS="${uuid()}")
    loaded = made.value(text, ())
    assert (loaded, made.problems) == (value, [])
    assert type(loaded) is str
    assert resolve(loaded, facts()) is loaded  # what came from outside is never read as a reference


def test_what_a_call_decides_is_filled_in_at_every_call():
    made = loading(USER="ann")
    loaded = made.value({"a": ["${env:USER}/${uuid()}", 1], "b": {"c": "x"}}, (), per_call=True)
    call = facts()
    assert resolve(loaded, call) == {"a": ["ann/uuid-0", 1], "b": {"c": "x"}}
    assert resolve(loaded, call) == {"a": ["ann/uuid-1", 1], "b": {"c": "x"}}
    assert resolve(loaded, call)["b"] is loaded["b"]
    json.dumps(resolve(loaded, call))


def test_a_value_without_anything_of_a_call_is_the_same_object_in_every_call():
    value = loading(USER="ann").value({"a": ["${env:USER}"], "b": [{"c": None}]}, (), per_call=True)
    assert resolve(value, facts()) is value


def test_a_text_that_waits_for_a_call_still_reads_as_written():
    value = loading().value("${uuid()}", (), per_call=True)
    assert isinstance(value, ValueSource)
    assert value == "${uuid()}"
    assert not value.is_static


def test_the_uuid_of_a_session_stays_the_same_and_is_another_one_elsewhere():
    value = loading().value("${uuid(session)}", (), per_call=True)
    first, second = resolve(value, facts("s1")), resolve(value, facts("s1"))
    assert first == second
    assert first != resolve(value, facts("s2"))
    assert len(first) == 36
    assert "s1" not in first


def test_without_a_session_nobody_shares_a_uuid():
    value = loading().value("${uuid(session)}", (), per_call=True)
    call = facts("")
    assert [resolve(value, call), resolve(value, call)] == ["uuid-0", "uuid-1"]


def test_now_is_a_timestamp_in_utc():
    assert resolve(loading().value("${now()}", (), per_call=True), facts()) == "2023-11-14T22:13:20.500Z"


def test_a_header_is_found_whatever_its_case_and_may_have_a_default():
    load = loading()
    call = facts(**{"x-user": "ann"})
    assert resolve(load.value("${header:X-User}", (), per_call=True), call) == "ann"
    assert resolve(load.value("${header:X-Team:-none}", (), per_call=True), call) == "none"


def test_a_header_that_was_not_sent_is_an_error_and_not_an_empty_text():
    value = loading().value("${header:X-User}", (), per_call=True)
    with pytest.raises(AwfError, match="without the header X-User") as caught:
        resolve(value, facts())
    assert caught.value.code == "USER.GATEWAY.INVALID_REFERENCE"


def test_what_a_client_chose_is_told_apart_from_what_nobody_chose():
    load = loading(KIND="x")
    written = {"a": "${env:KIND}-${header:X-User}-${now()}", "b": ["${header:X-Team:-none}", 1], "c": "$${x}"}
    value = load.value(written, (), per_call=True)
    assert chosen(value, {"x-other": "y"}) is value
    assert chosen(value, {"x-user": "ann"}) == {"a": "x-ann-${now()}", "b": ["none", 1], "c": "${x}"}
    assert chosen(value, {"x-team": "red"})["a"] == "x-${header:X-User}-${now()}"
    assert without_headers(value)["b"] == ["none", 1]
    assert asks_headers(value)
    assert not asks_headers(load.value(["${now()}", "${uuid(session)}", 5], (), per_call=True))


@pytest.mark.parametrize(
    "text", ["${header:X-A}", "${header:X-A:-b}", "${now()}", "${uuid()}", "${uuid(session)}"]
)
def test_what_stays_open_stays_as_it_is_written(text):
    assert [one.text for one in parse_value(text).references] == [text]


@pytest.mark.parametrize("name", ["Authorization", "cookie", "MCP-Session-Id", "Proxy-Authorization"])
def test_what_a_client_proves_itself_with_is_never_passed_on(name):
    with pytest.raises(AwfError, match="never passed on"):
        parse_value(f"${{header:{name}}}")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("${uid()}", "${uid()} is no reference", "${uuid()}"),
        ("${now}", "${now} is no reference", "${env:now}"),
        ("${HOME}", "${HOME} is no reference", "${env:HOME}"),
        ("${envv:HOME}", "${envv:HOME} is no reference", "${env:NAME}"),
        ("${input:key}", "${input:key} is no reference", "There are ${env:NAME}"),
        ("${}", "${} is no reference", "There are"),
        ("${env:}", "cannot be the name of an environment variable", ""),
        ("${env:A-B}", "cannot be the name of an environment variable", ""),
        ("${header:}", "cannot be the name of a header", ""),
        ("${file:}", "${file:} is no reference", "${file:PATH}"),
        ("${env:HOME", "never closed", "$${"),
        ("${env:NONE}", "The environment variable NONE is not set", "Set it"),
        ("${file:gone}", "The file gone cannot be read: No such file", "Check the path"),
        ("${file:binary}", "The file binary is not usable", "UTF-8"),
    ],
)
def test_what_cannot_be_filled_in_is_told_with_its_place(text, message, hint):
    made = loading()
    assert made.value({"a": ["fine", text]}, ("defaults",), per_call=True) == {"a": ["fine", text]}
    (problem,) = made.problems
    assert (problem.code, problem.path) == ("USER.GATEWAY.INVALID_REFERENCE", ("defaults", "a", 1))
    assert message in problem.message
    assert hint in problem.hint


def test_what_only_a_call_knows_is_refused_where_no_call_has_been_made():
    made = loading()
    made.value(["${header:X-User}", "${now()}"], ("args",))
    assert [problem.path for problem in made.problems] == [("args", 0), ("args", 1)]
    assert "${header:X-User} has a value only in a call" in made.problems[0].message
    assert "${now()}" in made.problems[1].message


def test_secret_variables_and_files_are_reported_for_masking_and_others_are_not():
    made = loading(API_KEY="k-123", USER="ann", EMPTY_TOKEN="")
    made.value(["${env:API_KEY}", "${env:USER}", "${file:key.txt}", "${env:EMPTY_TOKEN}"], ())
    assert made.secrets == {"API_KEY": "k-123", "file:key.txt": "s3cret"}


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("${env:A}", True), ("x ${", True), ("$${env:A}", False), ("$5", False), ("$${a} ${now()}", True)],
)
def test_an_escaped_reference_is_none(text, is_one):
    assert is_reference(text) is is_one
