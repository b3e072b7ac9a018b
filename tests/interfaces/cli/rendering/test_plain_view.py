from __future__ import annotations

import io
import re

from awf.domain import events as e
from awf.interfaces.cli.rendering.plain_view import PlainView


def shown(told, *, verbose=0, color=False):
    out = io.StringIO()
    view = PlainView(out, verbose=verbose, color=color)
    for stamped in told:
        view.on_event(stamped)
    view.close()
    return out.getvalue().splitlines()


def test_two_hundred_branches_can_be_told_apart_line_by_line(tell):
    lines = shown(tell.wide(200, 180), verbose=1)
    assert lines[:3] == ["run 01J8ZQ5W wide", "▶ fan   parallel  200 branches", "  ▶ fan/b0  job 0"]
    assert all(re.search(r"fan/b\d+ ", line) for line in lines[2:])
    assert "    fan/b199 | working on 199" in lines
    assert sum(line.startswith("  ✓ fan/b") for line in lines) == 178
    assert [line for line in lines if "✗" in line] == [
        "  ✗ fan/b7  exit 2  50ms  EXECUTION.COMMAND.FAILED",
        "  ✗ fan/b90  exit 2  50ms  EXECUTION.COMMAND.FAILED",
    ]


def test_text_of_two_agents_at_once_is_not_mixed_within_a_line(tell):
    told = tell.stamp(
        tell.said("fan/a", "I am "),
        tell.said("fan/b", "And I "),
        tell.said("fan/a", "a.\n"),
        tell.said("fan/b", "am b.\n"),
    )
    assert shown(told, verbose=1) == ["    fan/a: I am a.", "    fan/b: And I am b."]


def test_agent_text_is_shown_only_when_asked_for(tell):
    told = tell.stamp(tell.said("fix", "hello\n"), e.AgentThought(path="fix", step="fix", text="hm\n"))
    assert shown(told) == []
    assert shown(told, verbose=1) == ["  fix: hello"]
    assert shown(told, verbose=2) == ["  fix: hello", "  fix thinks: hm"]


def test_the_output_of_an_earlier_attempt_is_not_blamed_on_the_last(tell):
    told = tell.stamp(
        tell.started("a"),
        tell.wrote("a", "first\n"),
        e.StepRetrying(path="a", step="a", attempt=2, max_attempts=2, delay_ms=0, code="X", message=""),
        tell.started("a", attempt=2),
        tell.wrote("a", "second\n"),
        tell.failed("a"),
    )
    assert shown(told)[1:] == [
        "↻ a     attempt 2 of 2",
        "▶ a     step  attempt 2",
        "✗ a     exit 2  300ms  EXECUTION.COMMAND.FAILED",
        "  | second",
    ]


def test_a_failure_without_live_output_shows_what_the_event_holds(tell):
    output = "".join(f"out {n}\n" for n in range(30))
    lines = shown(tell.stamp(tell.failed("a", output=output, stderr="bad\n")))
    assert lines[1] == "  | out 11"
    assert lines[-1] == "  | bad"
    assert len(lines) == 21


def test_a_failure_that_is_no_exit_status_tells_its_message(tell):
    told = tell.stamp(
        tell.failed(
            "a", code="EXECUTION.STEP.TIMEOUT", message="timed out after 10m\nIt was killed.", exit_code=143
        )
    )
    assert shown(told) == ["✗ a     timed out after 10m  300ms  EXECUTION.STEP.TIMEOUT", "    It was killed."]


def test_a_failed_tool_call_says_why(tell):
    told = tell.stamp(
        tell.tool(
            "fan/a",
            "1",
            "Bash",
            "finished",
            input={"command": "npm\ntest"},
            output="no such file\n",
            is_error=True,
        )
    )
    assert shown(told) == ["    fan/a ⚒ Bash npm …  failed: no such file"]


def test_output_cannot_reach_the_terminal_with_escape_sequences(tell):
    told = tell.stamp(
        e.WorkflowStarted(workflow="x\x1b[2J"),
        tell.started("a", detail="echo \x1b]0;t\x07hi"),
        tell.wrote("a", "\x1b[31mred\x1b[0m\tcell\n\x1b]52;c;eA==\x07clip\n"),
        tell.said("a", "\x1b[1Aup\n"),
        tell.tool("a", "1", "Re\x1b[1mad", "finished", input={"path": "\x1b[5mx"}),
        e.StepSkipped(path="b", step="b", kind="step", reason="\x1b[7mno"),
        e.LogLine(message="log\x07"),
        e.Warned(message="warn\x1b[0m"),
        e.ApprovalRequired(path="c", step="c", approval_id="1", message="ok\x1b[8m?"),
        tell.failed("a", code="X.Y", message="bad\x1b[31m\x00"),
        e.WorkflowFailed(workflow="x", duration_ms=1, code="X.Y", message="m\x1b[0m", hint="h\x1b[0m"),
        e.WorkflowCompleted(workflow="x", duration_ms=1, message="done\x1b[0m", outputs={"o": "v\x1b[0m"}),
    )
    for color in (False, True):
        text = "\n".join(shown(told, verbose=2, color=color))
        ours = re.sub(r"\x1b\[(31|32|33|1|2|0)m", "", text) if color else text
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f]", ours)
    assert "  | red\tcell" in shown(told, verbose=1)


def test_color_comes_only_when_told(tell):
    told = tell.stamp(tell.completed("a"), tell.failed("b"))
    assert "\x1b" not in "".join(shown(told))
    assert shown(told, color=True)[0].startswith("\x1b[32m✓\x1b[0m a")
    assert shown(told, color=True)[1].startswith("\x1b[31m✗\x1b[0m b")


def test_a_stream_that_cannot_carry_our_signs_gets_plain_ones(tell):
    raw = io.BytesIO()
    view = PlainView(io.TextIOWrapper(raw, encoding="ascii"), verbose=1, color=False)
    told = tell.stamp(
        tell.started("a", detail="écho"),
        tell.wrote("a", "✓ 漢\n"),
        tell.completed("a", 5, usage={"input_tokens": 1, "output_tokens": 4321}),
        tell.failed("b"),
    )
    for stamped in told:
        view.on_event(stamped)
    assert raw.getvalue().decode("ascii").splitlines() == [
        "> a     ?cho",
        "  | + ?",
        "+ a     5ms - 4 322 tokens",
        "x b     exit 2  300ms  EXECUTION.COMMAND.FAILED",
    ]


class ClosedPipe(io.StringIO):
    def write(self, text):
        raise BrokenPipeError


def test_nobody_reading_any_more_is_no_error(tell):
    view = PlainView(ClosedPipe(), verbose=0, color=False)
    for stamped in tell.STORIES["failure"]():
        view.on_event(stamped)
    view.close()


def test_the_answer_can_go_to_a_stream_of_its_own(tell):
    out, answer = io.StringIO(), io.StringIO()
    view = PlainView(out, verbose=0, color=False, answer=answer)
    for stamped in tell.STORIES["success"]():
        view.on_event(stamped)
    assert answer.getvalue() == "All is well.\nfiles: 3\nsummary:\n  two\n  lines\n"
    assert "All is well" not in out.getvalue()


def test_half_a_character_in_an_answer_is_replaced():
    raw = io.BytesIO()
    view = PlainView(io.StringIO(), verbose=0, color=False, answer=io.TextIOWrapper(raw, encoding="utf-8"))
    view.on_event(
        e.Stamped("r", 1, 0.0, e.WorkflowCompleted(workflow="x", duration_ms=1, message="caf\udce9"))
    )
    assert raw.getvalue() == b"caf?\n"


def test_what_an_agent_used_is_told_in_full_detail_only(tell):
    told = tell.stamp(
        e.AgentUsage(
            path="fix", step="fix", input_tokens=5, output_tokens=5, cost=0.5, cost_source="computed"
        ),
        e.AgentUsage(path="fix", step="fix"),
    )
    assert shown(told, verbose=1) == []
    assert shown(told, verbose=2) == ["  fix used: 10 tokens · ~$0.5000"]


class Tty(io.StringIO):
    def isatty(self):
        return True


def test_an_answer_is_untouched_in_a_pipe_and_neutral_on_a_terminal(tell):
    told = tell.stamp(e.WorkflowCompleted(workflow="x", duration_ms=1, outputs={"o": "\x1b[1mv"}))
    pipe, tty = io.StringIO(), Tty()
    for answer in (pipe, tty):
        PlainView(io.StringIO(), verbose=0, color=False, answer=answer).on_event(told[0])
    assert pipe.getvalue() == "o: \x1b[1mv\n"
    assert tty.getvalue() == "o: v\n"


def test_what_was_still_unfinished_is_shown_when_the_view_closes(tell):
    assert shown(tell.stamp(tell.wrote("a", "half a line")), verbose=1) == ["  | half a line"]
