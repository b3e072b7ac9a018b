"""A run that goes on in one process, watched, answered, stopped and taken over from others."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from itertools import takewhile

import pytest

from awf.testing.fake_models import FakeModelServer, Scenario

pytestmark = pytest.mark.journey

A, C = "echo a >> trace; echo out of a", "echo c >> trace"
WAIT = "echo b >> trace; echo out of b; until test -e go; do sleep 0.02; done; echo end of b"


@pytest.fixture
def live(journey, until):
    """A run in its second step, which lasts until there is a file `go`."""
    journey.steps("x", A, WAIT, C)
    running = journey.start("run", "./x.yaml", "-o", "ndjson")
    until(lambda: "b" in journey.trace(), "the second step")
    return running


# -- watching ----------------------------------------------------------------------------------------------------------


def test_a_living_run_is_seen_by_status_history_and_show(journey, live):
    status = journey.awf("status", "last", "-o", "json").succeeded().json()
    assert (status["alive"], status["run"]["status"], status["run"]["id"]) == (True, "running", live.run_id)
    said = journey.awf("status", live.run_id).succeeded().stdout
    assert "running" in said
    (run,) = journey.history()
    assert (run["status"], run["workflow"], run["finished_at"]) == ("running", "x", None)
    steps = journey.awf("show", "last", "-o", "json").succeeded().json()["steps"]
    assert [(step["path"], step["status"], step["output"]) for step in steps] == [
        ("a", "success", "out of a")
    ]
    journey.touch("go")
    assert live.wait().status == 0
    assert journey.run_record("last")["status"] == "completed"


def test_logs_follow_a_run_to_its_end_and_print_everything(journey, live, until):
    text, lines = journey.start("logs", "-f", "last"), journey.start("logs", "-f", "last", "-o", "ndjson")
    until(lambda: "out of b" in text.out.read_text())
    assert text.alive
    journey.touch("go")
    told = live.wait()
    assert text.wait().status == lines.wait().status == 0
    assert lines.events() == told.events()
    said = text.wait().stdout
    assert said.index("out of a") < said.index("out of b") < said.index("end of b") < said.index("all done")
    assert journey.awf("logs", "last").stdout == said


def test_one_step_is_shown_with_its_output_and_an_unknown_one_is_told(journey):
    journey.awf("run", journey.steps("x", "echo to out; echo to err >&2; exit 4")).one_error(
        "EXECUTION.COMMAND.FAILED"
    )
    told = journey.awf("show", "last", "--step", "a").succeeded()
    assert told.stdout == "to out\n"
    assert "to err" in told.stderr
    assert "exit 4" in told.stderr
    journey.awf("show", "last", "--step", "b").one_error("USER.RUN.UNKNOWN_STEP")


# -- owning ------------------------------------------------------------------------------------------------------------


def test_a_living_run_cannot_be_resumed(journey, live):
    told = journey.awf("resume", "last").one_error("USER.RUN.BUSY")
    assert f"awf cancel {live.run_id}" in told.stderr
    journey.touch("go")
    assert live.wait().status == 0
    assert journey.trace() == ["a", "b", "c"]


def test_of_many_that_resume_a_run_at_once_exactly_one_wins(journey, live, until):
    live.send(signal.SIGKILL)
    live.wait()
    until(lambda: journey.processes() == [])
    rivals = [journey.start("resume", "last") for _ in range(5)]
    until(lambda: sum(not one.alive for one in rivals) == 4, "the end of all but one")
    (winner,) = [one for one in rivals if one.alive]
    for rival in rivals:
        if rival is not winner:
            rival.wait().one_error("USER.RUN.BUSY")
    journey.touch("go")
    assert winner.wait().stdout == "all done\n"
    assert journey.trace() == ["a", "b", "b", "c"]


def test_a_completed_run_cannot_be_resumed(journey):
    journey.awf("run", journey.steps("x", A)).succeeded()
    told = journey.awf("resume", "last").one_error("USER.RUN.NOT_RESUMABLE")
    assert "awf rerun" in told.stderr
    assert journey.trace() == ["a"]


def test_a_failed_run_is_tried_again_from_the_step_that_failed(journey):
    journey.steps("x", A, "echo b >> trace; test -e go", C)
    journey.awf("run", "./x.yaml").one_error("EXECUTION.COMMAND.FAILED")
    journey.touch("go")
    journey.awf("resume", "last").succeeded()
    assert journey.trace() == ["a", "b", "b", "c"]


@pytest.mark.parametrize("command", ["resume", "status", "show", "logs", "cancel", "approve", "rerun"])
def test_an_unknown_run_is_told(command, journey):
    journey.awf(command, "20200101-000000-none").one_error("USER.RUN.NOT_FOUND")
    journey.awf(command, "last").one_error("USER.RUN.NOT_FOUND")


def test_a_run_is_found_by_its_beginning_its_tail_and_last_but_not_by_half_a_name_of_two(journey):
    file = journey.steps("x", "true")
    first, second = (journey.awf("run", file, "-o", "json").succeeded().json()["run_id"] for _ in range(2))
    assert journey.run_record("last")["id"] == second
    assert journey.run_record(first)["id"] == first
    assert journey.run_record(first.rsplit("-", 1)[1])["id"] == first
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=True))
    shared = "".join(letter for letter, _ in alike)
    assert journey.run_record(first[: len(shared) + 1])["id"] == first
    told = journey.awf("status", shared).one_error("USER.RUN.NOT_FOUND")
    assert first in told.stderr
    assert second in told.stderr


# -- stopping ----------------------------------------------------------------------------------------------------------


def test_a_living_run_is_cancelled_from_elsewhere_and_its_commands_are_gone(journey, live):
    assert journey.commands()
    journey.awf("cancel", "last").succeeded()
    assert journey.commands() == []
    told = live.wait()
    assert told.status == 130
    assert told.events()[-1]["type"] == "workflow.cancelled"
    assert told.events()[-1]["reason"].startswith("cancelled by ")
    assert journey.run_record("last")["status"] == "cancelled"
    journey.touch("go")
    journey.awf("resume", "last").succeeded()
    assert journey.trace() == ["a", "b", "b", "c"]


def test_a_run_that_has_ended_cannot_be_cancelled(journey):
    journey.awf("run", journey.steps("x", "true")).succeeded()
    journey.awf("cancel", "last").one_error("USER.RUN.NOTHING_WAITING")
    assert journey.run_record("last")["status"] == "completed"


# -- answering ---------------------------------------------------------------------------------------------------------


def gated(journey, **approval: object) -> str:
    gate = {"command": "echo b >> trace", "approval": {"message": "Go on?", **approval}}
    return journey.steps("x", A, gate, C)


def asking(journey, file: str):
    running = journey.start("run", file, "-o", "ndjson")
    running.until_event("approval.required")
    return running


def test_an_approval_is_asked_for_and_given_from_elsewhere(journey):
    running = asking(journey, gated(journey))
    status = journey.awf("status", "last", "-o", "json").json()
    assert (status["run"]["status"], status["run"]["waiting_for"]) == ("waiting", "Go on?")
    assert [question["step"] for question in status["questions"]] == ["b"]
    assert journey.history()[0]["status"] == "waiting"
    journey.awf("approve", "last").succeeded()
    told = running.wait()
    assert told.status == 0
    (resolved,) = [event for event in told.events() if event["type"] == "approval.resolved"]
    assert resolved["outcome"] == "once"
    assert journey.trace() == ["a", "b", "c"]


def test_a_denied_approval_ends_the_run(journey):
    running = asking(journey, gated(journey))
    journey.awf("approve", "last", "--deny").succeeded()
    told = running.wait()
    assert told.status == 3
    assert told.events()[-1]["code"] == "EXECUTION.APPROVAL.DENIED"
    assert journey.trace() == ["a"]


def test_a_denied_approval_may_skip_the_step(journey):
    running = asking(journey, gated(journey, on_deny="skip"))
    journey.awf("approve", "last", "b", "--deny", "-o", "json").succeeded()
    assert running.wait().status == 0
    assert journey.trace() == ["a", "c"]


def test_an_approval_for_the_run_is_asked_only_once(journey):
    states = {
        "initial": "loop",
        "loop": {"type": "for_each", "items": [1, 2, 3], "body": ["b"], "on_complete": "end"},
        "b": {"type": "step", "command": "echo {{ loop.item }} >> trace", "approval": True},
        "end": {"type": "terminal"},
    }
    running = asking(journey, journey.workflow("x", states))
    journey.awf("approve", "last", "--for-run").succeeded()
    assert running.wait().status == 0
    assert journey.trace() == ["1", "2", "3"]
    assert len(running.events("approval.required")) == 1


def test_an_approval_given_while_nobody_runs_the_run_counts_when_it_is_resumed(journey):
    running = asking(journey, gated(journey))
    running.send(signal.SIGINT)
    assert running.wait().status == 130
    told = journey.awf("approve", "last").succeeded()
    assert f"awf resume {running.run_id}" in told.stderr
    journey.awf("resume", "last").succeeded()
    assert journey.trace() == ["a", "b", "c"]


def test_a_question_is_answered_only_once(journey):
    running = asking(journey, gated(journey))
    rivals = [journey.start("approve", "last") for _ in range(4)]
    told = [one.wait() for one in rivals]
    assert [one.status for one in told].count(0) == 1
    for one in told:
        if one.status:
            one.one_error("USER.RUN.NOTHING_WAITING")
    assert running.wait().status == 0
    journey.awf("approve", "last").one_error("USER.RUN.NOTHING_WAITING")


def test_a_run_with_several_questions_wants_to_know_which(journey):
    ask = {"type": "step", "command": "echo $AWF_STEP >> trace", "approval": True}
    fan = {"type": "parallel", "parallel": ["one", "two"], "on_success": "end"}
    states = {"initial": "fan", "fan": fan, "one": ask, "two": ask, "end": {"type": "terminal"}}
    running = journey.start("run", journey.workflow("x", states), "-o", "ndjson")
    running.until_event("approval.required", step="one")
    running.until_event("approval.required", step="two")
    told = journey.awf("approve", "last").one_error("USER.INPUT.USAGE")
    assert "fan/one" in told.stderr
    journey.awf("approve", "last", "one").succeeded()
    journey.awf("approve", "last", "fan/two").succeeded()
    assert running.wait().status == 0
    assert sorted(journey.trace()) == ["fan/one", "fan/two"]


def test_of_several_calls_in_one_step_each_is_answered_by_the_id_of_its_question(journey, until):
    calls = [{"tool": "Bash", "args": {"command": f"echo {word} >> trace"}} for word in ("good", "bad")]
    script = {"name": "both", "prompt": "^Begin", "turns": [{"tool_calls": calls}, {"text": "Done."}]}
    with FakeModelServer(Scenario({"name": "journey", "scripts": [script]})) as model:
        agent = {
            "type": "agent",
            "provider": "openai_compatible",
            "prompt": "Begin",
            "options": {"base_url": f"{model.url}/v1", "model": "fake-model"},
            "mcp_proxy": {"enable": True, "approve": ["Bash"]},
            "on_success": "end",
        }
        states = {"initial": "talk", "talk": agent, "end": {"type": "terminal"}}
        running = journey.start("run", journey.workflow("x", states), "-o", "ndjson")
        running.until_event("approval.required", step="talk")

        def questions():
            return journey.awf("status", "last", "-o", "json").succeeded().json()["questions"]

        until(lambda: len(questions()) == 2, "both questions")
        named = {"good" in one["message"]: one["topic"] for one in questions()}
        told = journey.awf("approve", "last", "talk").one_error("USER.INPUT.USAGE")
        assert all(topic in told.stderr for topic in named.values())
        assert "echo bad" in journey.awf("approve", "last", named[False], "--deny").succeeded().stdout
        answer = journey.awf("approve", "last", named[True], "-o", "json").succeeded().json()
        assert answer["question"]["id"] == named[True]
        assert running.wait().status == 0
    assert journey.trace() == ["good"]


def test_nobody_to_ask_ends_the_run_and_it_can_be_answered_later(journey):
    file = gated(journey)
    told = journey.awf("run", file, "--no-input").one_error("EXECUTION.INPUT.UNAVAILABLE")
    assert journey.trace() == ["a"]
    assert "awf resume" in told.stderr
    journey.awf("resume", "last", "--yes").succeeded()
    assert journey.trace() == ["a", "b", "c"]


TURNS = [{"match": "^Begin", "do": ["What is it about?"]}, {"match": "boats", "do": ["Boats it is."]}]


def test_a_conversation_is_held_from_elsewhere(journey):
    talk = {
        "type": "agent",
        "provider": "scripted",
        "mode": "conversation",
        "prompt": "Begin.",
        "on_success": "end",
    }
    end = {"type": "terminal", "message": "{{ states.talk.output }}"}
    states = {"initial": "talk", "talk": {**talk, "options": {"turns": TURNS}}, "end": end}
    running = journey.start("run", journey.workflow("x", states), "-o", "ndjson")
    running.until_event("input.required")
    journey.awf("approve", "last").one_error("USER.INPUT.USAGE")
    journey.awf("approve", "last", "--text", "about boats").succeeded()
    running.until_event("input.required", input_id="input:talk/turn-2")
    journey.awf("approve", running.run_id, "talk", "--text", "/end").succeeded()
    told = running.wait()
    assert told.status == 0
    assert [event["text"] for event in told.events() if event["type"] == "agent.text"] == [
        "What is it about?",
        "Boats it is.",
    ]
    assert told.events()[-1]["message"] == "Boats it is."


# -- starting again ----------------------------------------------------------------------------------------------------


def test_a_run_is_started_again_as_a_new_one_that_names_its_parent(journey):
    journey.awf("run", journey.steps("x", A, C)).succeeded()
    (old,) = journey.history()
    journey.awf("rerun", "last").succeeded()
    new, same = journey.history()
    assert same == old
    assert (new["parent"], new["status"]) == (old["id"], "completed")
    assert journey.trace() == ["a", "c"] * 2


def test_a_run_is_started_again_from_one_step_on(journey):
    journey.steps("x", A, "echo b >> trace", "echo {{ states.a.output }} >> trace")
    journey.awf("run", "./x.yaml").succeeded()
    (old,) = journey.history()
    before = journey.awf("show", old["id"], "-o", "json").json()
    journey.awf("rerun", old["id"], "--from", "b").succeeded()
    assert journey.trace() == ["a", "b", "out of a", "b", "out of a"]
    assert journey.awf("show", old["id"], "-o", "json").json() == before
    new = journey.history()[0]
    assert (new["parent"], new["status"]) == (old["id"], "completed")
    paths = [step["path"] for step in journey.awf("show", new["id"], "-o", "json").json()["steps"]]
    assert paths == ["a", "b", "c"]


def test_a_step_that_was_never_reached_cannot_be_started_from(journey):
    journey.awf("run", journey.steps("x", A)).succeeded()
    told = journey.awf("rerun", "last", "--from", "z").one_error("USER.RUN.UNKNOWN_STEP")
    assert "Steps: a" in told.stderr
    assert len(journey.history()) == 1


def test_a_run_is_started_again_with_other_inputs(journey):
    file = journey.steps("x", "echo $who $what >> trace", inputs=[{"name": "who"}, {"name": "what"}])
    journey.awf("run", file, "-i", "who=Ada", "-i", "what=sails").succeeded()
    journey.awf("rerun", "last", "-i", "what=rows").succeeded()
    assert journey.trace() == ["Ada sails", "Ada rows"]
    new, old = journey.history()
    assert (old["inputs"]["what"], new["inputs"]["what"]) == ("sails", "rows")


def test_a_rerun_uses_the_old_file_unless_told_otherwise(journey):
    journey.awf("run", journey.steps("x", A)).succeeded()
    journey.steps("x", "echo changed >> trace")
    journey.awf("rerun", "last").succeeded()
    journey.awf("rerun", "last", "--current").succeeded()
    assert journey.trace() == ["a", "a", "changed"]


def test_a_living_run_can_be_started_again_beside_itself(journey, live):
    journey.touch("go")
    journey.awf("rerun", live.run_id).succeeded()
    assert live.wait().status == 0
    assert sorted(journey.trace()) == ["a", "a", "b", "b", "c", "c"]


# -- many at once ------------------------------------------------------------------------------------------------------


def test_many_first_runs_share_a_store_that_is_only_being_made(journey):
    file = journey.steps("x", "echo a >> trace", "echo b >> trace")
    many = [journey.start("run", file) for _ in range(6)]
    assert [one.wait().status for one in many] == [0] * 6
    assert len(journey.history()) == 6
    assert sorted(journey.trace()) == ["a"] * 6 + ["b"] * 6


def test_a_workflow_may_run_awf_itself(journey):
    journey.steps("inner", "echo $AWF_RUN_ID >> trace")
    command = subprocess.list2cmdline(journey.command("run", "./inner.yaml", "-o", "json"))
    told = journey.awf("run", journey.steps("outer", command), "-o", "json").succeeded()
    (inner,) = [run for run in journey.history() if run["workflow"] == "inner"]
    output = journey.awf("show", told.json()["run_id"], "--step", "a").stdout
    assert json.loads(output)["run_id"] == inner["id"]
    assert journey.trace() == [inner["id"]]


def test_whoever_only_looks_is_never_taken_for_an_owner(journey, live, until):
    live.send(signal.SIGKILL)
    live.wait()
    until(lambda: journey.processes() == [])
    look = "from awf.infrastructure.stores.ownership import is_owned\nprint('looking', flush=True)\nwhile True: is_owned({!r})"
    folder = str(journey.storage / "runs" / live.run_id)
    watcher = [sys.executable, "-c", look.format(folder)]
    with subprocess.Popen(watcher, env=journey.environment, stdout=subprocess.PIPE) as watching:
        try:
            assert watching.stdout.readline() == b"looking\n"
            journey.touch("go")
            journey.awf("resume", "last").succeeded()
        finally:
            watching.kill()
