from __future__ import annotations

import json
import subprocess
import sys

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.domain.tool import UnknownTool
from awf.infrastructure.builtin_tools import arguments as args
from awf.infrastructure.builtin_tools import normalise

STRUCTS = {
    "Read": args.ReadArguments,
    "Write": args.WriteArguments,
    "Edit": args.EditArguments,
    "Bash": args.BashArguments,
    "Glob": args.GlobArguments,
    "Grep": args.GrepArguments,
}


async def test_there_are_exactly_the_six_tools_and_they_are_built_in(bench):
    tools = await bench.tools.list_tools()
    assert [tool.name for tool in tools] == list(STRUCTS)
    assert {tool.source for tool in tools} == {"builtin"}
    assert all(tool.title and tool.description for tool in tools)


async def test_the_schemas_are_valid_closed_and_describe_the_arguments_that_are_taken(bench):
    for tool in await bench.tools.list_tools():
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert tool.input_schema["additionalProperties"] is False
        fields = {field.encode_name: field for field in msgspec.structs.fields(STRUCTS[tool.name])}
        assert tool.input_schema["properties"].keys() == fields.keys()
        assert set(tool.input_schema["required"]) == {
            name for name, field in fields.items() if field.required
        }
        for name, schema in tool.input_schema["properties"].items():
            if "default" in schema:
                assert schema["default"] == fields[name].default


async def test_the_schemas_and_the_arguments_refuse_the_same_values(bench):
    wrong = {
        "Read": [{}, {"file_path": ""}, {"file_path": "a", "offset": -1}, {"file_path": "a", "limit": 0}],
        "Write": [{"file_path": "a"}, {"file_path": "a", "content": 1}],
        "Edit": [
            {"file_path": "a", "old_string": "b"},
            {"file_path": "a", "old_string": "b", "new_string": "c", "x": 1},
        ],
        "Bash": [{"command": ""}, {"command": "ls", "timeout": 600_001}, {"command": "ls", "timeout": 0}],
        "Glob": [{"pattern": ""}, {"path": "a"}],
        "Grep": [
            {"pattern": "a", "output_mode": "lines"},
            {"pattern": "a", "-C": -1},
            {"pattern": "a", "-x": 1},
        ],
    }
    for tool in await bench.tools.list_tools():
        validator = jsonschema.Draft202012Validator(tool.input_schema)
        for arguments in wrong[tool.name]:
            assert not validator.is_valid(arguments), arguments
            await bench.fails("INVALID_ARGUMENTS", tool.name, **arguments)


async def test_the_definitions_are_small(bench):
    listed = [
        {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
        for tool in await bench.tools.list_tools()
    ]
    assert len(json.dumps(listed)) < 6500


async def test_the_annotations_say_what_changes_something(bench):
    hints = {tool.name: tool.annotations for tool in await bench.tools.list_tools()}
    assert {name for name, hint in hints.items() if hint["readOnlyHint"]} == {"Read", "Glob", "Grep"}
    assert {name for name, hint in hints.items() if hint["destructiveHint"]} == {"Write", "Edit", "Bash"}
    assert {name for name, hint in hints.items() if hint["openWorldHint"]} == {"Bash"}


async def test_a_tool_that_does_not_exist_is_the_callers_mistake(bench):
    with pytest.raises(UnknownTool):
        await bench.call("read", file_path="a")


async def test_closing_twice_is_fine(bench):
    await bench.tools.close()
    await bench.tools.close()


@pytest.mark.parametrize(
    ("name", "given_", "wanted"),
    [
        ("Read", {"path": "a"}, {"file_path": "a"}),
        (
            "Edit",
            {"path": "a", "old": "b", "new": "c"},
            {"file_path": "a", "old_string": "b", "new_string": "c"},
        ),
        ("Bash", {"command": "ls", "timeout_seconds": 1.5}, {"command": "ls", "timeout": 1500}),
        ("Bash", {"command": "ls", "timeout_seconds": "2"}, {"command": "ls", "timeout": 2000}),
        ("Bash", {"command": "ls", "timeout": None}, {"command": "ls"}),
        ("Grep", {"pattern": "x", "path": "a", "context": 2}, {"pattern": "x", "path": "a", "-C": 2}),
        (
            "Grep",
            {"pattern": "1", "head_limit": "20", "-i": "true"},
            {"pattern": "1", "head_limit": 20, "-i": True},
        ),
        ("Read", {"file_path": "1", "offset": 3.0}, {"file_path": "1", "offset": 3}),
        (
            "Read",
            {"file_path": "a", "path": "b"},
            {"file_path": "a", "path": "b"},
        ),  # for the schema to refuse
        ("Read", {"file_path": "a", "offset": "many"}, {"file_path": "a", "offset": "many"}),
        ("Bash", {"command": "ls", "timeout_seconds": "soon"}, {"command": "ls", "timeout": "soon"}),
        (
            "Bash",
            {"command": "ls", "timeout_seconds": float("inf")},
            {"command": "ls", "timeout": float("inf")},
        ),
        ("Other", {"path": "a"}, {"path": "a"}),
    ],
)
def test_short_names_and_slips_of_type_are_mended(name, given_, wanted):
    assert normalise(name, given_) == wanted


@given(
    st.sampled_from(list(STRUCTS)),
    st.dictionaries(
        st.sampled_from(
            ["path", "file_path", "old", "new", "timeout_seconds", "timeout", "context", "-i", "offset"]
        ),
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    ),
)
def test_normalising_twice_is_the_same_as_once(name, arguments):
    once = normalise(name, arguments)
    assert normalise(name, once) == once


def test_listing_the_tools_loads_neither_the_tools_nor_an_event_loop():
    code = (
        "import sys; from awf.infrastructure.builtin_tools import BuiltinTools;"
        "tools = BuiltinTools('.', None, environment={}, spool='.');"
        "listing = tools.list_tools();\n"
        "try: listing.send(None)\n"
        "except StopIteration as done: assert len(done.value) == 6\n"
        "wrong = {'asyncio', 'shutil', 'tempfile', 'difflib', 'awf.infrastructure.builtin_tools.calls'} & set(sys.modules)\n"
        "assert not wrong, wrong"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
