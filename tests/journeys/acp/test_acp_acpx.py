"""acpx, the newest and the old one, as the client of `awf acp-serve`: its commands, its sessions, its exit statuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from awf.testing import peers

pytestmark = pytest.mark.journey
OLD = "0.1.15"
MCP_SERVER = Path(__file__).parents[2] / "infrastructure" / "upstreams" / "peer_servers" / "python_v1.py"


@pytest.fixture
def acpx(acp, awf, acpx_version):
    with acp.Acpx(acpx_version, awf) as made:
        yield made
    assert made.processes() == []


def judged(acpx) -> None:
    acpx.stop()
    assert acpx.agent.judge() > 0


def status(told) -> str:
    return told.turn.meta["awf"]["status"]


def commands_in(told) -> list[dict]:
    lists = [
        frame["params"]["update"]["availableCommands"]
        for frame in told.frames
        if "availableCommands" in str(frame.get("params"))
    ]
    return lists[-1] if lists else []


# -- one turn ----------------------------------------------------------------------------------------------------------


def test_acpx_runs_a_workflow_and_hears_of_all_commands(acpx):
    told = acpx.exec('/hello who="Ada L." tone=warm')
    assert (told.status, told.turn.stop_reason, status(told)) == (0, "end_turn", "completed")
    assert "Said to Ada L." in told.turn.text
    assert [entry["status"] for entry in told.turn.plan] == ["completed", "completed"]
    greet, _ = told.turn.calls
    assert "warm greetings, Ada L." in told.turn.output(greet)
    hints = {command["name"]: command.get("input") for command in commands_in(told)}
    assert hints["hello"] == {"hint": "[tone=warm|dry] <who>"}
    assert hints.keys() >= {"add", "gate", "slow", "talk", "workflows", "status"}
    judged(acpx)


def test_acpx_shows_a_person_the_answer_of_the_workflow(acpx):
    quiet = acpx.run("--format", "quiet", "exec", "/hello who=Ada")
    assert (quiet.status, "Said to Ada." in quiet.out, quiet.err) == (0, True, "")
    shown = acpx.run("--format", "text", "exec", "/hello who=Ada")
    assert shown.status == 0
    assert "dry greetings, Ada" in shown.out
    assert "error" not in (shown.out + shown.err).lower()


def test_acpx_allows_and_denies(acp, acpx, desk):
    allowed, denied = acpx.exec("/gate", "--approve-all"), acpx.exec("/gate", "--deny-all")
    assert (allowed.status, "made: success" in allowed.turn.text) == (0, True)
    assert (denied.status, "made: skipped" in denied.turn.text) == (acp.ACPX_DENIED, True)
    assert denied.turn.stop_reason == "end_turn"
    assert desk.made == 1
    judged(acpx)


def test_the_exit_status_of_acpx_tells_a_refusal_from_an_error(acpx, desk):
    """A turn that was refused, or whose workflow failed, did end; the text says why."""
    desk.path("broken").write_text("name: [", encoding="utf-8")
    desk.path("fails").write_text(desk.path("hello").read_text().replace("echo after", "exit 3"))
    missing, unknown, failed = acpx.exec("/hello"), acpx.exec("/helo who=Ada"), acpx.exec("/fails who=Ada")
    assert [told.status for told in (missing, unknown, failed)] == [0, 0, 0]
    assert [told.turn.stop_reason for told in (missing, unknown, failed)] == [
        "refusal",
        "refusal",
        "end_turn",
    ]
    assert "/hello who=<who>" in missing.turn.text
    assert "Did you mean /hello?" in unknown.turn.text
    assert status(failed) == "failed"
    assert "broken" in acpx.exec("/workflows").turn.text
    judged(acpx)


def test_acpx_chooses_a_workflow_for_plain_messages(acpx, acpx_version):
    if acpx_version == OLD:
        pytest.skip("this one has no --config-option")
    told = acpx.exec("Ada", after=("--config-option", "workflow=hello"))
    assert (told.status, "Said to Ada." in told.turn.text) == (0, True)
    judged(acpx)


def test_a_file_with_content_blocks_arrives(acpx, acpx_version, desk):
    if acpx_version == OLD:
        pytest.skip("this one sends files as text")
    resource = {"uri": f"file://{desk.project}/note.txt", "text": "buy milk", "mimeType": "text/plain"}
    blocks = [{"type": "text", "text": "/hello who="}, {"type": "resource", "resource": resource}]
    (desk.project / "blocks.json").write_text(json.dumps(blocks))
    told = acpx.run("--format", "json", "--json-strict", "exec", "-f", str(desk.project / "blocks.json"))
    assert told.status == 0, told.out
    assert "note.txt" in told.turn.text
    judged(acpx)


# -- sessions ----------------------------------------------------------------------------------------------------------


def test_acpx_holds_a_conversation_over_processes_and_resumes_it_in_the_middle(acpx, desk):
    assert acpx.new_session("s1").status == 0
    told = [acpx.prompt("s1", line) for line in ("/talk", "line 2", "line 3")]
    acpx.rest()  # the process that held the conversation is gone
    told += [acpx.prompt("s1", line) for line in ("line 4", "line 5")]
    ended = acpx.prompt("s1", "/end")
    assert [one.status for one in (*told, ended)] == [0] * 6, [
        one.out + one.err for one in told if one.status
    ]
    assert [f"Answer {number}." in one.turn.text for number, one in enumerate(told, 1)] == [True] * 5
    assert {status(one) for one in told} == {"waiting"}
    assert status(ended) == "completed"
    assert "It ended with: Answer 5." in ended.turn.text
    assert len({one.turn.meta["awf"]["runId"] for one in (*told, ended)}) == 1
    assert acpx.close_session("s1").status == 0
    assert len(desk.runs()) == 1
    judged(acpx)


def test_acpx_opens_a_session_again_each_in_its_own_way(acpx, acpx_version):
    """The old one knows no `session/resume`, and hears the story again."""
    assert acpx.new_session("s1").status == 0
    assert acpx.prompt("s1", "/hello who=Ada").status == 0
    acpx.rest()
    assert acpx.prompt("s1", "/hello who=Bob").status == 0
    judged(acpx)
    opening, *_ = [
        [(who, json.loads(line)) for who, line in process]
        for process in acpx.agent.frames()[-1:]
    ]  # fmt: skip
    methods = [message.get("method") for who, message in opening if who == ">"]
    replayed = [
        message["params"]["update"]["content"]["text"]
        for who, message in opening
        if who == "<" and "user_message_chunk" in str(message.get("params"))
    ]
    expected = ("session/load", ["/hello who=Ada"]) if acpx_version == OLD else ("session/resume", [])
    assert (methods[1], replayed) == expected


def test_acpx_cancels_from_another_process_and_has_control_again(acpx, desk, words):
    assert acpx.new_session("s1").status == 0
    running = acpx.start_prompt("s1", "/slow")
    words.until(lambda: desk.line("begun"), "the beginning of the step")
    assert desk.commands()
    assert acpx.cancel("s1").status == 0
    told = acpx.ended(running)
    assert (told.status, '"stopReason":"cancelled"' in told.out) == (0, True)
    assert desk.commands() == []
    again = acpx.prompt("s1", "/hello who=Ada")
    assert (again.status, status(again)) == (0, "completed")
    judged(acpx)


def test_acpx_sets_options_and_modes_and_they_stay(acpx, desk):
    assert acpx.new_session("s1").status == 0
    assert acpx.set_option("s1", "workflow", "hello").status == 0
    assert acpx.set_mode("s1", "auto").status == 0
    assert "Said to Ada." in acpx.prompt("s1", "Ada").turn.text
    acpx.rest()
    assert "Said to Bob." in acpx.prompt("s1", "Bob").turn.text
    gate = acpx.prompt("s1", "/gate", "--deny-all")
    assert (gate.status, desk.made) == (0, 1), gate.out + gate.err
    wrong = acpx.set_option("s1", "workflow", "helo")
    assert wrong.status == 1
    assert "did you mean" in wrong.out + wrong.err
    judged(acpx)


def test_acpx_lists_and_closes_named_sessions(acpx, acpx_version, desk):
    for name in ("one", "two"):
        assert acpx.new_session(name).status == 0
    assert acpx.prompt("one", "/hello who=Ada").status == 0
    listed = acpx.run("--format", "json", "--json-strict", "sessions", "list")
    assert listed.status == 0
    files = [file.stem for file in desk.session_files]
    assert len(files) == 2
    assert all(session in listed.out for session in files)
    assert acpx.close_session("one").status == 0
    assert acpx.run("sessions", "close", "nobody").status != 0
    assert acpx.prompt("three", "hello").status == 4
    judged(acpx)


# -- what it is started with -------------------------------------------------------------------------------------------


def test_the_servers_in_the_settings_of_acpx_reach_an_agent_step(acpx, acpx_version, desk):
    if acpx_version == OLD:
        pytest.skip("this one has no servers in its settings")
    python = peers.requested(lambda: peers.python_peer("mcp==1.30.0"))
    server = {
        "name": "sums",
        "type": "stdio",
        "command": python,
        "args": [str(MCP_SERVER), "stdio"],
        "env": [],
    }
    (desk.project / ".acpxrc.json").write_text(json.dumps({"mcpServers": [server]}))
    told = acpx.exec("/add")
    assert (told.status, status(told)) == (0, "completed")
    (call,) = [call for call in told.turn.calls.values() if call["title"].startswith("add")]
    assert "42" in str(call["content"])
    judged(acpx)


def test_acpx_tells_why_the_agent_did_not_start(acp, acpx, desk):
    broken = acp.Agent(
        [sys.executable, "-m", "awf", "acp-serve", "--bogus"], desk.project, desk.scratch, desk.environment
    )
    with acp.Acpx(acpx.version, broken) as other:
        told = other.run("exec", "/hello who=Ada")
    assert "Traceback" not in told.out + told.err
    if acpx.version != OLD:  # that one says nothing at all, and calls it a success
        assert told.status == 1
        assert "USER.ACP.USAGE: --bogus: there is no such option" in told.out + told.err
