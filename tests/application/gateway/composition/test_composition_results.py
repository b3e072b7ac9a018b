"""A result on its way down: only the parts that were chosen, under a schema that says so."""

from __future__ import annotations

import copy
import json

import jsonschema_rs
import pytest

from awf.application.gateway.composition import compose
from awf.domain.override import ToolOverride

TEXT = {"type": "string"}
POINT = {"type": "object", "properties": {"lat": TEXT, "lon": TEXT}, "required": ["lat", "lon"]}
OUTPUT = {
    "type": "object",
    "properties": {
        "city": TEXT,
        "where": {"$ref": "#/$defs/Point"},
        "raw": TEXT,
        "days": {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"$ref": "#/$defs/Day"}},
    },
    "required": ["city", "raw", "days"],
    "additionalProperties": False,
    "$defs": {
        "Point": POINT,
        "Day": {
            "type": "object",
            "properties": {"high": {"type": "number"}, "id": TEXT},
            "required": ["high"],
        },
    },
}
RESULT = {"city": "Oslo", "where": {"lat": "1", "lon": "2"}, "raw": "…", "days": [{"high": 1, "id": "a"}]}


def composed(*fields, output=OUTPUT):
    tool = {"name": "t", "inputSchema": {"type": "object"}}
    return compose(
        tool | ({"outputSchema": output} if output else {}), ToolOverride(output_fields=list(fields))
    )


def texts(result):
    return [block.get("text") for block in result["content"]]


def test_only_the_chosen_parts_are_left_in_the_result_and_in_its_schema():
    made = composed("city", "where.lat", "days[].high")
    schema = made.definition["outputSchema"]
    assert schema == {
        "type": "object",
        "properties": {
            "city": TEXT,
            "where": {"type": "object", "properties": {"lat": TEXT}, "required": ["lat"]},
            "days": {
                "type": "array",
                "minItems": 1,
                "items": {"type": "object", "properties": {"high": {"type": "number"}}, "required": ["high"]},
            },
        },
        "required": ["city", "days"],
        "additionalProperties": False,
    }
    before = copy.deepcopy(RESULT)
    kept = made.plan.result({"structuredContent": RESULT, "_meta": {"x": 1}})
    assert kept == {
        "structuredContent": {"city": "Oslo", "where": {"lat": "1"}, "days": [{"high": 1}]},
        "_meta": {"x": 1},
    }
    assert before == RESULT
    jsonschema_rs.validator_for(schema).validate(kept["structuredContent"])


def test_a_text_that_repeats_the_result_is_reduced_with_it_and_other_blocks_stay():
    image = {"type": "image", "data": "", "mimeType": "image/png"}
    content = [
        {"type": "text", "text": json.dumps(RESULT, indent=4), "annotations": {"priority": 1}},
        {"type": "text", "text": "for people"},
        image,
    ]
    made = composed("city").plan.result({"structuredContent": RESULT, "content": content, "isError": False})
    assert texts(made) == [json.dumps({"city": "Oslo"}, indent=2), "for people", None]
    assert made["content"][0]["annotations"] == {"priority": 1}
    assert made["content"][2] is image
    assert content[0]["text"] == json.dumps(RESULT, indent=4)


def test_a_text_that_repeats_what_a_server_has_wrapped_is_reduced_too():
    rows = [{"id": 1, "secret": 2}]
    result = {"structuredContent": {"result": rows}, "content": [{"type": "text", "text": json.dumps(rows)}]}
    made = composed("result[].id", output=None).plan.result(result)
    assert made["structuredContent"] == {"result": [{"id": 1}]}
    assert texts(made) == ['[{"id": 1}]']


def test_without_a_selection_or_structured_content_a_result_is_the_same_object():
    result = {"content": [{"type": "text", "text": '{"city": 1}'}], "isError": True}
    assert composed("city").plan.result(result) is result
    structured = {"structuredContent": RESULT}
    assert composed().plan.result(structured) is structured


def test_values_without_parts_stay_and_parts_of_another_shape_are_not_let_through():
    select = composed("a.b", "c[].d", output=None).plan.result
    assert select({"structuredContent": {"a": None, "c": 5}})["structuredContent"] == {"a": None, "c": 5}
    other = {"a": [{"x": 1}], "c": {"d": 1, "e": 2}}
    assert select({"structuredContent": other})["structuredContent"] == {"a": [], "c": {}}


def test_an_optional_object_may_still_be_missing():
    output = {
        "type": "object",
        "properties": {"p": {"oneOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}]}},
        "required": ["p"],
        "$defs": {"Point": POINT},
    }
    schema = composed("p.lat", output=output).definition["outputSchema"]
    valid = jsonschema_rs.validator_for(schema).is_valid
    assert valid({"p": None}) and valid({"p": {"lat": "1"}})
    assert not valid({"p": {}})


@pytest.mark.parametrize(
    ("field", "code", "hint"),
    [
        ("citty", "UNKNOWN_FIELD", "did you mean 'city'?"),
        ("days.high", "UNKNOWN_FIELD", "did you mean 'days[].high'?"),
        ("a..b", "INVALID_OVERRIDE", "Write a path such as temperature, location.lat or items[].id."),
    ],
)
def test_a_part_that_the_result_does_not_have_is_a_problem(field, code, hint):
    (problem,) = composed("city", field).problems
    assert (problem.code, problem.field, problem.hint) == (f"USER.GATEWAY.{code}", "output_fields[1]", hint)


def test_a_server_that_says_nothing_about_its_results_is_taken_at_the_overrides_word():
    made = composed("anything.at.all", output=None)
    assert made.problems == ()
    assert "outputSchema" not in made.definition
