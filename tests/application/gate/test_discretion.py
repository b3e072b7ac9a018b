"""What servers are told of a client where there is a gate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.application.gate.discretion import plain_abilities, plain_meta
from awf.domain.mcp import CLIENT_INFO, modern_meta

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))  # fmt: skip


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({}, {}),
        ({"elicitation": {}}, {"elicitation": {}}),
        ({"elicitation": {"form": {"x": 1}, "url": True, "y": {}}}, {"elicitation": {"form": {}, "url": {}}}),
        ({"roots": {"listChanged": "a text"}}, {"roots": {"listChanged": True}}),
        ({"roots": {"listChanged": False}}, {"roots": {}}),
        ({"sampling": "a text", "tasks": {}, "x": 1}, {"sampling": {}}),
    ],
)
def test_abilities_are_told_in_the_words_of_the_protocol(said, told):
    assert plain_abilities(said) == told


def test_of_the_meta_of_a_request_its_trace_and_its_token_are_left():
    said = {"progressToken": 5, "traceparent": TRACE, "tracestate": "a=b", "baggage": "x", "own/key": 1}
    assert plain_meta(said, "", {}, "") == {"progressToken": 5, "traceparent": TRACE, "tracestate": "a=b"}
    assert plain_meta({"traceparent": "any text", "tracestate": "a=b"}, "", {}, "") == {}


def test_in_the_newer_era_it_says_that_awf_asks():
    made = plain_meta(modern_meta("2026-07-28", {"x": 1}, {"name": "me"}), "2026-07-28", {"x": 1}, "error")
    level = {"io.modelcontextprotocol/logLevel": "error"}
    assert made == {**modern_meta("2026-07-28", {}, CLIENT_INFO), **level}


@given(st.dictionaries(st.sampled_from(["elicitation", "roots", "sampling", "x"]), JSON))
def test_whatever_a_client_says_it_can_there_are_few_things_to_hear(said):
    told = plain_abilities(said)
    assert plain_abilities(told) == told
    assert all(value in ({}, True) for options in told.values() for value in options.values())
