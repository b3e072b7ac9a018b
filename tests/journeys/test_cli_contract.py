"""What programs and people can rely on: one answer on standard output, codes, exit statuses, completion, a quick start."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from awf.domain.catalogue import CATALOGUE
from awf.interfaces.cli.app import COMMANDS

pytestmark = pytest.mark.journey

FAIL = "echo bad >&2; exit 9"


# -- forms of output ---------------------------------------------------------------------------------------------------


def test_json_is_one_document_whether_the_run_succeeds_or_fails(journey):
    good = journey.awf("run", journey.steps("good", "echo hi"), "-o", "json").succeeded()
    assert good.stderr == ""
    assert (good.json()["status"], good.json()["message"]) == ("completed", "all done")
    assert set(good.json()) == {
        "run_id", "workflow", "status", "exit_status", "duration_ms", "message", "outputs", "error", "usage", "steps"
    }  # fmt: skip
    bad = journey.awf("run", journey.steps("bad", FAIL), "-o", "json")
    assert (bad.status, bad.stderr) == (3, "")
    assert (bad.json()["status"], bad.json()["error"]["code"]) == ("failed", "EXECUTION.COMMAND.FAILED")


FAILURES = {
    "USER.INPUT.MISSING_FILE": ["run", "nowhere"],
    "USER.INPUT.USAGE": ["run", "--nonsense"],
    "USER.INPUT.INVALID_FORMAT": ["run", "./x.yaml", "-i", "nonsense"],
    "USER.INPUT.VALIDATION_FAILED": ["run", "./x.yaml"],
    "USER.RUN.NOT_FOUND": ["resume", "last"],
    "USER.CODE.UNKNOWN": ["explain", "NO.SUCH.CODE"],
    "WORKFLOW.PARSE.MISSING_FIELD": ["run", "./empty.yaml"],
    "SYSTEM.STORE.UNAVAILABLE": ["run", "./x.yaml", "-i", "n=1", "--storage", "./x.yaml"],
}


@pytest.fixture
def troubled(journey):
    journey.steps("x", "true", inputs=[{"name": "n", "type": "integer", "required": True}])
    journey.write("empty.yaml", "")
    return journey


@pytest.mark.parametrize("code", FAILURES)
def test_json_is_one_document_when_nothing_could_run(code, troubled):
    told = troubled.awf(*FAILURES[code], "-o", "json").one_error(code)
    error = told.json()["error"]
    assert (error["code"], error["exit_status"]) == (code, told.status)
    assert error["message"]
    assert error["hint"]


@pytest.mark.parametrize("code", [code for code in FAILURES if FAILURES[code][0] in {"run", "resume"}])
def test_ndjson_is_lines_of_one_shape_also_when_nothing_could_run(code, troubled):
    (line,) = troubled.awf(*FAILURES[code], "-o", "ndjson").one_error(code).events()
    assert list(line)[:5] == ["type", "run_id", "seq", "time", "path"]
    assert (line["type"], line["error"]["code"]) == ("error", code)


def test_ndjson_is_one_object_per_line_and_the_first_says_what_follows(journey):
    told = journey.awf("run", journey.steps("x", "echo hi", FAIL), "-o", "ndjson")
    events = told.events()
    assert (told.status, told.stderr) == (3, "")
    assert all(list(event)[:5] == ["type", "run_id", "seq", "time", "path"] for event in events)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert {event["run_id"] for event in events} == {journey.history()[0]["id"]}
    assert [event["time"] for event in events] == sorted(event["time"] for event in events)
    first = events[0]
    assert (first["type"], first["format"]) == ("workflow.started", 1)
    version = journey.awf("version").succeeded().stdout.split()[1]
    assert first["version"] == version
    assert [event["type"] for event in events if event["type"] != "step.output"] == [
        "workflow.started", "step.started", "step.completed", "step.started", "step.failed", "workflow.failed"
    ]  # fmt: skip
    assert journey.awf("logs", "last", "-o", "ndjson").events() == events


def test_standard_output_holds_the_answer_and_nothing_else(journey):
    end = {"type": "terminal", "message": "Hello {{ states.a.output }}"}
    states = {"initial": "a", "a": {"type": "step", "command": "echo Ada", "on_success": "end"}, "end": end}
    file = journey.workflow("x", states, outputs={"name": "{{ states.a.output }}"})
    text = journey.awf("run", file).succeeded()
    quiet = journey.awf("run", file, "-o", "quiet").succeeded()
    assert text.stdout == quiet.stdout == "Hello Ada\nname: Ada\n"
    assert quiet.stderr == ""
    assert "echo Ada" in text.stderr
    assert journey.awf("run", file, "-v").succeeded().stdout == text.stdout


def test_quiet_tells_why_there_is_no_answer(journey):
    told = journey.awf("run", journey.steps("x", FAIL), "-o", "quiet").one_error("EXECUTION.COMMAND.FAILED")
    assert told.stdout == ""
    assert "bad" in told.stderr


LISTINGS = (
    ["list"], ["history"], ["status", "last"], ["show", "last"], ["show", "last", "--step", "a"], ["plan", "./x.yaml"],
    ["validate", "./x.yaml"], ["explain"], ["explain", "USER.INPUT.USAGE"], ["usage"], ["config", "show"],
)  # fmt: skip


def test_every_listing_has_json(journey):
    journey.awf("run", journey.steps("x", "true")).succeeded()
    for command in LISTINGS:
        told = journey.awf(*command, "-o", "json").succeeded()
        assert told.json() is not None, command
        assert told.stderr == "", command


def test_without_colours_nothing_is_coloured(journey):
    journey.awf("run", journey.steps("x", FAIL))
    for command in (["run", "./x.yaml"], ["status", "last"], ["logs", "last"], ["--help"]):
        shown = journey.on_terminal(*command).out
        assert b"\x1b[3" not in shown, command


# -- the command line itself -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["frobnicate"], "frobnicate"),
        (["histroy"], "Did you mean history?"),
        (["run"], "WORKFLOW"),
        (["run", "x", "--outptu", "json"], "--output"),
        (["history", "-o", "yaml"], "yaml"),
        (["history", "-n", "many"], "many"),
        (["history", "--since", "yesterday"], "yesterday"),
        (["--nonsense"], "--nonsense"),
        (["resume"], "RUN"),
        (["completion", "tcsh"], "tcsh"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_told(arguments, said, journey):
    told = journey.awf(*arguments).one_error("USER.INPUT.USAGE")
    assert said in told.stderr
    assert told.stdout == ""
    assert not journey.storage.exists()


def test_every_command_has_help_that_fits_on_a_terminal(journey):
    overview = journey.awf("--help").succeeded().stdout
    for name, (_, line) in COMMANDS.items():
        assert name in overview
        assert line in overview
        shown = journey.awf(name, "--help").succeeded()
        assert shown.stdout.startswith(f"Usage: awf {name}")
        assert max(len(one) for one in shown.stdout.splitlines()) <= 100


def test_no_arguments_show_the_help(journey):
    told = journey.awf()
    assert "Usage: awf" in told.stdout + told.stderr
    assert "Traceback" not in told.stderr


def test_the_version_is_told_in_two_ways(journey):
    assert journey.awf("--version").succeeded().stdout == journey.awf("version").succeeded().stdout


EXPLAIN_ALL = """\
import contextlib, io, json, sys
from awf.domain.catalogue import CATALOGUE
from awf.interfaces.cli.app import run_cli

found = {}
for code in CATALOGUE:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = run_cli(["explain", code])
    found[code] = (status, out.getvalue())
json.dump(found, sys.stdout)
"""


def test_every_code_is_explained(journey):
    done = subprocess.run(
        [sys.executable, "-c", EXPLAIN_ALL],
        env=journey.environment,
        capture_output=True,
        check=True,
        timeout=60,
    )
    found = json.loads(done.stdout)
    assert set(found) == set(CATALOGUE)
    for code, (status, text) in found.items():
        entry = CATALOGUE[code]
        assert status == 0
        assert text.startswith(f"{code}  (exit status ")
        assert entry.meaning in text
        assert entry.remedy in text
    listed = journey.awf("explain", "-o", "json").succeeded().json()
    assert [entry["code"] for entry in listed] == list(CATALOGUE)


def test_a_family_of_codes_is_listed_and_a_near_miss_is_told(journey):
    family = journey.awf("explain", "user.run").succeeded().stdout.splitlines()
    assert [line.split()[0] for line in family] == [code for code in CATALOGUE if code.startswith("USER.RUN")]
    told = journey.awf("explain", "USER.INPUT.USAEG")
    assert told.status == 1
    assert "USER.INPUT.USAGE" in told.stderr


# -- completion --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_can_be_parsed_by_its_shell(shell, journey):
    script = journey.awf("completion", shell).succeeded().stdout
    assert "_AWF_COMPLETE" in script
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    checked = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def completions(journey, *words: str) -> list[str]:
    """What bash would be offered for the last word."""
    journey.environment |= {
        "_AWF_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(["awf", *words]), "COMP_CWORD": str(len(words))
    }  # fmt: skip
    told = journey.awf().succeeded()
    for name in ("_AWF_COMPLETE", "COMP_WORDS", "COMP_CWORD"):
        del journey.environment[name]
    return [line.split(",", 1)[1] for line in told.stdout.splitlines() if line]


def test_commands_workflows_and_runs_are_completed(journey):
    for name in ("release", "review", "team/report"):
        journey.steps(f".awf/workflows/{name}", "true")
    assert completions(journey, "re") == ["resume", "rerun", "report"]
    assert completions(journey, "run", "") == ["release", "review", "team/report"]
    assert completions(journey, "run", "re") == ["release", "review"]
    assert completions(journey, "validate", "te") == ["team/report"]
    assert completions(journey, "resume", "") == []
    run_id = journey.awf("run", "release", "-o", "json").json()["run_id"]
    assert completions(journey, "resume", run_id[:6]) == [run_id]
    assert completions(journey, "show", "") == [run_id]
    assert "--output" in completions(journey, "run", "--out")


def test_completion_says_nothing_where_it_cannot_know(journey):
    journey.storage.write_text("unusable")
    assert completions(journey, "resume", "") == []


# -- at a terminal -----------------------------------------------------------------------------------------------------


def test_at_a_terminal_a_missing_input_is_asked_for(journey):
    file = journey.steps("x", "echo $who >> trace", inputs=[{"name": "who", "required": True}])
    told = journey.on_terminal("run", file, typed="Ada\n")
    assert told.status == 0, told.stdout
    assert "who" in told.stdout
    assert journey.trace() == ["Ada"]


@pytest.mark.parametrize(("typed", "status", "trace"), [("y\n", 0, ["a"]), ("maybe\nn\n", 3, [])])
def test_at_a_terminal_an_approval_is_answered(typed, status, trace, journey):
    file = journey.steps("x", {"command": "echo a >> trace", "approval": "Go on?"})
    told = journey.on_terminal("run", file, typed=typed, after="[n] no: ")
    assert told.status == status, told.stdout
    assert "Go on?" in told.stdout
    assert journey.trace() == trace


# -- a quick start -----------------------------------------------------------------------------------------------------

HEAVY = {
    "asyncio", "sqlite3", "rich", "jinja2", "jsonschema_rs", "opentelemetry", "cel", "http", "ssl", "logging", "psutil",
    "email", "urllib.request", "multiprocessing", "concurrent.futures", "ctypes", "importlib.metadata", "pkg_resources",
    *(DATABASES := {"psycopg", "dbos", "sqlalchemy"}),
}  # fmt: skip
LOADED = """\
import sys
from awf.interfaces.cli.app import run_cli
status = run_cli(sys.argv[1:])
print("\\n".join(sorted(sys.modules)), file=sys.stderr)
sys.exit(status)
"""
SMALL = {
    "initial": "a",
    "a": {"type": "step", "command": "echo {{ inputs.who }}", "on_success": "end"},
    "end": {"type": "terminal", "message": "{{ states.a.output }}"},
}
WITH_A_CONDITION = {
    "initial": "a",
    "a": {"type": "step", "command": "true", "transitions": [{"when": "states.a.exit_code == 0", "goto": "end"}, {"goto": "end"}]},
    "end": {"type": "terminal"},
}  # fmt: skip


def loaded(journey, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments], cwd=journey.project, env=journey.environment, capture_output=True,
        text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return set(done.stderr.splitlines())


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["run", "--help"],
        ["version"],
        ["list"],
        ["validate", "./small.yaml"],
        ["validate"],
        ["explain"],
    ],
    ids=" ".join,
)
def test_nothing_heavy_is_loaded_for_a_small_question(arguments, journey):
    journey.workflow("small", SMALL, inputs=[{"name": "who"}])
    journey.workflow(".awf/workflows/small", SMALL, inputs=[{"name": "who"}])
    assert loaded(journey, *arguments) & HEAVY == set()


def test_no_database_driver_is_loaded_for_runs_of_one_machine(journey):
    journey.workflow("small", SMALL, inputs=[{"name": "who", "default": "me"}])
    for arguments in (("run", "./small.yaml"), ("history",), ("logs", "last")):
        assert not loaded(journey, *arguments) & DATABASES


def test_the_rules_language_is_loaded_only_where_there_is_a_condition(journey):
    journey.workflow("small", SMALL, inputs=[{"name": "who"}])
    journey.workflow("conditional", WITH_A_CONDITION)
    assert "cel" not in loaded(journey, "validate", "./small.yaml")
    assert not loaded(journey, "validate", "./conditional.yaml") & (HEAVY - {"cel"})


def test_the_help_reads_no_workflow_and_no_settings(journey):
    found = loaded(journey, "--help")
    assert not found & {"yaml", "awf.bootstrap", "awf.domain.workflow", "awf.infrastructure.stores.database"}


# -- odd surroundings --------------------------------------------------------------------------------------------------


def test_the_settings_are_shown_without_their_secrets(journey):
    journey.write(".awf/config.yaml", "inputs: {api_key: not-for-you, who: Ada}\n")
    for output in ("text", "json"):
        told = journey.awf("config", "show", "-o", output).succeeded()
        assert "not-for-you" not in told.stdout
        assert "Ada" in told.stdout


def test_a_working_directory_that_is_gone_is_told(journey):
    for command in ("list", "run x", "history"):
        told = journey.shell(f"mkdir gone && cd gone && rmdir ../gone && $awf {command}")
        told.one_error("USER.INPUT.MISSING_FILE")


def test_bytes_on_the_command_line_that_are_no_text_are_told(journey):
    file = journey.steps("x", "true", inputs=[{"name": "who"}])
    journey.awf("run", file, "-i", b"who=\xff").one_error("USER.INPUT.INVALID_FORMAT")
    for output in ("text", "json"):
        journey.awf("run", b"\xff.yaml", "-o", output).one_error("USER.INPUT.MISSING_FILE")
    os.rename(journey.project / "x.yaml", os.fsencode(journey.project) + b"/\xff.yaml")
    journey.awf("run", b"./\xff.yaml").one_error("USER.INPUT.INVALID_FORMAT")
    assert not journey.storage.exists()


def test_a_poor_encoding_of_the_streams_is_no_hindrance(journey):
    journey.environment["PYTHONIOENCODING"] = "ascii"
    end = {"type": "terminal", "message": "schön ✓ 😀"}
    step = {"type": "step", "command": "echo schön ✓ 😀", "on_success": "end"}
    file = journey.workflow("x", {"initial": "a", "a": step, "end": end})
    for command in (["run", file, "-v"], ["status", "last"], ["show", "last"], ["logs", "last"], ["history"]):
        assert journey.awf(*command).succeeded().out.isascii()
    for output in ("json", "ndjson"):
        told = journey.awf("run", file, "-o", output).succeeded()
        assert told.out.isascii()
        assert (
            json.loads(told.out.splitlines()[-1] if output == "ndjson" else told.out)["message"]
            == "schön ✓ 😀"
        )
    (step,) = journey.awf("show", "last", "-o", "json").succeeded().json()["steps"]
    assert step["output"] == "schön ✓ 😀"
    assert journey.awf("explain", "WORKFLOW.VALIDATION.UNDEFINED_VARIABLE").succeeded().out.isascii()
