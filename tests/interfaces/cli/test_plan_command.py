"""`awf plan` and `awf run --dry-run`: what they print, and that they do nothing else."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from awf.application.running.plan_values import Plan
from awf.interfaces.cli.app import run_cli
from awf.interfaces.cli.rendering.plan_lines import plan_lines
from awf.interfaces.cli.rendering.terminal_text import cell_width

GOLDEN = Path(__file__).parent / "plan_golden"
WRITE_GOLDEN = bool(os.environ.get("AWF_WRITE_GOLDEN"))
RELEASE = ["release", "-i", "tag=v1.4.0"]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with a workflow that has something of everything, and a run store that does not exist."""
    folder = Path(os.path.realpath(tmp_path)) / "project"
    workflows = folder / ".awf" / "workflows"
    workflows.mkdir(parents=True)
    for name in ("release.yaml", "publish.yaml", "report.sh"):
        shutil.copy(GOLDEN / name, workflows / name)
    role = folder / ".awf" / "roles" / "careful"
    role.mkdir(parents=True)
    (role / "AGENTS.md").write_text("Be careful.\n", encoding="utf-8")
    for name in list(os.environ):
        if name.startswith(("AWF_", "XDG_")) or name in {"RELEASE_REGION", "NO_SUCH_VARIABLE"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWF_STORAGE", str(folder / "store"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BUILD_HOST", "builder")
    monkeypatch.chdir(folder)
    return folder


def write(project, name, text):
    (project / ".awf" / "workflows" / f"{name}.yaml").write_text(text, encoding="utf-8")


def simple(command):
    return f"""
name: simple
inputs: [{{name: who}}]
states:
  initial: work
  work: {{type: step, command: {json.dumps(command)}, on_success: done}}
  done: {{type: terminal}}
"""


def agrees(name, text):
    golden = GOLDEN / name
    if WRITE_GOLDEN:
        golden.write_text(text, encoding="utf-8")
    return text == golden.read_text(encoding="utf-8")


# -- what is printed -----------------------------------------------------------------------------------------------


def test_the_plan_as_json(project, capsys):
    assert run_cli(["plan", *RELEASE, "-o", "json"]) == 0

    assert agrees("plan.json", capsys.readouterr().out.replace(str(project), "/project"))


def test_the_plan_as_text():
    plan = msgspec.json.decode((GOLDEN / "plan.json").read_bytes(), type=Plan)

    assert agrees("plan.txt", "\n".join(plan_lines(plan)) + "\n")


def test_both_forms_come_from_the_same_plan(project, capsys):
    run_cli(["plan", *RELEASE, "-o", "json"])
    plan = msgspec.json.decode(capsys.readouterr().out, type=Plan)

    assert run_cli(["plan", *RELEASE]) == 0

    told = capsys.readouterr()
    assert told.out == "\n".join(plan_lines(plan)) + "\n"
    assert told.err == ""


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_dry_run_prints_the_plan(project, capsys, form):
    run_cli(["plan", *RELEASE, "-o", form])
    planned = capsys.readouterr().out

    assert run_cli(["run", "--dry-run", *RELEASE, "-o", form]) == 0

    assert capsys.readouterr().out == planned
    assert not (project / "store").exists()


def test_defaults_for_inputs_come_from_the_configuration(project, capsys):
    (project / ".awf" / "config.yaml").write_text("inputs: {who: Grace, other: x}\n", encoding="utf-8")
    write(project, "simple", simple("echo {{ inputs.who }}"))

    assert run_cli(["plan", "simple"]) == 0

    assert "echo Grace" in capsys.readouterr().out


def test_missing_inputs_are_named_at_the_end(project, capsys):
    assert run_cli(["plan", "release"]) == 0

    out = capsys.readouterr().out
    assert "  tag           ‹required›  The tag to release\n" in out
    assert out.endswith(
        "missing      tag, reviewer\n"
        "             give them with --input tag=VALUE --input reviewer=VALUE\n"
        "Nothing was run and nothing was written.\n"
    )


def test_no_line_is_much_wider_than_a_page(project, capsys):
    words = "lorem-ipsum " * 60 + "漢字" * 200
    write(project, "simple", simple(f"echo {words}"))

    for workflow in (["release"], ["simple", "-i", f"who={words}"]):
        assert run_cli(["plan", *workflow]) == 0
        assert max(map(cell_width, capsys.readouterr().out.splitlines())) <= 100


def test_a_long_command_is_wrapped_and_not_cut(project, capsys):
    write(project, "simple", simple("true " + " " * 300 + "; hidden-at-the-end " + "x" * 500))

    run_cli(["plan", "simple"])

    out = capsys.readouterr().out
    assert "hidden-at-the-end" in out
    assert out.count("x") >= 500


def test_a_command_of_many_lines_is_counted_where_it_is_cut(project, capsys):
    text = "\n".join(f"echo {number}" for number in range(100))
    write(project, "simple", simple(text))

    run_cli(["plan", "simple"])

    out = capsys.readouterr().out
    assert "echo 39\n" in out
    assert "echo 40\n" not in out
    assert f"… {len(text)} characters in all" in out


def test_control_characters_cannot_hide_what_would_run(project, capsys):
    write(project, "simple", simple("rm -rf everything\recho \x1b[2Kharmless\u202e \x07{{ inputs.who }}"))

    assert run_cli(["plan", "simple", "-i", "who=\x1b]0;title\x07me\n\x1b[1A"]) == 0

    out = capsys.readouterr().out
    assert "rm -rf everything" in out
    assert not set(out) & {"\x1b", "\r", "\x07", "\u202e"}


def test_bold_names_only_on_a_terminal():
    plan = msgspec.json.decode((GOLDEN / "plan.json").read_bytes(), type=Plan)

    assert "\x1b[1mprepare\x1b[0m  step" in "\n".join(plan_lines(plan, color=True))
    assert "\x1b" not in "\n".join(plan_lines(plan))


def test_a_poor_encoding_gets_plain_signs(project, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)

    assert run_cli(["plan", *RELEASE]) == 0

    text = stream.buffer.getvalue().decode("ascii")
    assert "TARGET=<loop.item>" in text
    assert "success      -> checks" in text
    assert "?" not in text.replace("?\n", "")


# -- what is refused -----------------------------------------------------------------------------------------------


def test_an_invalid_workflow_gets_its_problems_and_status_2(project, capsys):
    write(project, "simple", simple("echo {{ inputs.whom }}"))

    assert run_cli(["plan", "simple"]) == 2

    told = capsys.readouterr()
    assert told.out == ""
    assert "simple.yaml:6:" in told.err
    assert "WORKFLOW.VALIDATION.UNDEFINED_INPUT" in told.err


def test_an_invalid_workflow_is_told_as_json_when_json_is_asked_for(project, capsys):
    write(project, "simple", simple("echo {{ inputs.whom }}"))

    assert run_cli(["plan", "simple", "-o", "json"]) == 2

    assert json.loads(capsys.readouterr().out)["valid"] is False


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["plan", "release", "-i", "channel=gamma"], "USER.INPUT.VALIDATION_FAILED"),
        (["plan", "release", "-i", "colour=red"], "USER.INPUT.VALIDATION_FAILED"),
        (["plan", "release", "-i", "novalue"], "USER.INPUT.INVALID_FORMAT"),
        (["plan", "nothing-like-it"], "USER.INPUT.MISSING_FILE"),
    ],
)
def test_what_a_run_would_refuse_is_refused(project, capsys, arguments, code):
    assert run_cli(arguments) == 1

    told = capsys.readouterr()
    assert told.out == ""
    assert code in told.err


# -- nothing happens -----------------------------------------------------------------------------------------------

WATCHED = """
import os, sys
import awf.interfaces.cli.app  # what every command loads
seen = []
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
STARTING = ("subprocess.", "os.posix_spawn", "os.spawn", "os.fork", "os.exec", "os.system", "pty.spawn", "socket.")
CHANGING = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod",
            "os.utime", "shutil.", "tempfile.", "sqlite3.")

def watch(event, args):
    if event.startswith(STARTING + CHANGING):
        seen.append((event, *map(repr, args)))
    elif event == "open":
        path, mode, flags = args
        if (mode and set(mode) & set("wax+")) or (flags and flags & WRITING):
            seen.append((event, repr(path), repr(mode)))

sys.addaudithook(watch)
status = awf.interfaces.cli.app.run_cli(sys.argv[1:])
print("SEEN", status, seen, file=sys.stderr)
"""


def watched(arguments, script=WATCHED, **environment):
    return subprocess.run(
        [sys.executable, "-B", "-c", script, *arguments],
        capture_output=True, text=True, check=False, timeout=120, env={**os.environ, **environment},
    )  # fmt: skip


def listing(folder):
    return sorted((str(path.relative_to(folder)), path.stat().st_mtime_ns) for path in folder.rglob("*"))


@pytest.mark.parametrize("command", [["plan"], ["plan", "-o", "json"], ["run", "--dry-run"]])
def test_a_plan_starts_no_process_opens_no_socket_and_writes_no_file(project, tmp_path, command):
    before = listing(tmp_path)
    for folder in (project, project / ".awf", project / ".awf" / "workflows"):
        folder.chmod(0o555)
    try:
        result = watched([*command, *RELEASE])
    finally:
        for folder in (project, project / ".awf", project / ".awf" / "workflows"):
            folder.chmod(0o755)

    assert result.stderr == "SEEN 0 []\n"
    assert "v1.4.0" in result.stdout
    assert not (project / "store").exists()
    assert listing(tmp_path) == before


def test_the_watch_would_see_a_run(project):
    write(project, "simple", simple("true"))

    result = watched(["run", "simple", "-o", "quiet"])

    assert "os.mkdir" in result.stderr
    assert "sqlite3.connect" in result.stderr


def test_a_plan_loads_neither_a_store_nor_a_view(project):
    heavy = "sqlite3 rich opentelemetry awf.application.running.engine awf.infrastructure.stores.database"
    write(project, "simple", simple("echo {{ inputs.who }} {{ workflow.dir }}"))
    script = f"""
import sys
from awf.interfaces.cli.app import run_cli
run_cli(sys.argv[1:])
print([name for name in "{heavy} jinja2 cel".split() if name in sys.modules], file=sys.stderr)
"""

    assert watched(["plan", "simple"], script).stderr == "[]\n"


def test_the_command_of_the_plan_is_the_command_of_the_run(project, capsys):
    write(
        project,
        "simple",
        simple("echo {{ inputs.who | shellquote }} {{ workflow.current_state }} {{ env.BUILD_HOST }}"),
    )
    arguments = ["simple", "-i", "who=Ada L."]
    run_cli(["plan", *arguments, "-o", "json"])
    planned = json.loads(capsys.readouterr().out)["states"][0]["command"]

    assert run_cli(["run", *arguments, "-o", "ndjson"]) == 0

    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["detail"] for event in told if event["type"] == "step.started"] == [planned]


def test_loops_over_later_items_are_told(project, capsys):
    write(
        project,
        "odd",
        """
name: odd
states:
  initial: first
  first: {type: step, command: "true", capture: {max_size: 10}, on_success: side}
  side: {type: parallel, parallel: [branch], on_success: each}
  branch: {type: step, command: "true"}
  each: {type: for_each, items: "{{ states.first.output }}", body: [one], on_complete: done}
  one: {type: step, command: "true"}
  done: {type: terminal}
""",
    )

    assert run_cli(["plan", "odd"]) == 0

    out = capsys.readouterr().out
    assert "    items        ‹states.first.output›\n" in out
    assert "    capture      up to 10 bytes\n" in out
    assert "approvals    none\n" in out
