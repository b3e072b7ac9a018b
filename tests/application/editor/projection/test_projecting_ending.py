from __future__ import annotations

from awf.domain.events import (
    AgentText,
    AgentTool,
    LogLine,
    PluginEvent,
    StepCompleted,
    StepFailed,
    StepStarted,
    WorkflowCancelled,
    WorkflowCompleted,
    WorkflowFailed,
    WorkflowResumed,
    WorkflowStarted,
)

ASK = StepStarted(path="ask", step="ask", kind="agent", detail="claude")
ASKED = StepCompleted(path="ask", step="ask", kind="agent", duration_ms=5)


def says(text):
    return AgentText(path="ask", step="ask", text=text)


def completed(message="", **rest):
    return WorkflowCompleted(workflow="deploy", duration_ms=12_000, message=message, **rest)


def failed_step(path, message="exit 2", **rest):
    told = {"kind": "step", "duration_ms": 1, "code": "EXECUTION.COMMAND.FAILED", "exit_code": 2, **rest}
    return StepFailed(path=path, step=path.rpartition("/")[2], message=message, **told)


def test_a_good_end_gives_the_answer_exactly_and_then_one_short_line(play):
    run = play()
    usage = {"input_tokens": 1000, "output_tokens": 234, "cost": 0.02, "cost_source": "computed"}
    run.tell(completed("All\ngood\n", outputs={"url": "http://x", "log": "a\nb", "n": {"k": 1}}, usage=usage))

    assert run.screen.messages["run-1/answer"] == 'All\ngood\nurl: http://x\nlog:\n  a\n  b\nn: {"k":1}'
    assert run.screen.said()[-1] == "✓ deploy completed in 12 s · run run-1 · 1,234 tokens · ~$0.0200"
    assert run.projector.ended == completed(
        "All\ngood\n", outputs={"url": "http://x", "log": "a\nb", "n": {"k": 1}}, usage=usage
    )
    assert run.projector.usage.tokens == 1234


def test_a_run_without_an_answer_ends_with_the_line_alone(play):
    run = play()
    run.tell(completed())

    assert run.screen.said() == ["✓ deploy completed in 12 s · run run-1"]


def test_an_answer_that_an_agent_just_gave_is_not_repeated(play):
    run = play()
    run.tell(
        ASK, says("Let me see."), AgentTool(path="ask", step="ask", call_id="1", name="Read", phase="started")
    )
    run.tell(says("It is "), says("done.\n"), ASKED, completed("It is done."))

    assert "run-1/answer" not in run.screen.messages
    assert len(run.screen.messages) == 3


def test_an_answer_in_other_words_is_given(play):
    run = play()
    run.tell(ASK, says("It is done."), ASKED, completed("It is done. Really."))

    assert run.screen.messages["run-1/answer"] == "It is done. Really."


def test_a_failure_names_the_step_the_hint_its_output_and_where_to_look(play):
    run = play()
    run.tell(StepStarted(path="build", step="build", kind="step"), failed_step("build", stderr="no rule\n"))
    run.tell(
        WorkflowFailed(
            workflow="deploy", duration_ms=1, code="EXECUTION.COMMAND.FAILED", message="exit 2",
            hint="Look at the makefile.", state="build",
        )
    )  # fmt: skip
    text = run.screen.said()[-1]

    assert text.startswith("✗ build failed (exit 2): exit 2")
    assert "Look at the makefile." in text
    assert "```\nno rule\n```" in text
    assert text.endswith("`awf show run-1`")


def test_the_blame_goes_to_the_innermost_step_that_failed_first(play):
    run = play()
    run.tell(
        failed_step("fan/lint", "lint is unhappy", handled=True), failed_step("fan/test", "2 tests fail")
    )
    run.tell(
        failed_step("fan/slow", cancelled=True),
        failed_step("fan", "The branch 'test' failed", kind="parallel"),
    )
    run.tell(
        WorkflowFailed(workflow="d", duration_ms=1, code="X", message="The branch 'test' failed", state="fan")
    )

    assert run.screen.said()[-1].startswith(
        "✗ test failed (exit 2): The branch 'test' failed\n\nCause: 2 tests fail"
    )


def test_a_failure_before_any_step_names_the_workflow(play):
    run = play()
    run.tell(WorkflowFailed(workflow="deploy", duration_ms=1, code="X", message=""))

    assert run.screen.said() == ["✗ deploy failed: no reason was given\n\n`awf show run-1`"]


def test_a_cancelled_run_says_how_to_go_on(play):
    run = play()
    run.tell(ASK, says("Hm"), WorkflowCancelled(workflow="deploy", duration_ms=1, reason="cancelled"))

    assert run.screen.said()[-1] == "Cancelled · run run-1 · `awf resume run-1` goes on from here"
    assert run.screen.rows["run-1/ask"]["_meta"]["awf"]["cancelled"] is True
    assert run.close() == []


def test_the_end_of_a_called_workflow_is_not_the_end(play):
    run = play()
    for event in (
        WorkflowCompleted(path="call", workflow="x", duration_ms=1),
        WorkflowFailed(path="call", workflow="x", duration_ms=1, code="X", message="no"),
        WorkflowCancelled(path="call", workflow="x", duration_ms=1),
        WorkflowResumed(path="call", workflow="x"),
        WorkflowStarted(path="call", workflow="x"),
    ):
        assert run.tell(event) == []
    assert run.projector.ended is None


def test_a_run_that_is_taken_up_again_in_one_telling_uses_no_id_twice(play):
    run = play()
    failure = WorkflowFailed(workflow="deploy", duration_ms=1, code="X", message="no")
    build = StepStarted(path="build", step="build", kind="step")
    run.tell(WorkflowStarted(workflow="deploy"), build, failed_step("build"), failure)
    run.tell(WorkflowResumed(workflow="deploy"), build, failed_step("build"), failure)
    run.tell(WorkflowResumed(workflow="deploy"), build, completed())

    assert list(run.screen.rows) == ["run-1/build", "run-1/build~2", "run-1/build~3"]
    assert list(run.screen.messages) == ["run-1/end", "run-1~2/end", "run-1~3/end"]


def test_log_lines_are_said_and_what_plugins_note_is_not(play):
    run = play()
    run.tell(LogLine(message="half way\n"), LogLine(message="  "), PluginEvent(plugin="p", name="n"))

    assert run.screen.said() == ["half way"]
