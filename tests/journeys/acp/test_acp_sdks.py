"""What people do in editors, with each official SDK as the editor and `awf acp-serve` as the agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from awf.testing import peers

pytestmark = pytest.mark.journey
FORMS = {"elicitation": {"form": {}}}
HELPERS = ["workflows", "status"]
MCP_SERVER = Path(__file__).parents[2] / "infrastructure" / "upstreams" / "peer_servers" / "python_v1.py"


def judged(awf, played, processes: int = 1, *, complaints: bool = False) -> None:
    """Every frame was right, the SDK had nothing to complain of, nothing stood on standard error, every process went well."""
    assert (complaints or played.complaints == "", awf.stderr) == (True, ""), played.complaints
    assert played.exits == [0] * processes
    assert len(awf.frames()) == processes
    assert awf.judge() > 0


def status(turn) -> str:
    return turn.meta["awf"]["status"]


def test_an_sdk_lists_the_commands_with_hints_and_runs_a_workflow(acp, awf, sdk):
    played = sdk.play(
        awf,
        acp.new("a"),
        acp.commands("a"),
        acp.prompt("a", '/hello who="Ada L."'),
        acp.listing(),
        acp.close("a"),
    )
    commands = {command["name"]: command for command in played.of("commands")[0].result}
    assert list(commands) == ["add", "gate", "hello", "slow", "talk", *HELPERS]
    assert commands["hello"]["description"] == "Greet somebody"
    assert commands["hello"]["input"] == {"hint": "[tone=warm|dry] <who>"}
    (turn,) = played.turns
    assert (turn.stop_reason, status(turn)) == ("end_turn", "completed")
    assert "Said to Ada L." in turn.text
    assert [entry["status"] for entry in turn.plan] == ["completed", "completed"]
    greet, after = turn.calls
    assert (turn.statuses(greet)[-1], turn.calls[greet]["kind"]) == ("completed", "execute")
    assert "dry greetings, Ada L." in turn.output(greet)
    assert "after" in turn.output(after)
    assert "session_info_update" in turn.kinds
    (listed,) = played.of("list")
    (one,) = listed.result["sessions"]
    assert (one["sessionId"], one["title"]) == (played.sessions["a"], '/hello who="Ada L."')
    judged(awf, played)


def test_an_sdk_cancels_and_has_control_again(acp, awf, desk, sdk):
    played = sdk.play(
        awf, acp.new("a"), acp.prompt("a", "/slow", cancel_on="tool_call"), acp.prompt("a", "/hello who=Ada"),
        acp.prompt("a", "/slow", cancel_after_ms=300), acp.prompt("a", "/status"),
    )  # fmt: skip
    assert [turn.stop_reason for turn in played.turns] == ["cancelled", "end_turn", "cancelled", "end_turn"]
    first, second = played.turns[0], played.turns[1]
    (call,) = first.calls.values()
    assert (call["status"], call["_meta"]["awf"]["cancelled"]) == ("failed", True)
    assert status(second) == "completed"
    assert desk.commands() == []
    judged(awf, played)


def test_an_sdk_answers_permissions(acp, awf, desk, sdk):
    gate = acp.prompt("a", "/gate")
    played = sdk.play(
        awf, acp.new("a"), gate, gate, gate, gate, gate, acp.new("b"), acp.prompt("b", "/gate", cancel_on="permission"),
        permissions=("allow", "deny", "cancelled", "allow_always", "hold"),
    )  # fmt: skip
    asked = [len(step.questions) for step in played.of("prompt")]
    assert asked == [1, 1, 1, 1, 0, 1]
    assert [turn.stop_reason for turn in played.turns] == [
        "end_turn", "end_turn", "cancelled", "end_turn", "end_turn", "cancelled",
    ]  # fmt: skip
    assert "made: success" in played.turns[0].text
    assert "made: skipped" in played.turns[1].text
    assert desk.made == 3
    (question,) = played.of("prompt")[0].questions
    assert "May it be made?" in str(question["call"])
    assert "echo x >> made" in str(question["call"])
    withdrawn = (
        "method=$/cancel_request" in played.complaints
    )  # one SDK does not know it, says so, and goes on
    assert not withdrawn or (sdk.package == acp.PYTHON_SDK and played.complaints.count("ERROR:") == 1)
    judged(awf, played, complaints=withdrawn)


def test_an_sdk_approves_everything_by_the_mode_of_the_session(acp, awf, desk, sdk):
    played = sdk.play(
        awf, acp.new("a"), acp.set_mode("a", "auto"), acp.prompt("a", "/gate"), acp.set_option("a", "approvals", "ask"),
        acp.prompt("a", "/gate"), acp.set_option("a", "workflow", "hello"), acp.prompt("a", "Ada"),
        acp.set_option("a", "workflow", "nonsense"), permissions=("deny",),
    )  # fmt: skip
    assert [len(step.questions) for step in played.of("prompt")] == [0, 1, 0]
    assert desk.made == 1
    first, _, third = played.of("set_option")
    assert {option["id"]: option["currentValue"] for option in first.result["configOptions"]} == {
        "approvals": "ask", "workflow": "none",
    }  # fmt: skip
    assert "Said to Ada." in played.turns[2].text
    assert third.error["data"]["details"].startswith("USER.ACP.UNKNOWN_OPTION: ")
    judged(awf, played)


def test_an_sdk_holds_a_conversation_of_five_turns(acp, awf, desk, sdk):
    """The script answers each line only in its turn: an agent that forgot would begin anew."""
    lines = [acp.prompt("a", f"line {number}") for number in range(2, 6)]
    played = sdk.play(awf, acp.new("a"), acp.prompt("a", "/talk"), *lines, acp.prompt("a", "/end"))
    *talked, ended = played.turns
    assert [f"Answer {number}." in turn.text for number, turn in enumerate(talked, 1)] == [True] * 5
    assert {status(turn) for turn in talked} == {"waiting"}
    assert (ended.stop_reason, status(ended)) == ("end_turn", "completed")
    assert "It ended with: Answer 5." in ended.text
    assert len({turn.meta["awf"]["runId"] for turn in played.turns}) == 1
    assert len(desk.runs()) == 1
    judged(awf, played)


def test_an_sdk_loads_and_resumes_in_the_middle_of_a_conversation(acp, awf, desk, sdk):
    played = sdk.play(
        awf, acp.new("a"), acp.prompt("a", "/hello who=Ada"), acp.prompt("a", "/talk"), acp.prompt("a", "line 2"),
        acp.restart(), acp.load("a"), acp.commands("a"), acp.prompt("a", "line 3"),
        acp.restart(), acp.resume("a"), acp.prompt("a", "line 4"), acp.prompt("a", "line 5"), acp.prompt("a", "/end"),
        acp.restart(), acp.listing(), acp.load("a"), acp.load("nobody"), acp.resume("nobody"), acp.delete("a"),
    )  # fmt: skip
    first, again, unknown = played.of("load")
    for told, count in ((first.heard, 2), (again.heard, 5)):
        assert told.user_text.startswith("/hello who=Ada/talkline 2")
        assert "Said to Ada." in told.text
        assert [f"Answer {number}." in told.text for number in range(1, 6)] == [
            n <= count for n in range(1, 6)
        ]
        assert {call["status"] for call in told.calls.values()} == {"completed"}
    assert "end" in [command["name"] for command in played.of("commands")[0].result]
    assert "user_message_chunk" not in played.of("resume")[0].heard.kinds
    assert [f"Answer {number}." in turn.text for number, turn in enumerate(played.turns[1:6], 1)] == [
        True
    ] * 5
    assert status(played.turns[-1]) == "completed"
    assert len({turn.meta["awf"]["runId"] for turn in played.turns[1:]}) == 1
    for step in (unknown, played.of("resume")[-1]):
        assert step.error["code"] == -32002
        assert step.error["data"]["details"].startswith("USER.ACP.UNKNOWN_SESSION: ")
    assert [one["cwd"] for one in played.of("list")[0].result["sessions"]] == [str(desk.project)]
    assert "not offered" in str(played.of("delete")[0].result) or desk.session_files == []
    judged(awf, played, processes=4)


def test_an_sdk_fills_in_a_form_for_what_is_missing(acp, awf, sdk):
    played = sdk.play(awf, acp.new("a"), acp.prompt("a", "/hello"), form={"who": "Ada"}, capabilities=FORMS)
    (turn,) = played.turns
    assert (turn.stop_reason, status(turn)) == ("end_turn", "completed")
    assert "Said to Ada." in turn.text
    judged(awf, played)


def test_an_sdk_without_forms_is_told_what_to_type(acp, awf, sdk):
    played = sdk.play(awf, acp.new("a"), acp.prompt("a", "/hello tone=warm"))
    (turn,) = played.turns
    assert turn.stop_reason == "refusal"
    assert "/hello who=<who> tone=warm" in turn.text
    (check,) = turn.calls.values()
    assert (check["status"], check["rawOutput"]["code"]) == ("completed", "USER.ACP.INVALID_INPUT")
    judged(awf, played)


def test_the_servers_of_an_sdk_reach_an_agent_step(acp, awf, sdk):
    python = peers.requested(lambda: peers.python_peer("mcp==1.30.0"))
    server = {"name": "sums", "command": python, "args": [str(MCP_SERVER), "stdio"], "env": []}
    played = sdk.play(
        awf,
        acp.new("a", [server]),
        acp.prompt("a", "/add"),
        acp.restart(),
        acp.load("a", [server]),
        acp.prompt("a", "/add"),
    )
    for turn in played.turns:
        assert status(turn) == "completed", turn.text
        (call,) = [call for call in turn.calls.values() if call["title"].startswith("add")]
        assert "42" in str(call["content"])
    judged(awf, played, processes=2)
