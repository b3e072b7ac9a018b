"""Stopped in the middle, kindly or not: commands end, the end is recorded, and the run goes on where it was."""

from __future__ import annotations

import json
import signal
import time

import pytest
from journeys_harness import is_gone

pytestmark = pytest.mark.journey

# Each visit of b is noted. Until the file `go` is there, it waits, and notes that it is asked to end.
WAITING = "exec 2>/dev/null; trap 'echo asked >> trace; exit 3' TERM; echo b >> trace; until test -e go; do sleep 0.02; done"
DEAF = "exec 2>/dev/null; trap 'echo asked >> trace' TERM; echo b >> trace; until test -e go; do sleep 0.02; done"
A, C = "echo a >> trace", "echo c >> trace"


def begun(journey, until, command=WAITING, **options):
    """A run in its second step of three."""
    journey.steps("x", A, {"command": command, **options}, C)
    running = journey.start("run", "./x.yaml", "-o", "ndjson")
    until(lambda: "b" in journey.trace(), "the second step")
    return running


def goes_on(journey, trace: list[str]) -> None:
    """The run can be resumed, and does nothing a second time that had been finished."""
    journey.touch("go")
    told = journey.awf("resume", "last").succeeded()
    assert told.stdout == "all done\n"
    assert journey.trace() == trace
    assert [run["status"] for run in journey.history()] == ["completed"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda one: one.name)
def test_asked_to_stop_the_run_ends_its_commands_and_is_resumed(number, journey, until):
    running = begun(journey, until)
    running.send(number)
    told = running.wait()
    assert told.status == 130, told.stderr
    assert "Traceback" not in told.stderr
    assert [event["type"] for event in told.events()][-2:] == ["step.failed", "workflow.cancelled"]
    assert journey.trace() == ["a", "b", "asked"]
    assert journey.processes() == []
    (run,) = journey.history()
    assert (run["status"], run["exit_status"], run["error"]["code"]) == (
        "cancelled",
        130,
        "EXECUTION.WORKFLOW.CANCELLED",
    )
    goes_on(journey, ["a", "b", "asked", "b", "c"])


def test_a_person_is_told_how_to_go_on(journey, until):
    journey.steps("x", A, WAITING, C)
    running = journey.start("run", "./x.yaml")
    until(lambda: "b" in journey.trace())
    running.send(signal.SIGINT)
    told = running.wait()
    (run,) = journey.history()
    assert (told.status, told.stdout) == (130, "")
    assert f"awf resume {run['id']}" in told.stderr
    assert "cancelled" in told.stderr


def test_a_cancelled_run_is_one_json_document(journey, until):
    journey.steps("x", A, WAITING, C)
    running = journey.start("run", "./x.yaml", "-o", "json")
    until(lambda: "b" in journey.trace())
    running.send(signal.SIGINT)
    document = running.wait().json()
    assert (document["status"], document["exit_status"]) == ("cancelled", 130)
    assert [step["status"] for step in document["steps"]] == ["success", "cancelled"]


def test_asked_twice_the_run_kills_a_command_that_does_not_listen(journey, until):
    # The note `late` would come before the grace of five seconds has passed.
    running = begun(
        journey, until, DEAF.replace("asked >> trace", "asked >> trace; (sleep 4; echo late >> trace) &")
    )
    running.send(signal.SIGINT)
    until(lambda: "asked" in journey.trace(), "SIGTERM to the command")
    assert running.alive, "it waits for a command that was asked to end"
    running.send(signal.SIGINT)
    assert running.wait().status == 130
    assert journey.processes() == []
    goes_on(journey, ["a", "b", "asked", "b", "c"])


def test_a_command_that_does_not_listen_is_killed_after_the_grace(journey, until):
    running = begun(journey, until, DEAF)
    running.send(signal.SIGTERM)
    assert running.wait().status == 130
    assert journey.trace() == ["a", "b", "asked"]
    assert journey.processes() == []


@pytest.mark.parametrize("pause", [0.001, 0.01, 0.1])
def test_signal_after_signal_leaves_no_traceback_and_no_process(pause, journey, until):
    running = begun(journey, until, DEAF)
    while running.alive:
        running.send(signal.SIGINT)
        time.sleep(pause)
    told = running.wait()
    assert told.status in {130, -signal.SIGINT}, (
        "the last one may come when the program has nothing more to do"
    )
    assert "Traceback" not in told.stderr
    assert journey.processes() == []
    goes_on(journey, [*[one for one in journey.trace() if one != "c"], "b", "c"])


def test_parallel_branches_and_called_workflows_are_ended_together(journey, until):
    wait = {"type": "step", "command": "echo $AWF_STEP >> trace; until test -e go; do sleep 0.02; done"}
    end = {"type": "terminal"}
    journey.workflow("child", {"initial": "deep", "deep": {**wait, "on_success": "end"}, "end": end})
    states = {
        "initial": "fan",
        "fan": {"type": "parallel", "parallel": ["one", "two", "called"], "on_success": "end"},
        "one": wait,
        "two": wait,
        "called": {"type": "call_workflow", "workflow": "./child.yaml"},
        "end": end,
    }
    running = journey.start("run", journey.workflow("x", states))
    until(lambda: len(journey.trace()) == 3, "three commands at once")
    running.send(signal.SIGINT)
    assert running.wait().status == 130
    assert journey.processes() == []
    journey.touch("go")
    journey.awf("resume", "last").succeeded()
    assert sorted(journey.trace()) == sorted(["fan/one", "fan/two", "fan/called/deep"] * 2)


def test_killed_the_run_is_interrupted_its_commands_go_and_it_is_resumed(journey, until):
    running = begun(journey, until)
    guard = running.guard()
    running.send(signal.SIGKILL)
    running.wait()
    until(lambda: journey.processes() == [], "the end of the commands")
    until(lambda: is_gone(guard), "the end of the guard")
    assert journey.trace() == ["a", "b", "asked"]
    (run,) = journey.history()
    assert run["status"] == "interrupted"
    assert "interrupted" in journey.awf("status", "last").succeeded().stdout
    assert journey.awf("history", "-s", "interrupted", "-o", "json").json() == [run]
    goes_on(journey, ["a", "b", "asked", "b", "c"])


def test_killed_with_a_command_that_does_not_listen_the_guard_kills_it(journey, until):
    running = begun(journey, until, DEAF)
    guard = running.guard()
    running.send(signal.SIGKILL)
    running.wait()
    until(lambda: journey.processes() == [], "the end of the commands")
    until(lambda: is_gone(guard), "the end of the guard")
    assert list(dict.fromkeys(journey.trace())) == ["a", "b", "asked"]


def test_an_unfinished_run_can_be_called_cancelled_from_elsewhere(journey, until):
    running = begun(journey, until)
    running.send(signal.SIGKILL)
    running.wait()
    until(lambda: journey.processes() == [])
    journey.awf("cancel", "last").succeeded()
    (run,) = journey.history()
    assert (run["status"], run["exit_status"]) == ("cancelled", 130)
    goes_on(journey, ["a", "b", "asked", "b", "c"])


# -- what commands do by themselves ------------------------------------------------------------------------------------


def test_a_command_that_ignores_its_timeout_is_killed_and_told(journey):
    file = journey.steps("x", A, {"command": DEAF, "timeout": "200ms"}, C)
    told = journey.awf("run", file).one_error("EXECUTION.STEP.TIMEOUT")
    assert "200" in told.stderr or "0.2" in told.stderr
    assert journey.trace() == ["a", "b", "asked"]
    assert journey.processes() == []


DAEMON = """\
import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open("daemon", "w") as file:
            file.write(f"{os.getpid()}\\n")
        os.dup2(os.open("/dev/null", os.O_RDWR), 0)
        os.dup2(0, 1)
        os.dup2(0, 2)
        os.execvp("sleep", ["sleep", "1000"])
    os._exit(0)
os.wait()
while not os.path.exists("daemon"):
    pass
"""


def test_a_daemon_that_is_left_behind_is_ended_and_told(journey):
    journey.write("daemon.py", DAEMON)
    told = journey.awf("run", journey.steps("x", "python3 daemon.py", C), "-o", "ndjson").succeeded()
    assert journey.processes() == []
    assert (journey.project / "daemon").read_text().strip().isdigit()
    warnings = [event for event in told.events() if event["type"] == "warning"]
    assert [event["path"] for event in warnings] == ["a"]
    assert "1 process was left running" in warnings[0]["message"]
    assert journey.trace() == ["c"]


# -- a workflow that is no longer what it was --------------------------------------------------------------------------


@pytest.fixture
def stopped(journey, until):
    running = begun(journey, until)
    running.send(signal.SIGINT)
    running.wait()
    journey.touch("go")
    return journey


def test_a_workflow_that_was_changed_is_told_and_the_old_one_is_used(stopped):
    stopped.steps("x", A, "echo changed >> trace", "echo also changed >> trace")
    told = stopped.awf("resume", "last", "-o", "ndjson").succeeded()
    (warning,) = [event for event in told.events() if event["type"] == "warning"]
    assert warning["code"] == "USER.RUN.DEFINITION_CHANGED"
    assert "x.yaml has changed" in warning["message"]
    assert stopped.trace() == ["a", "b", "asked", "b", "c"]


def test_a_workflow_that_was_broken_meanwhile_does_not_stop_the_run(stopped):
    stopped.write("x.yaml", "name: 'broken\n")
    told = stopped.awf("resume", "last").succeeded()
    assert "x.yaml has changed" in told.stderr
    assert stopped.trace() == ["a", "b", "asked", "b", "c"]


def test_a_workflow_that_was_deleted_is_told_and_the_run_goes_on(stopped):
    (stopped.project / "x.yaml").unlink()
    told = stopped.awf("resume", "last", "-o", "ndjson").succeeded()
    (warning,) = [event for event in told.events() if event["type"] == "warning"]
    assert "x.yaml is gone" in warning["message"]
    assert stopped.trace() == ["a", "b", "asked", "b", "c"]


def test_an_unchanged_workflow_is_not_remarked_on(stopped):
    told = stopped.awf("resume", "last", "-o", "ndjson").succeeded()
    assert [event for event in told.events() if event["type"] == "warning"] == []


def test_a_run_that_is_resumed_from_another_folder_stays_in_its_own(journey):
    elsewhere = journey.root / "elsewhere"
    elsewhere.mkdir()
    file = journey.steps("x", f"pwd >> {journey.project}/trace; test -e {journey.project}/go")
    journey.awf("run", file).one_error("EXECUTION.COMMAND.FAILED")
    journey.touch("go")
    journey.awf("resume", "last", cwd=elsewhere).succeeded()
    assert journey.trace() == [str(journey.project)] * 2


def test_the_first_event_of_a_resumed_run_says_what_it_is(stopped):
    told = stopped.awf("resume", "last", "-o", "ndjson").succeeded()
    first = json.loads(told.out.splitlines()[0])
    assert first["type"] == "workflow.resumed"
    assert (first["format"], first["finished_steps"]) == (1, 1)
    assert first["version"]
