"""The clients themselves, tried on an agent that is built on an official SDK: what they show later is the agent's doing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from awf.testing import peers

pytestmark = pytest.mark.journey

COMMANDS = ["echo", "slow", "gate", "form"]
FORMS = {"elicitation": {"form": {}}}


@pytest.fixture
def agent(acp, tmp_path):
    python = peers.requested(lambda: peers.python_peer(acp.PYTHON_SDK))
    scratch, cwd = tmp_path / "scratch", tmp_path / "a project"
    scratch.mkdir()
    cwd.mkdir()
    environment = {**peers.peer_environment(tmp_path / "home"), "ECHO_STORE": str(tmp_path / "store")}
    return acp.Agent([python, str(Path(__file__).with_name("echo_agent.py"))], cwd, scratch, environment)


def judged(agent) -> None:
    assert agent.judge(house_rules=False) > 0


# -- the SDKs ----------------------------------------------------------------------------------------------------------


def test_an_sdk_lists_commands_and_holds_a_conversation_of_five_turns(acp, agent, sdk):
    turns = [acp.prompt("a", f"word {number}") for number in range(1, 6)]
    played = sdk.play(agent, acp.new("a"), acp.commands("a"), *turns, acp.close("a"))
    assert [command["name"] for command in played.of("commands")[0].result] == COMMANDS
    assert [turn.text for turn in played.turns] == [f"turn {number}: word {number}" for number in range(1, 6)]
    assert {turn.stop_reason for turn in played.turns} == {"end_turn"}
    assert played.initialize[0]["agentInfo"]["name"] == "echo"
    assert (played.complaints, played.exits) == ("", [0])
    judged(agent)


def test_an_sdk_cancels_on_the_first_tool_call_and_after_a_while(acp, agent, sdk):
    played = sdk.play(
        agent,
        acp.new("a"),
        acp.prompt("a", "/slow", cancel_on="tool_call"),
        acp.new("b"),
        acp.prompt("b", "/slow", cancel_after_ms=50),
        acp.prompt("b", "and on"),
    )
    assert [turn.stop_reason for turn in played.turns] == ["cancelled", "cancelled", "end_turn"]
    assert played.turns[0].statuses("slow") == ["in_progress", "failed"]
    assert (played.complaints, played.exits) == ("", [0])
    judged(agent)


def test_an_sdk_answers_permissions_in_the_order_it_is_told(acp, agent, sdk):
    gates = [(name, acp.new(name), acp.prompt(name, "/gate")) for name in "abcd"]
    actions = [action for _, *both in gates for action in both]
    hold = acp.prompt("e", "/gate", cancel_on="permission")
    played = sdk.play(
        agent,
        *actions,
        acp.new("e"),
        hold,
        permissions=("allow", "deny", "allow_always", "cancelled", "hold"),
    )
    assert [turn.text.removeprefix("chosen: ") for turn in played.turns] == [
        "allow", "deny", "allow_session", "nothing", "nothing",
    ]  # fmt: skip
    assert [turn.calls["gate"]["status"] for turn in played.turns[:2]] == ["completed", "failed"]
    assert played.of("prompt")[0].questions[0]["call"]["title"] == "May I?"
    assert played.complaints == ""
    judged(agent)


@pytest.mark.parametrize("answer", [{"env": "prod"}, "decline", "cancel"])
def test_an_sdk_fills_in_forms(acp, agent, sdk, answer):
    played = sdk.play(agent, acp.new("a"), acp.prompt("a", "/form"), form=answer, capabilities=FORMS)
    said = json.loads(played.turns[0].text)
    assert said == (
        {"action": "accept", "content": answer} if isinstance(answer, dict) else {"action": answer}
    )
    assert played.of("prompt")[0].questions[0]["message"] == "Which one?"
    judged(agent)


def test_an_sdk_goes_on_with_a_session_in_another_process(acp, agent, sdk):
    played = sdk.play(
        agent, acp.new("a"), acp.prompt("a", "one"),
        acp.restart(), acp.listing(), acp.load("a"), acp.prompt("a", "two"),
        acp.restart(), acp.resume("a"), acp.commands("a"), acp.prompt("a", "three"), acp.load("nobody"),
    )  # fmt: skip
    assert [turn.text for turn in played.turns] == ["turn 1: one", "turn 2: two", "turn 3: three"]
    (listed,) = played.of("list")
    assert listed.result["sessions"] == [{"sessionId": played.sessions["a"], "cwd": str(agent.cwd)}]
    (loaded, unknown) = played.of("load")
    assert (loaded.heard.user_text, loaded.heard.text) == ("one", "echo: one")
    assert (unknown.error["code"], unknown.error["data"]) == (-32002, {"details": "nobody"})
    assert "user_message_chunk" not in played.of("resume")[0].heard.kinds
    assert played.exits == [0, 0, 0]
    assert len(agent.frames()) == 3
    judged(agent)


def test_a_frame_that_is_wrong_is_found_in_what_was_recorded(acp, agent, sdk):
    """The house rules are not kept by this agent, and judging by them says so."""
    sdk.play(agent, acp.load("nobody"), acp.set_mode("nobody", "m"))
    with pytest.raises(AssertionError, match="exactly"):
        agent.judge()


# -- acpx --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def acpx(acp, agent, acpx_version):
    with acp.Acpx(acpx_version, agent) as made:
        yield made
    assert made.processes() == []


def test_acpx_takes_one_turn(acpx, agent):
    told = acpx.exec('say "it" with $quotes')
    assert (told.status, told.turn.text) == (0, 'turn 1: say "it" with $quotes')
    assert told.turn.stop_reason == "end_turn"
    judged(agent)


def test_acpx_prints_the_text_alone(acpx):
    told = acpx.run("--format", "quiet", "exec", "hello")
    assert (told.status, told.out.strip()) == (0, "turn 1: hello")


def test_acpx_allows_and_denies(acp, acpx, agent):
    allowed, denied = acpx.exec("/gate", "--approve-all"), acpx.exec("/gate", "--deny-all")
    assert (allowed.status, allowed.turn.text) == (0, "chosen: allow")
    assert (denied.status, denied.turn.text) == (acp.ACPX_DENIED, "chosen: deny")
    judged(agent)


def test_acpx_keeps_a_session_over_processes_and_turns(acp, acpx, agent):
    assert acpx.new_session("s1").status == 0
    told = [acpx.prompt("s1", word) for word in ("one", "two", "three", "four", "five")]
    assert [one.status for one in told] == [0] * 5
    assert [one.turn.text for one in told] == [
        "turn 1: one", "turn 2: two", "turn 3: three", "turn 4: four", "turn 5: five",
    ]  # fmt: skip
    acpx.rest()
    again = acpx.prompt("s1", "six")
    assert (again.status, again.turn.text) == (0, "turn 6: six")
    assert acpx.close_session("s1").status == 0
    acpx.rest()
    judged(agent)


def test_acpx_cancels_from_another_process(acpx, agent):
    assert acpx.new_session("s1").status == 0
    running = acpx.start_prompt("s1", "/slow")
    seen = [running.stdout.readline()]
    while b'"tool_call"' not in seen[-1]:
        assert seen[-1], (seen, running.stderr.read())
        seen.append(running.stdout.readline())
    assert acpx.cancel("s1").status == 0
    told = acpx.ended(running)
    assert told.status == 0
    assert '"stopReason":"cancelled"' in told.out
    acpx.rest()
    judged(agent)
