from __future__ import annotations

import io

from awf.domain import events as e
from awf.domain.run import Usage
from awf.interfaces.cli.rendering.json_summary import JsonSummary
from awf.interfaces.cli.rendering.model import RunModel
from awf.interfaces.cli.rendering.status import status_lines


def folded(told, **options):
    model = RunModel(**options)
    for stamped in told:
        model.apply(stamped)
    return model


def test_a_run_with_an_open_question_is_waiting(tell):
    told = tell.STORIES["approval"]()
    assert folded(told[:1]).status == "running"
    asked = folded(told[:2])
    assert asked.status == "waiting"
    assert asked.steps["fix"].status == "waiting"
    assert folded(told[:3]).status == "running"
    assert folded(told).status == "completed"


def test_steps_that_were_in_work_when_a_run_was_cancelled_are_cancelled_too(tell):
    model = folded(tell.STORIES["cancelled"]())
    assert {path: step.status for path, step in model.steps.items()} == {
        "fan": "cancelled",
        "fan/lint": "cancelled",
        "fan/test": "cancelled",
    }
    assert model.exit_status == 130


def test_usage_of_agents_adds_up_before_the_end_and_containers_do_not_count_twice(tell):
    spent = {"input_tokens": 10, "output_tokens": 5}
    model = folded(
        tell.stamp(
            tell.completed("fan/a", kind="agent", usage=spent),
            tell.completed("fan/b", kind="agent", usage=spent),
            tell.completed("fan", kind="parallel", usage={"input_tokens": 20, "output_tokens": 10}),
        )
    )
    assert model.usage == Usage(input_tokens=20, output_tokens=10)


def test_a_step_done_again_after_a_resume_counts_once(tell):
    model = folded(
        tell.stamp(
            e.WorkflowStarted(workflow="w"),
            tell.started("fan", "parallel", total=3),
            tell.started("fan/z"),
            tell.completed("fan/z"),
            tell.started("fan/a"),
            tell.failed("fan/a"),
            tell.started("fan/b"),
            e.WorkflowFailed(workflow="w", duration_ms=1, code="X", message="m"),
            e.WorkflowResumed(workflow="w"),
            tell.started("fan", "parallel", total=3),
            tell.started("fan/a"),
            tell.completed("fan/a"),
            tell.started("fan/b"),
        )
    )
    assert model.status == "running"
    assert model.error is None
    below = model.tops["fan"].below
    assert {name: count for name, count in below.ended.items() if count} == {"success": 2}
    assert (list(below.in_work), below.failed) == (["fan/b"], [])
    assert (model.steps["fan/a"].status, model.steps["fan/a"].code) == ("success", "")


def test_the_innermost_failure_is_to_blame_and_not_its_siblings(tell):
    model = folded(
        tell.stamp(
            tell.failed("old", handled=True),
            tell.failed("fan/a", code="A.B.C", message="the cause"),
            tell.failed("fan/b"),
            tell.failed("fan/c", cancelled=True),
            tell.failed("fan", kind="parallel"),
        )
    )
    assert model.cause.blamed("fan") == ("fan/a", "A.B.C", "the cause")


def test_a_later_failure_replaces_one_that_the_run_went_on_from(tell):
    told = [tell.failed("loop[1]/test"), tell.failed("loop[2]/fix")]
    assert folded(tell.stamp(*told)).cause.blamed("").path == "loop[2]/fix"


def test_a_handled_failure_explains_a_run_that_ended_in_a_failure_state(tell):
    assert folded(tell.stamp(tell.failed("test", handled=True))).cause.blamed("gave_up").path == "test"
    assert folded([]).cause.blamed("gave_up").path == "gave_up"


def test_without_keeping_a_long_run_leaves_nothing_but_counts(tell):
    told = [e.WorkflowStarted(workflow="w"), tell.started("fan", "parallel", total=5000)]
    for n in range(5000):
        told += [tell.started(f"fan/b{n}"), tell.wrote(f"fan/b{n}", "x\n"), tell.failed(f"fan/b{n}")]
    model = folded(tell.stamp(*told), keep=False, tail=20)
    assert list(model.steps) == ["fan"]
    assert model.tops["fan"].below.ended == {"failed": 5000}
    assert len(model.tops["fan"].below.failed) == 5
    model.forget("fan")
    assert not model.steps
    assert not model.tops


def test_what_happens_deep_down_shows_at_the_second_level(tell):
    model = folded(
        tell.stamp(
            tell.started("call", "call_workflow"),
            tell.started("call/fan", "parallel"),
            tell.started("call/fan/lint"),
            tell.wrote("call/fan/lint", "checking x\nchecking y"),
        ),
        tail=20,
    )
    assert model.steps["call/fan"].now == "lint: checking y"


def test_a_thinking_agent_and_its_tools_are_something_to_see(tell):
    told = [tell.started("fix", "agent"), e.AgentThought(path="fix", step="fix", text="hm")]
    assert folded(tell.stamp(*told), tail=20).steps["fix"].now == "thinking"
    told.append(tell.tool("fix", "1", "Lookup", "started", input={"depth": 2, "word": "parse"}))
    assert folded(tell.stamp(*told), tail=20).steps["fix"].now == "Lookup parse"


def test_an_event_of_a_step_never_heard_of_is_no_trouble(tell):
    model = folded(tell.stamp(tell.wrote("ghost", "boo"), tell.completed("fan/late")), tail=20)
    assert list(model.steps) == ["fan/late"]


def test_a_summary_of_a_run_that_never_ended_says_interrupted(tell):
    summary = JsonSummary(io.StringIO())
    for stamped in tell.STORIES["success"]()[:3]:
        summary.on_event(stamped)
    document = summary.document()
    assert (document["status"], document["exit_status"], document["duration_ms"]) == (
        "interrupted",
        None,
        None,
    )
    assert document["usage"] is None


def test_a_summary_is_written_once(tell):
    out = io.StringIO()
    summary = JsonSummary(out)
    summary.on_event(e.Stamped("r1", 1, 0.0, e.WorkflowStarted(workflow="w")))
    summary.close()
    first = out.getvalue()
    summary.close()
    assert out.getvalue() == first != ""


def test_a_summary_that_nobody_reads_is_no_error():
    class ClosedPipe(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    JsonSummary(ClosedPipe()).close()


def test_unknown_usage_is_null_in_a_summary(tell):
    summary = JsonSummary(io.StringIO())
    summary.on_event(
        tell.stamp(
            e.WorkflowCompleted(workflow="w", duration_ms=1, usage={"output_tokens": 7, "tool_calls": 1})
        )[0]
    )
    assert summary.document()["usage"] == {
        "tokens": 7,
        "input_tokens": None,
        "output_tokens": 7,
        "cost": None,
        "cost_source": "unknown",
        "tool_calls": 1,
    }


def test_the_status_of_a_run_in_full_swing(tell):
    assert status_lines(folded(tell.wide(200, 150), tail=20), now=1010.0) == [
        "run 01J8ZQ5W wide  running for 10s",
        "▶ fan  150 of 200  9s",
        "  ✗ b7  50ms  exit 2  EXECUTION.COMMAND.FAILED",
        "      | working on 7",
        "  ✗ b90  50ms  exit 2  EXECUTION.COMMAND.FAILED",
        "      | working on 90",
        *(f"  ▶ b{n}  {s}s  working on {n}" for n, s in zip(range(150, 158), [8] * 8, strict=True)),
        "  ✓ b149  40ms",
        "  … and 189 more (147 ✓, 42 running)",
        "150 steps ended: 148 ✓, 2 ✗",
    ]


def test_the_status_of_a_waiting_run_ends_with_what_to_type(tell):
    lines = status_lines(folded(tell.STORIES["approval"]()[:2]), now=1005.0)
    assert lines == [
        "run 01J8ZQ5W review  waiting for 5s",
        "? fix  4s",
        "    waiting for you: Let the agent edit?",
        "nothing has ended yet",
        "awf approve 01J8ZQ5W",
    ]


def test_the_status_of_a_run_whose_process_died(tell):
    lines = status_lines(folded(tell.STORIES["success"]()[:4]), now=1005.0, status="interrupted")
    assert lines == [
        "run 01J8ZQ5W review  interrupted",
        "✓ test  1.2s",
        "1 step ended: 1 ✓",
        "awf resume 01J8ZQ5W",
    ]


def test_the_status_of_a_very_long_run_keeps_to_the_latest_steps(tell):
    told = [item for n in range(100) for item in (tell.started(f"s{n}"), tell.completed(f"s{n}"))]
    lines = status_lines(folded(tell.stamp(*told)))
    assert lines[1] == "… 70 earlier steps"
    assert len(lines) == 33
