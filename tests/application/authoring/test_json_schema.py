"""`awf schema` and the reader of the files must say the same about the form of a file."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import jsonschema
import jsonschema_rs
import pytest

from awf.application.authoring import step_template
from awf.application.authoring.file_format import default_text, keys_of
from awf.application.authoring.json_schema import config_schema, step_template_schema, workflow_schema
from awf.domain.errors import InvalidWorkflowError
from awf.domain.shape import Kind
from awf.domain.workflow import STATE_TYPES, Workflow
from awf.infrastructure.yaml_files import step_templates
from awf.infrastructure.yaml_files.config_file import read_config
from awf.infrastructure.yaml_files.nodes import parse_yaml, plain_value
from awf.infrastructure.yaml_files.workflow_file import read_workflow
from awf.interfaces.cli.app import run_cli

PROJECT = Path(__file__).parents[3]
BROKEN = PROJECT / "tests" / "broken"
EXAMPLES = sorted(file for file in (PROJECT / "examples").glob("**/*.yaml") if "templates" not in file.parts)
SCHEMAS = {"workflow": workflow_schema, "config": config_schema, "template": step_template_schema}
WORKFLOW = jsonschema.Draft202012Validator(workflow_schema())
TEMPLATE = jsonschema.Draft202012Validator(step_template_schema())
CONFIG = jsonschema.Draft202012Validator(config_schema())


def name_of(file: Path) -> str:
    return f"{file.parent.name}/{file.stem}"


def data_of(text: bytes) -> object:
    document, problems = parse_yaml("file.yaml", text)
    assert document.root is not None, problems
    return plain_value(document.root)


def reader_problems(text: bytes) -> list[str]:
    file = read_workflow("file.yaml", text, lambda name: (None, []))
    return [f"{problem.code} {problem.message}" for problem in file.problems]


def schema_problems(data: object) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in WORKFLOW.iter_errors(data)]


# -- the schemas themselves ----------------------------------------------------------------------------------------


def parts_of(schema):
    """Every mapping inside a schema that is a schema itself."""
    if isinstance(schema, dict):
        yield schema
        for key, value in schema.items():
            if key in {"properties", "$defs"}:
                for inner in value.values():
                    yield from parts_of(inner)
            elif key not in {"default", "examples", "enum", "const"}:
                yield from parts_of(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from parts_of(item)


@pytest.mark.parametrize("name", SCHEMAS)
def test_each_schema_is_a_valid_schema_with_a_name(name):
    schema = SCHEMAS[name]()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"awf:{name}"
    assert schema["description"]


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_reference_leads_to_a_definition_and_every_definition_is_used(name):
    schema = SCHEMAS[name]()
    used = {part["$ref"] for part in parts_of(schema) if "$ref" in part}
    assert used == {f"#/$defs/{definition}" for definition in schema["$defs"]}


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_mapping_with_known_keys_takes_no_others_and_describes_each(name):
    schema = SCHEMAS[name]()
    closed = [part for part in parts_of(schema) if part.get("additionalProperties") is False]
    assert closed
    for part in closed:
        for key, value in part["properties"].items():
            assert value.get("description") or "$ref" in value, key
    for key, part in schema["$defs"].items():
        if key not in {"state", "state_type"}:
            assert part["additionalProperties"] is False, key


def test_every_state_type_and_key_of_the_domain_is_in_the_schema():
    definitions = workflow_schema()["$defs"]
    for cls in STATE_TYPES.values():
        keys = {key.key for key in keys_of(cls)}
        assert definitions[f"{cls.kind}_state"]["properties"].keys() == keys | {"type"}
    assert workflow_schema()["properties"].keys() == {key.key for key in keys_of(Workflow)} - {"initial"}


def test_defaults_are_written_as_a_person_would_write_them():
    retry = workflow_schema()["$defs"]["retry"]["properties"]
    assert retry["initial_delay"]["default"] == "1s"
    assert retry["max_attempts"]["default"] == 3
    assert workflow_schema()["$defs"]["capture"]["properties"]["max_size"]["default"] == "1MiB"
    assert [default_text(Kind.DURATION, value) for value in (0.5, 90.0, 3600.0)] == ["500ms", "1.5m", "1h"]
    assert default_text(Kind.SIZE, 1000) == 1000


def test_the_parameters_of_a_step_template_are_those_that_the_reader_knows():
    described = keys_of(step_template.Parameter)
    fields = step_templates.Parameter.__struct_fields__
    assert [key.key for key in described] == list(fields)
    assert [key.key for key in described if not key.required] == list(fields)[1:]


@pytest.mark.parametrize("arguments", [[], ["workflow"], ["config"], ["template"]])
def test_the_command_prints_the_schema(arguments, capsys):
    assert run_cli(["schema", *arguments]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMAS[(arguments or ["workflow"])[0]]()


# -- the schema and the reader agree -------------------------------------------------------------------------------


@pytest.mark.parametrize("file", EXAMPLES, ids=name_of)
def test_every_example_has_the_right_form(file):
    assert schema_problems(data_of(file.read_bytes())) == []


@pytest.mark.parametrize("file", sorted((BROKEN / "structure").glob("*.yaml")), ids=name_of)
def test_a_file_of_the_wrong_form_is_refused_by_reader_and_schema_alike(file):
    text = file.read_bytes()
    assert reader_problems(text)
    assert schema_problems(data_of(text))


@pytest.mark.parametrize("file", sorted((BROKEN / "semantics").glob("*.yaml")), ids=name_of)
def test_a_file_that_only_makes_no_sense_has_the_right_form_for_both(file):
    text = file.read_bytes()
    if b"use_template" not in text:
        assert reader_problems(text) == []
    assert schema_problems(data_of(text)) == []


RICH = {
    "name": "rich",
    "version": 1.5,
    "tags": ["a", 2],
    "env": {"MODE": "fast", "LEVEL": 3},
    "limits": {"tokens": 1000, "duration": "5m", "cost": 1},
    "hooks": {"workflow_start": [{"log": "start"}], "workflow_error": [{"command": "true"}]},
    "inputs": [{"name": "count", "type": "integer", "default": 3, "validation": {"min": 1, "max": 9.5}}],
    "outputs": {"answer": {"nested": ["{{ inputs.count }}"]}},
    "states": {
        "initial": "build",
        "build": {
            "type": "STEP",
            "command": "true",
            "timeout": 30,
            "retry": {"max_attempts": 2, "initial_delay": "100ms", "max_delay": None},
            "capture": {"stdout": "text", "max_size": "64KiB"},
            "hooks": {"pre": [{"log": "x"}], "post": []},
            "transitions": [{"when": "true", "goto": "fan"}],
            "on_failure": {"message": "no", "status": 4},
            "approval": {"message": "go?", "on_deny": "skip", "timeout": "1m"},
        },
        "fan": {"type": "parallel", "parallel": ["ask", "each"], "strategy": "best_effort", "on_success": "call"},
        "ask": {
            "type": "agent",
            "provider": "scripted",
            "prompt": "hello",
            "skills": ["review", {"path": "skills/x"}],
            "options": {"turns": ["hi"]},
            "output_schema": {"type": "object"},
            "conversation": {"continue_from": None},
        },
        "each": {"type": "for_each", "items": "{{ inputs.count }}", "body": ["one"], "max_iterations": "{{ 3 }}"},
        "one": {"type": "while", "while": "false", "body": ["two"], "max_iterations": 3},
        "two": {"type": "command", "script_file": "x.sh", "env": {"A": True}, "approval": True},
        "nested": {"type": "step", "agent": {"provider": "scripted", "prompt": "x"}, "timeout": "1h30m"},
        "call": {"type": "call_workflow", "workflow": "x", "inputs": {"a": [1]}, "outputs": {"b": "c"}},
        "done": {"type": "terminal", "status": "failure", "exit_code": 3},
    },
}  # fmt: skip
VALUES = [
    None, True, 0, -1, 3, 2.5, "", "text", "two words", "30s", "1KiB", "step", "STEP", "Agent", "success", [], ["a"],
    [None], [["a"]], {}, {"a": 1}, {"name": "x"}, {"goto": "done"}, [{"name": "x"}], [{"log": "x"}], {"provider": "x"},
]  # fmt: skip
KEYS = [
    "name", "type", "timeout", "retry", "approval", "agent", "provider", "body", "parallel", "items", "while", "goto",
    "parameters", "status", "capture", "limits", "hooks", "env", "inputs", "outputs", "unknown", "my key", "on_failure",
    "initial", "transitions", "max_iterations", "output_schema", "mode", "skills", "conversation",
]  # fmt: skip


def places_in(data, path=()):
    yield path
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inside:
        yield from places_in(value, (*path, key))


def at(data, path):
    for part in path:
        data = data[part]
    return data


def test_the_document_that_is_mutated_has_the_right_form():
    assert reader_problems(json.dumps(RICH).encode()) == []
    assert schema_problems(RICH) == []


def mutations():
    """Every place of the document: with every other value, without its value, and with one more key."""
    for path in places_in(RICH):
        if path:
            yield f"remove {path}", changed(path[:-1], lambda parent, last=path[-1]: remove(parent, last))
        for value in VALUES if path else ():
            yield (
                f"{path} = {value!r}",
                changed(path[:-1], lambda parent, k=path[-1], v=value: put(parent, k, v)),
            )
        if isinstance(at(RICH, path), dict) and path[-1:] != (
            "agent",
        ):  # the reader passes over some keys there
            for key in KEYS:
                for value in ("text", {}):
                    yield (
                        f"{path} + {key}: {value!r}",
                        changed(path, lambda found, k=key, v=value: put(found, k, v)),
                    )


def remove(parent, key):
    if key in parent or isinstance(key, int):
        del parent[key]


def put(parent, key, value):
    parent[key] = value


def changed(path, change):
    """The document with the change, without the states that have nothing to do with it."""
    state = path[1] if path[:1] == ("states",) and len(path) > 1 else "done"
    kept = {name: value for name, value in RICH["states"].items() if name in {"initial", state}}
    frame = {} if path[:1] == ("states",) else RICH
    document = copy.deepcopy({**frame, "name": "rich", "states": kept})
    change(at(document, path))
    return document


def comparable(document, read) -> bool:
    """A schema cannot see a key twice; and the word null names a state in `initial`."""
    states = document.get("states")
    initial = states.get("initial", "") if isinstance(states, dict) else ""
    return initial is not None and not any("DUPLICATE_KEY" in problem for problem in read)


def test_reader_and_schema_agree_on_every_mutation():
    schema = jsonschema_rs.validator_for(workflow_schema())
    differences, seen = [], {True: 0, False: 0}
    for what, document in mutations():
        read = reader_problems(json.dumps(document).encode())
        if not comparable(document, read):
            continue
        seen[not read] += 1
        if schema.is_valid(document) != (not read):
            differences.append((what, read[:1]))
    assert differences == []
    assert min(seen.values()) > 300


# -- step templates ------------------------------------------------------------------------------------------------

GOOD_TEMPLATES = [
    {"states": {"greet": {"type": "step", "command": "echo {{ parameters.name }}"}}},
    {"name": "n", "parameters": [{"name": "limit", "default": 3}], "states": {
        "initial": "work", "work": {"type": "parallel", "parallel": ["a"], "max_concurrent": "{{ parameters.limit }}"}}},
    {"states": {"work": {"timeout": "{{ parameters.limit }}", "retry": "{{parameters.retry}}"}}},
    {"states": {"work": {"use_template": "other", "parameters": {"a": 1}}}},
    {"states": {"work": {"type": "agent", "prompt": "x"}}},
]  # fmt: skip
BAD_TEMPLATES = [
    {},
    {"states": {}},
    {"states": {"initial": "work"}},
    {"states": {"one": {"type": "terminal"}, "two": {"type": "terminal"}}},
    {"states": {"work": {"type": "step", "prompt": "x"}}},
    {"states": {"work": {"comand": "x"}}},
    {"states": {"work": {"type": "step", "timeout": "soon"}}},
    {"parameters": [{"required": True}], "states": {"work": {"type": "terminal"}}},
    {"parameter": [], "states": {"work": {"type": "terminal"}}},
]


@pytest.mark.parametrize("template", GOOD_TEMPLATES)
def test_a_step_template_may_have_parameters_in_any_value(template):
    assert list(TEMPLATE.iter_errors(template)) == []


@pytest.mark.parametrize("template", BAD_TEMPLATES)
def test_a_step_template_of_the_wrong_form_is_refused(template):
    assert list(TEMPLATE.iter_errors(template))


# -- configuration -------------------------------------------------------------------------------------------------

GOOD_CONFIGS = [
    {}, {"storage": "runs"}, {"log": {"level": "info", "format": "json", "file": None}}, {"inputs": {"a": [1, 2]}},
    {"telemetry": {"endpoint": "http://localhost:4318"}},
]  # fmt: skip
BAD_CONFIGS = [
    {"storag": "runs"}, {"log": {"level": "loud"}}, {"log": None}, {"inputs": []}, {"telemetry": {"service_name": None}},
]  # fmt: skip


@pytest.mark.parametrize("config", GOOD_CONFIGS)
def test_a_good_configuration_pleases_reader_and_schema(config, tmp_path):
    (tmp_path / "config.yaml").write_text(json.dumps(config))
    assert read_config(str(tmp_path / "config.yaml")) is not None
    assert list(CONFIG.iter_errors(config)) == []


@pytest.mark.parametrize("config", BAD_CONFIGS)
def test_a_bad_configuration_is_refused_by_reader_and_schema(config, tmp_path):
    (tmp_path / "config.yaml").write_text(json.dumps(config))
    with pytest.raises(InvalidWorkflowError):
        read_config(str(tmp_path / "config.yaml"))
    assert list(CONFIG.iter_errors(config))
