"""One prompt and its answer."""

from __future__ import annotations

import os

import pytest

from awf.domain.errors import AwfError
from awf.testing.editor_desk import a_command, a_conversation, a_workflow, an_agent, text_block


def statuses(desk) -> dict[str, str]:
    return {call["_meta"]["awf"]["step"]: call["status"] for call in desk.editor.calls.values()}


def last_plan(desk) -> list[tuple[str, str]]:
    entries = desk.editor.updates("plan")[-1]["entries"]
    return [(entry["content"], entry["status"]) for entry in entries]


async def test_a_run_shows_its_plan_its_steps_and_its_answer(desk):
    states = {"one": a_command("echo first"), "two": a_command("echo second")}
    written = a_workflow(states, outputs={"word": "{{ states.two.output }}"})
    desk.write("it", written)
    session = await desk.new()
    reply = await desk.say(session, "/it")
    assert reply.stop == "end_turn"
    (run,) = desk.runs()
    assert reply.meta["runId"] == run.id
    assert (reply.meta["status"], reply.meta["outputs"]) == ("completed", {"word": "second"})
    assert [status for _, status in last_plan(desk)] == ["completed"] * len(last_plan(desk))
    assert len(desk.editor.calls) == 2
    assert desk.editor.unfinished == []
    assert "second" in desk.editor.text
    assert run.id in desk.editor.text


async def test_every_step_has_begun_before_it_changes(desk):
    desk.write("it", a_workflow({"one": a_command("echo first"), "two": a_command("echo second")}))
    session = await desk.new()
    await desk.say(session, "/it")
    begun: set[str] = set()
    for _, update in desk.editor.shown:
        if update["sessionUpdate"] == "tool_call":
            assert update["toolCallId"] not in begun
            begun.add(update["toolCallId"])
        if update["sessionUpdate"] == "tool_call_update":
            assert update["toolCallId"] in begun


async def test_messages_are_one_blank_line_apart(desk):
    states = {"one": an_agent({"say": "First."}), "two": an_agent({"say": "Second."})}
    desk.write("it", a_workflow(states))
    session = await desk.new()
    await desk.say(session, "/it")
    text = desk.editor.text
    assert "Second.\n\n✓" in text
    assert "\n\n\n" not in text


async def test_a_failing_workflow_ends_its_turn_and_says_why(desk):
    desk.write("it", a_workflow({"build": a_command("echo it broke >&2; exit 3")}))
    session = await desk.new()
    reply = await desk.say(session, "/it")
    assert (reply.stop, reply.meta["status"]) == ("end_turn", "failed")
    assert reply.meta["error"]["code"].startswith("EXECUTION.")
    assert reply.meta["exitStatus"] == 3
    (call,) = desk.editor.calls.values()
    assert call["status"] == "failed"
    assert "it broke" in desk.editor.text
    desk.write("it", a_workflow({"build": a_command("echo fine")}))
    assert (await desk.say(session, "/it")).meta["status"] == "completed"


async def test_a_broken_file_is_told_with_its_place_and_the_others_still_work(desk):
    desk.write("broken", "name: broken\nstates:\n  initial: one\n  one: {type: stp, command: echo}\n")
    desk.write("unreadable", "name: [\n")
    desk.write("fine", a_workflow({"one": a_command("echo fine")}))
    session = await desk.new()
    await desk.say(session, "/broken")
    assert "broken.yaml:4:" in desk.editor.text
    desk.editor.forget()
    assert (await desk.say(session, "/unreadable")).stop == "refusal"
    assert "unreadable.yaml:" in desk.editor.text
    assert (await desk.say(session, "/fine")).meta["status"] == "completed"
    desk.editor.forget()
    assert (await desk.say(session, "/workflows")).stop == "end_turn"
    assert "`/fine`" in desk.editor.text
    assert "**unreadable**" in desk.editor.text
    assert "unreadable.yaml:" in desk.editor.text


async def test_status_tells_of_the_last_run(desk):
    desk.write("it", a_workflow({"one": a_command("echo first"), "two": a_command("false")}))
    session = await desk.new()
    await desk.say(session, "/status")
    assert "Nothing has run" in desk.editor.text
    await desk.say(session, "/it")
    desk.editor.forget()
    assert (await desk.say(session, "/status")).stop == "end_turn"
    (run,) = desk.runs()
    assert run.id in desk.editor.text
    assert "- one: success" in desk.editor.text
    assert "- two: failed" in desk.editor.text


async def test_an_unknown_command_is_refused_with_what_was_meant(desk):
    desk.write("deploy", a_workflow({"one": a_command("true")}))
    session = await desk.new()
    reply = await desk.say(session, "/depoly now")
    assert reply.stop == "refusal"
    assert "Did you mean /deploy?" in desk.editor.text
    (call,) = desk.editor.calls.values()
    assert call["status"] == "completed"
    assert "Did you mean" in call["rawOutput"]["message"]
    kinds = [update["sessionUpdate"] for _, update in desk.editor.shown]
    assert kinds.index("agent_message_chunk") < kinds.index("tool_call")
    assert desk.runs() == []


async def test_two_refusals_in_one_session_are_two_calls(desk):
    desk.write("deploy", a_workflow({"one": a_command("true")}))
    session = await desk.new()
    await desk.say(session, "/depoly")
    await desk.say(session, "/depoly")
    assert len(desk.editor.updates("tool_call")) == len(desk.editor.calls) == 2


async def test_a_plain_message_without_a_chosen_workflow_is_answered_with_what_to_type(desk):
    desk.write("deploy", a_workflow({"one": a_command("true")}, description="Ship it"))
    session = await desk.new()
    reply = await desk.say(session, "hello there")
    assert reply.stop == "end_turn"
    assert "`/deploy` — Ship it" in desk.editor.text
    assert desk.runs() == []


async def test_an_empty_message_does_nothing(desk):
    session = await desk.new()
    assert (await desk.say(session, "  \n")).stop == "end_turn"
    assert "empty" in desk.editor.text
    assert (await desk.say(session, [])).stop == "end_turn"


async def test_a_plain_message_goes_to_the_chosen_workflow(desk):
    written = a_workflow(
        {"one": a_command("echo got {{ inputs.task | shellquote }}")},
        inputs=[{"name": "task", "type": "string", "required": True}],
    )
    desk.write("echo", written)
    session = await desk.new()
    desk.service.set_option(session, "workflow", "echo")
    reply = await desk.say(session, "fix the login, please")
    assert reply.meta["status"] == "completed"
    assert "got fix the login, please" in str(desk.editor.calls)
    desk.service.set_option(session, "workflow", "none")
    await desk.say(session, "and again")
    assert len(desk.runs()) == 1


async def test_a_chosen_workflow_that_has_gone_is_told(desk):
    file = desk.write("echo", a_workflow({"one": a_command("true")}))
    desk.write("echos", a_workflow({"one": a_command("true")}))
    session = await desk.new()
    desk.service.set_option(session, "workflow", "echo")
    file.unlink()
    assert (await desk.say(session, "go")).stop == "refusal"
    assert "Did you mean /echos?" in desk.editor.text


async def test_a_chosen_workflow_that_is_broken_is_told_with_its_mistake(desk):
    desk.write("echo", a_workflow({"one": a_command("true")}))
    session = await desk.new()
    desk.service.set_option(session, "workflow", "echo")
    desk.write("echo", "name: [\n")
    assert (await desk.say(session, "go")).stop == "refusal"
    assert "echo.yaml:" in desk.editor.text


async def test_a_broken_workflow_in_a_folder_is_told_with_its_mistake(desk):
    desk.write(".awf/workflows/team/build.yaml", "name: [\n")
    session = await desk.new()
    assert (await desk.say(session, "/team:build")).stop == "refusal"
    assert "build.yaml:" in desk.editor.text


async def test_nothing_is_shown_after_the_answer(desk):
    """Not even late output of a step, the commands aside, which tell of the session."""
    desk.write("it", a_workflow({"one": a_command("for i in 1 2 3 4 5; do echo $i; done")}))
    session = await desk.new()
    await desk.editor.until(lambda editor: editor.commands)
    await desk.say(session, "/it")
    shown = len(desk.editor.shown)
    await desk.close()
    after = {update["sessionUpdate"] for _, update in desk.editor.shown[shown:]}
    assert after <= {"available_commands_update"}


async def test_a_second_prompt_during_a_turn_is_refused_and_harms_nothing(desk):
    desk.write("it", a_workflow({"one": a_command("read line < gate; echo $line")}))
    os.mkfifo(desk.folder / "gate")
    session = await desk.new()
    first = desk.begin(session, "/it")
    await desk.editor.until(lambda editor: editor.unfinished)
    with pytest.raises(AwfError) as refused:
        desk.service.prompt(session, [text_block("/it")])
    assert refused.value.code == "USER.ACP.PROMPT_IN_FLIGHT"
    other = await desk.new()
    assert (await desk.say(other, "/workflows")).stop == "end_turn"
    (desk.folder / "gate").write_text("through\n")
    assert (await first).meta["status"] == "completed"
    assert len(desk.runs()) == 1


async def test_two_sessions_run_beside_each_other(desk):
    os.mkfifo(desk.folder / "gate")
    desk.write("wait", a_workflow({"one": a_command("cat gate")}))
    desk.write("send", a_workflow({"one": a_command("echo hello > gate")}))
    first, second = await desk.new(), await desk.new()
    waiting = desk.begin(first, "/wait")
    assert (await desk.say(second, "/send")).meta["status"] == "completed"
    assert (await waiting).meta["status"] == "completed"
    runs = {turn.run_id for one in (first, second) for turn in desk.record(one).turns}
    assert len(runs) == 2


async def test_the_title_is_the_first_prompt(desk):
    desk.write("it", a_workflow({"one": a_command("true")}))
    session = await desk.new()
    await desk.say(session, "/it")
    await desk.say(session, "/status")
    assert {update["title"] for update in desk.editor.updates("session_info_update")} == {"/it"}
    assert desk.record(session).title == "/it"


async def test_a_missing_variable_is_told(desk):
    desk.write("it", a_workflow({"one": a_command("true")}, env=["DEPLOY_HOST"]))
    session = await desk.new()
    reply = await desk.say(session, "/it")
    assert (reply.stop, reply.meta["error"]["code"]) == ("end_turn", "USER.INPUT.MISSING_ENV")
    assert "DEPLOY_HOST" in desk.editor.text


async def test_half_a_character_does_not_stop_a_run(desk):
    """JSON can carry lone surrogates, and editors that cut texts send them."""
    inputs = [{"name": "task", "type": "string", "required": True}]
    desk.write("echo", a_workflow({"one": a_command("echo {{ inputs.task | shellquote }}")}, inputs=inputs))
    desk.write("talk", a_workflow({"talk": a_conversation("Hello.", "Again.")}))
    session = await desk.new()
    assert (await desk.say(session, "/echo a\ud83d\ude00b\ud800c")).meta["status"] == "completed"
    assert "a\U0001f600b\ufffdc" in str(desk.editor.calls)
    await desk.say(session, "/talk")
    assert (await desk.say(session, "\udc00")).meta["status"] == "waiting"


async def test_a_store_that_cannot_be_used_is_told_and_the_session_goes_on(desk):
    desk.write("it", a_workflow({"one": a_command("true")}))
    desk.storage.write_text("")
    session = await desk.new()
    reply = await desk.say(session, "/it")
    assert (reply.stop, reply.meta["error"]["code"]) == ("end_turn", "SYSTEM.STORE.UNAVAILABLE")
    desk.storage.unlink()
    assert (await desk.say(session, "/it")).meta["status"] == "completed"


async def test_a_workflow_in_a_folder_is_called_with_a_colon(desk):
    desk.write(".awf/workflows/team/build.yaml", a_workflow({"one": a_command("echo built")}))
    session = await desk.new()
    assert (await desk.say(session, "/team:build")).meta["status"] == "completed"


async def test_an_editor_that_does_not_read_is_spared_an_agents_text_and_told_so(desk):
    states = {"say": an_agent("x" * 500), "end": a_command("echo the end")}
    desk.write("it", a_workflow(states))
    session = await desk.new()
    desk.editor.behind = 100_000_000
    reply = await desk.say(session, "/it")
    assert reply.stop == "end_turn"
    assert "xxxx" not in desk.editor.text
    assert "500 characters were left out" in desk.editor.text
    assert any("the end" in str(call.get("content")) for call in desk.editor.calls.values())
