"""A conversation waits between turns, also while no process of ours is there."""

from __future__ import annotations

import asyncio
import os

from awf.domain.ports.durability import Message
from awf.domain.ports.run_store import RunFilter
from awf.testing.editor_desk import a_command, a_conversation, a_workflow, an_agent

PATIENCE = 60.0


async def test_a_conversation_waits_for_the_next_prompt_and_goes_on_in_the_same_run(desk):
    turns = ["Who are you?", {"match": "Ada", "do": "Hello Ada."}]
    desk.write("talk", a_workflow({"talk": a_conversation(*turns), "after": a_command("echo over")}))
    session = await desk.new()
    reply = await desk.say(session, "/talk")
    assert (reply.stop, reply.meta["status"]) == ("end_turn", "waiting")
    assert "Who are you?" in desk.editor.text
    assert desk.editor.unfinished == []
    assert desk.record(session).parked == reply.meta["runId"]
    assert "end" in desk.editor.commands
    desk.editor.forget()
    again = await desk.say(session, "I am Ada")
    assert (again.meta["status"], again.meta["runId"]) == ("waiting", reply.meta["runId"])
    assert "Hello Ada." in desk.editor.text
    assert "Who are you?" not in desk.editor.text
    desk.editor.forget()
    last = await desk.say(session, "/end")
    assert (last.stop, last.meta["status"]) == ("end_turn", "completed")
    assert "after" in str(desk.editor.calls)
    assert desk.record(session).parked == ""
    assert "end" not in desk.editor.commands
    assert len(desk.runs()) == 1


async def test_an_empty_prompt_ends_it(desk):
    desk.write("talk", a_workflow({"talk": a_conversation("Hello.")}))
    session = await desk.new()
    await desk.say(session, "/talk")
    assert (await desk.say(session, "")).meta["status"] == "completed"


async def test_end_with_more_words_ends_it_as_well(desk):
    desk.write("talk", a_workflow({"talk": a_conversation("Hello.")}))
    session = await desk.new()
    await desk.say(session, "/talk")
    assert (await desk.say(session, "/end and thank you")).meta["status"] == "completed"


async def test_without_a_conversation_there_is_nothing_to_end(desk):
    session = await desk.new()
    assert (await desk.say(session, "/end")).stop == "end_turn"
    assert "nothing to end" in desk.editor.text


async def test_a_conversation_of_five_turns(desk):
    turns = [{"do": f"Answer {number}."} for number in range(1, 6)]
    desk.write("talk", a_workflow({"talk": a_conversation(*turns)}))
    session = await desk.new()
    said = ["/talk", "two", "three", "four", "five"]
    for number, line in enumerate(said, 1):
        desk.editor.forget()
        assert (await desk.say(session, line)).meta["status"] == "waiting"
        assert f"Answer {number}." in desk.editor.text
    assert (await desk.say(session, "/end")).meta["status"] == "completed"
    assert len(desk.runs()) == 1
    begun = [update["toolCallId"] for update in desk.editor.updates("tool_call")]
    assert len(begun) == len(set(begun))


async def test_it_goes_on_after_a_restart_with_what_the_agent_knew(desk):
    turns = [{"do": f"Answer {number}."} for number in range(1, 5)]
    desk.write("talk", a_workflow({"talk": a_conversation(*turns)}))
    session = await desk.new()
    first = await desk.say(session, "/talk")
    await desk.say(session, "more")
    seen = set(desk.editor.calls)
    for number, opened in ((3, desk.load), (4, desk.resume)):
        await desk.restart()
        assert [run.status for run in desk.runs()] == ["interrupted"]
        await opened(session)
        desk.editor.forget()
        reply = await desk.say(session, "more")
        assert (reply.meta["status"], reply.meta["runId"]) == ("waiting", first.meta["runId"])
        assert f"Answer {number}." in desk.editor.text
        assert desk.editor.unfinished == []
        assert not seen & set(desk.editor.calls), "an id is used once in a session"
        seen |= set(desk.editor.calls)
    await desk.restart()
    await desk.resume(session)
    assert (await desk.say(session, "/end")).meta["status"] == "completed"
    assert len(desk.runs()) == 1


async def test_one_that_was_cancelled_elsewhere_meanwhile_is_told(desk):
    desk.write("talk", a_workflow({"talk": a_conversation("Hello.")}))
    session = await desk.new()
    reply = await desk.say(session, "/talk")
    await desk.restart()
    app = desk.app()
    app.store.cancel(reply.meta["runId"], Message({"reason": "not now"}, "me"))
    app.database.close()
    await desk.load(session)
    desk.editor.forget()
    told = await desk.say(session, "still there?")
    assert told.stop == "end_turn"
    assert "cancelled elsewhere" in desk.editor.text
    assert desk.record(session).parked == ""
    assert (await desk.say(session, "/talk")).meta["status"] == "waiting"
    assert len(desk.runs()) == 2


async def test_one_that_was_finished_elsewhere_meanwhile_is_told(desk):
    desk.write("talk", a_workflow({"talk": a_conversation("Hello.")}))
    session = await desk.new()
    reply = await desk.say(session, "/talk")
    await desk.close()
    app = desk.app()
    (question,) = app.store.questions(reply.meta["runId"])
    app.store.tell(reply.meta["runId"], question.topic, Message({"text": "/end"}, "me"))
    prepared = await app.execution.resume(reply.meta["runId"], app.run_services(app.nobody()))
    assert (await prepared.execute(lambda stamped: None)).status == "completed"
    await app.close()
    desk.open()
    await desk.resume(session)
    assert (await desk.say(session, "still there?")).stop == "end_turn"
    assert "completed elsewhere" in desk.editor.text
    assert desk.record(session).parked == ""


async def test_one_that_another_process_has_open_is_left_alone(desk):
    desk.write("talk", a_workflow({"talk": a_conversation("Hello.", "Again.")}))
    session = await desk.new()
    await desk.say(session, "/talk")
    first = desk.editor
    desk.open()
    await desk.resume(session)
    reply = await desk.say(session, "more")
    assert (reply.stop, reply.meta["error"]["code"]) == ("end_turn", "USER.ACP.RUN_ELSEWHERE")
    assert "USER.ACP.RUN_ELSEWHERE" in desk.editor.text
    assert desk.record(session).parked != "", "once it is free it can be gone on with"
    assert first is not desk.editor


async def test_one_whose_folder_is_another_is_kept_for_later(desk):
    desk.write("talk", a_workflow({"talk": a_conversation("Hello.", "Again.")}))
    session = await desk.new()
    await desk.say(session, "/talk")
    (desk.folder / "other").mkdir()
    await desk.restart()
    await desk.service.resume(session, str(desk.folder / "other"), [])
    reply = await desk.say(session, "more")
    assert reply.meta["error"]["code"] == "USER.ACP.MISSING_FOLDER"
    await desk.restart()
    await desk.resume(session)
    assert (await desk.say(session, "more")).meta["status"] == "waiting"


async def test_one_whose_record_is_gone_is_told(desk):
    desk.write("talk", a_workflow({"talk": a_conversation("Hello.")}))
    session = await desk.new()
    await desk.say(session, "/talk")
    await desk.close()
    for file in desk.storage.glob("*.db*"):
        file.unlink()
    desk.open()
    await desk.load(session)
    assert "is gone" in desk.editor.text
    reply = await desk.say(session, "more")
    assert reply.stop == "end_turn"
    assert reply.meta["error"]["code"] == "USER.RUN.NOT_FOUND"
    assert (await desk.say(session, "/talk")).meta["status"] == "waiting"


async def test_a_line_said_elsewhere_comes_with_the_next_turn(desk):
    """`awf approve --text` in a terminal; between turns nothing is shown."""
    desk.write("talk", a_workflow({"talk": a_conversation("Hello.", "From there.", "From here.")}))
    session = await desk.new()
    reply = await desk.say(session, "/talk")
    desk.editor.forget()
    app = desk.app()
    (question,) = app.store.questions(reply.meta["runId"])
    app.store.tell(reply.meta["runId"], question.topic, Message({"text": "hi"}, "me"))
    async with asyncio.timeout(PATIENCE):
        while len(app.store.steps(reply.meta["runId"])) < 2:
            await asyncio.sleep(0.01)
    app.database.close()
    assert desk.editor.text == ""
    again = await desk.say(session, "and now?")
    assert again.meta["status"] == "waiting"
    assert desk.editor.text.index("From there.") < desk.editor.text.index("From here.")


async def test_one_that_was_ended_from_elsewhere_between_turns_is_told(desk):
    desk.write("talk", a_workflow({"talk": a_conversation("Hello."), "after": a_command("echo over")}))
    session = await desk.new()
    reply = await desk.say(session, "/talk")
    desk.editor.forget()
    app = desk.app()
    (question,) = app.store.questions(reply.meta["runId"])
    app.store.tell(reply.meta["runId"], question.topic, Message({"text": "/end"}, "me"))
    app.database.close()
    async with asyncio.timeout(PATIENCE):
        await desk.service._session(session).live.wound_down()
    told = await desk.say(session, "are you there?")
    assert told.stop == "end_turn"
    assert "\n\nThe run has ended" in desk.editor.text
    assert "after" in str(desk.editor.calls)
    assert desk.editor.unfinished == []
    assert desk.record(session).parked == ""


async def test_beside_a_branch_that_works_the_turn_goes_on_until_that_is_done(desk):
    os.mkfifo(desk.folder / "gate")
    fan = {"type": "parallel", "parallel": ["talk", "work"]}
    states = {
        "fan": {**fan, "on_success": "done"},
        "talk": a_conversation("Hello.", "Again."),
        "work": a_command("cat gate"),
    }
    written = a_workflow(states)
    for name in ("talk", "work"):
        del written["states"][name]["on_success"]
    desk.write("both", written)
    session = await desk.new()
    turn = desk.begin(session, "/both")
    await desk.editor.until(lambda editor: "Hello." in editor.text)
    await asyncio.sleep(0.1)
    assert not turn.done()
    (desk.folder / "gate").write_text("from the branch\n")
    async with asyncio.timeout(PATIENCE):
        reply = await turn
    assert reply.meta["status"] == "waiting"
    assert "from the branch" in str(desk.editor.calls)
    assert desk.editor.unfinished == []
    assert (await desk.say(session, "go on")).meta["status"] == "waiting"
    assert (await desk.say(session, "/end")).meta["status"] == "completed"


async def test_two_conversations_at_once_get_the_prompts_in_turn(desk):
    fan = {"type": "parallel", "parallel": ["left", "right"]}
    states = {
        "fan": {**fan, "on_success": "done"},
        "left": a_conversation("Left 1.", "Left 2."),
        "right": a_conversation("Right 1.", "Right 2."),
    }
    written = a_workflow(states)
    for name in ("left", "right"):
        del written["states"][name]["on_success"]
    desk.write("both", written)
    session = await desk.new()
    assert (await desk.say(session, "/both")).meta["status"] == "waiting"
    assert "Left 1." in desk.editor.text
    assert "Right 1." in desk.editor.text
    desk.editor.forget()
    assert (await desk.say(session, "one")).meta["status"] == "waiting"
    assert ("Left 2." in desk.editor.text) != ("Right 2." in desk.editor.text)
    assert (await desk.say(session, "two")).meta["status"] == "waiting"
    assert "Left 2." in desk.editor.text
    assert "Right 2." in desk.editor.text
    assert (await desk.say(session, "/end")).meta["status"] == "waiting"
    assert (await desk.say(session, "/end")).meta["status"] == "completed"


async def test_two_conversations_at_once_go_on_after_a_restart(desk):
    fan = {"type": "parallel", "parallel": ["left", "right"]}
    states = {
        "fan": {**fan, "on_success": "done"},
        "left": a_conversation("Left 1.", "Left 2."),
        "right": a_conversation("Right 1.", "Right 2."),
    }
    written = a_workflow(states)
    for name in ("left", "right"):
        del written["states"][name]["on_success"]
    desk.write("both", written)
    session = await desk.new()
    await desk.say(session, "/both")
    await desk.restart()
    await desk.resume(session)
    assert (await desk.say(session, "one")).meta["status"] == "waiting"
    assert desk.editor.unfinished == []
    await desk.restart()
    await desk.resume(session)
    for line, status in (("/end", "waiting"), ("/end", "completed")):
        assert (await desk.say(session, line)).meta["status"] == status
    assert len(desk.runs()) == 1


async def test_a_conversation_in_a_called_workflow_waits_and_goes_on_after_a_restart(desk):
    desk.write("inner", a_workflow({"talk": a_conversation("Hello.", "Again.")}))
    desk.write("outer", a_workflow({"call": {"type": "call_workflow", "workflow": "inner"}}))
    session = await desk.new()
    assert (await desk.say(session, "/outer")).meta["status"] == "waiting"
    assert desk.editor.unfinished == []
    await desk.restart()
    await desk.load(session)
    assert desk.editor.unfinished == []
    assert (await desk.say(session, "more")).meta["status"] == "waiting"
    assert "Again." in desk.editor.text
    assert (await desk.say(session, "/end")).meta["status"] == "completed"
    assert desk.editor.unfinished == []


async def test_lines_from_elsewhere_at_any_moment_lose_no_turn(desk):
    """Each comes while the turn is about to end because a line is waited for."""
    desk.write("talk", a_workflow({"talk": a_conversation({"do": "Hello."}, *[{"do": "Again."}] * 60)}))
    session = await desk.new()
    app = desk.app()
    prompt = "/talk"
    for number in range(20):
        turn = desk.begin(session, prompt)
        await asyncio.sleep(number * 0.002)
        for run in app.store.runs(RunFilter(limit=1)):
            for question in app.store.questions(run.id):
                app.store.tell(run.id, question.topic, Message({"text": "from there"}, "me"))
        async with asyncio.timeout(PATIENCE):
            assert (await turn).meta["status"] == "waiting"
        prompt = "from here"
    assert desk.editor.unfinished == []
    app.database.close()
    async with asyncio.timeout(PATIENCE):
        while (await desk.say(session, "/end")).meta.get("status") == "waiting":
            pass
    assert [run.status for run in desk.runs()] == ["completed"]


async def test_a_line_from_elsewhere_at_the_very_moment_when_the_turn_would_end(desk):
    desk.write("talk", a_workflow({"talk": a_conversation("Hello.", "Again.")}))
    session = await desk.new()
    turn = desk.begin(session, "/talk")
    await desk.editor.until(lambda editor: editor.unfinished)
    live = desk.service._session(session).live
    while not live._boundary.is_set():
        await asyncio.sleep(0)
    assert not turn.done()
    live.person.answer("from elsewhere")
    async with asyncio.timeout(PATIENCE):
        assert (await turn).meta["status"] == "waiting"
    assert "Again." in desk.editor.text
    assert (await desk.say(session, "/end")).meta["status"] == "completed"


async def test_another_workflow_is_refused_politely_while_one_waits(desk):
    desk.write("talk", a_workflow({"talk": a_conversation("Hello.", "Again.")}))
    desk.write("it", a_workflow({"one": a_command("true")}))
    session = await desk.new()
    await desk.say(session, "/talk")
    desk.editor.forget()
    assert (await desk.say(session, "/it")).stop == "end_turn"
    assert "/end finishes it" in desk.editor.text
    assert (await desk.say(session, "/status")).stop == "end_turn"
    assert "waiting for you" in desk.editor.text
    picture = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    assert (await desk.say(session, [picture])).stop == "refusal"
    assert (await desk.say(session, "go on")).meta["status"] == "waiting"
    assert len(desk.runs()) == 1


async def test_a_word_that_begins_with_a_slash_and_is_no_command_goes_to_the_agent(desk):
    desk.write(
        "talk",
        a_workflow({"talk": a_conversation("Hello.", {"match": "/compact", "do": "Compacted."}, "No.")}),
    )
    session = await desk.new()
    await desk.say(session, "/talk")
    await desk.say(session, "/compact now")
    assert "Compacted." in desk.editor.text


async def test_an_agent_that_fails_in_a_conversation_ends_the_run(desk):
    desk.write("talk", a_workflow({"talk": a_conversation("Hello.", {"do": [{"fail": "out of words"}]})}))
    session = await desk.new()
    await desk.say(session, "/talk")
    reply = await desk.say(session, "more")
    assert (reply.stop, reply.meta["status"]) == ("end_turn", "failed")
    assert "out of words" in desk.editor.text
    assert desk.record(session).parked == ""


async def test_a_conversation_stopped_in_the_middle_of_an_answer_is_over(desk):
    slow = {"do": [{"say": "Well"}, {"wait": "10m"}]}
    desk.write("talk", a_workflow({"talk": a_conversation("Hello.", slow)}))
    session = await desk.new()
    await desk.say(session, "/talk")
    turn = desk.begin(session, "more")
    await desk.editor.until(lambda editor: "Well" in editor.text)
    desk.service.cancel(session)
    assert (await turn).stop == "cancelled"
    assert desk.record(session).parked == ""
    assert [run.status for run in desk.runs()] == ["cancelled"]
    assert "end" not in desk.editor.commands


async def test_an_agent_before_the_conversation_is_not_asked_again_after_a_restart(desk):
    counting = a_command("echo x >> count")
    desk.write(
        "talk",
        a_workflow({"one": counting, "two": an_agent({"say": "Ready."}), "talk": a_conversation("A.", "B.")}),
    )
    session = await desk.new()
    await desk.say(session, "/talk")
    await desk.restart()
    await desk.resume(session)
    await desk.say(session, "more")
    assert (desk.folder / "count").read_text() == "x\n"
    assert "Ready." not in desk.editor.text
