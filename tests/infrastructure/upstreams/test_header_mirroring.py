from __future__ import annotations

import pytest

from awf.domain.mirroring import header_value, mirrored_headers, mirrored_parameters
from awf.infrastructure.upstreams.restarts import Restarts


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("with space", "with space"),
        ("", ""),
        (" edge", "=?base64?IGVkZ2U=?="),
        ("a\r\nX: y", "=?base64?YQ0KWDogeQ==?="),
        ("ä", "=?base64?w6Q=?="),
        ("=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
    ],
)
def test_values_that_a_header_cannot_carry_are_wrapped(text, value):
    assert header_value(text) == value


def marked(kind="string", name="Region"):
    return {"type": kind, "x-mcp-header": name}


def of(**properties):
    return {"type": "object", "properties": properties}


def test_marked_arguments_are_found_at_any_depth_and_sent_when_given():
    parameters = mirrored_parameters(
        of(a=marked(name="A"), b=of(c=marked("integer", "C"), d=marked("boolean", "D")))
    )

    assert parameters == {("a",): "A", ("b", "c"): "C", ("b", "d"): "D"}
    sent = mirrored_headers(parameters, {"b": {"c": 5, "d": False}})
    assert sent == {"Mcp-Param-C": "5", "Mcp-Param-D": "false"}
    assert mirrored_headers(parameters, {"a": None, "b": 3}) == {}


@pytest.mark.parametrize(
    "schema",
    [
        marked(),
        of(a=marked("number")),
        of(a=marked("object")),
        of(a=marked(name="")),
        of(a=marked(name="a b")),
        of(a=marked(name=3)),
        of(a=marked(name="X"), b=marked(name="x")),
        {"allOf": [of(a=marked())]},
        of(a={"type": "array", "items": marked()}),
        {"$defs": {"x": marked()}},
    ],
)
def test_marks_that_make_no_sense_are_refused(schema):
    with pytest.raises(ValueError, match="x-mcp-header"):
        mirrored_parameters(schema)


def test_data_that_only_looks_like_a_mark_is_left_alone():
    assert mirrored_parameters({"default": {"x-mcp-header": "A"}, "enum": [{"x-mcp-header": "B"}]}) == {}
    assert mirrored_parameters(None) == {}


def test_a_server_is_started_again_three_times_a_minute_at_growing_distances():
    restarts = Restarts()
    pauses = []
    for now in (0.0, 1.0, 2.0, 3.0, 4.0, 61.5):
        pauses.append(restarts.pause(now))
        if pauses[-1] is not None:
            restarts.note(now)

    assert pauses == [0.0, 0.0, 0.5, 1.0, None, 1.0]
