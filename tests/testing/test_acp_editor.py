"""The scripted editor hears what an agent says, answers as it is told, and fails loudly when something is wrong."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import psutil
import pytest

from awf.testing.acp_editor import ZED, RequestRefused, ScriptedEditor
from awf.testing.acp_heard import Heard
from awf.testing.acp_policies import Raw
from awf.testing.acp_wire import WireChecker

SCHEMAS = Path(__file__).parents[1] / "protocols" / "acp"
AGENT = [sys.executable, "-I", "-S", str(Path(__file__).with_name("little_acp_agent.py"))]


@pytest.fixture
def start(tmp_path):
    async def started(argv=AGENT, env=(), capabilities=ZED, **options):
        checker = WireChecker(SCHEMAS)
        editor = await ScriptedEditor.start(argv, cwd=tmp_path, env={**dict(env)}, checker=checker, **options)
        if capabilities is not None:
            await editor.initialize(capabilities)
        return editor

    return started


async def test_a_turn_is_heard_as_a_person_sees_it(start, tmp_path):
    async with await start() as editor:
        session = await editor.new_session(tmp_path)
        await editor.commands(session)
        heard = await editor.prompt(session, "call")
    assert (heard.stop_reason, heard.text, heard.thoughts) == ("end_turn", "one two", "hm")
    assert heard.messages == {"1": "one ", "2": "two"}
    assert heard.calls == {
        "t": {"toolCallId": "t", "title": "T", "status": "completed", "rawInput": {"a": 1}, "rawOutput": [2]}
    }
    assert heard.statuses("t") == ["pending", "in_progress", "completed"]
    assert heard.plan == [{"content": "a", "priority": "medium", "status": "completed"}]
    assert heard.meta == {"little": True}
    assert heard.commands == []  # they came after the answer
    assert heard.kinds[:2] == ["plan", "tool_call"]


def test_the_output_of_a_tool_call_is_read_from_a_terminal_or_from_its_text():
    def update(**more):
        return {"sessionUpdate": "tool_call_update", "toolCallId": "t", **more}

    first = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "T"}
    pieces = [update(_meta={"terminal_output": {"terminal_id": "t", "data": piece}}) for piece in ("a", "b")]
    assert Heard([first, *pieces]).output("t") == "ab"
    texts = [{"type": "content", "content": {"type": "text", "text": text}} for text in ("a", "b")]
    assert (
        Heard([first, update(content=texts[:1]), update(content=texts), update(_meta=None)]).output("t")
        == "a\nb"
    )
    assert Heard([first]).output("t") == Heard([]).output("t") == ""


async def test_it_speaks_the_whole_protocol(start, tmp_path):
    async with await start() as editor:
        session = await editor.new_session(tmp_path)
        assert [command["name"] for command in await editor.commands(session)] == ["go"]
        assert editor.opened[session] == {"sessionId": session}
        blocks = [{"type": "text", "text": "blocks"}]
        assert (await editor.prompt(session, blocks)).text == "echo: blocks"
        replayed = await editor.load_session("s9", tmp_path)
        assert (replayed.user_text, replayed.text, replayed.commands) == ("before", "then", [])
        assert await editor.resume_session("s8", tmp_path) == {}
        assert [one["sessionId"] for one in await editor.list_sessions("/x")] == ["s1", "s2", "s3"]
        assert await editor.set_mode(session, "m") == {}
        assert (await editor.set_config_option(session, "c", "v"))[0]["currentValue"] == "v"
        assert (await editor.set_config_option(session, "c", True))[0]["currentValue"] is True
        assert await editor.close_session(session) == {}
        assert await editor.delete_session(session) == {}
        with pytest.raises(RequestRefused) as refused:
            await editor.request("logout", {})
        assert (refused.value.code, refused.value.details) == (-32601, "logout")


@pytest.mark.parametrize(
    ("policy", "outcome"),
    [
        ("allow", {"outcome": "selected", "optionId": "o-allow_once"}),
        ("allow_always", {"outcome": "selected", "optionId": "o-allow_always"}),
        ("deny", {"outcome": "selected", "optionId": "o-reject_once"}),
        ("deny_always", {"outcome": "selected", "optionId": "o-reject_always"}),
        ("o-reject_once", {"outcome": "selected", "optionId": "o-reject_once"}),
        ("cancelled", {"outcome": "cancelled"}),
        (
            lambda asked: asked["options"][1]["optionId"],
            {"outcome": "selected", "optionId": "o-allow_always"},
        ),
        (Raw({"result": {"outcome": {"outcome": "maybe"}}}), {"outcome": "maybe"}),
    ],
)
async def test_permissions_are_given_by_policy(start, tmp_path, policy, outcome):
    async with await start(permissions=policy) as editor:
        heard = await editor.prompt(await editor.new_session(tmp_path), "ask")
    assert json.loads(heard.text) == {"result": {"outcome": outcome}}
    assert [question.method for question in heard.questions] == ["session/request_permission"]


@pytest.mark.parametrize(
    ("policy", "answer"),
    [
        ({"env": "prod"}, {"action": "accept", "content": {"env": "prod"}}),
        (lambda asked: {"env": asked["message"]}, {"action": "accept", "content": {"env": "?"}}),
        ("decline", {"action": "decline"}),
        ("cancel", {"action": "cancel"}),
    ],
)
async def test_forms_are_filled_in_by_policy(start, tmp_path, policy, answer):
    async with await start(forms=policy) as editor:
        heard = await editor.prompt(await editor.new_session(tmp_path), "form")
    assert json.loads(heard.text) == {"result": answer}


async def test_a_policy_may_wait_and_a_person_may_answer_by_hand(start, tmp_path):
    async def slowly(asked):
        await editor.wait_for(lambda update: update.get("toolCallId") == "q")
        return "deny"

    async with await start(permissions=slowly) as editor:
        session = await editor.new_session(tmp_path)
        assert "o-reject_once" in (await editor.prompt(session, "ask")).text
        other = await editor.new_session(tmp_path)
        editor.permissions = "never"
        turn = await editor.begin(other, "ask")
        question = await turn.wait_for_question()
        assert question.params["toolCall"]["title"] == "Q"
        await editor.answer(question.id, error={"code": -1, "message": "gone"})
        assert "gone" in (await turn.end()).text


async def test_a_question_that_is_withdrawn_is_answered_so(start, tmp_path):
    async def never_in_time(_):
        await editor.wait_for(lambda _: False)

    async with await start(permissions=never_in_time) as editor:
        heard = await editor.prompt(await editor.new_session(tmp_path), "withdraw")
        assert json.loads(heard.text)["error"]["code"] == -32800
        assert editor.withdrawn == ["p1"]


async def test_a_turn_is_cancelled_in_the_middle(start, tmp_path):
    async with await start() as editor:
        session = await editor.new_session(tmp_path)
        turn = await editor.begin(session, "wait")
        await turn.wait_for(lambda update: update["sessionUpdate"] == "tool_call")
        await editor.cancel(session)
        heard = await turn.end()
    assert (heard.stop_reason, heard.statuses("w")) == ("cancelled", ["in_progress", "failed"])


async def test_a_cancel_answers_the_open_questions(start, tmp_path):
    async def slow_person(_):
        await editor.wait_for(lambda _: False)

    async with await start(permissions=slow_person) as editor:
        session = await editor.new_session(tmp_path)
        turn = await editor.begin(session, "ask")
        await turn.wait_for_question()
        await editor.cancel(session)
        assert json.loads((await turn.end()).text) == {"result": {"outcome": {"outcome": "cancelled"}}}


async def test_an_error_is_raised_with_its_details(start, tmp_path):
    async with await start() as editor:
        session = await editor.new_session(tmp_path)
        with pytest.raises(RequestRefused) as refused:
            await editor.prompt(session, "fail")
    assert (refused.value.code, refused.value.message, refused.value.details) == (-32603, "no", "why not")


async def test_bytes_may_be_sent_by_hand_and_their_answers_heard(start):
    async with await start() as editor:
        await editor.send(b"{nonsense\n")
        assert (await editor.wait_for_stray())["error"]["code"] == -32700
        await editor.send(
            b'{"jsonrpc": "2.0", "id": "own", "method": "session/resume", "params": {"sessionId": "a"}}\n'
        )
        assert (await editor.wait_for_stray(lambda answer: answer["id"] == "own"))["result"] == {}
        assert editor.strays == []


@pytest.mark.parametrize(("text", "saying"), [("noise", "not UTF-8 JSON"), ("late", "no prompt is being")])
async def test_a_wrong_frame_fails_the_test_with_the_transcript(start, tmp_path, text, saying):
    with pytest.raises(AssertionError, match=saying) as failed:
        async with await start() as editor:
            await editor.prompt(await editor.new_session(tmp_path), text)
    assert '"session/prompt"' in str(failed.value)


async def test_an_unadvertised_form_fails_the_test(start, tmp_path):
    with pytest.raises(AssertionError, match=r"did not advertise elicitation\.form"):
        async with await start(capabilities={}) as editor:
            await editor.prompt(await editor.new_session(tmp_path), "form")


async def test_a_policy_that_breaks_fails_the_test(start, tmp_path):
    with pytest.raises(AssertionError, match="nothing to 'maybe'"):
        async with await start(permissions="maybe") as editor:
            await editor.prompt(await editor.new_session(tmp_path), "ask")


async def test_an_agent_that_dies_is_told_with_its_last_words(start, tmp_path):
    editor = await start()
    session = await editor.new_session(tmp_path)
    with pytest.raises(AssertionError, match="output has ended"):
        await editor.prompt(session, "die")
    ended = await editor.ended()
    assert (ended.status, ended.stderr) == (3, "that was it\n")


async def test_an_agent_that_does_not_answer_is_told_in_time(start, tmp_path):
    with pytest.raises(AssertionError, match="the end of the turn did not come within"):
        async with await start() as editor:
            session = await editor.new_session(tmp_path)
            editor.patience = 0.2
            await editor.prompt(session, "wait")
    assert editor.agent.status == -signal.SIGKILL


async def test_an_agent_that_does_not_end_is_ended_and_told(start):
    editor = await start(env={"STUBBORN": "1"})
    editor.patience = 0.2
    with pytest.raises(AssertionError, match="did not end within"):
        await editor.close()
    assert not psutil.pid_exists(editor.agent.pid)


async def test_the_agent_gets_the_given_environment_and_goes_when_it_is_left(start):
    editor = await start(env={"NAME": "Ada"})
    ended = await editor.close()
    assert (ended.status, ended.stderr) == (0, "good bye, Ada\n")


async def test_an_agent_that_cannot_be_started_leaves_nothing_open(start):
    with pytest.raises(FileNotFoundError):
        await start(["no-such-agent-anywhere"])


async def test_an_editor_that_stops_reading_goes_on_later(start, tmp_path):
    async with await start() as editor:
        session = await editor.new_session(tmp_path)
        editor.agent.pause()
        turn = await editor.begin(session, "flood")
        editor.agent.resume()
        assert len((await turn.end()).of("agent_message_chunk")) == 3000


async def test_an_editor_may_vanish(start, tmp_path):
    editor = await start()
    turn = await editor.begin(await editor.new_session(tmp_path), "flood")
    await turn.wait_for(lambda update: update["sessionUpdate"] == "agent_message_chunk")
    editor.agent.vanish()
    assert "BrokenPipeError" in (await editor.ended()).stderr
