"""Needed inputs as a form of the editor, and the answers back."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from awf.application.editor.forms import form_for, form_message, from_form, missing_inputs, needed_inputs
from awf.domain.inputs import resolve_inputs
from awf.domain.workflow import Input, InputValidation

SCHEMA = Path(__file__).parents[2] / "protocols" / "acp" / "schema.json"
KINDS = {
    "string": "StringPropertySchema",
    "integer": "IntegerPropertySchema",
    "number": "NumberPropertySchema",
    "boolean": "BooleanPropertySchema",
    "array": "MultiSelectPropertySchema",
}


@pytest.fixture(scope="module")
def definitions():
    return json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]


def checks(definitions, name):
    return jsonschema.Draft202012Validator({"$defs": definitions, "$ref": f"#/$defs/{name}"})


@pytest.fixture(scope="module")
def ask(definitions):
    """The form, checked against the protocol."""
    whole = checks(definitions, "ElicitationSchema")
    fields = {kind: checks(definitions, name) for kind, name in KINDS.items()}

    def make(inputs, given=None, **more):
        form = form_for(inputs, given or {}, **more)
        assert form is not None
        whole.validate(form)
        for field in form["properties"].values():
            fields[field["type"]].validate(field)
            assert set(field) <= {"type", *definitions[KINDS[field["type"]]]["properties"]}
        return form

    return make


def required(name, kind="string", **more):
    return Input(name=name, type=kind, required=True, **more)


def field_of(ask, item, given=None):
    return ask([item], given)["properties"][item.name]


def test_missing_is_what_a_run_would_refuse_to_start_without():
    inputs = [
        required("absent"),
        required("empty"),
        required("none", default=None),
        required("preset", default="x"),
        required("zero", "integer"),
        required("no", "boolean"),
        Input(name="optional"),
    ]
    given = {"empty": "", "zero": 0, "no": False}
    names = [item.name for item in missing_inputs(inputs, given)]
    assert names == ["absent", "empty", "none"]
    _, wrong = resolve_inputs(inputs, given)
    assert [name for name in names if any(f"'{name}'" in text for text in wrong)] == names
    assert len(wrong) == len(names)


def test_needed_is_also_what_breaks_a_rule():
    inputs = [
        required("env", enum=["dev"]),
        Input(name="n", type="integer"),
        Input(name="ok"),
        required("tag"),
    ]
    found = needed_inputs(inputs, {"env": "prod", "n": "many", "ok": "x"})
    assert [item.name for item in found] == ["env", "n", "tag"]


def test_a_file_that_is_not_there_is_asked_for_again():
    item = Input(name="path", validation=InputValidation(file_exists=True))
    assert needed_inputs([item], {"path": "gone"}, is_file=lambda _: False) == [item]
    assert needed_inputs([item], {"path": "here"}, is_file=lambda _: True) == []


def test_each_type_has_its_field(ask):
    assert field_of(ask, required("tag", description="Which one")) == {
        "type": "string",
        "minLength": 1,
        "title": "tag",
        "description": "Which one",
    }
    assert field_of(ask, required("n", "integer", validation=InputValidation(min=0.5, max=9.9))) == {
        "type": "integer",
        "minimum": 1,
        "maximum": 9,
        "title": "n",
    }
    assert field_of(ask, required("x", "number", validation=InputValidation(min=0.5))) == {
        "type": "number",
        "minimum": 0.5,
        "title": "x",
    }
    assert field_of(ask, required("yes", "boolean")) == {"type": "boolean", "title": "yes"}
    assert field_of(ask, required("env", enum=["dev", "prod"])) == {
        "type": "string",
        "enum": ["dev", "prod"],
        "title": "env",
    }
    assert field_of(ask, required("n", "integer", validation=InputValidation(enum=[1, 2])))["enum"] == [
        "1",
        "2",
    ]
    assert field_of(ask, required("which", "array", enum=["a", "b"])) == {
        "type": "array",
        "items": {"type": "string", "enum": ["a", "b"]},
        "minItems": 1,
        "title": "which",
    }


def test_lists_and_objects_are_written_as_text_and_the_field_says_how(ask):
    assert field_of(ask, required("files", "array", description="Which."))["description"] == (
        "Which. Values separated by commas, or a JSON array."
    )
    assert field_of(ask, required("map", "object"))["description"] == "A JSON object."
    assert field_of(ask, required("pair", "array", enum=[["a"], ["b", "c"]]))["enum"] == [
        '["a"]',
        '["b","c"]',
    ]


def test_a_pattern_is_handed_on_where_editors_understand_it(ask):
    plain = field_of(ask, required("tag", validation=InputValidation(pattern=r"^v\d+(?:\.\d+)*$")))
    assert plain["pattern"] == r"^v\d+(?:\.\d+)*$"
    own = field_of(ask, required("tag", validation=InputValidation(pattern=r"(?P<v>v\d+)\Z")))
    assert "pattern" not in own
    assert own["description"] == r"Must match (?P<v>v\d+)\Z"


def test_other_rules_are_told_in_words(ask):
    rules = InputValidation(file_exists=True, file_extension=[".yaml", ".yml"])
    text = field_of(ask, required("path", validation=rules))["description"]
    assert text == "The path of an existing file. Ends with .yaml or .yml."


def test_a_value_that_breaks_a_rule_is_there_to_be_mended(ask):
    assert (
        field_of(ask, required("tag", validation=InputValidation(pattern="^v")), {"tag": "1"})["default"]
        == "1"
    )
    assert "default" not in field_of(ask, required("env", enum=["dev"]), {"env": "prod"})
    assert "default" not in field_of(ask, required("n", "integer"), {"n": "many"})
    assert "default" not in field_of(ask, required("x", "number"), {"x": "many"})
    high = required("n", "integer", validation=InputValidation(max=5))
    assert field_of(ask, high, {"n": "7"})["default"] == 7


def test_what_has_a_default_can_be_changed_in_the_same_form(ask):
    inputs = [
        Input(name="plain"),
        Input(name="env", default="dev", enum=["dev", "prod"]),
        Input(name="n", type="integer", default=3),
        Input(name="off", type="boolean", default=False),
        Input(name="files", type="array", default=["a", "b"]),
        Input(name="which", type="array", default=["a"], enum=["a", "b"]),
        Input(name="given", default="x"),
        Input(name="api_token", default="hush"),
        required("tag"),
    ]
    form = ask(inputs, {"given": "y"})
    assert list(form["properties"]) == ["tag", "env", "n", "off", "files", "which"]
    assert form["required"] == ["tag"]
    defaults = {name: field.get("default") for name, field in form["properties"].items()}
    assert defaults == {"tag": None, "env": "dev", "n": 3, "off": False, "files": '["a","b"]', "which": ["a"]}


def test_a_form_does_not_grow_without_end(ask):
    changeable = [Input(name=f"d{n}", default="x") for n in range(30)]
    assert len(ask([*changeable, required("tag")])["properties"]) == 8
    needed = [required(f"r{n}") for n in range(12)]
    assert list(ask([*changeable, *needed])["properties"]) == [item.name for item in needed]


@pytest.mark.parametrize("item", [required("pin", secret=True), required("api_token")])
def test_secrets_are_never_asked_for(item):
    assert form_for([item], {}) is None
    assert form_for([required("tag"), item], {}) is None
    assert form_for([required("tag"), item], {item.name: "known"}) is not None


def test_there_is_no_form_where_nothing_is_needed():
    assert form_for([], {}) is None
    assert form_for([required("tag"), Input(name="env", default="dev")], {"tag": "v1"}) is None


def test_the_answers_are_values_for_a_run():
    inputs = [
        required("tag"),
        required("n", "integer"),
        required("files", "array"),
        Input(name="off", type="boolean", default=True),
        Input(name="level", type="integer", enum=[1, 2]),
        Input(name="note", default="kept"),
        Input(name="api_token"),
    ]
    content = {
        "tag": "v1",
        "n": 3.0,
        "files": "a, b",
        "off": False,
        "level": "2",
        "note": "",
        "api_token": "typed",
        "unknown": 1,
    }
    answers = from_form(inputs, content)
    assert answers == {"tag": "v1", "n": 3.0, "files": "a, b", "off": False, "level": "2"}
    values, wrong = resolve_inputs(inputs, answers)
    assert wrong == []
    assert values == {
        "tag": "v1",
        "n": 3,
        "files": ["a", "b"],
        "off": False,
        "level": 2,
        "note": "kept",
        "api_token": None,
    }


def test_a_form_with_its_defaults_sent_back_changes_nothing(ask):
    inputs = [
        required("tag"),
        Input(name="env", default="dev", enum=["dev", "prod"]),
        Input(name="n", type="number", default=0.5, enum=[0.5, 1]),
        Input(name="map", type="object", default={"a": [1]}),
        Input(name="files", type="array", default=["a,b", "c"]),
    ]
    content = {name: field.get("default", "v1") for name, field in ask(inputs)["properties"].items()}
    assert resolve_inputs(inputs, from_form(inputs, content)) == resolve_inputs(inputs, {"tag": "v1"})


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["tag"], "deploy needs tag to start."),
        (["env", "tag"], "deploy needs env and tag to start."),
        (["a", "b", "c"], "deploy needs a, b and c to start."),
    ],
)
def test_the_message_names_what_is_asked_for(names, message):
    assert form_message("deploy", [Input(name=name) for name in names]) == message
