"""Approvals are asked in the editor, one at a time, and what was agreed to for the session is remembered."""

from __future__ import annotations

import asyncio

import pytest

from awf.domain.ports.durability import Message
from awf.testing.editor_desk import a_command, a_conversation, a_workflow, an_agent

PATIENCE = 60.0


def gated(command: str = "echo x >> made", **approval) -> dict:
    return a_command(command, approval={"message": "Really?", **approval})


def made(desk) -> int:
    file = desk.folder / "made"
    return len(file.read_text().splitlines()) if file.exists() else 0


async def test_a_step_is_shown_before_it_is_asked_about_and_runs_when_allowed(desk):
    desk.write("it", a_workflow({"one": gated()}))
    session = await desk.new()
    turn = desk.begin(session, "/it")
    await desk.editor.until(lambda editor: editor.open)
    (asked,) = desk.editor.asked
    assert asked["session"] == session
    call = asked["toolCall"]
    shown = desk.editor.calls[call["toolCallId"]]
    assert shown["status"] == "pending"
    assert call["title"] == shown["title"]
    assert "Really?" in str(call["content"])
    assert "echo x" in str(call["rawInput"])
    kinds = {option["optionId"]: option["kind"] for option in asked["options"]}
    assert kinds == {"allow": "allow_once", "allow_session": "allow_always", "deny": "reject_once"}
    assert made(desk) == 0
    desk.editor.choose("allow")
    assert (await turn).meta["status"] == "completed"
    assert made(desk) == 1
    assert desk.editor.unfinished == []


async def test_a_yes_for_once_is_asked_again_in_the_next_run(desk):
    desk.write("it", a_workflow({"one": gated()}))
    desk.open(permits=["allow", "allow"])
    session = await desk.new()
    await desk.say(session, "/it")
    await desk.say(session, "/it")
    assert (len(desk.editor.asked), made(desk)) == (2, 2)


async def test_a_yes_for_the_session_holds_for_later_runs_and_after_a_restart_but_not_elsewhere(desk):
    desk.write("it", a_workflow({"one": gated()}))
    desk.write("other", a_workflow({"one": gated()}))
    desk.open(permits=["allow_session"])
    session = await desk.new()
    await desk.say(session, "/it")
    await desk.say(session, "/it")
    assert (len(desk.editor.asked), made(desk)) == (1, 2)
    await desk.restart(permits=["deny", "deny"])
    await desk.resume(session)
    await desk.say(session, "/it")
    assert (len(desk.editor.asked), made(desk)) == (0, 3)
    await desk.say(session, "/other")
    assert (len(desk.editor.asked), made(desk)) == (1, 3)
    await desk.say(await desk.new(), "/it")
    assert (len(desk.editor.asked), made(desk)) == (2, 3)


async def test_a_yes_for_the_session_holds_for_a_conversation_that_another_process_goes_on_with(desk):
    desk.write("talk", a_workflow({"talk": a_conversation("Hello."), "one": gated()}))
    desk.open(permits=["allow_session"])
    session = await desk.new()
    await desk.say(session, "/talk")
    await desk.say(session, "/end")
    await desk.say(session, "/talk")
    await desk.restart(permits=["deny"])
    await desk.resume(session)
    assert (await desk.say(session, "/end")).meta["status"] == "completed"
    assert (desk.editor.asked, made(desk)) == ([], 2)


@pytest.mark.parametrize(
    ("on_deny", "status", "goes_on"),
    [("skip", "completed", True), ("error", "failed", False), ("abort", "failed", False)],
)
async def test_a_no_is_skipped_an_error_or_the_end(desk, on_deny, status, goes_on):
    desk.write("it", a_workflow({"one": gated(on_deny=on_deny), "two": a_command("touch after")}))
    desk.open(permits=["deny"])
    session = await desk.new()
    reply = await desk.say(session, "/it")
    assert (reply.stop, reply.meta["status"]) == ("end_turn", status)
    assert made(desk) == 0
    assert (desk.folder / "after").exists() is goes_on
    assert desk.editor.unfinished == []
    if status == "failed":
        assert reply.meta["error"]["code"] == "EXECUTION.APPROVAL.DENIED"


async def test_a_no_that_the_workflow_has_a_way_on_from(desk):
    states = {"one": {**gated(on_deny="error"), "on_failure": "two"}, "two": a_command("touch after")}
    desk.write("it", a_workflow(states))
    desk.open(permits=["deny"])
    session = await desk.new()
    assert (await desk.say(session, "/it")).meta["status"] == "completed"
    assert (desk.folder / "after").exists()


async def test_a_choice_that_was_not_offered_is_a_no(desk):
    desk.write("it", a_workflow({"one": gated()}))
    desk.open(permits=["sure"])
    session = await desk.new()
    assert (await desk.say(session, "/it")).meta["status"] == "failed"
    assert made(desk) == 0


async def test_in_the_mode_that_approves_all_nothing_is_asked(desk):
    desk.write("it", a_workflow({"one": gated()}))
    session = await desk.new()
    desk.service.set_mode(session, "auto")
    assert (await desk.say(session, "/it")).meta["status"] == "completed"
    assert (desk.editor.asked, made(desk)) == ([], 1)
    await desk.restart()
    await desk.resume(session)
    assert (await desk.say(session, "/it")).meta["status"] == "completed"
    assert desk.editor.asked == []


async def test_the_mode_can_be_changed_while_a_run_is_going_on(desk):
    desk.write("it", a_workflow({"one": gated(), "two": gated()}))
    session = await desk.new()
    turn = desk.begin(session, "/it")
    await desk.editor.until(lambda editor: editor.open)
    desk.service.set_option(session, "approvals", "auto")
    desk.editor.choose("allow")
    assert (await turn).meta["status"] == "completed"
    assert (len(desk.editor.asked), made(desk)) == (1, 2)
    assert desk.editor.updates("current_mode_update")[-1]["currentModeId"] == "auto"


async def test_a_dialog_that_is_closed_without_an_answer_ends_the_turn_and_nobody_has_said_no(desk):
    desk.write("it", a_workflow({"one": gated()}))
    desk.open(permits=[""])
    session = await desk.new()
    reply = await desk.say(session, "/it")
    assert (reply.stop, reply.meta["status"]) == ("cancelled", "cancelled")
    assert desk.editor.unfinished == []
    (run,) = desk.runs()
    assert run.status == "cancelled"
    app = desk.app()
    try:
        prepared = await app.execution.resume(run.id, app.run_services(app.nobody(), approve_all=True))
        assert (await prepared.execute(lambda stamped: None)).status == "completed"
    finally:
        await app.close()
    assert made(desk) == 1


@pytest.mark.parametrize(("outcome", "count"), [("once", 1), ("reject", 0)])
async def test_an_answer_from_elsewhere_withdraws_the_question(desk, outcome, count):
    """`awf approve` in a terminal."""
    desk.write("it", a_workflow({"one": gated()}))
    session = await desk.new()
    turn = desk.begin(session, "/it")
    await desk.editor.until(lambda editor: editor.open)
    app = desk.app()
    (run,) = desk.runs()
    async with asyncio.timeout(PATIENCE):
        while not (questions := app.store.questions(run.id)):
            await asyncio.sleep(0.01)
    (question,) = questions
    app.store.tell(run.id, question.topic, Message({"outcome": outcome}, "me"))
    app.database.close()
    async with asyncio.timeout(PATIENCE):
        assert (await turn).stop == "end_turn"
    assert (made(desk), desk.editor.withdrawn) == (count, 1)
    assert desk.editor.unfinished == []


async def test_two_questions_are_asked_one_after_the_other(desk):
    states = {"fan": {"type": "parallel", "parallel": ["left", "right"]}, "left": gated(), "right": gated()}
    written = a_workflow(states)
    written["states"]["fan"]["on_success"] = "done"
    for name in ("left", "right"):
        del written["states"][name]["on_success"]
    desk.write("both", written)
    session = await desk.new()
    turn = desk.begin(session, "/both")
    await desk.editor.until(lambda editor: len(editor.unfinished) >= 2 and editor.open)
    assert len(desk.editor.asked) == 1
    desk.editor.choose("allow")
    await desk.editor.until(lambda editor: len(editor.asked) == 2 and editor.open)
    desk.editor.choose("allow")
    assert (await turn).meta["status"] == "completed"
    assert made(desk) == 2


async def test_a_tool_call_is_asked_about_with_its_tool_and_arguments(desk):
    use = {"tool": {"name": "Bash", "input": {"command": "echo x >> made"}}}
    desk.write("it", a_workflow({"one": an_agent(use, use, mcp_proxy={"enable": True, "approve": ["Bash"]})}))
    desk.open(permits=["allow", "deny"])
    session = await desk.new()
    assert (await desk.say(session, "/it")).meta["status"] == "completed"
    assert made(desk) == 1
    first, second = (asked["toolCall"] for asked in desk.editor.asked)
    assert first["toolCallId"] != second["toolCallId"]
    assert "Bash" in first["title"] + str(first["content"])
    assert first["rawInput"]["command"] == "echo x >> made"
    states = [desk.editor.calls[one["toolCallId"]]["status"] for one in (first, second)]
    assert states == ["completed", "failed"]
    assert desk.editor.unfinished == []


async def test_a_tool_allowed_for_the_session_is_not_asked_about_again(desk):
    use = {"tool": {"name": "Bash", "input": {"command": "echo x >> made"}}}
    desk.write("it", a_workflow({"one": an_agent(use, use, mcp_proxy={"enable": True, "approve": ["Bash"]})}))
    desk.open(permits=["allow_session"])
    session = await desk.new()
    await desk.say(session, "/it")
    await desk.say(session, "/it")
    assert (len(desk.editor.asked), made(desk)) == (1, 4)


async def test_an_approval_in_time_or_not_at_all(desk):
    desk.write("it", a_workflow({"one": gated(timeout="50ms")}))
    session = await desk.new()
    reply = await desk.say(session, "/it")
    assert reply.meta["error"]["code"] == "EXECUTION.APPROVAL.TIMEOUT"
    assert desk.editor.withdrawn == 1


async def test_a_yes_for_the_session_counts_even_if_it_cannot_be_written_down(desk, monkeypatch):
    desk.write("it", a_workflow({"one": gated()}))
    session = await desk.new()
    turn = desk.begin(session, "/it")
    await desk.editor.until(lambda editor: editor.open)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.replace", full)
        desk.editor.choose("allow_session")
        async with asyncio.timeout(PATIENCE):
            assert (await turn).meta["status"] == "completed"
    assert (await desk.say(session, "/it")).meta["status"] == "completed"
    assert (len(desk.editor.asked), made(desk)) == (1, 2)


async def test_an_approval_beside_a_conversation_that_waits_keeps_the_turn_open(desk):
    states = {
        "fan": {"type": "parallel", "parallel": ["talk", "gate"]},
        "talk": a_conversation("Hello."),
        "gate": gated(),
    }
    written = a_workflow(states)
    written["states"]["fan"]["on_success"] = "done"
    for name in ("talk", "gate"):
        del written["states"][name]["on_success"]
    desk.write("both", written)
    session = await desk.new()
    turn = desk.begin(session, "/both")
    await desk.editor.until(lambda editor: "Hello." in editor.text and editor.open)
    await asyncio.sleep(0.1)
    assert not turn.done()
    desk.editor.choose("allow")
    assert (await turn).meta["status"] == "waiting"
    assert (await desk.say(session, "/end")).meta["status"] == "completed"
    assert made(desk) == 1
