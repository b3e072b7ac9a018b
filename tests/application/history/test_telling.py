from __future__ import annotations

import pytest

from awf.application.history.story import Said, ToolCall
from awf.application.history.telling import tell
from awf.domain.events import (
    AgentText,
    AgentTool,
    AgentUsage,
    StepCompleted,
    StepFailed,
    StepSkipped,
    StepStarted,
    WorkflowFailed,
    WorkflowResumed,
)
from awf.domain.ports.run_store import StoredEvent
from awf.domain.run import ErrorInfo, Usage


def told(recording, *, is_running=False):
    return tell(recording.rows, recording.events, is_running=is_running)


def by_path(story):
    return {step.path: step for step, _ in story.walk()}


def failed(path, *, handled=False, cancelled=False):
    return StepFailed(
        path=path,
        step=path,
        kind="step",
        duration_ms=10,
        code="A.B",
        message=path,
        handled=handled,
        cancelled=cancelled,
    )


def test_paths_make_a_tree(recording):
    for path in ("fan", "fan/lint", "each", "each[0]/a", "each[0]/a#2", "each[1]/b/c", "each@2[0]/a"):
        recording.keep(path)
    story = told(recording)
    assert [(step.path, depth) for step, depth in story.walk()] == [
        ("fan", 0), ("fan/lint", 1), ("each", 0), ("each[0]", 1), ("each[0]/a", 2), ("each[0]/a#2", 2), ("each[1]", 1),
        ("each[1]/b", 2), ("each[1]/b/c", 3), ("each@2[0]", 1), ("each@2[0]/a", 2),
    ]  # fmt: skip


def test_what_an_agent_says_in_one_go_is_one_stretch(recording):
    for event in (
        AgentText(path="a", step="a", text="one "),
        AgentText(path="a", step="a", text="two"),
        AgentUsage(path="a", step="a", input_tokens=3),
        AgentText(path="a", step="a", text="three"),
        AgentUsage(path="a", step="a", input_tokens=4),
    ):
        recording.hear(event)
    (step,) = told(recording).steps
    assert step.transcript == [Said("agent", ["one ", "two"]), Said("agent", ["three"])]
    assert step.usage == Usage(7)


def test_words_of_two_agents_at_once_are_kept_apart(recording):
    for text in ("a1", "b1", "a2", "b2"):
        recording.hear(AgentText(path=f"fan/{text[0]}", step="x", text=text))
    steps = by_path(told(recording))
    assert steps["fan/a"].transcript == [Said("agent", ["a1", "a2"])]
    assert steps["fan/b"].transcript == [Said("agent", ["b1", "b2"])]


def test_a_tool_call_is_put_together_from_its_beginning_and_its_end(recording):
    recording.hear(
        AgentTool(path="a", step="a", call_id="1", name="Bash", phase="started", input={"command": "ls"})
    )
    recording.hear(
        AgentTool(path="a", step="a", call_id="1", name="Bash", phase="finished", output="x", is_error=True)
    )
    recording.hear(AgentTool(path="a", step="a", call_id="1", name="Read", phase="started", input={}))
    (step,) = told(recording).steps
    assert step.transcript == [ToolCall("Bash", {"command": "ls"}, "x", True, True), ToolCall("Read", None)]


def test_the_record_counts_for_more_than_the_events(recording):
    recording.hear(StepStarted(path="a", step="a", kind="agent"))
    recording.hear(AgentUsage(path="a", step="a", input_tokens=1))
    recording.hear(StepCompleted(path="a", step="a", kind="agent", duration_ms=1, output="short"))
    recording.keep("a", "failed", output="long", usage=Usage(5), error=ErrorInfo("A.B", "no"))
    (step,) = told(recording).steps
    assert (step.status, step.output, step.usage, step.kind) == ("failed", "long", Usage(5), "agent")


def test_attempts_add_up(recording):
    recording.keep("a", "failed", usage=Usage(5), started_at=10.0, finished_at=11.0)
    recording.keep("a@2", usage=Usage(6), started_at=15.0, finished_at=18.0)
    (step,) = told(recording).steps
    assert (step.status, step.attempts, step.usage, step.seconds) == ("success", 2, Usage(11), 8.0)
    assert [result.status for result in step.earlier] == ["failed"]


@pytest.mark.parametrize(("is_running", "status"), [(True, "running"), (False, "unfinished")])
def test_a_step_without_an_end_is_running_only_while_the_run_is(recording, is_running, status):
    recording.hear(StepStarted(path="a", step="a", kind="step"))
    (step,) = told(recording, is_running=is_running).steps
    assert step.status == status


def test_an_iteration_is_as_good_as_its_worst_step(recording):
    recording.hear(failed("each[0]/a", handled=True)).hear(
        StepSkipped(path="each[0]/b", step="b", kind="step", reason="no")
    )
    recording.hear(failed("each[1]/a"))
    steps = by_path(told(recording))
    assert steps["each[0]"].status == "skipped"
    assert steps["each[1]"].status == "failed"


def test_the_first_of_several_failures_inside_the_last_failed_step_is_to_blame(recording):
    recording.hear(failed("early", handled=True))
    recording.hear(failed("fan/slow")).hear(failed("fan/other", cancelled=True)).hear(
        failed("fan/late")
    ).hear(failed("fan"))
    blamed = told(recording).blamed()
    assert blamed is not None
    assert blamed.path == "fan/slow"


def test_a_handled_failure_is_to_blame_only_when_there_is_no_other(recording):
    recording.hear(failed("first", handled=True)).hear(failed("second", handled=True))
    assert told(recording).blamed().path == "second"
    recording.hear(failed("third"))
    recording.hear(failed("fourth", handled=True))
    assert told(recording).blamed().path == "third"


def test_nobody_is_to_blame_when_nothing_failed(recording):
    recording.keep("a")
    assert told(recording).blamed() is None


def test_the_end_of_a_called_workflow_is_not_the_end_of_the_run(recording):
    recording.hear(WorkflowFailed(path="call", workflow="inner", duration_ms=1, code="A.B", message="inner"))
    recording.hear(WorkflowResumed(workflow="outer"))
    story = told(recording)
    assert story.ending == {}
    assert story.resumed == 1


def test_events_of_a_newer_version_are_counted_and_otherwise_left_alone(recording):
    recording.events.append(StoredEvent(1, {"type": "step.teleported", "path": "a"}))
    story = told(recording)
    assert story.counts == {"step.teleported": 1}
    assert story.steps == []
