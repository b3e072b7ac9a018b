"""Wrong files and wrong inputs: each is told once, with its code, its place and what to do; and nothing is started."""

from __future__ import annotations

import json
import os
from itertools import pairwise

import pytest

pytestmark = pytest.mark.journey

END = "states:\n  initial: done\n  done: {type: terminal}\n"
LIST_INPUT = "name: x\ninputs:\n  - name: q\n    type: array\n    default:\n"


def bomb(first: str, form: str) -> str:
    """Aliases of aliases: twelve lines that unfold into nine to the power of twelve values."""
    letters = "abcdefghijklm"
    rows = [first, *(f"&{own} " + form % ",".join([f"*{one}"] * 9) for one, own in pairwise(letters))]
    return "".join(f"      - {row}\n" for row in rows)


SYNTAX, LARGE = "WORKFLOW.PARSE.YAML_SYNTAX", "WORKFLOW.PARSE.TOO_LARGE"
BROKEN = {
    "tab": ("name: x\nstates:\n\tinitial: a\n", SYNTAX, ":3:1"),
    "unclosed quote": ('name: "x\n' + END, SYNTAX, ":1:7"),
    "two documents": ("name: x\n---\nname: y\n", SYNTAX, ":2:1"),
    "NUL byte": ("name: x\0y\n", SYNTAX, ":1:8"),
    "not UTF-8": (b"name: x\xff\n", "WORKFLOW.PARSE.ENCODING", ":1:8"),
    "UTF-16": ("name: x\n".encode("utf-16"), "WORKFLOW.PARSE.ENCODING", ":1:1"),
    "50 MB": (b"#" * 50_000_000, LARGE, ""),
    "100 000 brackets": ("name: " + "[" * 100_000, LARGE, ""),
    "100 000 brackets that seem closed": ("name: " + '["]",' * 100_000, LARGE, ""),
    "100 000 dashes": ("- " * 100_000 + "x\n", LARGE, ""),
    "billion laughs": (LIST_INPUT + bomb("&a [x,x,x]", "[%s]") + END, LARGE, ""),
    "billion laughs by merging": (
        LIST_INPUT + bomb("&a {k: 1, k: 2}", "{<<: [%s]}") + END, "WORKFLOW.PARSE.DUPLICATE_KEY", ":6:"),
    "anchor inside itself": ("name: x\noutputs: &o {a: [*o]}\n" + END, LARGE, ""),
    "state inside itself": ("name: x\nstates: &s\n  initial: b\n  b: *s\n", "WORKFLOW.PARSE.MISSING_FIELD", ":4:3"),
    "merged into itself": ("name: x\n<<: &t\n  <<: *t\n  nmae: y\n" + END, "WORKFLOW.PARSE.UNKNOWN_FIELD", ":4:3"),
    "duplicate key": ("name: x\nname: y\n" + END, "WORKFLOW.PARSE.DUPLICATE_KEY", ":2:1"),
    "empty": ("", "WORKFLOW.PARSE.MISSING_FIELD", ":1:1"),
    "only a comment": ("# nothing\n", "WORKFLOW.PARSE.MISSING_FIELD", ":1:1"),
    "a list": ("- name: x\n", "WORKFLOW.PARSE.WRONG_TYPE", ":1:1"),
    "initial is a state": ("name: x\nstates:\n  initial: {type: terminal}\n", "WORKFLOW.PARSE.WRONG_TYPE", ":3:12"),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_is_told_once_with_code_and_place(what, journey):
    text, code, place = BROKEN[what]
    file = journey.write("broken.yaml", text)
    told = journey.awf("run", file).one_error(code)
    assert f"broken.yaml{place}" in told.stderr
    assert told.stdout == ""
    assert not journey.storage.exists()


def test_a_broken_file_is_one_json_document_for_programs(journey):
    file = journey.write("broken.yaml", BROKEN["duplicate key"][0])
    told = journey.awf("run", file, "-o", "json").one_error("WORKFLOW.PARSE.DUPLICATE_KEY")
    document = told.json()
    assert document["error"]["exit_status"] == 2
    assert [(p["file"], p["line"], p["column"]) for p in document["problems"]] == [("broken.yaml", 2, 1)]
    assert document["problems"][0]["hint"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("name: t\nstates:\n  a: {type: step, command: 'x\n", SYNTAX),
        ("name: t\nstates:\n  a: &x {type: step, command: x, env: *x}\n", LARGE),
    ],
)
def test_a_broken_step_template_is_told_where_it_lies(text, code, journey):
    journey.write(".awf/templates/greet.yaml", text)
    file = journey.workflow(
        "x", {"initial": "a", "a": {"use_template": "greet", "on_success": "b"}, "b": {"type": "terminal"}}
    )
    journey.awf("run", file).one_error(code)


@pytest.mark.parametrize(
    "text", ["inputs: &a {x: *a}\n", "storage: 'x\n", "storaeg: x\n", "log: {level: loud}\n"]
)
def test_a_broken_configuration_stops_a_run_before_it_starts(text, journey):
    journey.write(".awf/config.yaml", text)
    told = journey.awf("run", journey.steps("x", "echo a >> trace")).one_error("USER.CONFIG.INVALID")
    assert ".awf/config.yaml" in told.stderr
    assert journey.trace() == []


def test_a_configuration_that_cannot_be_read_is_not_passed_over(journey):
    (journey.project / ".awf" / "config.yaml").mkdir(parents=True)
    journey.awf("run", journey.steps("x", "true")).one_error("SYSTEM.IO.READ_FAILED")


def test_a_directory_is_no_workflow(journey):
    (journey.project / "folder.yaml").mkdir()
    told = journey.awf("run", "./folder.yaml").one_error("USER.INPUT.MISSING_FILE")
    assert "is a directory" in told.stderr


def test_a_file_that_may_not_be_read_is_told(journey):
    if os.getuid() == 0:
        pytest.skip("root may read everything")
    file = journey.steps("x", "true")
    (journey.project / file).chmod(0)
    journey.awf("run", file).one_error("SYSTEM.IO.READ_FAILED")


def test_a_file_that_cannot_be_read_is_told(journey):
    (journey.project / "x.yaml").symlink_to("/proc/self/mem")
    told = journey.awf("run", "./x.yaml").one_error("SYSTEM.IO.READ_FAILED")
    assert "x.yaml cannot be read" in told.stderr


def test_a_missing_workflow_is_told_with_the_one_that_was_meant(journey):
    journey.steps(".awf/workflows/release", "true")
    told = journey.awf("run", "relaese").one_error("USER.INPUT.MISSING_FILE")
    assert "did you mean 'release'?" in told.stderr
    told = journey.awf("run", "./nowhere.yaml").one_error("USER.INPUT.MISSING_FILE")
    assert "awf list" in told.stderr


# -- workflows that call workflows -------------------------------------------------------------------------------------


def calling(journey, name: str, called: str) -> str:
    states = {
        "initial": "a",
        "a": {"type": "call_workflow", "workflow": called, "on_success": "b"},
        "b": {"type": "terminal"},
    }
    return journey.workflow(name, states)


def test_a_workflow_that_calls_itself_is_told_at_the_call(journey):
    told = journey.awf("run", calling(journey, "one", "./one.yaml")).one_error(
        "WORKFLOW.VALIDATION.RECURSION"
    )
    assert "one.yaml:1:" in told.stderr


def test_two_workflows_that_call_each_other_are_told_at_both_calls(journey):
    calling(journey, "two", "./one.yaml")
    told = journey.awf("run", calling(journey, "one", "./two.yaml")).one_error(
        "WORKFLOW.VALIDATION.RECURSION"
    )
    assert "one.yaml:1:" in told.stderr
    assert "two.yaml:1:" in told.stderr


def test_ten_levels_of_calls_run_and_the_eleventh_is_told(journey):
    for level in range(11):
        calling(journey, f"level-{level}", f"./level-{level + 1}.yaml")
    journey.steps("level-11", "echo deep >> trace")
    journey.awf("run", "./level-0.yaml").one_error("WORKFLOW.VALIDATION.RECURSION")
    assert journey.trace() == []
    journey.awf("run", "./level-1.yaml").succeeded()
    assert journey.trace() == ["deep"]


# -- inputs ------------------------------------------------------------------------------------------------------------

INPUTS = [{"name": "count", "type": "integer", "required": True}, {"name": "who"}]


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        (["count=many"], "USER.INPUT.VALIDATION_FAILED", "'count' must be a whole number"),
        (["count=1.5"], "USER.INPUT.VALIDATION_FAILED", "'count' must be a whole number"),
        ([], "USER.INPUT.VALIDATION_FAILED", "'count' is required"),
        (["count=1", "whom=you"], "USER.INPUT.VALIDATION_FAILED", "'whom'"),
        (["count"], "USER.INPUT.INVALID_FORMAT", "'count' is not NAME=VALUE"),
        (["=1"], "USER.INPUT.INVALID_FORMAT", "'=1' is not NAME=VALUE"),
        (["count=1", "who=@nobody.txt"], "USER.INPUT.MISSING_FILE", "nobody.txt"),
    ],
)
def test_a_wrong_input_is_told_and_nothing_runs(given, code, said, journey):
    file = journey.steps("x", "echo a >> trace", inputs=INPUTS)
    options = [word for one in given for word in ("-i", one)]
    told = journey.awf("run", file, *options).one_error(code)
    assert said in told.stderr
    assert journey.trace() == []
    document = journey.awf("run", file, *options, "-o", "json").json()
    assert document["error"]["code"] == code
    assert document["error"]["hint"]


def test_every_wrong_input_is_told_at_once(journey):
    inputs = [*INPUTS, {"name": "size", "type": "number"}]
    told = journey.awf("run", journey.steps("x", "true", inputs=inputs), "-i", "size=big", "-i", "count=x")
    assert "'count'" in told.stderr
    assert "'size'" in told.stderr


def test_an_input_is_taken_from_a_file_and_a_doubled_at_sign_stands_for_itself(journey):
    journey.write("who.txt", "Ada\n")
    file = journey.steps("x", "echo $who >> trace", inputs=INPUTS)
    journey.awf("run", file, "-i", "count=1", "-i", "who=@who.txt").succeeded()
    journey.awf("run", file, "-i", "count=1", "-i", "who=@@who.txt").succeeded()
    assert journey.trace() == ["Ada", "@who.txt"]


# -- commands that cannot be run ---------------------------------------------------------------------------------------


def test_a_command_that_is_not_found_fails_with_127(journey):
    told = journey.awf("run", journey.steps("x", "no-such-program --now")).one_error(
        "EXECUTION.COMMAND.FAILED"
    )
    assert "exit code 127" in told.stderr
    assert "no-such-program" in told.stderr


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"command": "true", "shell": "/no/such/shell"}, "/no/such/shell"),
        ({"command": "true", "dir": "no-such-folder"}, "no-such-folder"),
        ({"script_file": "lost.sh"}, "interpreter"),
    ],
)
def test_a_step_that_cannot_be_started_says_what_is_missing(step, said, journey):
    journey.write("lost.sh", "#!/no/such/interpreter\n")
    told = journey.awf("run", journey.steps("x", step)).one_error("EXECUTION.COMMAND.NOT_FOUND")
    assert said in told.stderr


def test_a_script_without_permission_to_execute_fails_with_126(journey):
    journey.write("run.sh", "#!/bin/sh\necho hi\n")
    told = journey.awf("run", journey.steps("x", "./run.sh")).one_error("EXECUTION.COMMAND.FAILED")
    assert "exit code 126" in told.stderr


def test_a_script_file_needs_no_permission_to_execute(journey):
    journey.write("run.sh", "#!/bin/sh\necho ran >> trace\n")
    journey.awf("run", journey.steps("x", {"script_file": "run.sh"})).succeeded()
    assert journey.trace() == ["ran"]


def test_a_missing_script_is_told_before_anything_runs(journey):
    told = journey.awf("run", journey.steps("x", "echo a >> trace", {"script_file": "lost.sh"}))
    told.one_error("USER.INPUT.MISSING_FILE")
    assert journey.trace() == []


def test_a_failed_command_is_one_document_with_code_and_state(journey):
    told = journey.awf("run", journey.steps("x", "true", "exit 7"), "-o", "json")
    document = json.loads(told.out)
    assert (told.status, document["status"], document["exit_status"]) == (3, "failed", 3)
    assert (document["error"]["code"], document["error"]["state"]) == ("EXECUTION.COMMAND.FAILED", "b")
    assert [step["exit_code"] for step in document["steps"]] == [0, 7]
