"""The checker of ACP frames lets a good conversation pass and catches every fault that is worked into it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from awf.testing.acp_wire import WireChecker, WireError

SCHEMAS = Path(__file__).parents[1] / "protocols" / "acp"
EVERYTHING = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "elicitation": {"form": {}, "url": {}},
    "session": {"notices": {}, "compaction": {}, "configOptions": {"boolean": {}}},
}
TEXT = {"type": "text", "text": "hello"}
OPTIONS = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
FORM = {"type": "object", "properties": {"env": {"type": "string"}}}
SELECT = {
    "id": "w",
    "name": "W",
    "type": "select",
    "currentValue": "a",
    "options": [{"value": "a", "name": "A"}],
}
BOOLEAN = {"id": "b", "name": "B", "type": "boolean", "currentValue": True}
MODES = {"currentModeId": "m", "availableModes": [{"id": "m", "name": "M"}]}


class Conversation:
    """Both sides of a connection, each said in one word."""

    def __init__(self, capabilities=None, **options):
        self.checker = WireChecker(SCHEMAS, **options)
        self.asks(0, "initialize", protocolVersion=1, clientCapabilities=capabilities or {})
        self.answers(0, protocolVersion=1)

    def client(self, **message):
        self.checker.client_sent(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def asks(self, request_id, method, **params):
        self.client(id=request_id, method=method, params=params)

    def agent(self, **message):
        return self.checker.agent_sent(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def answers(self, request_id, **result):
        return self.agent(id=request_id, result=result)

    def fails(self, request_id, code=-32603, message="It failed", data=None):
        return self.agent(
            id=request_id, error={"code": code, "message": message, "data": data or {"details": "x"}}
        )

    def shows(self, sort, session="s", **update):
        return self.agent(
            method="session/update",
            params={"sessionId": session, "update": {"sessionUpdate": sort, **update}},
        )

    def wants(self, request_id, method, **params):
        return self.agent(id=request_id, method=method, params=params)

    def permit(self, request_id="p1", call="t1", options=OPTIONS, **more):
        self.wants(
            request_id,
            "session/request_permission",
            **{"sessionId": "s", "toolCall": {"toolCallId": call, "title": "T"}, "options": options, **more},
        )

    def session(self):
        self.asks(1, "session/new", cwd="/p", mcpServers=[])
        self.answers(1, sessionId="s")
        return self

    def prompt(self, request_id=2):
        self.asks(request_id, "session/prompt", sessionId="s", prompt=[TEXT])
        return self


def turn(capabilities=None, **options):
    """In the middle of a turn with one open tool call."""
    talk = Conversation(capabilities, **options).session().prompt()
    talk.shows("tool_call", toolCallId="t1", title="T", status="in_progress")
    return talk


def idle(capabilities=None, **options):
    return Conversation(capabilities, **options).session()


# -- what is right passes ----------------------------------------------------------------------------------------------


def test_a_whole_conversation_passes():
    talk = Conversation(EVERYTHING)
    talk.asks("uuid", "session/new", cwd="/p", mcpServers=[])
    talk.answers("uuid", sessionId="s", modes=MODES, configOptions=[SELECT], _meta={"own": 1})
    talk.shows(
        "available_commands_update",
        availableCommands=[{"name": "go", "description": "", "input": {"hint": "x"}}],
    )
    talk.prompt()
    talk.shows("plan", entries=[{"content": "a", "priority": "medium", "status": "pending"}])
    talk.shows("agent_message_chunk", content=TEXT, messageId="m", _meta={"awf": {"x": 1}})
    talk.shows("agent_thought_chunk", content=TEXT)
    talk.shows("tool_call", toolCallId="t1", title="T", kind="execute", rawInput={"any": ["thing"]})
    talk.permit()
    talk.client(id="p1", result={"outcome": {"outcome": "selected", "optionId": "yes"}})
    diff = {"type": "diff", "path": "/p/a", "oldText": None, "newText": "b"}
    talk.shows("tool_call_update", toolCallId="t1", status="in_progress", content=[diff])
    talk.wants(7, "elicitation/create", sessionId="s", mode="form", message="?", requestedSchema=FORM)
    talk.agent(method="$/cancel_request", params={"requestId": 7})
    talk.client(id=7, error={"code": -32800, "message": "withdrawn"})
    talk.wants(8, "fs/read_text_file", sessionId="s", path="/p/a")
    talk.wants(9, "terminal/create", sessionId="s", command="ls")
    talk.shows("tool_call_update", toolCallId="t1", status="completed", rawOutput=[1])
    talk.shows("tool_call_update", toolCallId="t1", _meta={"late": True})
    talk.shows("usage_update", used=1, size=2)
    talk.shows("notice", title="N", severity="info")
    talk.answers(2, stopReason="end_turn")
    talk.shows("session_info_update", title="T")
    talk.shows("current_mode_update", currentModeId="m")
    talk.shows("config_option_update", configOptions=[BOOLEAN])
    assert talk.checker.frames == 21
    assert talk.checker.unanswered() == []


def test_a_load_replays_before_its_response_and_a_resume_says_nothing():
    talk = Conversation()
    talk.asks(1, "session/load", sessionId="s", cwd="/p", mcpServers=[])
    talk.shows("user_message_chunk", content=TEXT)
    talk.shows("tool_call", toolCallId="t1", title="T", status="completed")
    talk.answers(1)
    talk.shows("available_commands_update", availableCommands=[])
    talk.asks(2, "session/resume", sessionId="other", cwd="/p")
    talk.answers(2)
    talk.shows("available_commands_update", session="other", availableCommands=[])
    talk.asks(3, "session/load", sessionId="s", cwd="/p", mcpServers=[])
    talk.shows("tool_call", toolCallId="t1", title="T", status="completed")
    talk.answers(3)


def test_a_prompt_too_many_is_refused_while_the_turn_goes_on():
    talk = turn().prompt(3)
    talk.fails(3, -32600)
    talk.shows("tool_call_update", toolCallId="t1", status="failed")
    talk.answers(2, stopReason="end_turn")


def test_a_prompt_that_waits_for_a_cancelled_turn_passes():
    talk = turn()
    talk.client(method="session/cancel", params={"sessionId": "s"})
    talk.prompt(3)
    talk.shows("tool_call_update", toolCallId="t1", status="failed")
    talk.answers(2, stopReason="cancelled")
    talk.shows("agent_message_chunk", content=TEXT)
    talk.answers(3, stopReason="end_turn")


def test_what_could_not_be_read_is_answered_without_an_id():
    talk = idle()
    for broken in (b"{", b"[]\n", b"\xff\n", b"[" * 100_000, b'{"id": [1], "method": "x"}\n'):
        talk.checker.client_sent(broken)
        talk.fails(None, -32700)


def test_other_ids_are_other_requests():
    talk = idle()
    for request_id in (5, "5", None, -1, "é"):
        talk.asks(request_id, "session/list")
    for request_id in ("é", None, "5", -1, 5):
        talk.answers(request_id, sessions=[])
    assert talk.checker.unanswered() == []


# -- what is wrong is caught -------------------------------------------------------------------------------------------


def caught(saying, talk, wrong):
    """The fault is a fault, and what came before it was none."""
    with pytest.raises(WireError, match=saying):
        wrong(talk)


@pytest.mark.parametrize(
    ("saying", "line"),
    [
        ("not one line", b'{"jsonrpc": "2.0"}'),
        ("not one line", b'{"jsonrpc": "2.0",\n"id": 1}\n'),
        ("not UTF-8 JSON", b"starting up\n"),
        ("not UTF-8 JSON", b'{"jsonrpc": "\xff"}\n'),
        ("NaN is not JSON", b'{"jsonrpc": "2.0", "id": 1, "result": NaN}\n'),
        ("a key twice", b'{"jsonrpc": "2.0", "id": 1, "id": 2}\n'),
        ("not UTF-8 JSON", b"[" * 100_000 + b"\n"),
        ("no batches", b"[]\n"),
        ("not JSON-RPC", b'{"id": 1, "result": {}}\n'),
        ("neither or both", b'{"jsonrpc": "2.0", "id": 1}\n'),
        ("neither or both", b'{"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}}\n'),
        ("without an id", b'{"jsonrpc": "2.0", "result": {}}\n'),
        ("a line of", b'"' + b"x" * 10 * 1024 * 1024 + b'"\n'),
    ],
)
def test_a_line_that_is_no_frame_is_caught(saying, line):
    caught(saying, idle(), lambda talk: talk.checker.agent_sent(line))


IN_A_TURN = [
    ("a second one", lambda talk: talk.answers(1, sessionId="s2")),
    ("to nothing", lambda talk: talk.answers("2", stopReason="end_turn")),
    ("to nothing", lambda talk: talk.agent(id=None, result={})),
    ("tool calls are open: .'t1'", lambda talk: talk.answers(2, stopReason="end_turn")),
    ("tool calls are open", lambda talk: talk.fails(2)),
    ("stopReason.*error", lambda talk: talk.answers(2, stopReason="error")),
    ("PromptResponse.*own", lambda talk: talk.answers(2, stopReason="end_turn", own=1)),
    ("keys of its own.*own", lambda talk: talk.agent(id=2, result={"stopReason": "end_turn"}, own=1)),
    ("status.*cancelled", lambda talk: talk.shows("tool_call_update", toolCallId="t1", status="cancelled")),
    ("which no tool_call introduced", lambda talk: talk.shows("tool_call_update", toolCallId="t2")),
    ("a second time", lambda talk: talk.shows("tool_call", toolCallId="t1", title="T")),
    ("no kind of update", lambda talk: talk.shows("state_update", state="idle")),
    ("agent_message_chunk.*content", lambda talk: talk.shows("agent_message_chunk")),
    ("agent_message_chunk.*own", lambda talk: talk.shows("agent_message_chunk", content=TEXT, own=1)),
    ("own", lambda talk: talk.shows("agent_message_chunk", content={**TEXT, "own": 1})),
    ("own", lambda talk: talk.shows("plan", entries=[{"content": "a", "priority": "low", "status": "pending", "own": 1}])),
    ("plan", lambda talk: talk.shows("plan", entries=[{"content": "a", "priority": "low", "status": "failed"}])),
    ("content", lambda talk: talk.shows("tool_call_update", toolCallId="t1", content=[TEXT])),
    ("does not know", lambda talk: talk.shows("agent_message_chunk", session="s9", content=TEXT)),
    ("session.notices", lambda talk: talk.shows("notice", title="N", severity="info")),
    ("_meta.terminal_output", lambda talk: talk.shows(
        "tool_call_update", toolCallId="t1", content=[{"type": "terminal", "terminalId": "x"}])),
    ("fs.readTextFile", lambda talk: talk.wants(1, "fs/read_text_file", sessionId="s", path="/p/a")),
    ("fs.writeTextFile", lambda talk: talk.wants(1, "fs/write_text_file", sessionId="s", path="/p/a", content="")),
    ("terminal", lambda talk: talk.wants(1, "terminal/create", sessionId="s", command="ls")),
    ("elicitation.form", lambda talk: talk.wants(
        1, "elicitation/create", sessionId="s", mode="form", message="?", requestedSchema=FORM)),
    ("no request session/fork", lambda talk: talk.wants(1, "session/fork", sessionId="s")),
    ("no notification progress", lambda talk: talk.agent(method="progress", params={})),
    ("never asked", lambda talk: talk.agent(method="$/cancel_request", params={"requestId": 77})),
    ("no id for a request", lambda talk: talk.permit(None)),
    ("no id for a request", lambda talk: talk.permit(True)),
    ("told apart, or none", lambda talk: talk.permit(options=[])),
    ("told apart, or none", lambda talk: talk.permit(options=OPTIONS * 2)),
    ("options", lambda talk: talk.permit(options=[{"optionId": "a", "name": "A", "kind": "maybe"}])),
    ("a question about t9", lambda talk: talk.permit(call="t9")),
    ("does not know", lambda talk: talk.permit(sessionId="s9")),
    ("own", lambda talk: talk.permit(own=1)),
]  # fmt: skip


@pytest.mark.parametrize(("saying", "wrong"), IN_A_TURN)
def test_a_fault_in_a_turn_is_caught(saying, wrong):
    caught(saying, turn(), wrong)


BETWEEN_TURNS = [
    ("no prompt is being worked on", lambda talk: talk.shows("agent_message_chunk", content=TEXT)),
    ("no prompt is being worked on", lambda talk: talk.shows("usage_update", used=1, size=2)),
    ("no prompt is being worked on", lambda talk: talk.shows("tool_call", toolCallId="t2", title="T")),
    ("no prompt is being worked on", lambda talk: talk.permit()),
    ("boolean", lambda talk: talk.shows(
        "config_option_update", configOptions=[BOOLEAN])),
    ("not one of those offered", lambda talk: talk.shows(
        "config_option_update", configOptions=[{**SELECT, "currentValue": "z"}])),
    ("to nothing", lambda talk: talk.answers(2, stopReason="end_turn")),
]  # fmt: skip


@pytest.mark.parametrize(("saying", "wrong"), BETWEEN_TURNS)
def test_a_fault_between_turns_is_caught(saying, wrong):
    talk = idle().prompt()
    talk.answers(2, stopReason="end_turn")
    caught(saying, talk, wrong)


def test_a_finished_tool_call_does_not_begin_again():
    talk = turn()
    talk.shows("tool_call_update", toolCallId="t1", status="completed")
    caught(
        "after completed", talk, lambda _: talk.shows("tool_call_update", toolCallId="t1", status="pending")
    )


def test_commands_before_the_session_is_answered_are_caught():
    talk = Conversation()
    talk.asks(1, "session/new", cwd="/p", mcpServers=[])
    caught("does not know", talk, lambda _: talk.shows("available_commands_update", availableCommands=[]))


@pytest.mark.parametrize("closing", ["session/close", "session/delete"])
def test_updates_of_a_session_that_is_gone_are_caught(closing):
    talk = idle()
    talk.asks(5, closing, sessionId="s")
    talk.answers(5)
    caught("not open", talk, lambda _: talk.shows("session_info_update", title="T"))


def test_history_before_the_answer_to_a_resume_is_caught():
    talk = Conversation()
    talk.asks(1, "session/resume", sessionId="s", cwd="/p")
    caught("not open", talk, lambda _: talk.shows("user_message_chunk", content=TEXT))


def test_a_load_that_replays_after_its_answer_or_leaves_a_call_open_is_caught():
    talk = Conversation()
    talk.asks(1, "session/load", sessionId="s", cwd="/p", mcpServers=[])
    talk.answers(1)
    caught("no prompt", talk, lambda _: talk.shows("user_message_chunk", content=TEXT))
    talk.asks(2, "session/load", sessionId="s", cwd="/p", mcpServers=[])
    talk.shows("tool_call", toolCallId="t1", title="T")
    caught("a load was answered while", talk, lambda _: talk.answers(2))


@pytest.mark.parametrize("how", ["session/cancel", "session/close"])
def test_a_cancelled_prompt_that_is_answered_with_an_error_is_caught(how):
    talk = idle().prompt()
    if how == "session/cancel":
        talk.client(method=how, params={"sessionId": "s"})
    else:
        talk.asks(3, how, sessionId="s")
    caught("cancelled prompt", talk, lambda _: talk.fails(2, -32800))


def test_an_idle_cancel_concerns_no_later_prompt():
    talk = idle()
    talk.client(method="session/cancel", params={"sessionId": "s"})
    talk.client(method="session/cancel", params={"sessionId": ["s"]})
    talk.prompt()
    talk.fails(2)


def test_a_request_of_the_agent_needs_an_id_that_is_free():
    talk = turn()
    talk.permit("p1")
    caught("while a request of the agent", talk, lambda _: talk.permit("p1"))
    talk.client(id="p1", result={"outcome": {"outcome": "cancelled"}})
    talk.permit("p1")


@pytest.mark.parametrize(
    ("saying", "error"),
    [
        ("one line", {"message": "two\nlines"}),
        ("one line", {"message": " "}),
        ("code", {"code": "USER.ACP"}),
        ("exactly", {"data": "text"}),
        ("exactly", {"data": {"details": "x", "code": 1}}),
        ("exactly", {"data": {"details": 1}}),
        ("exactly", {"data": None}),
        ("Error.*own", {"own": 1}),
    ],
)
def test_an_error_that_editors_cannot_show_is_caught(saying, error):
    talk = idle()
    talk.asks(5, "session/list")
    whole = {"code": -32603, "message": "It failed", "data": {"details": "why"}, **error}
    caught(saying, talk, lambda _: talk.agent(id=5, error=whole))


@pytest.mark.parametrize(
    ("saying", "result"),
    [
        ("protocol version 2", {"protocolVersion": 2}),
        ("protocolVersion", {"protocolVersion": "1"}),
        (
            "auth.terminal",
            {"protocolVersion": 1, "authMethods": [{"type": "terminal", "id": "a", "name": "A"}]},
        ),
        ("own", {"protocolVersion": 1, "agentCapabilities": {"own": True}}),
    ],
)
def test_a_wrong_answer_to_initialize_is_caught(saying, result):
    talk = Conversation()
    talk.asks(1, "initialize", protocolVersion=1)
    caught(saying, talk, lambda _: talk.answers(1, **result))


@pytest.mark.parametrize(
    ("saying", "result"),
    [
        ("not a new session", {"sessionId": "s"}),
        ("not a new session", {"sessionId": ""}),
        ("sessionId", {}),
        ("current mode", {"sessionId": "s2", "modes": {**MODES, "currentModeId": "z"}}),
        ("boolean", {"sessionId": "s2", "configOptions": [BOOLEAN]}),
        ("current value", {"sessionId": "s2", "configOptions": [{**SELECT, "currentValue": "z"}]}),
    ],
)  # fmt: skip
def test_a_wrong_answer_to_a_new_session_is_caught(saying, result):
    talk = idle()
    talk.asks(5, "session/new", cwd="/p", mcpServers=[])
    caught(saying, talk, lambda _: talk.answers(5, **result))


def test_a_result_for_a_method_of_nobody_is_caught():
    talk = idle()
    talk.asks(5, "session/teleport")
    caught("which the protocol does not have", talk, lambda _: talk.answers(5))


def test_agents_of_others_need_not_keep_our_habits():
    talk = turn(house_rules=False)
    talk.permit(call="never introduced")
    talk.asks(5, "session/list")
    talk.agent(id=5, error={"code": -32601, "message": "no", "data": {"method": "session/list"}})
    caught("tool calls are open", talk, lambda _: talk.answers(2, stopReason="end_turn"))


def test_every_method_of_the_protocol_is_known_to_the_checker():
    """The table of names that is published beside the schema, against what is found in the schema."""
    names = json.loads((SCHEMAS / "meta.json").read_text(encoding="utf-8"))
    schema = WireChecker(SCHEMAS)._schema
    assert schema.requests.keys() | schema.notifications.keys() == {
        *names["clientMethods"].values(),
        *names["protocolMethods"].values(),
    }
    assert schema._results.keys() == {*names["agentMethods"].values()} - {"session/cancel"}
