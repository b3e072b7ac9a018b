"""What the page makes of two definitions: the module itself, asked inside of the browser that runs it."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.journey


@pytest.fixture
async def compare(visit):
    page = await visit()

    async def compare(before, after, edits=None):
        """The changes as (kind, field or part, key, to), and the marked lines."""
        tool = json.dumps({"original": before, "published": after, **({"edits": edits} if edits else {})})
        script = f"import('/assets/difference.js').then((it) => it.compare(JSON.parse({json.dumps(tool)})))"
        told = await page.ask(script)
        changes = [
            (one["kind"], one["field"] or one["part"], one["key"], one.get("to")) for one in told["changes"]
        ]
        return changes, [
            f"{one['mark']} {one['text']} {one['word']}".strip()
            for one in told["lines"]
            if one["mark"] != " "
        ]

    return compare


def tool(**schema):
    return {"name": "t", "inputSchema": {"type": "object", **schema}}


TEXT = {"type": "string"}


async def test_equal_definitions_have_no_difference(compare):
    one = tool(
        properties={"a": TEXT, "b": {"type": "array", "items": [TEXT, {"const": None}]}}, required=["a"]
    )
    assert await compare(one, json.loads(json.dumps(one))) == ([], [])


async def test_fields_inside_of_objects_and_lists_are_named_by_their_paths(compare):
    place = {"type": "object", "properties": {"lat": TEXT, "lon": {"type": "number"}, "a.b": TEXT}}
    items = {
        "type": "array",
        "items": {"type": "object", "properties": {"id": TEXT, "n": {"type": "integer"}}},
    }
    after_place = {"type": "object", "properties": {"lon": {"type": "number"}}}
    after_items = {
        "type": "array",
        "items": {"type": "object", "properties": {"key": TEXT, "n": {"type": "integer"}}},
    }
    changes, lines = await compare(
        tool(properties={"place": place, "items": items}),
        tool(properties={"place": after_place, "items": after_items}),
        {"sent": ["place.lat"], "hidden": [r"place.a\.b"], "renamed": {"items[].id": "key"}},
    )
    assert changes == [
        ("sent", "place.lat", "lat", None),
        ("hidden", r"place.a\.b", "a.b", None),
        ("renamed", "items[].id", "id", "key"),
    ]
    assert lines == [
        "- lat: hidden, always sent by the gateway",
        '- type: "string"',
        "- a.b: hidden from agents",
        '- type: "string"',
        "- id: renamed to key",
        "+ key: renamed from id",
    ]


async def test_two_fields_may_change_their_names_with_each_other(compare):
    before = tool(properties={"a": TEXT, "b": {"type": "number"}})
    after = tool(properties={"b": TEXT, "a": {"type": "number"}})
    changes, _ = await compare(before, after, {"renamed": {"a": "b", "b": "a"}})
    assert changes == [("renamed", "a", "a", "b"), ("renamed", "b", "b", "a")]


async def test_fields_of_shared_definitions_are_known_by_their_last_name(compare):
    before = {**tool(properties={"place": {"$ref": "#/$defs/P"}})}
    before["inputSchema"]["$defs"] = {"P": {"type": "object", "properties": {"lat": TEXT, "lon": TEXT}}}
    after = json.loads(json.dumps(before))
    del after["inputSchema"]["$defs"]["P"]["properties"]["lat"]
    changes, _ = await compare(before, after, {"sent": ["place.lat"]})
    assert [change[0] for change in changes] == ["sent"]


async def test_likely_names_are_not_guessed_when_two_fields_are_alike(compare):
    changes, _ = await compare(tool(properties={"a": TEXT, "b": TEXT}), tool(properties={"c": TEXT}))
    assert [(kind, field) for kind, field, _, _ in changes] == [
        ("hidden", "a"),
        ("hidden", "b"),
        ("added", "c"),
    ]


async def test_results_annotations_and_values_have_words_of_their_own(compare):
    before = tool(
        properties={"unit": TEXT, "kind": {"enum": ["a", "b"]}, "many": {"type": ["string", "null"]}}
    )
    before |= {"outputSchema": {"type": "object", "properties": {"secret": TEXT, "open": TEXT}}, "title": "T"}
    after = tool(
        properties={"unit": {**TEXT, "enum": ["m"]}, "kind": {"enum": ["a"]}, "many": {"type": ["string"]}}
    )
    after |= {
        "outputSchema": {"type": "object", "properties": {"open": TEXT}},
        "annotations": {"readOnlyHint": True},
    }
    changes, _ = await compare(before, after)
    assert changes == [
        ("narrowed", "unit", "enum", ["m"]),
        ("narrowed", "kind", "enum", ["a"]),
        ("changed", "many", "type", None),
        ("result", "secret", "secret", None),
        ("removed", "title", "title", None),
        ("added", "annotations", "annotations", None),
    ]


async def test_strange_definitions_are_taken_as_they_come(compare):
    deep = leaf = {}
    for _ in range(300):
        leaf["properties"] = {"x": {}}
        leaf = leaf["properties"]["x"]
    odd = {"name": "t", "inputSchema": None, "__proto__": {"a": 1}, "constructor": [], "deep": deep}
    changes, lines = await compare(odd, {**odd, "inputSchema": True, "__proto__": {"a": 2}})
    assert changes == [("changed", "inputSchema", "inputSchema", True), ("changed", "__proto__", "a", None)]
    assert len(lines) == 4
    assert await compare({}, {}) == ([], [])
    leaf["new"] = 1
    changes, lines = await compare(
        {"deep": json.loads(json.dumps(odd["deep"]).replace('"new"', '"old"'))}, {"deep": deep}
    )
    assert [change[0] for change in changes] == ["changed"]
    assert "too deep to show" in lines[0]
