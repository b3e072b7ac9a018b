"""`awf schema` and the reader of the files must say the same about the form of a file."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from awf.application.authoring.file_format import default_text, keys_of
from awf.application.authoring.json_schema import config_schema, step_template_schema, workflow_schema
from awf.domain.errors import InvalidWorkflowError
from awf.domain.shape import Kind
from awf.domain.workflow import STATE_TYPES, Workflow
from awf.infrastructure.yaml_files.config_file import read_config
from awf.infrastructure.yaml_files.nodes import parse_yaml, plain_value
from awf.infrastructure.yaml_files.workflow_file import read_workflow
from awf.interfaces.cli.app import run_cli

PROJECT = Path(__file__).parents[3]
BROKEN = PROJECT / "tests" / "broken"
TEMPLATES = sorted((PROJECT / "examples").glob("*/.awf/templates/*.yaml"))
EXAMPLES = sorted(file for file in (PROJECT / "examples").glob("**/*.yaml") if ".awf" not in file.parts)
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


@pytest.mark.parametrize("file", TEMPLATES, ids=name_of)
def test_every_step_template_of_the_examples_has_the_right_form(file):
    assert list(TEMPLATE.iter_errors(data_of(file.read_bytes()))) == []


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
