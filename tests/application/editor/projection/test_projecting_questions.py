from __future__ import annotations

from pathlib import Path

import pytest

from awf.domain.events import (
    AgentText,
    AgentUsage,
    ApprovalRequired,
    ApprovalResolved,
    InputReceived,
    InputRequired,
    StepCompleted,
    StepFailed,
    StepOutput,
    StepSkipped,
    StepStarted,
    ToolCallFinished,
    ToolCallStarted,
    WorkflowCompleted,
    WorkflowResumed,
)
from awf.testing.acp_schema import agent_schema

ASKED = ApprovalRequired(path="deploy", step="deploy", approval_id="approval:deploy", message="Ship it?")
CHAT = StepStarted(path="chat", step="chat", kind="agent", detail="claude")
OPTIONS = [{"optionId": "allow", "name": "Allow", "kind": "allow_once"}]


def resolved(outcome, approval_id="approval:deploy", path="deploy"):
    return ApprovalResolved(path=path, step=path, approval_id=approval_id, outcome=outcome)


def says(text, path="chat"):
    return AgentText(path=path, step=path.rpartition("/")[2], text=text)


def asks(turn, said="", path="chat"):
    name = path.rpartition("/")[2]
    return InputRequired(path=path, step=name, input_id=f"input:{path}/turn-{turn}", said=said)


def answers(turn, text="go on", path="chat"):
    name = path.rpartition("/")[2]
    return InputReceived(path=path, step=name, input_id=f"input:{path}/turn-{turn}", text=text)


def judge(tool_call):
    params = {"sessionId": "s", "toolCall": tool_call, "options": OPTIONS}
    schema = agent_schema(Path(__file__).parents[3] / "protocols" / "acp")
    schema.judge_request("session/request_permission", params)


def test_a_gate_is_a_pending_row_with_the_question_and_the_command(play, workflow):
    gated = workflow(
        "deploy",
        {
            "deploy": {"type": "step", "command": "./ship", "approval": True, "on_success": "done"},
            "done": {"type": "terminal"},
        },
    )
    run = play(workflow=gated)
    run.tell(ASKED)
    row = run.screen.rows["run-1/deploy"]
    tool_call = run.projector.permission(ASKED)

    assert (row["status"], row["title"], row["kind"]) == ("pending", "deploy — ./ship", "execute")
    assert run.screen.text_of("run-1/deploy") == "Ship it?"
    assert {key: tool_call[key] for key in ("toolCallId", "title", "kind", "status", "rawInput")} == {
        "toolCallId": "run-1/deploy",
        "title": "deploy — ./ship",
        "kind": "execute",
        "status": "pending",
        "rawInput": {"kind": "command", "command": "./ship"},
    }
    judge(tool_call)


def test_a_step_that_was_approved_goes_on_in_the_same_row(play):
    run = play()
    run.tell(ASKED, resolved("once"), StepStarted(path="deploy", step="deploy", kind="step", detail="./ship"))
    row = run.screen.rows["run-1/deploy"]

    assert (row["status"], row["title"], row["kind"]) == ("in_progress", "deploy — ./ship", "execute")
    assert row["content"] == []


@pytest.mark.parametrize(
    ("outcome", "text"), [("reject", "Not approved"), ("timeout", "Nobody answered in time")]
)
def test_a_refusal_is_shown_at_once_and_what_comes_of_it_then(play, outcome, text):
    run = play()
    run.tell(ASKED, resolved(outcome))
    assert run.screen.rows["run-1/deploy"]["status"] == "failed"
    assert run.screen.text_of("run-1/deploy") == text

    run.tell(
        StepFailed(
            path="deploy", step="deploy", kind="step", duration_ms=0,
            code="EXECUTION.APPROVAL.DENIED", message="'deploy' was not approved.",
        )
    )  # fmt: skip
    assert "'deploy' was not approved." in run.screen.text_of("run-1/deploy")
    assert list(run.screen.rows) == ["run-1/deploy"]


def test_a_refused_step_that_is_skipped_says_so(play):
    run = play()
    run.tell(
        ASKED,
        resolved("reject"),
        StepSkipped(path="deploy", step="deploy", kind="step", reason="not approved"),
    )

    assert run.screen.rows["run-1/deploy"]["status"] == "failed"
    assert run.screen.text_of("run-1/deploy") == "Not approved; skipped"


def test_a_refusal_keeps_its_words_when_the_turn_ends_there(play):
    run = play()
    run.tell(ASKED, resolved("reject"))
    run.close()

    assert run.screen.text_of("run-1/deploy") == "Not approved"


def test_a_question_that_is_asked_again_after_a_refusal_is_a_new_row(play):
    run = play()
    run.tell(ASKED, resolved("timeout"), ASKED)

    assert run.screen.rows["run-1/deploy~2"]["status"] == "pending"
    assert run.projector.permission(ASKED)["toolCallId"] == "run-1/deploy~2"


def test_the_question_about_a_tool_call_is_asked_in_its_row(play):
    run = play()
    given = {"file_path": "a.txt", "content": "x"}
    asked = ApprovalRequired(
        path="chat",
        step="chat",
        approval_id="approval:chat/tool-1",
        message="Let it?",
        tool="Write",
        input=given,
    )
    run.tell(
        CHAT,
        ToolCallStarted(
            path="chat", step="chat", call_id="tool-1", tool="Write", source="builtin", input=given
        ),
    )
    run.tell(asked)
    row = run.screen.rows["run-1/chat/tool-1"]
    assert row["status"] == "pending"
    assert [one["type"] for one in row["content"]] == ["content", "diff"]
    tool_call = run.projector.permission(asked)
    assert tool_call["toolCallId"] == "run-1/chat/tool-1"
    assert tool_call["title"] == "Write a.txt"
    assert tool_call["locations"] == [{"path": "/project/a.txt"}]
    assert [one["type"] for one in tool_call["content"]] == ["content", "diff"]
    judge(tool_call)

    run.tell(resolved("once", "approval:chat/tool-1", "chat"))
    assert row["status"] == "in_progress"
    assert [one["type"] for one in row["content"]] == ["diff"]


def test_a_question_about_a_call_is_no_markdown_and_nothing_of_it_is_hidden_on_the_right(play):
    message = (
        "Let 'deploy' call Bash " + '{"command": "ls <!-- ; rm -rf ~ --> ```  [ok](x) ' + "x" * 300 + '"}?'
    )
    asked = ApprovalRequired(
        path="deploy",
        step="deploy",
        approval_id="approval:deploy/tool-1",
        message=message,
        tool="Bash",
        input={},
    )
    run = play()
    (question,) = run.projector.permission(asked)["content"]
    first, *lines, last = question["content"]["text"].split("\n")
    assert first == last == "````"
    assert "".join(lines) == message
    assert max(map(len, lines)) == 100


def test_a_refused_tool_call_is_failed_and_says_why(play):
    run = play()
    asked = ApprovalRequired(
        path="chat", step="chat", approval_id="approval:chat/tool-1", message="?", tool="Bash"
    )
    run.tell(CHAT, asked, resolved("reject", "approval:chat/tool-1", "chat"))
    assert run.screen.text_of("run-1/chat/tool-1") == "Not approved"
    run.tell(
        ToolCallFinished(
            path="chat", step="chat", call_id="tool-1", tool="Bash", source="builtin", duration_ms=1,
            is_error=True, error="PERMISSION_DENIED", output="the person said no",
        )
    )  # fmt: skip

    assert run.screen.rows["run-1/chat/tool-1"]["status"] == "failed"
    assert "the person said no" in run.screen.text_of("run-1/chat/tool-1")


def test_a_permission_asked_for_before_anything_was_heard_has_the_id_of_the_row_to_come(play):
    run = play()
    tool_call = run.projector.permission(ASKED)
    run.tell(ASKED)

    assert list(run.screen.rows) == [tool_call["toolCallId"]]


def test_a_conversation_parks_and_goes_on_under_a_fresh_id(play):
    run = play()
    run.tell(CHAT, says("Hello."))
    assert (run.projector.waits(), run.projector.busy()) == (False, True)
    run.tell(asks(1, "Hello."))
    assert (run.projector.waits(), run.projector.busy()) == (True, False)
    run.park()
    assert run.screen.text_of("run-1/chat") == "Waiting for your answer"
    assert run.screen.rows["run-1/chat"]["status"] == "completed"

    run.tell(answers(1))
    assert (run.projector.waits(), run.projector.busy()) == (False, True)
    assert run.screen.rows["run-1/chat~2"]["title"] == "chat — claude (turn 2)"
    run.tell(says("More."), asks(2, "More."))
    run.park()
    run.tell(answers(2), says("Even more."))

    assert run.screen.rows["run-1/chat~3"]["title"] == "chat — claude (turn 3)"
    assert list(run.screen.messages) == ["run-1/chat/1", "run-1/chat/2", "run-1/chat/3"]
    assert run.screen.said() == ["Hello.", "More.", "Even more."]


def test_what_an_agent_said_is_shown_with_its_question_when_nothing_was_streamed(play):
    run = play()
    run.tell(CHAT, asks(1, "Whole answer."))
    run.park()
    run.tell(answers(1), asks(2, "Second."))

    assert run.screen.said() == ["Whole answer.", "Second."]


def test_a_question_asked_again_when_a_run_is_taken_up_repeats_nothing(play):
    run = play(shown_before=1)
    run.tell(WorkflowResumed(workflow="talk"), CHAT, asks(3, "Said long ago."), answers(3))
    assert run.screen.said() == []

    run.tell(AgentUsage(path="chat", step="chat", input_tokens=1), asks(4, "New."))
    assert run.screen.said() == ["New."]
    assert run.screen.rows["run-1/chat~2"]["title"] == "chat — claude (turn 4)"


def test_a_turn_that_is_on_record_is_not_told_again(play):
    run = play(done=["chat/turn-1"])
    run.tell(CHAT, asks(1, "Said long ago."))

    assert run.screen.said() == []


def test_ending_a_parked_conversation_opens_no_row(play):
    run = play()
    run.tell(CHAT, says("Hello."), asks(1))
    run.park()
    run.tell(answers(1, "/end"), StepCompleted(path="chat", step="chat", kind="agent", duration_ms=9))

    assert list(run.screen.rows) == ["run-1/chat"]
    assert run.screen.entries() == [("chat", "completed")]


def test_what_is_around_a_parked_conversation_is_closed_and_opened_with_it(play):
    run = play()
    run.tell(StepStarted(path="call", step="call", kind="call_workflow", detail="talk"))
    run.tell(
        StepStarted(path="call/chat", step="chat", kind="agent", detail="claude"), asks(1, "Hi", "call/chat")
    )
    run.park()
    assert run.screen.text_of("run-1/call") == "Waiting for your answer"
    run.tell(answers(1, path="call/chat"))

    assert list(run.screen.rows) == ["run-1/call", "run-1/call/chat", "run-1/call~2", "run-1/call/chat~2"]
    around = run.screen.rows["run-1/call/chat~2"]["_meta"]["awf"]["parentToolCallId"]
    assert around == "run-1/call~2"


def test_a_command_beside_a_waiting_conversation_keeps_the_run_busy(play):
    run = play()
    run.tell(CHAT, StepStarted(path="build", step="build", kind="step"), asks(1))
    assert (run.projector.waits(), run.projector.busy()) == (True, True)
    run.tell(StepCompleted(path="build", step="build", kind="step", duration_ms=1))

    assert (run.projector.waits(), run.projector.busy()) == (True, False)


def test_what_holds_other_steps_is_not_busy_by_itself(play):
    run = play()
    run.tell(StepStarted(path="fan", step="fan", kind="parallel"))

    assert run.projector.busy() is False


def test_ending_a_turn_twice_gives_nothing(play):
    run = play()
    run.tell(CHAT, says("Hello."))

    assert run.park() != []
    assert run.park() == []
    assert run.close("cancelled") != []  # the plan says that it was cancelled
    assert run.close("cancelled") == []


def test_a_turn_that_is_closed_marks_everything_as_cancelled(play):
    run = play()
    run.tell(StepStarted(path="fan", step="fan", kind="parallel"))
    run.tell(
        StepStarted(path="fan/a", step="a", kind="step"),
        StepOutput(path="fan/a", step="a", stream="stdout", text="x"),
    )
    run.close()

    assert {row["status"] for row in run.screen.rows.values()} == {"failed"}
    assert all(row["_meta"]["awf"]["cancelled"] for row in run.screen.rows.values())
    assert run.screen.text_of("run-1/fan/a") == "Cancelled by user"
    assert run.screen.entries() == [("fan (cancelled)", "pending"), ("fan / a (cancelled)", "pending")]


def test_a_turn_closed_for_another_reason_says_that_reason(play):
    run = play()
    run.tell(CHAT)
    run.close("The store is full.")

    assert run.screen.text_of("run-1/chat") == "The store is full."
    assert "cancelled" not in run.screen.rows["run-1/chat"]["_meta"]["awf"]
    assert run.screen.entries() == [("chat (stopped)", "pending")]


def test_an_event_after_a_turn_was_closed_opens_the_step_again(play):
    run = play()
    build = StepStarted(path="build", step="build", kind="step")
    run.tell(build)
    run.close()
    run.tell(StepOutput(path="build", step="build", stream="stdout", text="still here\n"))
    assert run.screen.open() == ["run-1/build~2"]
    run.tell(StepCompleted(path="build", step="build", kind="step", duration_ms=1))

    assert run.screen.open() == []


def test_the_first_words_of_a_turn_are_not_put_apart_from_those_of_the_turn_before(play):
    run = play()
    run.tell(CHAT, says("Hello."), asks(1))
    run.park()
    run.tell(answers(1, "/end"), StepCompleted(path="chat", step="chat", kind="agent", duration_ms=9))
    updates = run.tell(WorkflowCompleted(workflow="talk", duration_ms=9, message="Bye."))

    assert updates[0]["messageId"] == "run-1/answer"
