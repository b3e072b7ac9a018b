"""Random schemas, overrides and arguments: what is right under the published schema is right upstream, and the other way."""

from __future__ import annotations

import copy
import itertools

import jsonschema_rs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from awf.application.gateway.composition import compose
from awf.application.gateway.composition.document import fields_at, known_paths
from awf.application.gateway.composition.paths import parse_path
from awf.domain.override import ToolOverride

NAMES = ("a", "b", "c", "n", "l")
LEAVES = [
    {"type": "string"},
    {"type": "integer", "minimum": 1},
    {"enum": ["x", "y"]},
    {"const": "x"},
    True,
    {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    {"$ref": "#/$defs/leaf"},
]
leaf = st.sampled_from(LEAVES)


def some(names):
    return st.lists(st.sampled_from(names), unique=True, max_size=2)


@st.composite
def objects(draw, names, inner, depth=1):
    """An object schema with a few of the keywords that speak about its fields."""
    declared = draw(some(names)) if depth == 0 else draw(st.lists(st.sampled_from(names), unique=True))
    schema = {"type": "object"} if depth or draw(st.booleans()) else {}
    if declared:
        schema["properties"] = {name: draw(inner.get(name, leaf)) for name in declared}
    if draw(st.booleans()):
        schema["required"] = draw(some(names))
    rare = draw(st.integers(0, 11))
    if rare == 0:
        schema["dependentRequired"] = {draw(st.sampled_from(names)): draw(some(names))}
    elif rare == 1:
        schema["additionalProperties"] = draw(st.sampled_from([True, False, {"type": "string"}]))
    elif rare == 2:
        schema[draw(st.sampled_from(["minProperties", "maxProperties"]))] = draw(st.integers(1, 3))
    elif rare == 3:
        schema["unevaluatedProperties"] = False
    elif rare == 4:
        schema["patternProperties"] = {"^[ab]$": draw(leaf)}
    elif rare == 5:
        schema["propertyNames"] = draw(st.sampled_from([{"pattern": "^[a-m]$"}, {"maxLength": 1}]))
    if depth:
        _compose(draw, schema, objects(names, inner, depth - 1), names)
    return schema


def _compose(draw, schema, part, names):
    kind = draw(st.sampled_from(["", "", "anyOf", "oneOf", "allOf", "not", "if", "dependentSchemas", "$ref"]))
    if kind in {"anyOf", "oneOf", "allOf"}:
        schema[kind] = draw(st.lists(part, min_size=1, max_size=3))
    elif kind == "not":
        schema["not"] = draw(part)
    elif kind == "if":
        schema |= {"if": draw(part), "then": draw(part), "else": draw(part)}
    elif kind == "dependentSchemas":
        schema[kind] = {draw(st.sampled_from(names)): draw(part)}
    elif kind == "$ref":
        schema["$ref"] = "#/$defs/part"


def nullable(schema):
    return st.one_of(schema, schema.map(lambda s: {"anyOf": [s, {"type": "null"}]}))


@st.composite
def tools(draw):
    nested = objects(("p", "q"), {})
    inner = {"n": nullable(nested), "l": nested.map(lambda s: {"type": "array", "items": s})}
    schema = draw(objects(NAMES, inner))
    schema["type"] = "object"
    schema["$defs"] = {"leaf": {"type": "string"}, "part": draw(objects(NAMES, inner, 0)), "unused": {}}
    if "$ref" in schema["$defs"]["part"]:
        del schema["$defs"]["part"]["$ref"]
    return {"name": "t", "description": "d", "inputSchema": schema}


PATHS = ("a", "b", "c", "n.p", "n.q", "l[].p", "l[].q", "n")
VALUES = ("x", "x", "y", 1, {}, None)


def fits(tool, path, value):
    """Values with parts of their own are trusted where they cannot be judged, so they have to be right."""
    defs = {"$defs": tool["inputSchema"]["$defs"]}
    schemas = [
        s if isinstance(s, bool) else {**s, **defs} for s in fields_at(parse_path(path), tool["inputSchema"])
    ]
    return all(jsonschema_rs.validator_for(schema).is_valid(value) for schema in schemas)


@st.composite
def cases(draw):
    """A tool, and an override that speaks about fields which it mostly has."""
    tool = draw(tools())
    known = [path for path in known_paths(tool["inputSchema"]) if path in PATHS] or list(PATHS)
    paths = draw(st.lists(st.sampled_from(known), unique=True, min_size=1, max_size=3))
    hidden, defaults, renamed = [], {}, {}
    for path in paths:
        match draw(st.sampled_from(["hide", "default", "default", "rename"])):
            case "hide":
                hidden.append(path)
            case "default":
                value = draw(st.sampled_from(VALUES))
                defaults[path] = value if value != {} or fits(tool, path, value) else None
            case _:
                renamed[path] = path[-1].upper()
    return tool, ToolOverride(hide_fields=hidden, defaults=defaults, rename_fields=renamed)


INNER = [{}, {"p": "x"}, {"q": 1}, {"p": "x", "q": "y"}]
ABSENT = object()
CHOICES = {
    "a": [ABSENT, "x", 1],
    "b": [ABSENT, "x", 1],
    "c": [ABSENT, "y"],
    "n": [ABSENT, None, *INNER],
    "l": [ABSENT, [], [INNER[1]], [INNER[0], INNER[3]]],
}
UPSTREAM = [
    {name: value for name, value in zip(CHOICES, values, strict=True) if value is not ABSENT}
    for values in itertools.product(*CHOICES.values())
]


def as_the_agent_would(arguments, override):
    """The same arguments under their published names, without what is set for the agent."""
    gone = {*override.hide_fields, *override.defaults}

    def part(value, way):
        if isinstance(value, list):
            return [part(item, f"{way}[]") for item in value]
        if not isinstance(value, dict):
            return value
        paths = {name: f"{way}.{name}".lstrip(".") for name in value}
        return {
            override.rename_fields.get(paths[name], name): part(item, paths[name])
            for name, item in value.items()
            if paths[name] not in gone
        }

    return part(arguments, "")


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_arguments_are_right_when_published_exactly_when_they_are_right_upstream(case):
    tool, override = case
    before = copy.deepcopy((tool, override))
    composed = compose(tool, override)
    assert (tool, override) == before
    if composed.problems:
        assert composed.definition is None
        return
    schema = composed.definition["inputSchema"]
    jsonschema_rs.meta.validate(schema)
    original, published = (jsonschema_rs.validator_for(s) for s in (tool["inputSchema"], schema))
    for upstream in UPSTREAM:
        arguments = as_the_agent_would(upstream, override)
        kept = copy.deepcopy(arguments)
        if composed.plan.refused(arguments):
            continue
        sent = composed.plan.upstream(arguments, lambda value: value)
        assert arguments == kept
        assert published.is_valid(arguments) == original.is_valid(sent), (arguments, sent, schema)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(tools())
def test_an_override_that_says_nothing_changes_nothing(tool):
    for override in (None, ToolOverride(), ToolOverride(title="T", annotations={"readOnlyHint": True})):
        composed = compose(tool, override)
        assert composed.definition["inputSchema"] is tool["inputSchema"]
        assert composed.problems == ()
        arguments = {"a": 1}
        assert composed.plan.upstream(arguments, str) is arguments
        assert composed.plan.refused(arguments) == ""


LIMITED = {"a": ["x"], "b": ["x", 1], "n.p": ["x"], "l[].q": [1]}


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases(), st.sampled_from(sorted(LIMITED)))
def test_fewer_values_are_only_ever_stricter_and_are_kept(case, path):
    tool, override = case
    override = ToolOverride(
        hide_fields=override.hide_fields, defaults=override.defaults, enum={path: LIMITED[path]}
    )
    composed = compose(tool, override)
    if composed.problems:
        return
    schema = composed.definition["inputSchema"]
    jsonschema_rs.meta.validate(schema)
    original, published = (jsonschema_rs.validator_for(s) for s in (tool["inputSchema"], schema))
    for upstream in UPSTREAM:
        arguments = as_the_agent_would(upstream, override)
        if composed.plan.refused(arguments) or not published.is_valid(arguments):
            continue
        assert original.is_valid(composed.plan.upstream(arguments, lambda value: value))
        if path in arguments:
            assert arguments[path] in LIMITED[path]


OUTPUTS = ["a", "b", "n", "n.p", "l[].q"]


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(tools(), st.lists(st.sampled_from(OUTPUTS), min_size=1, max_size=3, unique=True))
def test_what_is_left_of_a_right_result_is_right_under_the_published_output_schema(tool, fields):
    output = tool["inputSchema"]
    composed = compose({"name": "t", "outputSchema": output}, ToolOverride(output_fields=fields))
    if composed.problems:
        return
    schema = composed.definition["outputSchema"]
    jsonschema_rs.meta.validate(schema)
    original, published = (jsonschema_rs.validator_for(s) for s in (output, schema))
    for result in UPSTREAM:
        if original.is_valid(result):
            left = composed.plan.result({"structuredContent": result})["structuredContent"]
            assert published.is_valid(left), (result, left, schema)
