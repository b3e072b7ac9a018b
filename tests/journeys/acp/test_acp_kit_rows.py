"""The requirements of the official kit for agents, one row each, and what clients are known not to take.

MANDATORY is asked of every agent, CAPABILITY of those that advertise it, ADVISORY is good manners, INFORMATIONAL is what the
kit only reports. The tables at the end of each part are the overview.
"""

from __future__ import annotations

import json
import os
import uuid

import pytest

from awf.testing.acp_editor import ZED, RequestRefused

pytestmark = pytest.mark.journey
STOPS = {"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"}
STATUSES = {"pending", "in_progress", "completed", "failed"}
KINDS = {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
UPDATES = {
    "user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan",
    "available_commands_update", "current_mode_update", "config_option_update", "session_info_update", "usage_update",
}  # fmt: skip
PARSE, INVALID, NO_METHOD, NOT_FOUND = -32700, -32600, -32601, -32002
ANY_TIME = {"available_commands_update", "current_mode_update", "config_option_update", "session_info_update"}


async def refused(editor, method: str, **params) -> RequestRefused:
    with pytest.raises(RequestRefused) as told:
        await editor.request(method, params)
    return told.value


def said(editor) -> list[dict]:
    return [json.loads(line) for line in editor.agent.lines("<")]


async def cancelled_turn(editor, session: str):
    turn = await editor.begin(session, "/slow")
    await turn.wait_for(lambda update: update["sessionUpdate"] == "tool_call")
    await editor.cancel(session)
    return await turn.end()


# -- MANDATORY ---------------------------------------------------------------------------------------------------------


async def every_line_is_a_message(desk, editor):
    session = await editor.new_session(desk.project)
    await editor.prompt(session, "/hello who='Zoë ☂ \u2028 line'")
    for line in editor.agent.lines("<"):
        message = json.loads(line.decode("utf-8"))
        assert message["jsonrpc"] == "2.0"
        assert line.count(b"\n") == 1


async def ids_are_echoed(desk, editor):
    for request_id in (0, -7, 2**53, "a text", str(uuid.uuid4()), "☂"):
        await editor.request("session/list", {}, request_id=request_id)
        assert said(editor)[-1]["id"] == request_id
    await editor.send_message({"id": None, "method": "session/list", "params": {}})
    assert (await editor.wait_for_stray())["id"] is None


async def one_of_result_and_error(desk, editor):
    await editor.new_session(desk.project)
    await refused(editor, "session/prompt", sessionId="nobody", prompt=[])
    answers = [message for message in said(editor) if "method" not in message]
    assert all(("result" in one) != ("error" in one) for one in answers)
    error = answers[-1]["error"]
    assert (type(error["code"]), type(error["message"])) == (int, str)


async def notifications_get_no_answer(desk, editor):
    for method, params in (
        ("_ours", {}), ("nonsense", {}), ("session/cancel", {"sessionId": "nobody"}), ("session/cancel", {}),
        ("$/cancel_request", {"requestId": 99}), ("$/nonsense", {}), ("session/prompt", {"sessionId": "nobody", "prompt": []}),
    ):  # fmt: skip
        await editor.notify(method, params)
    await editor.new_session(desk.project)
    assert (editor.strays, [one["id"] for one in said(editor) if "id" in one]) == ([], [1, 2])


async def version_one_is_answered_with_one(desk, editor):
    assert said(editor)[0]["result"]["protocolVersion"] == 1


async def an_unknown_version_is_not_echoed(desk, editor):
    params = {"protocolVersion": 65535, "info": {"name": "kit", "version": "2"}, "clientCapabilities": {}}
    assert (await editor.request("initialize", params))["protocolVersion"] == 1


async def sessions_have_ids_of_their_own(desk, editor):
    first, second = [await editor.new_session(desk.project) for _ in range(2)]
    assert first
    assert second
    assert first != second


async def a_text_prompt_ends(desk, editor):
    session = await editor.new_session(desk.project)
    for text in ("hello", "/hello who=Ada", "/nothing", "/workflows", ""):
        assert (await editor.prompt(session, text)).stop_reason in STOPS


async def updates_name_the_prompted_session(desk, editor):
    first, second = [await editor.new_session(desk.project) for _ in range(2)]
    before = len(editor.updates)
    await editor.prompt(first, "/hello who=Ada")
    seen = {session for session, update in editor.updates[before:] if update["sessionUpdate"] not in ANY_TIME}
    assert seen == {first}
    assert second not in seen


async def a_cancelled_prompt_is_a_result(desk, editor):
    session = await editor.new_session(desk.project)
    assert (await cancelled_turn(editor, session)).stop_reason == "cancelled"
    answered = len(editor.updates)
    await editor.request("session/list", {})
    late = [update["sessionUpdate"] for _, update in editor.updates[answered:]]
    assert set(late) <= ANY_TIME


async def nothing_is_used_that_was_not_advertised(desk, editor):
    session = await editor.new_session(desk.project)
    for prompt in ("/hello", "/gate", "/hello who=Ada"):
        await editor.prompt(session, prompt)
    methods = {one["method"] for one in said(editor) if "method" in one}
    assert methods == {"session/update", "session/request_permission"}
    assert {option["type"] for option in editor.opened[session]["configOptions"]} == {"select"}
    assert said(editor)[0]["result"]["authMethods"] == []


async def an_unknown_request_of_its_own_is_answered(desk, editor):
    assert (await refused(editor, "_kit/probe", any="thing")).code == NO_METHOD


# -- CAPABILITY --------------------------------------------------------------------------------------------------------


async def load_replays_before_its_response(desk, editor):
    session = await editor.new_session(desk.project)
    await editor.prompt(session, "/hello who=Ada")
    await editor.close_session(session)
    told = await editor.load_session(session, desk.project)
    assert told.user_text == "/hello who=Ada"
    assert "Said to Ada." in told.text
    after = len(editor.updates)
    await editor.commands(session)
    await editor.request("session/list", {})
    assert {update["sessionUpdate"] for _, update in editor.updates[after:]} <= ANY_TIME


async def resume_works_without_servers_and_without_history(desk, editor):
    session = await editor.new_session(desk.project)
    await editor.prompt(session, "/hello who=Ada")
    await editor.close_session(session)
    before = len(editor.updates)
    await editor.resume_session(session, desk.project)
    assert {update["sessionUpdate"] for _, update in editor.updates[before:]} <= ANY_TIME
    assert (await editor.prompt(session, "/hello who=Ada")).stop_reason == "end_turn"


async def list_gives_an_array(desk, editor):
    session = await editor.new_session(desk.project)
    assert [one["sessionId"] for one in await editor.list_sessions()] == [session]
    assert [one["sessionId"] for one in await editor.list_sessions(desk.project)] == [session]
    assert await editor.list_sessions("/no/such/folder") == []


async def delete_and_close_give_nothing(desk, editor):
    session = await editor.new_session(desk.project)
    assert await editor.close_session(session) == {}
    assert await editor.delete_session(session) == {}
    assert await editor.list_sessions() == []


async def close_during_a_prompt_cancels_it(desk, editor):
    session = await editor.new_session(desk.project)
    turn = await editor.begin(session, "/slow")
    await turn.wait_for(lambda update: update["sessionUpdate"] == "tool_call")
    assert await editor.close_session(session) == {}
    assert (await turn.end()).stop_reason == "cancelled"


async def additional_directories_are_taken(desk, editor):
    more = desk.root / "more"
    more.mkdir()
    session = await editor.new_session(desk.project, additionalDirectories=[str(more)])
    assert (await editor.prompt(session, "/hello who=Ada")).stop_reason == "end_turn"


async def what_is_set_is_among_what_is_offered(desk, editor):
    session = await editor.new_session(desk.project)
    opened = editor.opened[session]
    assert opened["modes"]["currentModeId"] in {mode["id"] for mode in opened["modes"]["availableModes"]}
    for option in opened["configOptions"]:
        offered = [one["value"] for one in option["options"]]
        assert option["currentValue"] in offered
        for value in offered:
            told = await editor.set_config_option(session, option["id"], value)
            assert [one["id"] for one in told] == [one["id"] for one in opened["configOptions"]]
            assert {one["id"]: one["currentValue"] for one in told}[option["id"]] == value


async def prompts_with_other_content_end(desk, editor):
    resource = {"uri": f"file://{desk.project}/a.txt", "text": "text", "mimeType": "text/plain"}
    blob = {"uri": f"file://{desk.project}/a.bin", "blob": "AAAA"}
    expected = {
        "end_turn": [{"type": "resource", "resource": resource}],
        "refusal": [
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            {"type": "resource", "resource": blob},
        ],
    }
    session = await editor.new_session(desk.project)
    for stop, blocks in expected.items():
        for block in blocks:
            assert (await editor.prompt(session, [block])).stop_reason == stop


async def logout_is_not_offered(desk, editor):
    assert "auth" not in said(editor)[0]["result"]["agentCapabilities"]
    assert (await refused(editor, "logout")).code == NO_METHOD


# -- ADVISORY ----------------------------------------------------------------------------------------------------------


async def unknown_methods_are_named_so(desk, editor):
    for method in ("session/fork", "session/set_model", "nonsense", "fs/read_text_file", ""):
        assert (await refused(editor, method, sessionId="x")).code == NO_METHOD


async def the_connection_is_usable_after_an_error(desk, editor):
    await refused(editor, "session/new", cwd=7)
    await refused(editor, "session/prompt", sessionId="nobody", prompt=[{"type": "text", "text": "x"}])
    assert (
        await editor.prompt(await editor.new_session(desk.project), "/hello who=Ada")
    ).stop_reason == "end_turn"


async def the_agent_says_who_it_is(desk, editor):
    info = said(editor)[0]["result"]["agentInfo"]
    assert (info["name"], bool(info["version"])) == ("awf", True)


async def links_are_taken(desk, editor):
    link = {"type": "resource_link", "uri": f"file://{desk.project}/notes.md", "name": "notes.md"}
    session = await editor.new_session(desk.project)
    turn = await editor.prompt(session, [{"type": "text", "text": "/hello who="}, link])
    assert (turn.stop_reason, "notes.md" in turn.text) == ("end_turn", True)


async def a_load_answers_with_settings_alone(desk, editor):
    session = await editor.new_session(desk.project)
    told = await editor.load_session(session, desk.project)
    assert told.response.keys() == {"modes", "configOptions"}


async def deleting_twice_is_fine(desk, editor):
    session = await editor.new_session(desk.project)
    assert [await editor.delete_session(session) for _ in range(2)] == [{}, {}]
    assert await editor.delete_session("never-was") == {}


async def meta_is_taken_everywhere(desk, editor):
    meta = {"_meta": {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "any": [1]}}
    session = await editor.new_session(desk.project, **meta)
    turn = await editor.begin(session, "/slow", **meta)
    await turn.wait_for(lambda update: update["sessionUpdate"] == "tool_call")
    await editor.notify("session/cancel", {"sessionId": session, **meta})
    assert (await turn.end()).stop_reason == "cancelled"
    await editor.load_session(session, desk.project, **meta)
    for method, params in (
        ("session/set_mode", {"sessionId": session, "modeId": "ask"}), ("session/list", {}),
        ("session/close", {"sessionId": session}), ("session/delete", {"sessionId": session}),
    ):  # fmt: skip
        await editor.request(method, {**params, **meta})


async def errors_are_one_line(desk, editor):
    told = [
        await refused(editor, "session/new", cwd="two\nlines", mcpServers=[]),
        await refused(editor, "session/prompt", sessionId="a\nb", prompt=[]),
        await refused(editor, "two\nlines"),
    ]
    for one in told:
        assert one.message.strip()
        assert len(one.message.splitlines()) == 1
        assert one.details.startswith("USER.ACP.")


async def it_goes_when_the_input_ends(desk, editor):
    session = await editor.new_session(desk.project)
    await editor.begin(session, "/slow")
    ended = await editor.close()
    assert (ended.status, ended.stderr) == (0, "")


async def no_root_keys_of_its_own(desk, editor):
    await editor.prompt(await editor.new_session(desk.project), "/gate")
    for message in said(editor):
        assert message.keys() <= {"jsonrpc", "id", "method", "params", "result", "error"}


# -- INFORMATIONAL -----------------------------------------------------------------------------------------------------


async def lines_that_are_no_json_are_answered(desk, editor):
    for line, code in ((b"{oops\n", PARSE), (b"\xff\xfe\n", PARSE), (b"[]\n", INVALID), (b"7\n", INVALID)):
        await editor.send(line)
        told = await editor.wait_for_stray()
        assert (told["id"], told["error"]["code"]) == (None, code)
        await editor.request("session/list", {})
        assert editor.strays == []
    await editor.send(
        b'{"a":1}\n{"jsonrpc":"1.0","method":"x"}\n'
    )  # without an id they count as notifications
    await editor.request("session/list", {})
    assert editor.strays == []


async def an_unknown_session_is_not_found(desk, editor):
    told = await refused(editor, "session/prompt", sessionId="nobody", prompt=[{"type": "text", "text": "x"}])
    assert (told.code, told.details.split(":")[0]) == (NOT_FOUND, "USER.ACP.UNKNOWN_SESSION")


ROWS = {
    "MANDATORY every line on stdout is one valid JSON-RPC message in UTF-8": every_line_is_a_message,
    "MANDATORY ids are echoed, whole numbers and texts": ids_are_echoed,
    "MANDATORY exactly one of result and error, an integer code, a text": one_of_result_and_error,
    "MANDATORY notifications get no answer": notifications_get_no_answer,
    "MANDATORY initialize answers 1 to 1": version_one_is_answered_with_one,
    "MANDATORY initialize does not echo 65535": an_unknown_version_is_not_echoed,
    "MANDATORY session/new gives ids, two calls two ids": sessions_have_ids_of_their_own,
    "MANDATORY a text prompt resolves with a defined stop reason": a_text_prompt_ends,
    "MANDATORY updates carry the prompted session id": updates_name_the_prompted_session,
    "MANDATORY cancel gives the result cancelled and no update after it": a_cancelled_prompt_is_a_result,
    "MANDATORY nothing is used that the client did not advertise": nothing_is_used_that_was_not_advertised,
    "MANDATORY an unknown request with an underscore gets an answer": an_unknown_request_of_its_own_is_answered,
    "CAPABILITY load succeeds and replays only before its response": load_replays_before_its_response,
    "CAPABILITY resume works without mcpServers and tells no history": resume_works_without_servers_and_without_history,
    "CAPABILITY list gives an array, an empty one for an unknown cwd": list_gives_an_array,
    "CAPABILITY delete and close succeed with nothing": delete_and_close_give_nothing,
    "CAPABILITY close during a prompt makes it cancelled": close_during_a_prompt_cancels_it,
    "CAPABILITY additional directories are accepted": additional_directories_are_taken,
    "CAPABILITY current values are among those offered, the full list comes back": what_is_set_is_among_what_is_offered,
    "CAPABILITY prompts with images, audio and embedded text resolve": prompts_with_other_content_end,
    "CAPABILITY logout is neither advertised nor there": logout_is_not_offered,
    "ADVISORY -32601 for unknown methods": unknown_methods_are_named_so,
    "ADVISORY the connection is usable after an error": the_connection_is_usable_after_an_error,
    "ADVISORY agentInfo is present": the_agent_says_who_it_is,
    "ADVISORY resource_link is accepted": links_are_taken,
    "ADVISORY the result of load has only what the protocol has": a_load_answers_with_settings_alone,
    "ADVISORY deleting twice is fine": deleting_twice_is_fine,
    "ADVISORY _meta is accepted": meta_is_taken_everywhere,
    "ADVISORY messages of errors are one line and not empty": errors_are_one_line,
    "ADVISORY the process exits on the end of stdin": it_goes_when_the_input_ends,
    "ADVISORY no unknown root keys": no_root_keys_of_its_own,
    "INFORMATIONAL malformed and other JSON": lines_that_are_no_json_are_answered,
    "INFORMATIONAL unknown session": an_unknown_session_is_not_found,
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
async def test_a_row_of_the_kit(desk, row):
    async with await desk.editor() as editor:
        await row(desk, editor)


# -- what clients do not take, looked for in a session with everything in it -------------------------------------------


STRICT = {
    "a tool status that is none, such as cancelled": lambda one: one.values("status") <= STATUSES,
    "an unknown tool kind": lambda one: one.values("kind") <= KINDS,
    "an unknown update": lambda one: one.values("sessionUpdate") <= UPDATES,
    "notice or compaction unadvertised": lambda one: not one.values("sessionUpdate") & {"notice", "compaction_update"},
    "a stop reason that is none, such as error": lambda one: {t.stop_reason for t in one.turns.values()} <= STOPS,
    "keys at the root": lambda one: set().union(*one.messages) <= {"jsonrpc", "id", "method", "params", "result"},
    "a log line on stdout": lambda one: all(line.startswith(b'{"jsonrpc"') for line in one.lines),
    "a long line": lambda one: max(map(len, one.lines)) < 1024 * 1024,
    "an update after the response to its prompt": lambda one: set(one.late) <= ANY_TIME,
    "a lot on stderr": lambda one: one.stderr == "",
    "elicitation, files or terminals unadvertised": lambda one: (
        {message["method"] for message in one.messages if "method" in message}
        == {"session/update", "session/request_permission"}
    ),
    "a raw escape sequence as text": lambda one: all("\x1b" not in text for text in map(shown_text, one.updates)),
}  # fmt: skip


def shown_text(update: dict) -> str:
    content = update.get("content")
    return content.get("text", "") if isinstance(content, dict) else ""


@pytest.mark.parametrize("holds", STRICT.values(), ids=STRICT)
def test_what_clients_do_not_take_is_not_sent(recording, holds):
    assert holds(recording())


def test_the_session_with_everything_has_everything(recording):
    """Else the rows above say little."""
    told = recording()
    never = {
        "current_mode_update",
        "config_option_update",
        "usage_update",
    }  # nothing is set, and the script has no window
    assert told.values("sessionUpdate") == UPDATES - never
    assert told.values("status") == STATUSES
    assert told.values("kind") >= {"read", "edit", "search", "execute", "think"}
    ended = {name: turn.meta.get("awf", {}).get("status") for name, turn in told.turns.items()}
    assert ended == {
        "rich": "completed", "gate": "completed", "fails": "failed", "crash": "failed", "late": "failed",
        "missing": "refused", "slow": "cancelled", "talk 0": "waiting", "talk 1": "waiting", "talk 2": None,
        "talk 3": None, "talk 4": "completed", "image": "refused",
    }  # fmt: skip
    diffs = [
        part
        for call in told.turns["rich"].calls.values()
        for part in call.get("content") or []
        if part["type"] == "diff"
    ]
    assert {os.path.basename(diff["path"]) for diff in diffs} == {"beds.txt", "new.txt"}
    assert any("(attempt 2/3)" in call["title"] for call in told.turns["rich"].calls.values())
    assert len(told.turns["rich"].questions) == 3


def test_every_turn_is_told_again_by_a_load(recording):
    told = recording()
    assert "Answer 2." in told.replay.text
    assert told.replay.user_text.startswith("/rich/gate/fails")
    assert {call["status"] for call in told.replay.calls.values()} == {"completed", "failed"}


def test_zed_gets_terminals_and_forms(recording):
    """The same session with the capabilities of Zed; nothing else about it is different."""
    told, plain = recording(ZED), recording()
    methods = {message["method"] for message in told.messages if "method" in message}
    assert methods == {"session/update", "session/request_permission", "elicitation/create"}
    metas = [update.get("_meta") or {} for update in told.updates]
    infos = {meta["terminal_info"]["terminal_id"] for meta in metas if "terminal_info" in meta}
    outputs = [meta["terminal_output"] for meta in metas if "terminal_output" in meta]
    exits = {
        meta["terminal_exit"]["terminal_id"]: meta["terminal_exit"]
        for meta in metas
        if "terminal_exit" in meta
    }
    assert {one["terminal_id"] for one in outputs} <= infos == exits.keys()
    assert "unit 3" in "".join(one["data"] for one in outputs)
    assert 3 in {one["exit_code"] for one in exits.values()}
    assert not any("terminal_info" in (update.get("_meta") or {}) for update in plain.updates)
    assert {name: turn.stop_reason for name, turn in told.turns.items()} == {
        name: turn.stop_reason for name, turn in plain.turns.items()
    }
