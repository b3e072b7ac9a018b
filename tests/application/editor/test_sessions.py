"""Sessions are on disk from the start: they are found, told again, gone on with, closed and forgotten."""

from __future__ import annotations

import asyncio
import json

import pytest

from awf.domain.errors import AwfError
from awf.domain.ports.durability import Message
from awf.testing.editor_desk import a_command, a_conversation, a_workflow, an_agent, text_block

PATIENCE = 60.0


def told(editor) -> list[tuple[str, str]]:
    """What a person sees in the end: who said what, and how each call ended, in their order."""
    seen: list[tuple[str, str]] = []
    calls = editor.calls
    for _, update in editor.shown:
        kind = update["sessionUpdate"]
        if kind in {"agent_message_chunk", "agent_thought_chunk"}:
            text = update["content"]["text"]
            if seen and seen[-1][0] == kind:
                seen[-1] = (kind, seen[-1][1] + text)
            else:
                seen.append((kind, text))
        elif kind == "tool_call":
            call = calls[update["toolCallId"]]
            seen.append(("call", f"{call['title']}: {call['status']} {json.dumps(call['content'])}"))
    return seen


def last_plan(editor) -> list:
    plans = editor.updates("plan")
    return plans[-1]["entries"] if plans else []


async def compared(desk, session) -> None:
    """The story as it was shown and as it is told by another process are the same."""
    live, plan = told(desk.editor), last_plan(desk.editor)
    calls = {name: call["status"] for name, call in desk.editor.calls.items() if not name.endswith("/check")}
    await desk.restart()
    await desk.load(session)
    assert told(desk.editor) == [one for one in live if "Looked for the workflow" not in one[1]]
    assert last_plan(desk.editor) == plan
    assert {name: call["status"] for name, call in desk.editor.calls.items()} == calls


async def test_a_session_is_on_disk_as_soon_as_it_is_made(desk):
    session = await desk.new()
    (file,) = desk.session_files
    assert file.stem == session
    assert file.stat().st_mode & 0o077 == 0
    await desk.restart()
    settings = await desk.load(session)
    assert settings["modes"]["currentModeId"] == "ask"
    assert desk.editor.shown == []


async def test_a_session_is_told_again_as_it_was(desk):
    desk.write(
        "it",
        a_workflow({"one": a_command("echo first"), "two": an_agent({"think": "Hm."}, {"say": "Well."})}),
    )
    desk.write("bad", a_workflow({"one": a_command("echo oh no >&2; exit 4")}))
    session = await desk.new()
    prompts = ["/it", "/bad", "/workflows", "/it", "/nothing"]
    for prompt in prompts:
        await desk.say(session, prompt)
    await compared(desk, session)
    said = [update["content"]["text"] for update in desk.editor.updates("user_message_chunk")]
    assert said == prompts


async def test_a_conversation_is_told_again_as_it_was(desk):
    desk.write(
        "talk", a_workflow({"talk": a_conversation("One.", "Two.", "Three."), "end": a_command("echo over")})
    )
    session = await desk.new()
    for prompt in ("/talk", "and?", "and then?"):
        await desk.say(session, prompt)
    await compared(desk, session)
    assert "end" not in desk.editor.commands
    before = desk.editor
    await desk.say(session, "/end")
    assert before is desk.editor
    assert told(desk.editor)[-1][1].startswith("✓")


async def test_a_conversation_that_has_ended_is_told_again_as_it_was(desk):
    desk.write("talk", a_workflow({"talk": a_conversation("One.", "Two."), "end": a_command("echo over")}))
    session = await desk.new()
    for prompt in ("/talk", "and?", "/end", "/talk", "/end"):
        await desk.say(session, prompt)
    await compared(desk, session)


async def test_a_turn_that_was_stopped_is_told_again_as_it_was(desk):
    desk.write("it", a_workflow({"one": a_command("echo first; sleep 600")}))
    session = await desk.new()
    turn = desk.begin(session, "/it")
    await desk.editor.until(lambda editor: editor.unfinished)
    desk.service.cancel(session)
    await turn
    await compared(desk, session)


async def test_a_conversation_that_was_cancelled_elsewhere_is_told_again_as_it_was(desk):
    desk.write("talk", a_workflow({"talk": a_conversation("Hello.")}))
    session = await desk.new()
    reply = await desk.say(session, "/talk")
    shown = dict(desk.editor.calls)
    await desk.close()
    app = desk.app()
    app.store.cancel(reply.meta["runId"], Message({"reason": "not now"}, "me"))
    app.database.close()
    desk.open()
    await desk.resume(session)
    await desk.say(session, "still there?")
    await desk.restart()
    await desk.load(session)
    assert {name: call["status"] for name, call in desk.editor.calls.items()} == {
        name: call["status"] for name, call in shown.items()
    }
    assert "cancelled elsewhere" in desk.editor.text


async def test_a_step_that_did_not_stop_in_time_is_told_again_as_it_was(desk, monkeypatch):
    monkeypatch.setattr("awf.application.editor.turn._PATIENCE", 0.1)
    stubborn = "trap '' TERM; touch begun; while :; do sleep 0.1; done"
    desk.write("slow", a_workflow({"one": a_command(stubborn)}))
    session = await desk.new()
    turn = desk.begin(session, "/slow")
    while not (desk.folder / "begun").exists():
        await asyncio.sleep(0.01)
    desk.service.cancel(session)
    assert (await turn).stop == "cancelled"
    await compared(desk, session)


async def test_parallel_steps_and_loops_are_told_again_as_they_were(desk):
    states = {
        "fan": {"type": "parallel", "parallel": ["left", "right"], "on_success": "loop"},
        "left": a_command("echo left"),
        "right": a_command("echo right"),
        "loop": {"type": "for_each", "items": ["a", "b"], "body": ["inner"], "on_success": "done"},
        "inner": a_command("echo {{ loop.item }}"),
    }
    written = a_workflow(states)
    for name in ("left", "right", "inner"):
        del written["states"][name]["on_success"]
    desk.write("it", written)
    session = await desk.new()
    assert (await desk.say(session, "/it")).meta["status"] == "completed"
    await compared(desk, session)


async def test_what_happened_between_two_turns_is_told_again_too(desk):
    desk.write("talk", a_workflow({"talk": a_conversation("Hello.", "From there.", "From here.")}))
    session = await desk.new()
    reply = await desk.say(session, "/talk")
    app = desk.app()
    (question,) = app.store.questions(reply.meta["runId"])
    app.store.tell(reply.meta["runId"], question.topic, Message({"text": "hi"}, "me"))
    async with asyncio.timeout(PATIENCE):
        while (
            len(app.store.steps(reply.meta["runId"])) < 2 or len(app.store.questions(reply.meta["runId"])) < 1
        ):
            await asyncio.sleep(0.01)
    app.database.close()
    await desk.say(session, "and now?")
    await desk.restart()
    await desk.load(session)
    assert desk.editor.text.index("From there.") < desk.editor.text.index("From here.")
    assert desk.editor.unfinished == []


async def test_resuming_tells_nothing_again(desk):
    desk.write("it", a_workflow({"one": a_command("echo first")}))
    session = await desk.new()
    await desk.say(session, "/it")
    await desk.restart()
    settings = await desk.resume(session)
    assert {option["id"] for option in settings["configOptions"]} == {"approvals", "workflow"}
    assert desk.editor.shown == []
    assert (await desk.say(session, "/status")).stop == "end_turn"
    assert "completed" in desk.editor.text


async def test_sessions_are_listed_by_folder_the_latest_first_in_pages(desk):
    (desk.folder / "other").mkdir()
    mine = [await desk.new() for _ in range(60)]
    theirs, _ = await desk.service.new(str(desk.folder / "other"), [])
    page, following = desk.service.listed(None, None)
    assert (len(page), page[0].id) == (50, theirs)
    rest, nothing = desk.service.listed(None, following)
    assert (len(rest), nothing) == (11, None)
    assert {one.id for one in [*page, *rest]} == {theirs, *mine}
    only, _ = desk.service.listed(str(desk.folder / "other"), None)
    assert [one.id for one in only] == [theirs]
    assert desk.service.listed(f"{desk.folder}/other/", None)[0] == only
    assert not desk.service.listed(str(desk.folder / "nowhere"), None)[0]
    assert list(desk.service.listed(None, "100000")[0]) == []


@pytest.mark.parametrize("cursor", ["x", "-1", "", "1.5", "9" * 5000, "²"])
async def test_a_cursor_of_somebody_else_is_refused(desk, cursor):
    with pytest.raises(AwfError) as refused:
        desk.service.listed(None, cursor)
    assert refused.value.code == "USER.ACP.INVALID_PARAMS"
    assert len(refused.value.message) < 200


async def test_closing_a_session_cancels_its_prompt(desk):
    desk.write("it", a_workflow({"one": a_command("sleep 600")}))
    session = await desk.new()
    turn = desk.begin(session, "/it")
    await desk.editor.until(lambda editor: editor.unfinished)
    async with asyncio.timeout(PATIENCE):
        await desk.service.close_session(session)
        assert (await turn).stop == "cancelled"
    assert [run.status for run in desk.runs()] == ["cancelled"]
    await desk.service.close_session(session)
    await desk.load(session)
    assert (await desk.say(session, "/status")).stop == "end_turn"


async def test_closing_a_session_keeps_a_conversation_that_waits(desk):
    desk.write("talk", a_workflow({"talk": a_conversation("Hello.", "Again.")}))
    session = await desk.new()
    first = await desk.say(session, "/talk")
    await desk.service.close_session(session)
    assert [run.status for run in desk.runs()] == ["interrupted"]
    await desk.resume(session)
    again = await desk.say(session, "more")
    assert (again.meta["status"], again.meta["runId"]) == ("waiting", first.meta["runId"])


async def test_a_deleted_session_is_forgotten(desk):
    desk.write("talk", a_workflow({"talk": a_conversation("Hello.", "Again.")}))
    session = await desk.new()
    await desk.say(session, "/talk")
    await desk.service.delete(session)
    await desk.service.delete(session)
    assert desk.session_files == []
    assert [run.status for run in desk.runs()] == ["cancelled"]
    with pytest.raises(AwfError) as refused:
        await desk.load(session)
    assert refused.value.code == "USER.ACP.UNKNOWN_SESSION"


async def test_deleting_a_session_cancels_its_prompt(desk):
    desk.write("it", a_workflow({"one": a_command("sleep 600")}))
    session = await desk.new()
    turn = desk.begin(session, "/it")
    await desk.editor.until(lambda editor: editor.unfinished)
    await desk.service.delete(session)
    assert (await turn).stop == "cancelled"
    assert desk.session_files == []


@pytest.mark.parametrize("name", ["never-heard-of", "", "../../etc/passwd", "x" * 10_000])
async def test_a_session_that_is_not_known_is_refused_everywhere(desk, name):
    service, folder = desk.service, str(desk.folder)
    attempts = [
        lambda: service.load(name, folder, []),
        lambda: service.resume(name, folder, []),
        lambda: service.close_session(name),
    ]
    for attempt in attempts:
        with pytest.raises(AwfError) as refused:
            await attempt()
        assert refused.value.code == "USER.ACP.UNKNOWN_SESSION"
    for now in (
        lambda: service.prompt(name, [text_block("hi")]),
        lambda: service.set_mode(name, "auto"),
        lambda: service.set_option(name, "approvals", "auto"),
    ):
        with pytest.raises(AwfError) as refused:
            now()
        assert refused.value.code == "USER.ACP.UNKNOWN_SESSION"
    service.cancel(name)
    await service.delete(name)


@pytest.mark.parametrize("cwd", ["relative/path", "", "/no/such/folder/at/all", "{}/file.txt"])
async def test_a_session_needs_a_folder(desk, cwd):
    desk.write("./file.txt", "")
    session = await desk.new()
    for attempt in (desk.service.new, lambda cwd, servers: desk.service.load(session, cwd, servers)):
        with pytest.raises(AwfError) as refused:
            await attempt(cwd.format(desk.folder), [])
        assert refused.value.code == "USER.ACP.MISSING_FOLDER"
        assert refused.value.hint


async def test_settings_take_only_what_they_offer(desk):
    desk.write("deploy", a_workflow({"one": a_command("true")}))
    session = await desk.new()
    wrong = [
        ("approvals", "aut"),
        ("approvals", True),
        ("approvals", None),
        ("workflow", "depoly"),
        ("colour", "red"),
    ]
    for option, value in wrong:
        with pytest.raises(AwfError) as refused:
            desk.service.set_option(session, option, value)
        assert refused.value.code == "USER.ACP.UNKNOWN_OPTION"
    with pytest.raises(AwfError):
        desk.service.set_mode(session, "yolo")
    options = {one["id"]: one for one in desk.service.set_option(session, "workflow", "deploy")}
    assert options["workflow"]["currentValue"] == "deploy"
    desk.service.set_mode(session, "auto")
    told_options = desk.editor.updates("config_option_update")[-1]["configOptions"]
    assert {one["id"]: one["currentValue"] for one in told_options} == {
        "approvals": "auto",
        "workflow": "deploy",
    }
    await desk.restart()
    settings = await desk.resume(session)
    assert settings["modes"]["currentModeId"] == "auto"
    for one in settings["configOptions"]:
        assert one["currentValue"] in {choice["value"] for choice in one["options"]}


async def test_a_full_disk_loses_no_turn(desk, monkeypatch):
    desk.write("it", a_workflow({"one": a_command("echo fine")}))
    session = await desk.new()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.replace", full)
        reply = await desk.say(session, "/it")
        assert reply.meta["status"] == "completed"
        assert "fine" in str(desk.editor.calls)
        with pytest.raises(AwfError) as refused:
            await desk.new()
        assert refused.value.code == "SYSTEM.IO.WRITE_FAILED"
    await desk.say(session, "/status")
    assert [turn.prompt for turn in desk.record(session).turns] == ["/it", "/status"]
    assert len(desk.session_files) == 1


async def test_commands_are_listed_after_the_start_and_when_files_change(desk):
    file = desk.write("deploy", a_workflow({"one": a_command("true")}, description="Ship it"))
    inputs = [
        {"name": "env", "type": "string", "required": True, "enum": ["dev", "prod"]},
        {"name": "task", "type": "string", "required": True},
    ]
    desk.open(look_every=0.05)
    await desk.new()
    await desk.editor.until(lambda editor: "deploy" in editor.commands)
    assert desk.editor.commands["deploy"]["description"] == "Ship it"
    assert {"workflows", "status"} <= set(desk.editor.commands)
    assert "end" not in desk.editor.commands
    desk.write("build", a_workflow({"one": a_command("true")}))
    await desk.editor.until(lambda editor: "build" in editor.commands)
    desk.write("deploy", a_workflow({"one": a_command("true")}, inputs=inputs))
    await desk.editor.until(lambda editor: "input" in editor.commands["deploy"])
    assert desk.editor.commands["deploy"]["input"]["hint"] == "env=dev|prod <task>"
    file.write_text("name: [", encoding="utf-8")
    await desk.editor.until(lambda editor: "deploy" not in editor.commands)
    (desk.folder / ".awf/workflows/build.yaml").unlink()
    await desk.editor.until(lambda editor: "build" not in editor.commands)


async def test_commands_are_listed_after_loading_and_resuming(desk):
    desk.write("deploy", a_workflow({"one": a_command("true")}))
    session = await desk.new()
    for opened in (desk.load, desk.resume):
        await desk.restart()
        await opened(session)
        assert desk.editor.commands == {}
        await desk.editor.until(lambda editor: "deploy" in editor.commands)


async def test_a_session_is_not_told_of_commands_before_the_editor_can_know_it(desk, monkeypatch):
    desk.open(look_every=0.02)
    first = await desk.new()
    await desk.editor.until(lambda editor: editor.updates("available_commands_update", first))
    monkeypatch.setattr("awf.application.editor.service._FIRST", 600.0)
    second = await desk.new()
    desk.write("deploy", a_workflow({"one": a_command("true")}))
    await desk.editor.until(lambda editor: "deploy" in editor.commands)
    assert desk.editor.updates("available_commands_update", second) == []


async def test_a_session_that_was_closed_is_not_told_of_commands(desk):
    desk.open(look_every=0.02)
    session = await desk.new()
    await desk.service.close_session(session)
    other = await desk.new()
    await desk.editor.until(lambda editor: editor.updates("available_commands_update", other))
    desk.write("deploy", a_workflow({"one": a_command("true")}))
    await desk.editor.until(lambda editor: "deploy" in editor.commands)
    assert desk.editor.updates("available_commands_update", session) == []


async def test_when_the_editor_goes_away_everything_ends(desk):
    desk.write("it", a_workflow({"one": a_command("sleep 600")}))
    desk.write("talk", a_workflow({"talk": a_conversation("Hello.", "Again.")}))
    parked, working, asking = await desk.new(), await desk.new(), await desk.new()
    desk.write("ask", a_workflow({"one": a_command("true", approval={"message": "Sure?"})}))
    first = await desk.say(parked, "/talk")
    turns = [desk.begin(working, "/it"), desk.begin(asking, "/ask")]
    await desk.editor.until(lambda editor: len(editor.unfinished) == 2 and editor.open)
    async with asyncio.timeout(PATIENCE):
        await desk.close()
        assert [(await turn).stop for turn in turns] == ["cancelled", "cancelled"]
    states = {run.id: run.status for run in desk.runs()}
    assert states.pop(first.meta["runId"]) == "interrupted"
    assert set(states.values()) == {"cancelled"}
    desk.open()
    await desk.resume(parked)
    assert (await desk.say(parked, "more")).meta["status"] == "waiting"


async def test_a_session_that_moves_to_another_folder_takes_nothing_with_it(desk):
    desk.write("it", a_workflow({"one": a_command("sleep 600")}))
    (desk.folder / "other").mkdir()
    session = await desk.new()
    turn = desk.begin(session, "/it")
    await desk.editor.until(lambda editor: editor.unfinished)
    await desk.service.resume(session, str(desk.folder / "other"), [])
    assert (await turn).stop == "cancelled"
    assert (await desk.say(session, "/it")).stop == "refusal"


async def test_a_session_of_another_process_goes_on_without_being_opened_first(desk):
    desk.write("talk", a_workflow({"talk": a_conversation("Hello.", "Again.")}))
    session = await desk.new()
    first = await desk.say(session, "/talk")
    await desk.restart()
    again = await desk.say(session, "more")
    assert (again.meta["status"], again.meta["runId"]) == ("waiting", first.meta["runId"])


async def test_of_a_very_long_session_the_latest_turns_are_told(desk):
    session = await desk.new()
    for number in range(303):
        await desk.say(session, f"hello {number}")
    await desk.restart()
    await desk.load(session)
    said = [update["content"]["text"] for update in desk.editor.updates("user_message_chunk")]
    assert (len(said), said[0], said[-1]) == (300, "hello 3", "hello 302")
    assert desk.editor.text.startswith("(3 earlier turns are not shown.)")


async def test_a_place_that_cannot_be_written_is_told_when_a_session_is_made(desk):
    (desk.folder / "home").write_text("")
    with pytest.raises(AwfError) as refused:
        await desk.new()
    assert refused.value.code == "SYSTEM.IO.WRITE_FAILED"
    (desk.folder / "home").unlink()
    session = await desk.new()
    assert [one.id for one in desk.service.listed(None, None)[0]] == [session]
