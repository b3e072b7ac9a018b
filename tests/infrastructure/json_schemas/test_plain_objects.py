"""What is said to fit without the validator fits; and what is usual is said to."""

from __future__ import annotations

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.infrastructure.json_schemas.plain_objects import plain_objects
from awf.infrastructure.json_schemas.schemas import RustJsonSchemas

NAMES = st.sampled_from(["a", "b", "c", "d"])
KINDS = st.sampled_from(["string", "boolean", "integer", "number"])
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(),
    st.lists(st.integers(), max_size=2), st.dictionaries(NAMES, st.integers(), max_size=2),
)  # fmt: skip
PROPERTY = st.fixed_dictionaries({}, optional={"type": KINDS, "description": st.text(), "default": VALUES})
SCHEMAS = st.fixed_dictionaries(
    {"type": st.just("object")},
    optional={
        "properties": st.dictionaries(NAMES, PROPERTY),
        "required": st.lists(NAMES, unique=True),
        "additionalProperties": st.booleans(),
        "title": st.text(),
        "$schema": st.just("https://json-schema.org/draft/2020-12/schema"),
    },
)


@given(SCHEMAS, st.one_of(VALUES, st.dictionaries(NAMES, VALUES)))
def test_what_is_said_to_fit_fits(schema, value):
    fits = plain_objects(schema)
    assert fits is not None
    if fits(value):
        assert jsonschema_rs.is_valid(schema, value)


@given(SCHEMAS, st.dictionaries(NAMES, VALUES))
def test_both_ways_say_the_same_of_every_value(schema, value):
    wrong = RustJsonSchemas().misfits(schema, value)
    assert (wrong == []) == jsonschema_rs.is_valid(schema, value)


USUAL = {
    "type": "object",
    "properties": {"path": {"type": "string", "description": "Where"}, "depth": {"type": "integer"}},
    "required": ["path"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ({"path": "x"}, True),
        ({"path": "x", "depth": 3}, True),
        ({"path": "x", "depth": 3.0}, False),  # it is an integer, but that is for the validator to say
        ({"path": "x", "depth": True}, False),
        ({"path": "x", "more": 1}, False),
        ({"depth": 3}, False),
        ({"path": None}, False),
        ([], False),
    ],
)
def test_the_usual_kind_of_tool(value, fits):
    check = plain_objects(USUAL)
    assert check is not None
    assert check(value) is fits


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "string"},
        {"type": ["object"]},
        {"type": "object", "minProperties": 1},
        {"type": "object", "required": True},
        {"type": "object", "properties": []},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "$schema": "http://json-schema.org/draft-03/schema#"},
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "^x"}}},
        {"type": "object", "properties": {"a": {"type": ["string", "null"]}}},
        {"type": "object", "properties": {"a": {"type": "array"}}},
        {"type": "object", "properties": {"a": True}},
        {"type": "object", "properties": {"a": {"$ref": "#"}}},
    ],
)
def test_whatever_else_a_schema_says_is_left_to_the_validator(schema):
    assert plain_objects(schema) is None
