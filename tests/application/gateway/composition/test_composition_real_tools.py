"""Tools as well-known servers offer them, hidden and set as people want them."""

from __future__ import annotations

import jsonschema_rs
import pytest
import yaml

from awf.application.gateway.composition import compose
from awf.domain.override import ToolOverride
from awf.infrastructure.yaml_files.reader import Reader

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
# mcp-server-time: pydantic titles, definitions in the output.
TIME_RESULT = {
    "properties": {
        "timezone": {"type": "string"},
        "datetime": {"type": "string"},
        "is_dst": {"type": "boolean"},
    },
    "required": ["timezone", "datetime", "is_dst"],
    "title": "TimeResult",
    "type": "object",
}
CONVERT_TIME = {
    "name": "convert_time",
    "description": "Convert time between timezones",
    "annotations": {"readOnlyHint": True},
    "inputSchema": {
        "properties": {
            "source_timezone": {"title": "Source Timezone", "type": "string"},
            "time": {"description": "24-hour format (HH:MM)", "title": "Time", "type": "string"},
            "target_timezone": {"title": "Target Timezone", "type": "string"},
        },
        "required": ["source_timezone", "time", "target_timezone"],
        "type": "object",
        "title": "convert_timeArguments",
    },
    "outputSchema": {
        "properties": {
            "source": {"$ref": "#/$defs/TimeResult"},
            "target": {"$ref": "#/$defs/TimeResult"},
            "time_difference": {"type": "string"},
        },
        "required": ["source", "target", "time_difference"],
        "type": "object",
        "$defs": {"TimeResult": TIME_RESULT},
    },
}
# mcp-server-git: optional arguments as a union with null.
GIT_LOG = {
    "name": "git_log",
    "description": "Shows the commit logs",
    "inputSchema": {
        "properties": {
            "repo_path": {"title": "Repo Path", "type": "string"},
            "max_count": {"default": 10, "title": "Max Count", "type": "integer"},
            "start_timestamp": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        },
        "required": ["repo_path"],
        "title": "GitLog",
        "type": "object",
    },
}
# npm filesystem: an older dialect that closes its objects.
EDIT_FILE = {
    "name": "edit_file",
    "inputSchema": {
        "$schema": DRAFT_7,
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"oldText": {"type": "string"}, "newText": {"type": "string"}},
                    "required": ["oldText", "newText"],
                    "additionalProperties": False,
                },
            },
            "dryRun": {"type": "boolean", "default": False},
        },
        "required": ["path", "edits"],
        "additionalProperties": False,
    },
}
# npm memory: arrays of objects inside arrays of objects, and references into properties.
CREATE_ENTITIES = {
    "name": "create_entities",
    "inputSchema": {
        "$schema": DRAFT_7,
        "type": "object",
        "properties": {
            "entities": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string"},
                        "entityType": {"type": "string"},
                        "observations": {"type": "array", "items": {"type": "string"}},
                    },
                    "required": ["name", "entityType", "observations"],
                },
            },
            "again": {"$ref": "#/properties/entities"},
        },
        "required": ["entities"],
    },
}


def checked(tool, override, arguments, sent):
    """Compose, check the published schema, and send a call that is right under both."""
    composed = compose(tool, override)
    assert composed.problems == ()
    schema = composed.definition["inputSchema"]
    jsonschema_rs.meta.validate(schema)
    jsonschema_rs.validator_for(schema).validate(arguments)
    made = composed.plan.upstream(arguments, lambda value: value)
    assert made == sent
    jsonschema_rs.validator_for(tool["inputSchema"]).validate(made)
    return composed


def test_the_time_tool_with_its_own_timezone_set_and_its_result_cut():
    override = ToolOverride(
        defaults={"source_timezone": "UTC"},
        rename_fields={"target_timezone": "to"},
        output_fields=["target.datetime", "time_difference"],
    )
    sent = {"time": "12:00", "target_timezone": "Asia/Tokyo", "source_timezone": "UTC"}
    composed = checked(CONVERT_TIME, override, {"time": "12:00", "to": "Asia/Tokyo"}, sent)
    assert list(composed.definition["inputSchema"]["properties"]) == ["time", "to"]
    output = composed.definition["outputSchema"]
    assert "$defs" not in output
    assert output["properties"]["target"]["properties"] == {"datetime": {"type": "string"}}


def test_the_git_tool_bound_to_one_repository():
    override = ToolOverride(defaults={"repo_path": "${env:REPO}"}, hide_fields=["start_timestamp"])
    composed = checked(GIT_LOG, override, {"max_count": 3}, {"max_count": 3, "repo_path": "${env:REPO}"})
    assert "required" not in composed.definition["inputSchema"]
    assert composed.plan.refused({"repo_path": "elsewhere"})
    assert composed.plan.cleaned("repo_path does not exist") != "repo_path does not exist"


def test_the_edit_tool_that_only_ever_tries():
    override = ToolOverride(defaults={"dryRun": True}, rename_fields={"edits[].oldText": "find"})
    arguments = {"path": "a", "edits": [{"find": "x", "newText": "y"}]}
    sent = {"path": "a", "edits": [{"oldText": "x", "newText": "y"}], "dryRun": True}
    composed = checked(EDIT_FILE, override, arguments, sent)
    assert composed.definition["description"] == "edit_file"


def test_the_memory_tool_with_one_kind_of_entity():
    override = ToolOverride(
        defaults={"entities[].entityType": "person"}, enum={"entities[].observations[]": ["a", "b"]}
    )
    arguments = {"entities": [{"name": "n", "observations": ["a"]}]}
    sent = {"entities": [{"name": "n", "observations": ["a"], "entityType": "person"}]}
    composed = checked(CREATE_ENTITIES, override, arguments, sent)
    whole = {"entities": [], "again": [{"name": "n", "entityType": "t", "observations": ["free"]}]}
    valid = jsonschema_rs.validator_for(composed.definition["inputSchema"]).is_valid
    assert valid(whole)
    assert not valid({"entities": [{"name": "n", "observations": ["free"]}]})


# -- the record as files write it ------------------------------------------------------------------------------------


def read(text):
    reader = Reader()
    return reader.record(ToolOverride, yaml.compose(text), ()), reader.problems


def test_an_override_is_read_from_a_file_as_it_is_written():
    override, problems = read(
        """
        rename: get_weather
        hide_fields: [station_id]
        defaults: {station_id: "12345", units: metric, n: 5, deep: {a: ["${uuid()}"]}}
        rename_fields: {q: query}
        enum: {"tags[]": [1, x, null]}
        annotations: {readOnlyHint: true}
        enabled: false
        """
    )
    assert problems == []
    assert override == ToolOverride(
        rename="get_weather",
        hide_fields=["station_id"],
        defaults={"station_id": "12345", "units": "metric", "n": 5, "deep": {"a": ["${uuid()}"]}},
        rename_fields={"q": "query"},
        enum={"tags[]": [1, "x", None]},
        annotations={"readOnlyHint": True},
        enabled=False,
    )


@pytest.mark.parametrize(
    "text", ["hide_field: [a]", "rename: no good", "hide_fields: a", "enum: {a: x}", "enabled: 3"]
)
def test_an_override_of_another_form_is_refused(text):
    assert len(read(text)[1]) == 1
