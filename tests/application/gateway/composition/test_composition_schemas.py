"""What agents see of a tool whose arguments are hidden, set, renamed or limited."""

from __future__ import annotations

import copy

import jsonschema_rs
import pytest

from awf.application.gateway.composition import compose
from awf.domain.override import ToolOverride

WEATHER = {
    "name": "fetch_forecast",
    "title": "Forecast",
    "description": "Raw forecast",
    "inputSchema": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "station_id": {"type": "string"},
            "units": {"type": "string", "enum": ["metric", "imperial"]},
            "debug_mode": {"type": "boolean"},
        },
        "required": ["city", "station_id"],
        "examples": [{"city": "Oslo", "station_id": "777"}],
    },
    "annotations": {"readOnlyHint": True, "title": "F"},
    "_meta": {"vendor/x": [1]},
    "x-later": {"kept": True},
}


def published(schema, **override):
    """The new schema; the override has to be right, the schema valid and the original untouched."""
    tool = {"name": "t", "inputSchema": schema}
    before = copy.deepcopy(tool)
    composed = compose(tool, ToolOverride(**override))
    assert composed.problems == ()
    assert tool == before
    jsonschema_rs.meta.validate(composed.definition["inputSchema"])
    return composed.definition["inputSchema"]


def problems(schema, **override):
    composed = compose({"name": "t", "inputSchema": schema}, ToolOverride(**override))
    assert composed.definition is None
    return [(p.code.rsplit(".", 1)[1], p.field) for p in composed.problems]


def the_problem(schema, **override):
    composed = compose({"name": "t", "inputSchema": schema}, ToolOverride(**override))
    (problem,) = composed.problems
    assert problem.hint and problem.message.endswith(".")
    return problem


def of(required=(), **properties):
    schema = {"type": "object", "properties": properties}
    return schema | ({"required": list(required)} if required else {})


TEXT = {"type": "string"}


def test_the_weather_tool_of_the_sidecar_text():
    override = ToolOverride(
        rename="get_weather",
        description="Get the weather for a city",
        hide_fields=["station_id", "debug_mode"],
        defaults={"station_id": "12345", "units": "metric"},
        annotations={"openWorldHint": True, "title": "W"},
    )
    before = copy.deepcopy(WEATHER)
    composed = compose(WEATHER, override)

    assert composed.definition == {
        "name": "get_weather",
        "title": "Forecast",
        "description": "Get the weather for a city",
        "inputSchema": {
            "type": "object",
            "properties": {"city": TEXT},
            "required": ["city"],
            "examples": [{"city": "Oslo"}],
        },
        "annotations": {"readOnlyHint": True, "title": "W", "openWorldHint": True},
        "_meta": {"vendor/x": [1]},
        "x-later": {"kept": True},
    }
    assert list(composed.definition) == list(WEATHER)
    assert before == WEATHER


def test_a_tool_without_description_gets_its_published_name():
    bare = {"name": "t", "inputSchema": {"type": "object"}}
    assert compose(bare, None).definition["description"] == "t"
    assert compose(bare, ToolOverride(rename="other")).definition["description"] == "other"
    assert "description" not in bare


def test_a_tool_that_is_switched_off_is_not_published_and_takes_no_call():
    composed = compose(WEATHER, ToolOverride(enabled=False))
    assert composed.definition is None
    assert composed.problems == ()
    assert "not offered" in composed.plan.refused({})


def test_a_wrong_override_publishes_nothing_and_takes_no_call():
    composed = compose(WEATHER, ToolOverride(hide_fields=["station_id"]))
    assert composed.definition is None
    assert "configuration is wrong" in composed.plan.refused({"city": "Oslo"})


# -- nested fields, references ---------------------------------------------------------------------------------------


def test_fields_inside_objects_and_array_items_are_hidden_where_they_are():
    schema = of(
        ["loc"],
        loc=of(["lat", "lon"], lat={"type": "number"}, lon={"type": "number"}),
        items={"type": "array", "items": of(["id"], id=TEXT, **{"a.b": TEXT})},
    )
    made = published(schema, defaults={"loc.lat": 1.5}, hide_fields=["items[].a\\.b"])
    assert made["properties"]["loc"] == of(["lon"], lon={"type": "number"})
    assert made["properties"]["items"]["items"] == of(["id"], id=TEXT)
    assert made["required"] == ["loc"]


def test_only_the_way_to_a_field_is_unfolded_and_other_users_of_a_definition_keep_it():
    point = of(["lat"], lat={"type": "number"}, lon={"type": "number"})
    schema = {**of(start={"$ref": "#/$defs/Point"}, end={"$ref": "#/$defs/Point"}), "$defs": {"Point": point}}
    made = published(schema, hide_fields=["start.lon"])
    assert made["properties"]["start"] == of(["lat"], lat={"type": "number"})
    assert made["properties"]["end"] == {"$ref": "#/$defs/Point"}
    assert made["$defs"] == {"Point": point}


def test_a_definition_that_nobody_uses_any_more_is_dropped_and_one_that_nobody_used_stays():
    definitions = {
        "Point": of(lat={"type": "number"}, name={"$ref": "#/definitions/Name"}),
        "Name": TEXT,
        "odd": {},
    }
    schema = {**of(start={"$ref": "#/definitions/Point", "description": "S"}), "definitions": definitions}
    made = published(schema, hide_fields=["start.name"])
    assert made["properties"]["start"] == {**of(lat={"type": "number"}), "description": "S"}
    assert made["definitions"] == {"odd": {}}


def test_a_recursive_definition_changes_only_as_deep_as_the_path_goes():
    node = of(["id"], id=TEXT, secret=TEXT, children={"type": "array", "items": {"$ref": "#/$defs/Node"}})
    schema = {"type": "object", "$ref": "#/$defs/Node", "$defs": {"Node": node}}
    made = published(schema, hide_fields=["secret"])
    assert "secret" not in made["properties"]
    assert made["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}
    assert made["$defs"]["Node"] == node

    deeper = published(schema, hide_fields=["children[].secret"])
    assert "secret" in deeper["properties"]
    assert "secret" not in deeper["properties"]["children"]["items"]["properties"]


def test_a_reference_into_a_part_that_changes_keeps_what_it_referred_to():
    schema = of(home=of(["zip"], zip=TEXT, note=TEXT), work={"$ref": "#/properties/home"}, self={"$ref": "#"})
    made = published(schema, hide_fields=["home.note"])
    assert made["properties"]["home"] == of(["zip"], zip=TEXT)
    valid = jsonschema_rs.validator_for(made).is_valid
    closed = {"work": {"zip": "1", "note": "n"}}
    assert valid(closed)
    assert not valid({"work": {"note": "n"}})
    assert valid({"self": {"home": {"zip": "1", "note": "n"}}})
    assert not valid({"self": {"home": {"note": "n"}}})
    assert set(made["$defs"]) == {"home", "whole"}


def test_a_reference_to_another_document_on_the_way_is_refused():
    outside = of(a={"$ref": "https://example.com/a.json"}, b=TEXT)
    problem = the_problem(outside, hide_fields=["a.x"])
    assert problem.code == "USER.GATEWAY.INVALID_OVERRIDE"
    assert "https://example.com/a.json" in problem.message
    assert published(outside, hide_fields=["b"])["properties"] == {
        "a": {"$ref": "https://example.com/a.json"}
    }
    assert problems({**of(b=TEXT), "$ref": "other.json"}, hide_fields=["b"]) == [
        ("INVALID_OVERRIDE", "hide_fields[0]")
    ]


def test_a_schema_that_refers_to_itself_without_end_is_refused():
    schema = {**of(a=TEXT), "allOf": [{"$ref": "#"}]}
    assert problems(schema, hide_fields=["a"]) == [("INVALID_OVERRIDE", "hide_fields[0]")]


# -- keywords around a field -----------------------------------------------------------------------------------------


def test_a_field_that_others_need_is_no_longer_asked_for_when_it_is_always_sent():
    schema = {**of(a=TEXT, b=TEXT, c=TEXT), "dependentRequired": {"b": ["a", "c"], "a": ["c"]}}
    made = published(schema, defaults={"a": "1"})
    assert made["dependentRequired"] == {"b": ["c"]}
    assert made["required"] == ["c"]


def test_a_field_that_is_needed_only_with_another_cannot_be_hidden_without_a_value():
    schema = {**of(a=TEXT, b=TEXT), "dependentRequired": {"b": ["a"]}}
    problem = the_problem(schema, hide_fields=["a"])
    assert problem.code == "USER.GATEWAY.HIDDEN_REQUIRED"
    assert "whenever “b” is given" in problem.message


def test_variants_that_only_ask_for_hidden_fields_disappear():
    schema = {**of(zip=TEXT, city=TEXT), "anyOf": [{"required": ["zip"]}, {"required": ["city"]}]}
    assert published(schema, hide_fields=["zip"])["anyOf"] == [{"required": ["city"]}]
    assert "anyOf" not in published(schema, defaults={"zip": "1"})
    exclusive = {**of(zip=TEXT, city=TEXT), "oneOf": schema["anyOf"]}
    assert published(exclusive, defaults={"zip": "1"})["oneOf"] == [{}, {"required": ["city"]}]


def test_a_default_for_what_tells_variants_apart_leaves_one_of_them():
    email = of(["kind", "to"], kind={"const": "email"}, to=TEXT)
    sms = of(["kind", "phone"], kind={"const": "sms"}, phone=TEXT)
    schema = of(["target"], target={"oneOf": [email, sms]})
    made = published(schema, defaults={"target.kind": "sms"})
    assert made["properties"]["target"]["oneOf"] == [of(["phone"], phone=TEXT)]
    problem = the_problem(schema, defaults={"target.kind": "fax"})
    assert (problem.code, problem.field) == ("USER.GATEWAY.INVALID_OVERRIDE", "defaults.target.kind")


def test_what_a_condition_says_about_a_known_value_is_worked_out():
    schema = {
        **of(mode=TEXT, key=TEXT, city=TEXT),
        "if": {"properties": {"mode": {"const": "paid"}}, "required": ["mode"]},
        "then": {"required": ["key"]},
    }
    assert published(schema, defaults={"mode": "paid"})["allOf"] == [{"required": ["key"]}]
    free = published(schema, defaults={"mode": "free"})
    assert "if" not in free and "then" not in free and "allOf" not in free
    assert problems(schema, defaults={"mode": "${env:MODE}"}) == [("INVALID_OVERRIDE", "defaults.mode")]


def test_what_holds_only_with_a_field_holds_always_when_it_is_always_sent():
    schema = {**of(a=TEXT, b=TEXT), "dependentSchemas": {"a": {"required": ["b"]}}}
    sent = published(schema, defaults={"a": "x"})
    assert sent["allOf"] == [{"required": ["b"]}] and "dependentSchemas" not in sent
    hidden = published(schema, hide_fields=["a"])
    assert "allOf" not in hidden and "dependentSchemas" not in hidden


def test_what_is_unfolded_beside_other_keywords_does_not_mix_with_them():
    place = {
        "$ref": "#/$defs/Point",
        "additionalProperties": False,
    }  # closed to all that is not named beside it
    schema = {**of(a=place), "$defs": {"Point": of(lat=TEXT, lon=TEXT)}}
    valid = jsonschema_rs.validator_for(published(schema, hide_fields=["a.lon"])).is_valid
    assert valid({"a": {}})
    assert not valid({"a": {"lat": "1"}})


def test_true_is_not_one():
    assert problems(of(a={"const": 1}), defaults={"a": True}) == [("INVALID_OVERRIDE", "defaults.a")]
    assert problems(of(a={"enum": [0, 1]}), enum={"a": [False]}) == [("INVALID_OVERRIDE", "enum.a")]


@pytest.mark.parametrize(
    "more",
    [
        {"patternProperties": {"^a": {"type": "integer"}}},
        {"propertyNames": {"pattern": "^[b-z]"}},
        {"not": {"required": ["a"]}},
        {"additionalProperties": False, "properties": {"b": TEXT}, "allOf": [of(a=TEXT)]},
        {"unevaluatedProperties": False, "properties": {"b": TEXT}, "anyOf": [of(a=TEXT), of(b=TEXT)]},
        {"const": {"a": "x"}},
        {"$dynamicRef": "#x"},
        {"maxProperties": 0},
    ],
)
def test_a_value_is_not_sent_where_the_schema_rules_it_out_or_cannot_be_worked_out(more):
    assert problems({**of(a=TEXT), **more}, defaults={"a": "x"}) == [("INVALID_OVERRIDE", "defaults.a")]


def test_a_variant_that_a_reference_decides_is_not_guessed():
    schema = {**of(b=TEXT), "oneOf": [of(a={"const": "x"}), of(a={"const": "y"})]}
    problem = the_problem(schema, defaults={"a": "${env:A}"})
    assert "not known beforehand" in problem.message
    assert published(schema, defaults={"a": "x"})["oneOf"] == [of()]


def test_a_reference_is_trusted_where_every_variant_takes_a_text():
    schema = {**of(), "oneOf": [of(["a", "b"], a=TEXT, b=TEXT), of(["a", "c"], a=TEXT, c=TEXT)]}
    assert published(schema, defaults={"a": "${env:A}"})["oneOf"] == [of(["b"], b=TEXT), of(["c"], c=TEXT)]


# -- what is wrong with an override ----------------------------------------------------------------------------------


def test_hiding_a_required_field_needs_a_value():
    problem = the_problem(of(["a"], a=TEXT), hide_fields=["a"])
    assert problem.code == "USER.GATEWAY.HIDDEN_REQUIRED"
    assert problem.hint == "Add it under defaults:  a: VALUE"
    optional = of(loc={"anyOf": [of(["lat"], lat=TEXT), {"type": "null"}]})
    assert problems(optional, hide_fields=["loc.lat"]) == [("HIDDEN_REQUIRED", "hide_fields[0]")]


def test_an_unknown_field_is_named_with_what_was_meant():
    schema = of(station_id=TEXT, loc=of(lat=TEXT), items={"type": "array", "items": of(id=TEXT)})
    found = [the_problem(schema, hide_fields=[slip]) for slip in ("statoin_id", "loc.lta", "items.id", "zzz")]
    assert [problem.hint for problem in found] == [
        "did you mean 'station_id'?",
        "did you mean 'loc.lat'?",
        "did you mean 'items[].id'?",
        "Its fields: station_id, loc, items, loc.lat, items[], items[].id.",
    ]
    assert {problem.code for problem in found} == {"USER.GATEWAY.UNKNOWN_FIELD"}


def test_every_mistake_is_told_at_once_with_its_place():
    found = problems(
        of(["a"], a=TEXT),
        hide_fields=["a", "x", "a..b", "a[]"],
        defaults={"y": 1},
        rename_fields={"z": "q"},
        enum={"w": [1]},
    )
    assert found == [
        ("UNKNOWN_FIELD", "hide_fields[1]"),
        ("INVALID_OVERRIDE", "hide_fields[2]"),
        ("INVALID_OVERRIDE", "hide_fields[3]"),
        ("UNKNOWN_FIELD", "defaults.y"),
        ("UNKNOWN_FIELD", "rename_fields.z"),
        ("UNKNOWN_FIELD", "enum.w"),
    ]


def test_an_open_object_takes_a_value_for_a_field_that_it_does_not_name_but_hides_none():
    schema = {**of(a=TEXT), "additionalProperties": True}
    assert published(schema, defaults={"trace": "1"}) == schema
    assert problems(schema, hide_fields=["trace"]) == [("UNKNOWN_FIELD", "hide_fields[0]")]
    typed = {**of(a=TEXT), "additionalProperties": {"type": "integer"}}
    assert problems(typed, defaults={"trace": "x"}) == [("INVALID_OVERRIDE", "defaults.trace")]


def test_a_default_of_the_wrong_kind_is_told_without_showing_it():
    problem = the_problem(of(a={"enum": ["x", "y"]}), defaults={"a": "s3cret"})
    assert problem.code == "USER.GATEWAY.INVALID_OVERRIDE"
    assert "s3cret" not in problem.message + problem.hint
    assert problem.hint == "It takes one of x, y."


@pytest.mark.parametrize(
    ("override", "field"),
    [
        ({"rename_fields": {"a": "b"}}, "rename_fields.a"),
        ({"rename_fields": {"a": "a"}}, "rename_fields.a"),
        ({"rename_fields": {"a": "x", "b": "x"}}, "rename_fields.b"),
        ({"rename_fields": {"a": "no good"}}, "rename_fields.a"),
        ({"rename_fields": {"a": "x"}, "hide_fields": ["a"]}, "rename_fields.a"),
        ({"rename_fields": {"n.p": "x"}, "hide_fields": ["n"]}, "rename_fields.n.p"),
        ({"enum": {"a": ["x"]}, "defaults": {"a": "x"}}, "enum.a"),
        ({"enum": {"n.p": ["x"]}, "hide_fields": ["n"]}, "enum.n.p"),
        ({"enum": {"a": []}}, "enum.a"),
        ({"enum": {"a": [1]}}, "enum.a"),
        ({"enum": {"a..": ["x"]}}, "enum.a.."),
    ],
)
def test_parts_of_an_override_that_contradict_each_other_are_refused(override, field):
    assert problems(of(a=TEXT, b=TEXT, n=of(p=TEXT)), **override) == [("INVALID_OVERRIDE", field)]


# -- other names and fewer values ------------------------------------------------------------------------------------


def test_a_renamed_field_has_its_new_name_everywhere():
    schema = {
        **of(["q"], q=TEXT, limit={"type": "integer"}, opts=of(["k"], k=TEXT)),
        "dependentRequired": {"q": ["limit"], "limit": ["q"]},
        "default": {"q": "x", "opts": {"k": "1"}},
    }
    made = published(schema, rename_fields={"q": "query", "opts.k": "top"})
    assert list(made["properties"]) == ["query", "limit", "opts"]
    assert made["required"] == ["query"]
    assert made["properties"]["opts"] == of(["top"], top=TEXT)
    assert made["dependentRequired"] == {"query": ["limit"], "limit": ["query"]}
    assert made["default"] == {"query": "x", "opts": {"top": "1"}}


def test_values_are_limited_in_fields_items_and_behind_references():
    schema = {
        **of(
            units={"$ref": "#/$defs/Units"},
            tags={"type": "array", "items": TEXT},
            mode={"anyOf": [{"enum": ["a", "b"]}, {"type": "null"}], "default": None},
        ),
        "$defs": {"Units": {"type": "string", "enum": ["metric", "imperial", "si"]}},
    }
    made = published(schema, enum={"units": ["metric", "si"], "tags[]": ["x"], "mode": ["b"]})
    assert made["properties"]["units"] == {"type": "string", "enum": ["metric", "si"]}
    assert made["properties"]["tags"]["items"] == {"type": "string", "enum": ["x"]}
    assert made["properties"]["mode"] == {"anyOf": [{"enum": ["b"]}], "enum": ["b"]}
    assert "$defs" not in made
    problem = the_problem(schema, enum={"units": ["metric", "kelvin"]})
    assert problem.message == "'kelvin' is not a value that the tool takes for “units”."
    assert problem.hint == "It takes: metric, imperial, si."
    assert the_problem(schema, enum={"tags": ["x"]}).hint == "Write tags[] to limit the items of the list."


def test_values_are_not_limited_where_a_variant_would_let_others_pass():
    schema = {**of(), "anyOf": [of(a=TEXT), of(b=TEXT)]}
    assert problems(schema, enum={"a": ["x"]}) == [("INVALID_OVERRIDE", "enum.a")]
    kinds = {**of(), "oneOf": [of(["k"], k={"const": "a"}), of(["k"], k={"const": "b"})]}
    assert published(kinds, enum={"k": ["a"]})["oneOf"] == [of(["k"], k={"const": "a", "enum": ["a"]})]


# -- schemas that make no sense --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema", [None, 5, {}, {"properties": [], "required": True, "anyOf": {}, "$defs": 3}]
)
def test_a_server_that_sends_nonsense_for_a_schema_stops_nothing(schema):
    tool = {"name": "t", "inputSchema": schema}
    assert compose(tool, None).definition["inputSchema"] == schema
    override = ToolOverride(hide_fields=["a"], defaults={"b": 1}, rename_fields={"c": "d"}, enum={"e": [1]})
    assert {p.code for p in compose(tool, override).problems} == {"USER.GATEWAY.UNKNOWN_FIELD"}


def test_odd_keywords_around_a_real_field_are_left_alone():
    schema = of(
        a={"type": "string", "required": True}, b={"type": "object", "required": True, "properties": {"c": 1}}
    )
    composed = compose({"name": "t", "inputSchema": schema}, ToolOverride(hide_fields=["a", "b.c"]))
    assert composed.definition["inputSchema"] == of(b={"type": "object", "required": True, "properties": {}})


def test_references_that_multiply_come_to_an_end():
    parts = {f"D{n}": {"allOf": [{"$ref": f"#/$defs/D{n + 1}"}] * 3} for n in range(40)}
    schema = {**of(a=TEXT), "allOf": [{"$ref": "#/$defs/D0"}], "$defs": {**parts, "D40": of(a=TEXT)}}
    tool = {"name": "t", "inputSchema": schema, "outputSchema": schema}
    for override in ({"defaults": {"a": "x"}}, {"output_fields": ["a"]}):
        (problem,) = compose(tool, ToolOverride(**override)).problems
        assert "multiplies itself" in problem.message
    assert compose(tool, ToolOverride(enum={"a": ["x"]})).problems == ()


def test_a_schema_that_is_nested_without_measure_is_a_problem_not_a_crash():
    deep: dict = {"type": "string"}
    for _ in range(3000):
        deep = {"allOf": [deep]}
    schema = of(a=TEXT, b={**deep, "properties": {"c": TEXT}})
    composed = compose({"name": "t", "inputSchema": schema}, ToolOverride(defaults={"b": "x"}))
    assert {p.code for p in composed.problems} <= {"USER.GATEWAY.INVALID_OVERRIDE"}
