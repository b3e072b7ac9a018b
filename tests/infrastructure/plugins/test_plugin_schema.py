from __future__ import annotations

import pytest

from awf.infrastructure.json_schemas.schemas import RustJsonSchemas
from awf.infrastructure.plugins.schema import operation_of
from awf.infrastructure.plugins.tool_names import tool_name
from awf.plugin.protocol import plugin_pb2 as pb


def mapped(*inputs, outputs=()):
    said = pb.OperationSchema(
        name="op",
        description="Does it.",
        read_only=True,
        inputs=[pb.InputSchema(**one) for one in inputs],
        outputs=[pb.OutputSchema(**one) for one in outputs],
    )
    return operation_of(said, RustJsonSchemas().problem_with)


def one(**fields):
    operation = mapped({"name": "x", **fields})
    assert operation.refusal == ""
    return operation.input_schema["properties"]["x"]


def test_an_operation_without_inputs_takes_an_empty_object():
    operation = mapped()
    assert operation.input_schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert operation.output_schema is None
    assert operation.name == "op"
    assert operation.description == "Does it."
    assert operation.read_only


@pytest.mark.parametrize("kind", ["string", "integer", "number", "boolean", "array", "object"])
def test_every_type_is_kept(kind):
    assert one(type=kind) == {"type": kind}


def test_required_inputs_are_listed_in_order():
    operation = mapped(
        {"name": "b", "type": "string", "required": True},
        {"name": "c", "type": "string"},
        {"name": "a", "type": "integer", "required": True, "description": "How many."},
    )
    assert operation.input_schema["required"] == ["a", "b"]
    assert list(operation.input_schema["properties"]) == ["b", "c", "a"]
    assert operation.input_schema["properties"]["a"]["description"] == "How many."


@pytest.mark.parametrize(
    ("said", "format_"), [("url", "uri"), ("email", "email"), ("date-time", "date-time")]
)
def test_validation_becomes_a_format(said, format_):
    assert one(type="string", validation=said)["format"] == format_


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("string", "abc", "abc"),
        ("string", '"a b"', "a b"),
        ("string", "5", "5"),
        ("string", "true", "true"),
        ("string", "{not json", "{not json"),
        ("integer", "5", 5),
        ("integer", "-1", -1),
        ("number", "5", 5),
        ("number", "0.5", 0.5),
        ("boolean", "false", False),
        ("array", "[1, 2]", [1, 2]),
        ("object", '{"a": null}', {"a": None}),
    ],
)
def test_a_default_has_the_type_of_its_input(kind, text, value):
    default = one(type=kind, default=text)["default"]
    assert default == value
    assert type(default) is type(value)


def test_choices_have_the_type_of_their_input():
    assert one(type="integer", enum=["1", "2"], default="2") == {
        "type": "integer",
        "enum": [1, 2],
        "default": 2,
    }
    assert one(type="string", enum=["a", '"b"', "3"])["enum"] == ["a", "b", "3"]


def test_items_are_a_type_or_a_schema():
    assert one(type="array", items="integer")["items"] == {"type": "integer"}
    assert one(type="array", items='{"enum": [1, "a"]}')["items"] == {"enum": [1, "a"]}


def test_properties_are_schemas_by_name():
    text = '{"a": {"type": "string"}, "b": true}'
    assert one(type="object", properties=text)["properties"] == {"a": {"type": "string"}, "b": True}


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        ([{"name": "x", "type": "date"}], "unknown type 'date'"),
        ([{"name": "x"}], "no type"),
        ([{"type": "string"}], "has no name"),
        ([{"name": "x", "type": "string"}, {"name": "x", "type": "integer"}], "declared twice"),
        ([{"name": "x", "type": "integer", "default": "five"}], "default five is not"),
        ([{"name": "x", "type": "integer", "default": "1.5"}], "default 1.5 is not"),
        ([{"name": "x", "type": "integer", "default": "true"}], "default true is not"),
        ([{"name": "x", "type": "boolean", "default": "1"}], "default 1 is not"),
        ([{"name": "x", "type": "array", "default": "{}"}], "default {} is not"),
        ([{"name": "x", "type": "integer", "enum": ["1", "two"]}], "choice two is not"),
        ([{"name": "x", "type": "string", "enum": ["a"], "default": "b"}], "not one of its choices"),
        ([{"name": "x", "type": "array", "items": "date"}], "neither a JSON Schema nor a type"),
        ([{"name": "x", "type": "array", "items": '{"type": "date"}'}], "schema that is not valid"),
        ([{"name": "x", "type": "object", "properties": "[]"}], "not JSON Schemas by name"),
        ([{"name": "x", "type": "object", "properties": '{"a": 5}'}], "not JSON Schemas by name"),
        ([{"name": "x", "type": "object", "properties": '{"a": {"type": 5}}'}], "schema that is not valid"),
        ([{"name": "x", "type": "string", "items": "integer"}], "'items: integer' is for type array"),
        ([{"name": "x", "type": "array", "properties": "{}"}], "is for type object"),
        ([{"name": "x", "type": "integer", "validation": "url"}], "is for type string"),
    ],
)
def test_what_cannot_be_mapped_refuses_the_operation(inputs, reason):
    operation = mapped(*inputs)
    assert reason in operation.refusal
    assert operation.name == "op"
    assert operation.input_schema == {"type": "object"}


def test_outputs_become_the_output_schema():
    operation = mapped(
        outputs=[{"name": "n", "type": "integer", "description": "How many."}, {"name": "any"}]
    )
    assert operation.output_schema == {
        "type": "object",
        "properties": {"n": {"type": "integer", "description": "How many."}, "any": {}},
    }


@pytest.mark.parametrize(
    ("outputs", "reason"),
    [
        ([{"name": "n", "type": "date"}], "unknown type 'date'"),
        ([{"name": "n"}, {"name": "n"}], "declared twice"),
        ([{"type": "string"}], "has no name"),
    ],
)
def test_outputs_that_cannot_be_mapped_refuse_it_too(outputs, reason):
    assert reason in mapped(outputs=outputs).refusal


@pytest.mark.parametrize(
    ("plugin", "operation", "name"),
    [
        ("kubernetes", "kubectl_get", "kubernetes_kubectl_get"),
        ("my-plugin", "a.b/c d", "my-plugin_a_b_c_d"),
        ("git", "größe", "git_gr__e"),
        ("9lives", "x", "_9lives_x"),
    ],
)
def test_a_tool_is_named_after_plugin_and_operation(plugin, operation, name):
    assert tool_name(plugin, operation) == name


def test_long_tool_names_are_cut_and_stay_different():
    first, second = tool_name("plugin", "x" * 80 + "a"), tool_name("plugin", "x" * 80 + "b")
    assert len(first) == len(second) == 64
    assert first != second
    assert first == tool_name("plugin", "x" * 80 + "a")
    assert len(tool_name("p", "x" * 62)) == 64
