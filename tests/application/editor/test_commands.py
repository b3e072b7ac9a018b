"""Workflows as slash commands: names, hints, the list, and lines to paste."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from awf.application.editor.commands import (
    FoundWorkflow,
    Offered,
    command_list,
    find_command,
    input_hint,
    offered_commands,
    ready_line,
    slash_name,
    unknown_command,
)
from awf.application.editor.slash import Command, parse_prompt, read_arguments
from awf.domain.workflow import Input, InputValidation

SCHEMA = Path(__file__).parents[2] / "protocols" / "acp" / "schema.json"
ENV = Input(name="env", required=True, enum=["dev", "prod"])
TAG = Input(name="tag", required=True)


@pytest.mark.parametrize(
    ("name", "slash"),
    [
        ("deploy", "deploy"),
        ("pack/build", "pack:build"),
        ("my flow\tx", "my-flow-x"),
        ("a.b_c:d-e", "a.b_c:d-e"),
        ("déploy!", "d_ploy_"),
        ("...", "_..."),
        ("", "_"),
    ],
)
def test_a_workflows_name_becomes_one_word(name, slash):
    assert slash_name(name) == slash


@given(st.text(max_size=30))
def test_every_command_that_is_offered_is_understood(name):
    slash = slash_name(name)
    assert re.fullmatch(r"[A-Za-z0-9._:-]+", slash)
    assert parse_prompt(f"/{slash} x") == Command(slash, "x")


def commands(*names):
    return {one.workflow: one.name for one in offered_commands([FoundWorkflow(name) for name in names])}


def test_names_that_collide_are_numbered_and_the_real_name_wins():
    assert commands("a b", "a/b", "a-b", "a:b", "a-b-2") == {
        "a b": "a-b-3",
        "a-b": "a-b",
        "a-b-2": "a-b-2",
        "a/b": "a:b-2",
        "a:b": "a:b",
    }


def test_the_helper_commands_are_not_taken_over():
    assert commands("end", "status", "workflows", "ending") == {
        "end": "end-2",
        "ending": "ending",
        "status": "status-2",
        "workflows": "workflows-2",
    }


def test_the_order_does_not_depend_on_how_they_were_found():
    names = ["b", "a b", "a", "c/d", "a-b"]
    forwards = offered_commands([FoundWorkflow(name) for name in names])
    assert forwards == offered_commands([FoundWorkflow(name) for name in reversed(names)])
    assert [one.name for one in forwards] == sorted(one.name for one in forwards)


@pytest.mark.parametrize(
    ("inputs", "hint"),
    [
        ((), ""),
        ((Input(name="task", required=True),), "<task>"),
        ((Input(name="note"),), "[note]"),
        ((TAG, Input(name="sha", required=True)), "tag=… sha=…"),
        (
            (Input(name="prompt"), Input(name="force", type="boolean", default=False), ENV, TAG),
            "env=dev|prod tag=… [force=true|false] [prompt]",
        ),
        ((Input(name="n", type="integer", enum=[1, 2, 3, 4, 5, 6]),), "[n=1|2|3|4|5|…]"),
        ((Input(name="n", type="number", validation=InputValidation(enum=[0.5, 1])),), "[n=0.5|1]"),
        ((Input(name="api_token", required=True, enum=["hidden"]),), "api_token=…"),
        ((Input(name="list", type="array", enum=["a"]),), "[list=…]"),
        ((Input(name="kept", type="integer", required=True, default=1),), "[kept=…]"),
        ((Input(name="n", type="integer", enum=["x" * 60]),), "[n=…]"),
    ],
)
def test_the_hint_shows_what_to_write(inputs, hint):
    assert input_hint(inputs) == hint


def test_a_long_hint_is_cut_between_words_and_still_ends_with_the_free_text():
    many = tuple(Input(name=f"number_{n}", type="integer", required=True) for n in range(20))
    hint = input_hint((*many, Input(name="task", required=True)))
    assert hint.startswith("number_0=… number_1=… ")
    assert hint.endswith("=… … <task>")
    assert len(hint) <= 82


def test_the_list_ends_with_the_helpers_and_fits_the_schema():
    offered = offered_commands(
        [
            FoundWorkflow("deploy", "Ship\n it  now", (ENV, TAG)),
            FoundWorkflow("pack/long", "x" * 500),
            FoundWorkflow("silent"),
        ]
    )
    listed = command_list(offered, parked=False)
    assert [one["name"] for one in listed] == ["deploy", "pack:long", "silent", "workflows", "status"]
    assert listed[0] == {
        "name": "deploy",
        "description": "Ship it now",
        "input": {"hint": input_hint((ENV, TAG))},
    }
    assert listed[1]["description"] == "x" * 199 + "…"
    assert listed[2] == {"name": "silent", "description": "Run the workflow silent"}
    definitions = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]
    jsonschema.validate(
        {"availableCommands": listed}, {"$defs": definitions, "$ref": "#/$defs/AvailableCommandsUpdate"}
    )


def test_a_conversation_can_be_ended_only_while_there_is_one():
    assert "end" not in [one["name"] for one in command_list([], parked=False)]
    assert command_list([], parked=True)[-1] == {"name": "end", "description": "End the conversation"}


def test_a_command_is_found_by_both_of_its_names():
    offered = [Offered("a:b", "a/b"), Offered("end-2", "end"), Offered("x", "end-2")]
    assert find_command("a:b", offered) is offered[0]
    assert find_command("a/b", offered) is offered[0]
    assert find_command("end", offered) is offered[1]
    assert find_command("end-2", offered) is offered[1]  # what the editor shows comes first
    assert find_command("c", offered) is None


def test_an_unknown_command_is_told_with_the_one_that_was_meant():
    offered = [Offered("deploy", "deploy")]
    assert unknown_command("deplyo", offered) == (
        "There is no workflow or command /deplyo. Did you mean /deploy? /workflows lists them."
    )
    assert unknown_command("statsu", []).count("Did you mean /status?") == 1
    assert unknown_command("zzz", []) == "There is no workflow or command /zzz. /workflows lists them."
    assert len(unknown_command("z" * 1000, [])) < 200


def test_the_ready_line_has_a_place_for_what_is_missing():
    region = Input(name="region", enum=["eu", "us"])
    offered = Offered("deploy", "deploy", "", (ENV, TAG, region))
    assert ready_line(offered, {"env": "prod"}, [TAG]) == "/deploy env=prod tag=<tag>"
    assert ready_line(offered, {"env": "nope", "tag": "a b"}, [ENV, region]) == (
        '/deploy env=<dev|prod> tag="a b" region=<eu|us>'
    )
    assert ready_line(offered, {}, []) == "/deploy"


def test_the_ready_line_shows_no_secret():
    offered = Offered("go", "go", "", (Input(name="api_token"), Input(name="pin", secret=True)))
    line = ready_line(offered, {"api_token": "hush", "pin": "1234"}, [])
    assert line == "/go api_token=<api_token> pin=<pin>"


def test_the_ready_line_writes_typed_values_as_they_are_read():
    inputs = (
        Input(name="yes", type="boolean"),
        Input(name="many", type="array"),
        Input(name="n", type="number"),
    )
    line = ready_line(Offered("go", "go", "", inputs), {"yes": True, "many": ["a", "b c"], "n": 1.5}, [])
    assert read_arguments(line.removeprefix("/go "), inputs).given == {
        "yes": "true",
        "many": '["a","b c"]',
        "n": "1.5",
    }


@given(st.dictionaries(st.sampled_from(["env", "tag", "note", "task"]), st.text()))
def test_the_ready_line_is_read_back_as_it_was(values):
    inputs = tuple(Input(name=name) for name in ("env", "tag", "note", "task"))
    spoken = parse_prompt(ready_line(Offered("go", "go", "", inputs), values, []))
    assert isinstance(spoken, Command)
    read = read_arguments(spoken.rest, inputs)
    assert (read.given, read.free_text, read.problems) == (values, "", ())
