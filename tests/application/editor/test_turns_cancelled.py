"""Stopping a turn: always answered, nothing left open, nothing left running, and the run can be gone on with."""

from __future__ import annotations

import asyncio
import contextlib
import random

import psutil
import pytest

from awf.domain.editor import FormAnswer
from awf.domain.errors import AwfError
from awf.testing.descendants import processes_below
from awf.testing.editor_desk import a_command, a_conversation, a_workflow, an_agent, text_block

PATIENCE = 60.0


async def stopped(desk, session, prompt, moment):
    """The reply to a prompt that is cancelled at a moment."""
    async with asyncio.timeout(PATIENCE):
        turn = desk.begin(session, prompt)
        await desk.editor.until(moment)
        desk.service.cancel(session)
        return await turn


def commands_at_work() -> list[str]:
    """Without the guard, which ends the others if this process is killed."""
    found = []
    for child in processes_below():
        with contextlib.suppress(psutil.Error):  # it has just gone
            found.append(" ".join(child.cmdline()))
    return [line for line in found if "awf-guard" not in line]


def assert_all_is_quiet(desk):
    assert desk.editor.unfinished == []
    assert commands_at_work() == []
    assert [run.status for run in desk.runs() if run.status in {"running", "waiting"}] == []


async def test_a_step_is_stopped_and_its_run_can_be_gone_on_with(desk):
    desk.write("it", a_workflow({"one": a_command("test -e go || exec sleep 600"), "two": a_command("echo")}))
    session = await desk.new()
    reply = await stopped(desk, session, "/it", lambda editor: editor.unfinished)
    assert (reply.stop, reply.meta["status"]) == ("cancelled", "cancelled")
    assert_all_is_quiet(desk)
    (call,) = desk.editor.calls.values()
    assert call["status"] == "failed"
    assert call["_meta"]["awf"]["cancelled"] is True
    (run,) = desk.runs()
    assert (run.id, run.status) == (reply.meta["runId"], "cancelled")
    desk.write("./go", "")
    app = desk.app()
    try:
        prepared = await app.execution.resume(run.id, app.run_services(app.nobody()))
        assert (await prepared.execute(lambda stamped: None)).status == "completed"
    finally:
        await app.close()


@pytest.mark.parametrize("process", [False, True])
async def test_an_agent_is_stopped(desk, process):
    desk.write(
        "it", a_workflow({"one": an_agent({"say": "Wait"}, {"wait": "10m"}, options={"process": process})})
    )
    session = await desk.new()
    reply = await stopped(desk, session, "/it", lambda editor: "Wait" in editor.text)
    assert reply.stop == "cancelled"
    assert_all_is_quiet(desk)


async def test_a_turn_that_waits_for_an_approval_is_stopped_and_the_question_withdrawn(desk):
    desk.write("it", a_workflow({"one": a_command("touch made", approval={"message": "Sure?"})}))
    session = await desk.new()
    reply = await stopped(desk, session, "/it", lambda editor: editor.open)
    assert reply.stop == "cancelled"
    assert desk.editor.withdrawn == 1
    assert not (desk.folder / "made").exists()
    assert_all_is_quiet(desk)


async def test_a_turn_that_waits_for_a_form_is_stopped_before_a_run_is_made(desk):
    inputs = [{"name": "env", "type": "string", "required": True}]
    desk.write("it", a_workflow({"one": a_command("true")}, inputs=inputs))
    desk.open(forms=True)

    async def never(schema) -> FormAnswer:
        await asyncio.Event().wait()
        raise AssertionError

    desk.editor.fill = never
    session = await desk.new()
    reply = await stopped(desk, session, "/it", lambda editor: editor.forms)
    assert reply.stop == "cancelled"
    assert desk.runs() == []


async def test_a_turn_is_stopped_before_it_has_done_anything(desk):
    desk.write("it", a_workflow({"one": a_command("touch made")}))
    session = await desk.new()
    turn = desk.begin(session, "/it")
    desk.service.cancel(session)
    assert (await turn).stop == "cancelled"
    assert not (desk.folder / "made").exists()
    assert desk.runs() == []
    assert (await desk.say(session, "/it")).meta["status"] == "completed"


@pytest.mark.parametrize("turns_of_the_loop", range(1, 16))
async def test_a_turn_is_stopped_while_it_gets_ready(desk, turns_of_the_loop):
    desk.write("it", a_workflow({"one": a_command("sleep 600")}))
    session = await desk.new()
    turn = desk.begin(session, "/it")
    for _ in range(turns_of_the_loop):
        await asyncio.sleep(0)
    desk.service.cancel(session)
    assert (await turn).stop == "cancelled"
    assert_all_is_quiet(desk)


async def test_a_turn_is_stopped_at_any_moment(desk):
    states = {
        "one": a_command("echo first"),
        "two": an_agent({"say": "Some words."}, {"wait": "20ms"}, options={"delay": "5ms"}),
        "three": a_command("echo third; sleep 0.05"),
        "four": a_conversation("Hello."),
    }
    desk.write("it", a_workflow(states))
    dice = random.Random(5)
    session = await desk.new()
    for _ in range(30):
        turn = desk.begin(session, "/it")
        await asyncio.sleep(dice.uniform(0, 0.2))
        was_over = turn.done()
        desk.service.cancel(session)
        async with asyncio.timeout(PATIENCE):
            reply = await turn
        assert reply.stop == "cancelled" or was_over
        if was_over and reply.meta["status"] == "waiting":
            await desk.say(session, "/end")
        assert desk.editor.unfinished == []
    assert_all_is_quiet(desk)
    assert {run.status for run in desk.runs()} <= {"cancelled", "completed"}


async def test_between_turns_there_is_nothing_to_stop(desk):
    desk.write("it", a_workflow({"one": a_command("echo fine")}))
    session = await desk.new()
    desk.service.cancel(session)
    desk.service.cancel("never-heard-of")
    assert (await desk.say(session, "/it")).meta["status"] == "completed"
    desk.service.cancel(session)
    assert (await desk.say(session, "/it")).meta["status"] == "completed"


async def test_a_conversation_that_waits_is_not_stopped(desk):
    desk.write("talk", a_workflow({"talk": a_conversation("Hello.", "Again.")}))
    session = await desk.new()
    await desk.say(session, "/talk")
    desk.service.cancel(session)
    reply = await desk.say(session, "and?")
    assert (reply.stop, reply.meta["status"]) == ("end_turn", "waiting")
    assert "Again." in desk.editor.text


async def test_stopping_twice_is_stopping_once(desk):
    desk.write("it", a_workflow({"one": a_command("sleep 600")}))
    session = await desk.new()
    turn = desk.begin(session, "/it")
    await desk.editor.until(lambda editor: editor.unfinished)
    desk.service.cancel(session)
    desk.service.cancel(session)
    await asyncio.sleep(0)
    desk.service.cancel(session)
    assert (await turn).stop == "cancelled"
    assert_all_is_quiet(desk)
    assert [run.status for run in desk.runs()] == ["cancelled"]


async def test_a_prompt_right_after_a_stop_waits_and_then_runs(desk):
    desk.write("slow", a_workflow({"one": a_command("sleep 600")}))
    desk.write("it", a_workflow({"one": a_command("echo fine")}))
    session = await desk.new()
    first = desk.begin(session, "/slow")
    await desk.editor.until(lambda editor: editor.unfinished)
    desk.service.cancel(session)
    second = desk.begin(session, "/it")
    assert not first.done()
    with pytest.raises(AwfError) as refused:
        desk.service.prompt(session, [text_block("/it")])
    assert refused.value.code == "USER.ACP.PROMPT_IN_FLIGHT"
    assert (await first).stop == "cancelled"
    assert (await second).meta["status"] == "completed"
    assert [turn.prompt for turn in desk.record(session).turns] == ["/slow", "/it"]


async def test_what_is_said_after_a_stop_has_ids_of_its_own(desk):
    desk.write("slow", a_workflow({"one": a_command("sleep 600")}))
    session = await desk.new()
    await desk.say(session, "/nothing")
    first = desk.begin(session, "/slow")
    await desk.editor.until(lambda editor: editor.unfinished)
    desk.service.cancel(session)
    second = desk.begin(session, "/nothing")
    await first
    assert (await second).stop == "refusal"
    third = desk.begin(session, "/nothing")
    assert (await third).stop == "refusal"
    begun = [update["toolCallId"] for update in desk.editor.updates("tool_call")]
    assert len(begun) == len(set(begun)) == 4


async def test_a_waiting_prompt_is_stopped_too_and_the_one_after_it_still_waits(desk):
    """The first command does not listen to SIGTERM; what comes after must not meet it."""
    stubborn = "trap '' TERM; touch begun; while :; do sleep 0.1; done"
    desk.write("slow", a_workflow({"one": a_command(stubborn)}))
    desk.write("it", a_workflow({"one": a_command("echo fine")}))
    session = await desk.new()
    first = desk.begin(session, "/slow")
    while not (desk.folder / "begun").exists():
        await asyncio.sleep(0.01)
    desk.service.cancel(session)
    second = desk.begin(session, "/it")
    await asyncio.sleep(0)
    desk.service.cancel(session)
    assert (await second).stop == "cancelled"
    third = desk.begin(session, "/it")
    done, _ = await asyncio.wait({first, third}, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
    assert done == {first}
    assert first.result().stop == "cancelled"
    assert (await third).meta["status"] == "completed"
    assert_all_is_quiet(desk)


async def test_a_command_that_ignores_the_stop_does_not_keep_the_editor_waiting(desk, monkeypatch):
    """The turn is answered when its patience ends; the next prompt waits until the command has really gone."""
    monkeypatch.setattr("awf.application.editor.turn._PATIENCE", 0.1)
    stubborn = "trap '' TERM; echo $$ > begun; while :; do sleep 0.1; done"
    desk.write("slow", a_workflow({"one": a_command(stubborn)}))
    desk.write("it", a_workflow({"one": a_command("kill -0 $(cat begun) && echo alive || echo gone")}))
    session = await desk.new()
    turn = desk.begin(session, "/slow")
    while not (desk.folder / "begun").exists():
        await asyncio.sleep(0.01)
    desk.service.cancel(session)
    reply = await turn
    assert (reply.stop, reply.meta["status"]) == ("cancelled", "cancelled")
    assert commands_at_work() != []
    assert desk.editor.unfinished == []
    (call,) = desk.editor.calls.values()
    assert (call["status"], call["_meta"]["awf"]["cancelled"]) == ("failed", True)
    desk.editor.forget()
    assert (await desk.say(session, "/it")).meta["status"] == "completed"
    assert "gone" in str(desk.editor.calls)
    assert "Cancelled" not in str(desk.editor.shown), "what wound down is not told any more"
    assert_all_is_quiet(desk)


async def test_whoever_stops_waiting_for_the_reply_stops_the_turn(desk):
    desk.write("it", a_workflow({"one": a_command("sleep 600")}))
    session = await desk.new()
    turn = desk.begin(session, "/it")
    await desk.editor.until(lambda editor: editor.unfinished)
    turn.cancel()
    assert (await turn).stop == "cancelled"
    assert_all_is_quiet(desk)


async def test_a_run_that_is_stopped_from_elsewhere_ends_its_turn(desk):
    """`awf cancel` in a terminal."""
    from awf.domain.ports.durability import Message

    desk.write("it", a_workflow({"one": a_command("sleep 600")}))
    session = await desk.new()
    turn = desk.begin(session, "/it")
    await desk.editor.until(lambda editor: editor.unfinished)
    (run,) = desk.runs()
    app = desk.app()
    app.store.cancel(run.id, Message({"reason": "not now"}, "me"))
    app.database.close()
    async with asyncio.timeout(PATIENCE):
        reply = await turn
    assert (reply.stop, reply.meta["status"]) == ("end_turn", "cancelled")
    assert_all_is_quiet(desk)
