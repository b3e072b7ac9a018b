from __future__ import annotations

import gc

from awf.domain.events import (
    StepCompleted,
    StepFailed,
    StepOutput,
    StepSkipped,
    StepStarted,
    WorkflowCompleted,
    WorkflowFailed,
    WorkflowResumed,
    WorkflowStarted,
)

STARTED = WorkflowStarted(workflow="deploy")
DONE = WorkflowCompleted(workflow="deploy", duration_ms=1)


def started(path, kind="step", **rest):
    return StepStarted(path=path, step=path.rpartition("/")[2], kind=kind, **rest)


def completed(path, kind="step"):
    return StepCompleted(path=path, step=path.rpartition("/")[2], kind=kind, duration_ms=1)


def failed(path, **rest):
    told = {"kind": "step", "duration_ms": 1, "code": "X", "message": "no", **rest}
    return StepFailed(path=path, step=path.rpartition("/")[2], **told)


def branching(workflow):
    return workflow(
        "fan",
        {
            "fan": {
                "type": "parallel",
                "parallel": ["lint", "test"],
                "on_success": "each",
                "on_failure": "rescue",
            },
            "lint": {"type": "step", "command": "ruff"},
            "test": {"type": "step", "command": "pytest", "description": "Run the tests"},
            "each": {"type": "for_each", "items": [1, 2, 3], "body": ["push"], "on_complete": "done"},
            "push": {"type": "step", "command": "push"},
            "rescue": {"type": "step", "command": "mail", "on_success": "done"},
            "done": {"type": "terminal"},
        },
    )


def test_the_plan_lists_what_can_run_in_order_without_the_ends(play, workflow):
    run = play(workflow=branching(workflow))
    run.tell(STARTED)

    assert [content for content, _ in run.screen.entries()] == [
        "fan", "fan / lint", "fan / test — Run the tests", "each", "each / push", "rescue",
    ]  # fmt: skip
    assert {status for _, status in run.screen.entries()} == {"pending"}


def test_entries_follow_their_steps_and_a_loop_counts(play, workflow):
    run = play(workflow=branching(workflow))
    run.tell(STARTED, started("fan", "parallel"), started("fan/lint"), completed("fan/lint"))
    assert run.screen.entries()[:2] == [("fan", "in_progress"), ("fan / lint", "completed")]

    run.tell(started("each", "for_each"), started("each[0]/push"), completed("each[0]/push"), after=1.0)
    run.tell(started("each[1]/push"), after=1.0)
    assert ("each / push (2/3)", "in_progress") in run.screen.entries()


def test_a_second_visit_is_the_same_entry(play, workflow):
    run = play(workflow=branching(workflow))
    run.tell(STARTED, started("rescue"), completed("rescue"), started("rescue#2"))

    assert ("rescue", "in_progress") in run.screen.entries()
    assert len(run.screen.plan) == 6


def test_failed_and_skipped_entries_are_done_and_say_so(play, workflow):
    run = play(workflow=branching(workflow))
    run.tell(
        STARTED, started("fan/lint"), failed("fan/lint", exit_code=2), started("rescue"), failed("rescue")
    )
    run.tell(StepSkipped(path="fan/test", step="test", kind="step", reason="'lint' did not succeed"))

    shown = run.screen.entries()
    assert ("✗ fan / lint (exit 2)", "completed") in shown
    assert ("✗ rescue (failed)", "completed") in shown
    assert ("\u2013 fan / test (skipped) — Run the tests", "completed") in shown


def test_a_cancelled_entry_is_left_over(play, workflow):
    run = play(workflow=branching(workflow))
    run.tell(STARTED, started("fan/lint"), failed("fan/lint", cancelled=True))

    assert ("fan / lint (cancelled)", "pending") in run.screen.entries()


def test_routes_not_taken_leave_the_plan_at_a_good_end(play, workflow):
    run = play(workflow=branching(workflow))
    run.tell(STARTED, started("fan", "parallel"), completed("fan", "parallel"), DONE)

    assert run.screen.entries() == [("fan", "completed")]


def test_what_was_not_reached_stays_pending_after_a_failure(play, workflow):
    run = play(workflow=branching(workflow))
    run.tell(STARTED, started("fan", "parallel"), failed("fan", kind="parallel", exit_code=1))
    run.tell(WorkflowFailed(workflow="deploy", duration_ms=1, code="X", message="no", state="fan"))

    assert run.screen.entries()[0] == ("✗ fan (exit 1)", "completed")
    assert {status for _, status in run.screen.entries()[1:]} == {"pending"}


def test_what_finished_before_a_resume_is_done(play, workflow):
    run = play(workflow=branching(workflow), done=["fan", "fan/lint", "fan/test@2", "hooks/start", "nobody"])
    run.tell(WorkflowResumed(workflow="deploy", finished_steps=3))

    assert [status for _, status in run.screen.entries()] == [
        "completed", "completed", "completed", "pending", "pending", "pending",
    ]  # fmt: skip


def test_steps_of_a_called_workflow_are_not_in_the_plan(play, workflow):
    calling = workflow(
        "call",
        {
            "call": {"type": "call_workflow", "workflow": "x", "on_success": "done"},
            "done": {"type": "terminal"},
        },
    )
    for known in (calling, None):
        run = play(workflow=known)
        run.tell(STARTED, started("call", "call_workflow"), started("call/check"), completed("call/check"))

        assert run.screen.entries() == [("call", "in_progress")]


def test_without_a_definition_the_plan_grows_with_what_is_heard(play):
    run = play()
    run.tell(STARTED, started("fan", "parallel"), started("fan/a", description="First"), started("later"))
    run.tell(started("fan/b"))

    assert [content for content, _ in run.screen.entries()] == ["fan", "fan / a — First", "fan / b", "later"]


def test_a_state_used_in_two_places_gets_an_entry_where_it_runs(play, workflow):
    shared = workflow(
        "test",
        {
            "test": {"type": "step", "command": "x", "on_success": "loop"},
            "loop": {"type": "for_each", "items": "{{ inputs.x }}", "body": ["test"], "on_complete": "done"},
            "done": {"type": "terminal"},
        },
    )
    run = play(workflow=shared)
    run.tell(STARTED, started("loop", "for_each"), started("loop[0]/test"), after=1.0)
    run.tell(completed("loop[0]/test"), started("loop[1]/test"), after=1.0)

    contents = [content for content, _ in run.screen.entries()]
    assert contents == ["test", "loop", "loop / test (2)"]


def test_a_very_large_plan_is_cut(play, workflow):
    names = [f"s{number}" for number in range(137)]
    states = {
        name: {"type": "step", "command": "x", "on_success": after}
        for name, after in zip(names, [*names[1:], "done"], strict=True)
    }
    run = play(workflow=workflow("s0", {**states, "done": {"type": "terminal"}}))
    run.tell(STARTED)

    assert len(run.screen.plan) == 101
    assert run.screen.entries()[-1] == ("… 37 more", "pending")
    run.tell(started("s120"))
    assert run.screen.entries()[-1] == ("… 37 more", "in_progress")


def test_a_fast_loop_does_not_send_a_plan_for_every_turn(play, workflow):
    run = play(workflow=branching(workflow))
    run.tell(STARTED, started("each", "for_each"))
    for number in range(100):
        run.tell(started(f"each[{number}]/push"), completed(f"each[{number}]/push"), after=0.01)
    assert run.screen.plans < 15
    assert run.projector.next_tick() is not None
    run.tick(0.25)

    assert ("each / push (100/3)", "completed") in run.screen.entries()


def _rounds(run, numbers):
    for number in numbers:
        path = f"loop[{number}]/test"
        run.projector.event(_stamped(run, started(path, detail="make")))
        run.projector.event(_stamped(run, StepOutput(path=path, step="test", stream="stdout", text="ok\n")))
        run.projector.event(_stamped(run, completed(path)))


def _stamped(run, event):
    from awf.domain.events import Stamped

    run.now += 0.01
    return Stamped("run-1", 1, run.now, event)


def test_ten_thousand_turns_of_a_loop_leave_nothing_behind(play):
    run = play()
    run.tell(STARTED, started("loop", "while"))
    _rounds(run, range(1000))
    gc.collect()
    before = len(gc.get_objects())
    _rounds(run, range(1000, 10_000))
    gc.collect()

    assert len(gc.get_objects()) - before < 500
    assert len(list(run.projector._stage.book)) == 1
