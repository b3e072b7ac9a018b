"""How tools and results are said in each version."""

from __future__ import annotations

import pytest

from mcpserver import Result
from mcpserver.dialects import DIALECTS

TOOL = {
    "name": "t",
    "title": "T",
    "description": "d",
    "inputSchema": {"type": "object"},
    "outputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True, "policyAction": "file.read"},
    "icons": [{"src": "data:,"}],
    "execution": {"taskSupport": "optional"},
    "_meta": {"com.example/a": 1},
    "x-vendor": 1,
}
BASE = {"name", "description", "inputSchema", "x-vendor"}


@pytest.mark.parametrize(
    ("version", "more"),
    [
        ("2024-11-05", set()),
        ("2025-03-26", {"annotations"}),
        ("2025-06-18", {"annotations", "title", "outputSchema", "_meta"}),
        ("2025-11-25", {"annotations", "title", "outputSchema", "_meta", "icons", "execution"}),
        ("2026-07-28", {"annotations", "title", "outputSchema", "_meta", "icons"}),
    ],
)
def test_a_tool_is_said_with_the_fields_its_version_knows(version, more):
    (tool,) = DIALECTS[version].tools([TOOL])
    assert tool.keys() == BASE | more
    assert all(tool[key] == TOOL[key] for key in tool)


def test_the_toolboxs_own_definitions_are_never_changed():
    before = {**TOOL}
    for dialect in DIALECTS.values():
        dialect.tools([TOOL])
    assert before == TOOL


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
@pytest.mark.parametrize("schema", [{"type": "array"}, {"anyOf": [{"type": "object"}]}, {}])
def test_an_output_schema_that_is_no_object_is_for_the_modern_era_only(version, schema):
    assert "outputSchema" not in DIALECTS[version].tools([TOOL | {"outputSchema": schema}])[0]
    assert DIALECTS["2026-07-28"].tools([TOOL | {"outputSchema": schema}])[0]["outputSchema"] == schema


def test_a_property_that_may_be_anything_is_an_object_in_legacy_lists():
    schema = {"type": "object", "properties": {"a": True, "b": False, "c": {"type": "string"}}}
    (legacy,) = DIALECTS["2025-11-25"].tools([{"name": "t", "inputSchema": schema}])
    (modern,) = DIALECTS["2026-07-28"].tools([{"name": "t", "inputSchema": schema}])
    assert legacy["inputSchema"]["properties"] == {"a": {}, "b": {"not": {}}, "c": {"type": "string"}}
    assert modern["inputSchema"] == schema


BLOCKS = [
    {"type": "text", "text": "t"},
    {"type": "image", "data": "AA==", "mimeType": "image/png"},
    {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
    {"type": "resource_link", "uri": "file:///a", "name": "a", "description": "A"},
    {"type": "resource", "resource": {"uri": "file:///b", "text": "b"}},
    {"type": "hologram", "depth": 3},
]


@pytest.mark.parametrize(
    ("version", "kinds"),
    [
        ("2024-11-05", ["text", "image", "text", "text", "resource", "text"]),
        ("2025-03-26", ["text", "image", "audio", "text", "resource", "text"]),
        ("2025-06-18", [block["type"] for block in BLOCKS]),
        ("2025-11-25", [block["type"] for block in BLOCKS]),
        ("2026-07-28", [block["type"] for block in BLOCKS]),
    ],
)
def test_content_that_a_version_does_not_know_is_said_in_words(version, kinds):
    content = DIALECTS[version].call_result(Result(BLOCKS))["content"]
    assert [block["type"] for block in content] == kinds
    for block, original in zip(content, BLOCKS, strict=True):
        if block["type"] == original["type"]:
            assert block == original
        else:
            assert isinstance(block["text"], str)


def test_a_link_keeps_its_address_in_words():
    content = DIALECTS["2024-11-05"].call_result(Result([BLOCKS[3]]))["content"]
    assert content == [{"type": "text", "text": "[a](file:///a): A"}]


@pytest.mark.parametrize("value", [None, [1], "x", 3, False])
def test_structured_content_is_an_object_to_legacy_clients(value):
    result = Result([], structured=value)
    assert DIALECTS["2025-11-25"].call_result(result)["structuredContent"] == {"result": value}
    assert DIALECTS["2026-07-28"].call_result(result)["structuredContent"] == value


def test_an_object_is_structured_content_as_it_is():
    for version in ("2025-06-18", "2025-11-25", "2026-07-28"):
        assert DIALECTS[version].call_result(Result([], structured={"a": 1}))["structuredContent"] == {"a": 1}


def test_old_clients_get_structured_content_as_text_when_there_is_no_other():
    for version in ("2024-11-05", "2025-03-26"):
        body = DIALECTS[version].call_result(Result([], structured={"a": 1}))
        assert body == {"content": [{"type": "text", "text": '{"a": 1}'}], "isError": False}


def test_absent_is_not_null():
    assert "structuredContent" not in DIALECTS["2026-07-28"].call_result(Result([]))
