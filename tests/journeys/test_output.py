"""What commands print and where it goes: odd bytes, too much of it, and nobody who takes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.journey

MEGABYTE = 1 << 20


def test_output_that_is_not_utf8_is_shown_with_marks_and_stored_as_text(journey):
    file = journey.steps("x", r"printf 'caf\351 \377\376 ok\n'")
    told = journey.awf("run", file, "-o", "ndjson").succeeded()
    assert told.out.decode("utf-8", "strict")
    (output,) = [event for event in told.events() if event["type"] == "step.output"]
    assert output["text"] == "caf\ufffd \ufffd\ufffd ok\n"
    assert journey.awf("show", "last", "--step", "a").succeeded().stdout == "caf\ufffd \ufffd\ufffd ok\n"
    for command in (["run", file, "-v"], ["logs", "last"], ["status", "last"], ["show", "last"]):
        assert journey.awf(*command).succeeded().status == 0


def test_a_character_cut_in_two_by_a_slow_command_arrives_whole(journey):
    told = journey.awf(
        "run", journey.steps("x", r"printf '\342\202'; sleep 0.2; printf '\254\n'"), "-o", "ndjson"
    )
    text = "".join(event["text"] for event in told.events() if event["type"] == "step.output")
    assert text == "€\n"


ESCAPES = r"printf '\033[2J\033[31mred\033[0m \033]0;title\007 \033]8;;http://x\007link\033]8;;\007 \200 back\010\n'"


@pytest.mark.parametrize(
    "command",
    [["run", "./x.yaml", "-v"], ["run", "./x.yaml"], ["logs", "last"], ["status", "last"], ["show", "last"]],
)
def test_escape_sequences_do_not_reach_a_person(command, journey):
    journey.write("escapes.sh", f"{ESCAPES}\nexit 1\n")
    journey.steps("x", "sh escapes.sh")
    if command[0] != "run":
        journey.awf("run", "./x.yaml")
    told = journey.awf(*command)
    said = told.out + told.err
    assert b"\x1b" not in said
    assert b"\x07" not in said
    assert b"\x08" not in said
    if command[0] in {"run", "logs"}:
        assert b"red" in said
        assert b"title" not in said


def test_escape_sequences_are_kept_for_programs(journey):
    told = journey.awf("run", journey.steps("x", ESCAPES), "-o", "ndjson").succeeded()
    assert b"\x1b" not in told.out
    text = "".join(event["text"] for event in told.events() if event["type"] == "step.output")
    assert text.startswith("\x1b[2J\x1b[31mred\x1b[0m")
    steps = journey.awf("show", "last", "-o", "json").json()["steps"]
    assert steps[0]["output"].startswith("\x1b[2J\x1b[31mred")


DANGEROUS = (b"\x1b[2J", b"\x1b]0;", b"\x1b]8;")


@pytest.mark.parametrize(
    "command", [["run", "./x.yaml"], ["run", "./x.yaml", "-v"], ["show", "last"], ["show", "last", "--step", "a"],
                ["show", "last", "-s", "a", "--full"], ["logs", "last"], ["status", "last"], ["history"], ["list"]]
)  # fmt: skip
def test_on_a_terminal_nothing_that_was_printed_moves_the_cursor(command, journey):
    journey.write("escapes.sh", ESCAPES)
    end = {"type": "terminal", "message": "{{ states.a.output }}"}
    step = {"type": "step", "command": "sh escapes.sh", "capture": {"max_size": 10}, "on_success": "end"}
    states = {"initial": "a", "a": step, "end": end}
    for folder in ("", ".awf/workflows/"):
        journey.workflow(f"{folder}x", states, name="\x1b[2Jx", description="\x1b]0;title\x07")
    if command[0] != "run":
        journey.awf("run", "./x.yaml").succeeded()
    told = journey.on_terminal(*command)
    assert told.status == 0
    assert not [one for one in DANGEROUS if one in told.out], told.out


def test_an_error_message_with_escape_sequences_is_neutral(journey):
    told = journey.awf("run", "./\x1b[31mnowhere\x1b[0m.yaml").one_error("USER.INPUT.MISSING_FILE")
    assert b"\x1b" not in told.err


# A small process between: what a child is said to have used at most includes what its parent had when it forked.
MEASURE = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
child.returncode = os.waitstatus_to_exitcode(status)
print(child.returncode, usage.ru_maxrss * 1024)
"""


def peak_memory(journey, *arguments: str) -> tuple[int, int]:
    """The exit status and the most memory that awf itself had at any time, in bytes."""
    command = [sys.executable, "-c", MEASURE, *journey.command(*arguments)]
    told = subprocess.run(
        command, cwd=journey.project, env=journey.environment, capture_output=True, check=True, text=True
    )
    status, most = told.stdout.split()
    return int(status), int(most)


@pytest.mark.parametrize("output", ["text", "ndjson", "json"])
def test_a_flood_of_output_does_not_fill_the_memory(output, journey):
    flood = "head -c 200000000 /dev/zero | tr '\\0' x; echo; echo end"
    file = journey.steps("x", {"command": flood, "capture": {"max_size": "64KiB"}})
    status, most = peak_memory(journey, "run", file, "-o", output)
    assert status == 0
    assert most < 150 * MEGABYTE, f"{most / MEGABYTE:.0f} MiB"
    (step,) = journey.awf("show", "last", "-o", "json").json()["steps"]
    assert step["truncated"]
    assert step["output"].endswith("end")
    assert len(step["output"]) < 70_000
    assert os.path.getsize(step["output_file"]) == 200_000_005


def test_a_flood_of_lines_is_told_as_cut_and_kept_whole(journey):
    file = journey.steps("x", {"command": "seq 1 200000", "capture": {"max_size": "10KiB"}})
    told = journey.awf("run", file, "-o", "ndjson").succeeded()
    (warning,) = [event for event in told.events() if event["type"] == "warning"]
    assert "capture.max_size" in warning["message"]
    whole = journey.awf("show", "last", "--step", "a", "--full").succeeded().stdout
    assert whole == "".join(f"{number}\n" for number in range(1, 200_001))


# -- nobody takes it ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("output", ["ndjson", "json", "text", "quiet"])
def test_a_reader_that_goes_away_does_not_stop_the_run(output, journey):
    file = journey.steps("x", "echo one", "seq 1 20000", "echo c >> trace")
    told = journey.shell(f"$awf run {file} -v -o {output} 2>err | head -1; echo ${{PIPESTATUS[0]}}")
    assert told.stdout.splitlines()[-1] == "0"
    assert "Traceback" not in (journey.project / "err").read_text()
    assert journey.trace() == ["c"]
    assert journey.history()[0]["status"] == "completed"


def test_a_failure_keeps_its_status_when_the_reader_has_gone(journey):
    file = journey.steps("x", "seq 1 20000", "exit 1")
    told = journey.shell(f"$awf run {file} -o ndjson 2>err | head -1; echo ${{PIPESTATUS[0]}}")
    first, status = told.stdout.splitlines()
    assert json.loads(first)["type"] == "workflow.started"
    assert status == "3"
    assert (journey.project / "err").read_text() == ""


LOOKING = (["history"], ["history", "-o", "json"], ["logs", "last"], ["show", "last"], ["status", "last"],
           ["explain"], ["schema"], ["--help"], ["list", "-o", "json"], ["validate", "./x.yaml"])  # fmt: skip


def test_listings_end_quietly_when_the_reader_has_gone(journey):
    journey.awf("run", journey.steps("x", "true")).succeeded()
    for command in LOOKING:
        told = journey.shell(f"$awf {' '.join(command)} | true; echo ${{PIPESTATUS[0]}}")
        assert (told.stdout, told.stderr) == ("0\n", ""), command


def test_an_answer_that_cannot_be_written_is_an_error(journey):
    journey.awf("run", journey.steps("x", "true")).succeeded()
    with open("/dev/full", "wb") as full:
        for command in LOOKING:
            journey.awf(*command, stdout=full).one_error("SYSTEM.IO.WRITE_FAILED")
        journey.awf("run", "./nowhere.yaml", "-o", "json", stdout=full).one_error("USER.INPUT.MISSING_FILE")
        journey.awf("run", "--nonsense", "-o", "json", stdout=full).one_error("USER.INPUT.USAGE")


@pytest.mark.parametrize("output", ["text", "json", "ndjson", "quiet"])
def test_a_run_whose_answer_cannot_be_written_is_an_error_but_complete(output, journey):
    with open("/dev/full", "wb") as full:
        told = journey.awf("run", journey.steps("x", "echo a >> trace"), "-o", output, stdout=full)
    told.one_error("SYSTEM.IO.WRITE_FAILED")
    assert journey.trace() == ["a"]
    assert journey.history()[0]["status"] == "completed"


def test_a_run_whose_course_cannot_be_shown_still_gives_its_answer(journey):
    with open("/dev/full", "wb") as full:
        told = journey.awf("run", journey.steps("x", "echo a >> trace"), stderr=full)
        assert (told.status, told.stdout) == (0, "all done\n")
        assert journey.awf("run", "./nowhere.yaml", stderr=full).status == 1
        assert journey.awf("frobnicate", stderr=full).status == 1


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_from_the_start_are_no_hindrance(closed, journey):
    file = journey.steps("x", "cat; echo out; echo err >&2; echo a >> trace")
    for number, output in enumerate(("text", "json", "ndjson", "quiet"), 1):
        told = journey.shell(f"$awf run {file} -o {output} {closed}")
        assert told.status == 0, told.stderr
        assert "Traceback" not in told.stderr
        assert journey.trace() == ["a"] * number
    assert journey.shell(f"$awf run ./nowhere.yaml -o json {closed}").status == 1
    assert [run["status"] for run in journey.history()] == ["completed"] * 4


def test_without_a_terminal_an_approval_waits_and_does_not_read_standard_input(journey):
    gate = {"command": "echo a >> trace", "approval": True}
    running = journey.start("run", journey.steps("x", gate), "-o", "ndjson")
    running.until_event("approval.required")
    journey.awf("cancel", "last").succeeded()
    assert running.wait().status == 130
    assert journey.trace() == []
