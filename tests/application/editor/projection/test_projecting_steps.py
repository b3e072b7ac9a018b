from __future__ import annotations

from awf.domain.events import (
    StepCompleted,
    StepFailed,
    StepOutput,
    StepRetrying,
    StepSkipped,
    StepStarted,
    Warned,
    WorkflowStarted,
)


def started(path="build", kind="step", detail="make test", **rest):
    return StepStarted(path=path, step=path.rpartition("/")[2], kind=kind, detail=detail, **rest)


def completed(path="build", kind="step", **rest):
    return StepCompleted(path=path, step=path.rpartition("/")[2], kind=kind, duration_ms=1200, **rest)


def failed(path="build", kind="step", **rest):
    told = {"code": "EXECUTION.COMMAND.FAILED", "message": "It ended with exit code 2", **rest}
    return StepFailed(path=path, step=path.rpartition("/")[2], kind=kind, duration_ms=1200, **told)


def printed(text, path="build", stream="stdout"):
    return StepOutput(path=path, step=path, stream=stream, text=text)


def test_a_command_is_a_row_with_its_name_and_what_it_runs(play):
    run = play()
    run.tell(started())

    row = run.screen.rows["run-1/build"]
    assert row["title"] == "build — make test"
    assert (row["kind"], row["status"]) == ("execute", "in_progress")
    assert row["rawInput"] == {"kind": "command", "command": "make test"}
    assert row["_meta"]["awf"] == {"runId": "run-1", "path": "build", "step": "build", "kind": "step"}


def test_each_kind_of_step_has_an_icon_of_its_own(play):
    run = play()
    for kind in ("agent", "operation", "plugin", "parallel", "for_each", "while", "call_workflow"):
        run.tell(started(kind, kind, "x"))

    kinds = {row_id.rpartition("/")[2]: row["kind"] for row_id, row in run.screen.rows.items()}
    assert kinds.pop("agent") == "think"
    assert set(kinds.values()) == {"other"}


def test_a_step_without_detail_shows_its_description(play):
    run = play()
    run.tell(started(detail="", description="Compile it all\nand more"))

    assert run.screen.rows["run-1/build"]["title"] == "build — Compile it all"


def test_a_step_inside_another_names_the_row_around_it(play):
    run = play()
    run.tell(started("fan", "parallel", ""), started("fan/lint"), started("loop", "while", "x"))
    run.tell(started("loop[3]/test"), started("fan@2/lint"))

    around = {path: row["_meta"]["awf"].get("parentToolCallId") for path, row in run.screen.rows.items()}
    assert around["run-1/fan/lint"] == "run-1/fan"
    assert around["run-1/fan@2/lint"] == "run-1/fan"
    assert around["run-1/loop[3]/test"] == "run-1/loop"
    assert around["run-1/fan"] is None


def test_a_command_that_succeeds_shows_the_end_of_what_both_streams_printed(play):
    run = play()
    run.tell(started(), printed("one\n"), printed("two\n", stream="stderr"), completed(output="one\n"))

    row = run.screen.rows["run-1/build"]
    assert row["status"] == "completed"
    assert run.screen.text_of("run-1/build") == "```\none\ntwo\n```"
    assert row["rawOutput"] == {"exitCode": 0, "durationMs": 1200}


def test_output_with_fences_of_its_own_is_put_in_a_longer_fence(play):
    run = play()
    run.tell(started(), completed(output="```\nx\n```"))

    assert run.screen.text_of("run-1/build") == "````\n```\nx\n```\n````"


def test_a_failed_step_says_why_under_which_code_and_what_it_printed(play):
    run = play()
    run.tell(started(), failed(exit_code=2, stderr="no such target\n"))

    row = run.screen.rows["run-1/build"]
    text = run.screen.text_of("run-1/build")
    assert row["status"] == "failed"
    assert "It ended with exit code 2" in text
    assert "EXECUTION.COMMAND.FAILED" in text
    assert "no such target" in text
    assert row["rawOutput"]["exitCode"] == 2


def test_a_cancelled_step_is_failed_and_says_that_it_was_cancelled(play):
    run = play()
    run.tell(started(), failed(cancelled=True, code="EXECUTION.STEP.CANCELLED", message="cancelled"))

    row = run.screen.rows["run-1/build"]
    assert row["status"] == "failed"
    assert run.screen.text_of("run-1/build") == "Cancelled by user"
    assert row["_meta"]["awf"]["cancelled"] is True


def test_a_retried_step_keeps_its_row_and_counts_its_attempts(play):
    run = play()
    retrying = StepRetrying(
        path="build", step="build", attempt=2, max_attempts=3, delay_ms=2000, code="X", message="exit 2"
    )
    run.tell(started(), printed("first\n"), retrying)
    row = run.screen.rows["run-1/build"]

    assert row["title"] == "build — make test (attempt 2/3)"
    assert row["status"] == "in_progress"
    assert "Attempt 1 failed: exit 2" in run.screen.text_of("run-1/build")

    run.tell(started(attempt=2), printed("second\n"), completed(attempts=2))
    assert list(run.screen.rows) == ["run-1/build"]
    assert run.screen.text_of("run-1/build") == "```\nsecond\n```"
    assert row["rawOutput"]["attempts"] == 2


def test_a_step_that_is_skipped_before_it_began_is_no_row(play):
    run = play()
    run.tell(StepSkipped(path="fan/b", step="b", kind="step", reason="'a' did not succeed"))

    assert run.screen.rows == {}
    assert ("\u2013 fan / b (skipped)", "completed") in run.screen.entries()


def test_events_of_a_step_whose_beginning_was_not_heard_open_its_row(play):
    run = play()
    run.tell(printed("late\n", "deploy"), completed("other"))

    assert run.screen.rows["run-1/deploy"]["kind"] == "execute"
    assert run.screen.rows["run-1/other"]["status"] == "completed"


def test_what_is_heard_of_a_step_after_its_end_changes_nothing(play):
    run = play()
    run.tell(started(), completed())

    assert run.tell(printed("too late\n")) == []


def test_rows_left_open_inside_a_step_are_closed_with_it(play):
    run = play()
    run.tell(started("fan", "parallel", ""), started("fan/a"), started("fan/b"), completed("fan", "parallel"))

    assert run.screen.open() == []
    assert run.screen.rows["run-1/fan/a"]["status"] == "failed"


def test_a_called_workflow_is_one_step_with_steps_inside(play):
    run = play()
    run.tell(
        started("call", "call_workflow", "checks"), WorkflowStarted(path="call", workflow="checks"),
        started("call/check"), completed("call/check"), completed("call", "call_workflow"),
    )  # fmt: skip

    assert run.projector.ended is None
    assert run.screen.rows["run-1/call"]["rawInput"] == {"kind": "call_workflow", "workflow": "checks"}
    assert run.screen.rows["run-1/call/check"]["_meta"]["awf"]["parentToolCallId"] == "run-1/call"


def test_a_warning_is_said_once_and_one_about_isolation_is_a_fact_of_the_row(play):
    run = play()
    code = "USER.MCP_PROXY.UNSUPPORTED_PROVIDER"
    run.tell(started("ask", "agent", "codex"), Warned(path="ask", message="coexistence", code=code))
    run.tell(Warned(path="ask", message="2 left running"), Warned(path="ask", message="2 left running"))

    assert run.screen.said() == ["⚠ 2 left running"]
    assert run.screen.rows["run-1/ask"]["_meta"]["awf"]["warnings"] == ["coexistence"]


def test_a_run_shown_before_in_this_session_uses_fresh_ids(play):
    run = play(shown_before=2)
    run.tell(started("fan", "parallel", ""), started("fan/lint"))

    assert list(run.screen.rows) == ["run-1/fan~3", "run-1/fan/lint~3"]
    assert run.screen.rows["run-1/fan/lint~3"]["_meta"]["awf"]["parentToolCallId"] == "run-1/fan~3"
