"""Clients, files and disks that are of no help. Whatever comes, the next request is answered and nothing is left behind."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from awf.testing import peers
from awf.testing.acp_editor import RequestRefused

pytestmark = pytest.mark.journey
NEVER = "never"
MANY = 10_000
IN_FLIGHT = "USER.ACP.PROMPT_IN_FLIGHT"
INVALID_PARAMS, NOT_FOUND = -32602, -32002


async def refused(editor, method: str, **params) -> RequestRefused:
    with pytest.raises(RequestRefused) as told:
        await editor.request(method, params)
    return told.value


async def works(desk, editor, session: str = "") -> None:
    """It is still there, and does what it is asked for."""
    session = session or await editor.new_session(desk.project)
    heard = await editor.prompt(session, "/hello who=Ada")
    assert (heard.stop_reason, heard.meta["awf"]["status"]) == ("end_turn", "completed")


def the_run(desk, workflow: str) -> dict:
    (run,) = [run for run in desk.runs() if run["workflow"] == workflow]
    return run


async def at_work(desk, editor, words, prompt: str = "/slow"):
    session = await editor.new_session(desk.project)
    turn = await editor.begin(session, prompt)
    await asyncio.to_thread(words.until, lambda: desk.line("begun"), "the beginning of the step")
    return session, turn


# -- a client that does not answer -------------------------------------------------------------------------------------


async def test_a_permission_that_is_never_answered_can_be_cancelled(desk):
    async with await desk.editor(permissions=NEVER) as editor:
        session = await editor.new_session(desk.project)
        turn = await editor.begin(session, "/gate")
        asked = await turn.wait_for_question()
        await editor.cancel(session)
        assert (await turn.end()).stop_reason == "cancelled"
        assert editor.withdrawn == [asked.id]
        await works(desk, editor, session)
        late = {"outcome": {"outcome": "selected", "optionId": "allow"}}
        await editor.answer(asked.id, result=late)  # nobody waits for it any more
        await works(desk, editor, session)
    assert desk.made == 0


async def test_a_permission_that_is_never_answered_ends_with_the_time_the_workflow_gives(desk, words):
    gate = {"message": "May I?", "on_deny": "error", "timeout": "300ms"}
    desk.workflow("timed", {"make": words.command("echo x >> made", approval=gate)})
    async with await desk.editor(permissions=NEVER) as editor:
        session = await editor.new_session(desk.project)
        heard = await editor.prompt(session, "/timed")
        assert heard.meta["awf"]["error"]["code"] == "EXECUTION.APPROVAL.TIMEOUT"
        assert len(editor.withdrawn) == 1
        await works(desk, editor, session)
    assert desk.made == 0


@pytest.mark.parametrize(
    "answer",
    [
        {"result": None}, {"result": []}, {"result": {}}, {"result": {"outcome": "allow"}},
        {"result": {"outcome": {"outcome": "selected"}}}, {"result": {"outcome": {"outcome": "selected", "optionId": "yes!"}}},
        {"error": {"code": -32603, "message": "boom"}}, {"error": "boom"}, {},
    ],
    ids=json.dumps,
)  # fmt: skip
async def test_an_answer_to_a_permission_that_makes_no_sense_is_a_no(desk, answer):
    async with await desk.editor(permissions=NEVER) as editor:
        turn = await editor.begin(session := await editor.new_session(desk.project), "/gate")
        await editor.answer((await turn.wait_for_question()).id, **answer)
        assert "made: skipped" in (await turn.end()).text
        await works(desk, editor, session)
    assert desk.made == 0


# -- a client that goes ------------------------------------------------------------------------------------------------

CLIENT = """
import json, subprocess, sys
agent = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def ask(number, method, params):
    agent.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\\n")
    agent.stdin.flush()
def answer(number):
    return next(one for one in map(json.loads, agent.stdout) if one.get("id") == number and "method" not in one)["result"]
ask(1, "initialize", {"protocolVersion": 1})
answer(1)
ask(2, "session/new", {"cwd": ".", "mcpServers": []} | {"cwd": __import__("os").getcwd()})
session = answer(2)["sessionId"]
print(session, flush=True)
ask(3, "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": sys.argv[1]}]})
for line in agent.stdout:
    pass
"""
STUBBORN = "test -e go || { trap '' TERM; sleep 300 & echo $$ > begun; while :; do wait; done; }"


@pytest.mark.race
@pytest.mark.parametrize("stubborn", [False, True], ids=["obeys", "ignores SIGTERM"])
async def test_a_client_that_is_killed_takes_everything_with_it_and_the_run_can_go_on(desk, words, stubborn):
    if stubborn:
        desk.workflow("slow", {"wait": words.command(STUBBORN), "after": words.command("echo over")})
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, "/slow", *desk.command], cwd=desk.project, env=desk.environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
    )  # fmt: skip
    with client:
        session = client.stdout.readline().decode().strip()
        words.until(lambda: desk.line("begun"), "the beginning of the step")
        client.send_signal(signal.SIGKILL)
        client.wait(60)
        desk.nothing_is_left()
    run = the_run(desk, "slow")
    assert run["status"] == "cancelled"
    async with await desk.editor() as editor:
        told = await editor.load_session(session, desk.project)
        assert told.user_text == "/slow"
        assert {call["status"] for call in told.calls.values()} == {"failed"}
        await works(desk, editor, session)
    (desk.project / "go").touch()
    resumed = desk.awf("resume", run["id"])
    assert resumed.returncode == 0, resumed.stderr
    assert the_run(desk, "slow")["status"] == "completed"


@pytest.mark.race
async def test_a_client_whose_pipes_close_in_the_middle_of_a_turn_takes_everything_with_it(desk, words):
    editor = await desk.editor()
    await at_work(desk, editor, words)
    editor.agent.vanish()
    assert (await editor.ended()).status == 0
    desk.nothing_is_left()
    assert the_run(desk, "slow")["status"] == "cancelled"


async def test_a_client_that_goes_while_it_is_asked_leaves_the_question_open(desk):
    """Nobody has said no: the next time the run is gone on with, it is asked again."""
    editor = await desk.editor(permissions=NEVER)
    session = await editor.new_session(desk.project)
    await (await editor.begin(session, "/gate")).wait_for_question()
    editor.agent.vanish()
    assert (await editor.ended()).status == 0
    desk.nothing_is_left()
    assert desk.made == 0
    run = the_run(desk, "gate")
    resumed = desk.awf("resume", run["id"], "--yes")
    assert (resumed.returncode, desk.made) == (0, 1), resumed.stderr


async def test_a_client_that_goes_while_a_conversation_waits_finds_it_again(desk):
    editor = await desk.editor()
    session = await editor.new_session(desk.project)
    await editor.prompt(session, "/talk")
    editor.agent.signal(signal.SIGKILL)
    await editor.ended()
    async with await desk.editor() as again:
        await again.load_session(session, desk.project)
        assert "Answer 2." in (await again.prompt(session, "line 2")).text
        assert (await again.prompt(session, "/end")).meta["awf"]["status"] == "completed"


# -- a client that says too much ---------------------------------------------------------------------------------------


@pytest.mark.race
async def test_of_ten_thousand_prompts_in_one_write_the_first_runs_and_the_others_are_refused(desk, words):
    async with await desk.editor() as editor:
        session = await editor.new_session(desk.project)
        await works(desk, editor, session)
        before = psutil.Process(editor.agent.pid).memory_info().rss
        first = await editor.begin(session, "/slow")
        params = {"sessionId": session, "prompt": [{"type": "text", "text": "/slow"}]}
        message = {"jsonrpc": "2.0", "method": "session/prompt", "params": params}
        ids = [f"prompt {number}" for number in range(MANY)]
        await editor.send(b"".join(json.dumps({"id": one, **message}).encode() + b"\n" for one in ids))
        async with asyncio.timeout(words.PATIENCE):
            while len(editor.strays) < MANY:
                await asyncio.sleep(0.01)
        assert [one["id"] for one in editor.strays] == ids
        assert {one["error"]["data"]["details"].split(":")[0] for one in editor.strays} == {IN_FLIGHT}
        after = psutil.Process(editor.agent.pid).memory_info().rss
        assert after - before < 100_000_000
        await editor.cancel(session)
        assert (await first.end()).stop_reason == "cancelled"
        await works(desk, editor, session)
    assert len(desk.runs()) == 3


@pytest.mark.parametrize("piece", ["x", "a-", "a=", 'a="', "@", "--input=", "\\", "\n"])
async def test_a_prompt_of_a_million_characters_is_taken_in_good_time(desk, piece):
    async with await desk.editor() as editor:
        session = await editor.new_session(desk.project)
        for prompt in ("/status ", "/nothing ", "/hello who=", ""):
            heard = await editor.prompt(session, prompt + piece * (1_000_000 // len(piece)))
            assert heard.stop_reason in {"end_turn", "refusal"}
        assert (await editor.load_session(session, desk.project)).user_text


GARBAGE = [
    b"\n", b"   \n", b"{\n", b"\x00\x01\x02\n", b"\xff\xfe\xfd\n", b"null\n", b"[1,2]\n", b'"text"\n', b"NaN\n", b"1e999\n",
    b'{"jsonrpc":"2.0"}\n', b'{"jsonrpc":"2.0","id":{},"method":"session/list"}\n', b"[" * 100_000 + b"\n",
    b'{"jsonrpc":"2.0","id":true,"method":"initialize"}\n',
    b'{"jsonrpc":"2.0","id":"g2","method":"session/prompt","params":[]}\n', b'{"jsonrpc":"2.0","id":"g3","result":{}}\n',
    b'{"jsonrpc":"2.0","id":"g4","method":"session/prompt","params":{"sessionId":7,"prompt":"x"}}\n',
    b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":["x"]}}\n',
    b'{"jsonrpc":"2.0","id":"g5","method":"initialize","params":{"protocolVersion":"1"}}\n', b"x" * 11_000_000 + b"\n",
]  # fmt: skip


async def test_garbage_between_good_frames_harms_no_turn(desk, words):
    async with await desk.editor() as editor:
        session, turn = await at_work(desk, editor, words)
        other = await editor.new_session(desk.project)
        for line in GARBAGE:
            await editor.send(line)
            await editor.list_sessions()
        await works(desk, editor, other)
        assert desk.commands()
        await editor.cancel(session)
        assert (await turn.end()).stop_reason == "cancelled"
        assert all("error" in one for one in editor.strays)
        await works(desk, editor, session)


def test_a_linter_that_speaks_another_protocol_is_answered_to_its_end(acp, awf, desk):
    """acplint sends wrong types throughout; what it thinks of the answers says nothing about us. The rest of it only waits."""
    categories = [
        "initialization",
        "session_lifecycle",
        "session_modes",
        "config_options",
        "cancel",
        "stress",
        "schema_validation",
    ]
    python = peers.requested(lambda: peers.python_peer("acplint==0.1.0"))
    linter = [
        str(Path(python).with_name("acplint")),
        "--output",
        "json",
        "--timeout",
        "2",
        "--cwd",
        str(desk.project),
    ]
    done = subprocess.run(
        [*linter, "--agent", awf.recorded()[0], f"--agent-args={shlex.join(awf.recorded()[1:])}", "--categories", *categories],
        cwd=desk.scratch, env=desk.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert awf.judge() > 0, done.stdout + done.stderr
    desk.nothing_is_left()


# -- sessions and folders that are not there ---------------------------------------------------------------------------

STRANGE_IDS = ["nobody", "", "../../../etc/passwd", "a" * 5000, "nul\x00", "☂ \n", "con.json"]


async def test_unknown_sessions_are_told_for_every_method(desk):
    async with await desk.editor() as editor:
        for session in STRANGE_IDS:
            where = {"sessionId": session, "cwd": str(desk.project), "mcpServers": []}
            for method, params in (
                ("session/load", where), ("session/resume", where), ("session/close", {"sessionId": session}),
                ("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "/hello"}]}),
                ("session/set_mode", {"sessionId": session, "modeId": "ask"}),
                ("session/set_config_option", {"sessionId": session, "configId": "approvals", "value": "ask"}),
            ):  # fmt: skip
                told = await refused(editor, method, **params)
                assert (told.code, told.details.split(":")[0]) == (NOT_FOUND, "USER.ACP.UNKNOWN_SESSION"), (
                    method,
                    session,
                )
            assert await editor.delete_session(session) == {}
            await editor.notify("session/cancel", {"sessionId": session})
        await works(desk, editor)


async def test_folders_that_are_none_are_told(desk):
    (desk.project / "file").write_text("x")
    async with await desk.editor() as editor:
        session = await editor.new_session(desk.project)
        for cwd in (
            "/no/such/folder",
            str(desk.project / "file"),
            "relative",
            ".",
            "",
            "~",
            "nul\x00",
            "/" + "x" * 5000,
        ):
            told = [
                await refused(editor, "session/new", cwd=cwd, mcpServers=[]),
                await refused(editor, "session/load", sessionId=session, cwd=cwd, mcpServers=[]),
                await refused(editor, "session/resume", sessionId=session, cwd=cwd),
            ]
            assert {one.code for one in told} == {INVALID_PARAMS}, cwd
            assert all(one.details.startswith("USER.ACP.") for one in told)
        await works(desk, editor, session)


async def test_a_folder_that_goes_while_its_session_is_open_is_told(desk):
    away = desk.root / "away"
    async with await desk.editor() as editor:
        session = await editor.new_session(desk.project)
        await editor.commands(session)
        desk.project.rename(away)
        heard = await editor.prompt(session, "/hello who=Ada")
        assert (heard.stop_reason in {"end_turn", "refusal"}, bool(heard.text)) == (True, True)
        away.rename(desk.project)
        await works(desk, editor, session)


# -- workflow files ----------------------------------------------------------------------------------------------------


def a_bomb(path: Path) -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]"
        for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    path.write_text("\n".join(lines))


STRANGE_FILES = {
    "cut": lambda path: path.write_text("name: cut\nstates: {initial: a, a: {type: step"),
    "binary": lambda path: path.write_bytes(bytes(range(256)) * 50),
    "pipe": os.mkfifo,
    "huge": lambda path: path.write_text(
        "name: huge\ndescription: |\n" + "  text and more text\n" * 1_000_000
    ),
    "bomb": a_bomb,
    "deep": lambda path: path.write_text("name: " + "[" * 50_000),
    "unreadable": lambda path: (
        path.write_text("name: unreadable"),
        path.chmod(0),
    ),  # for root it is just not whole
    "folder": lambda path: path.mkdir(),
    "dangling": lambda path: path.symlink_to("nowhere.yaml"),
    "itself": lambda path: path.symlink_to(path.name),
    "empty": lambda path: path.write_text(""),
    "list": lambda path: path.write_text("- a\n- b\n"),
}


async def test_strange_workflow_files_do_not_hide_the_others_and_are_told_of(desk):
    for name, make in STRANGE_FILES.items():
        make(desk.path(name))
    async with await desk.editor() as editor:
        session = await editor.new_session(desk.project)
        names = {command["name"] for command in await editor.commands(session)}
        assert names >= {"hello", "gate", "slow", "talk"}
        await works(desk, editor, session)
        told = (await editor.prompt(session, "/workflows")).text
        unseen = [
            name
            for name in ("cut", "binary", "huge", "bomb", "deep", "unreadable", "empty", "list")
            if name not in told
        ]
        assert unseen == []
        for name in STRANGE_FILES:
            heard = await editor.prompt(session, f"/{name}")
            assert heard.stop_reason in {"refusal", "end_turn"}
            assert heard.meta["awf"]["status"] in {"refused", "failed"}
        await works(desk, editor, session)


async def test_a_workflow_that_goes_between_the_list_and_the_prompt_is_told(desk):
    async with await desk.editor() as editor:
        session = await editor.new_session(desk.project)
        assert "gate" in {command["name"] for command in await editor.commands(session)}
        desk.path("gate").unlink()
        heard = await editor.prompt(session, "/gate")
        assert (heard.stop_reason, "no workflow or command /gate" in heard.text) == ("refusal", True)
        await works(desk, editor, session)


# -- more than one process ---------------------------------------------------------------------------------------------


@pytest.mark.race
async def test_two_processes_work_on_one_project_at_once(desk):
    async with await desk.editor() as one, await desk.editor() as two:
        sessions = [(editor, await editor.new_session(desk.project)) for editor in (one, two)]
        for _ in range(3):
            turns = [await editor.begin(session, "/hello who=Ada") for editor, session in sessions]
            assert [(await turn.end()).meta["awf"]["status"] for turn in turns] == ["completed"] * 2
        listed = {one["sessionId"] for one in await one.list_sessions(desk.project)}
        assert listed == {session for _, session in sessions}
    assert len(desk.runs()) == 6


async def test_a_session_that_two_processes_have_open_answers_in_one_of_them(desk):
    async with await desk.editor() as one, await desk.editor() as two:
        session = await one.new_session(desk.project)
        await one.prompt(session, "/talk")
        assert "Answer 1." in (await two.load_session(session, desk.project)).text
        elsewhere = await two.prompt(session, "line 2")
        assert elsewhere.meta["awf"]["error"]["code"] == "USER.ACP.RUN_ELSEWHERE"
        assert "Answer 2." in (await one.prompt(session, "line 2")).text
        await one.close_session(session)  # the conversation waits on, and is free
        assert "Answer 3." in (await two.prompt(session, "line 3")).text
        assert (await two.prompt(session, "/end")).meta["awf"]["status"] == "completed"


# -- disks -------------------------------------------------------------------------------------------------------------


async def test_a_home_that_cannot_be_written_is_told(desk, small_disk):
    desk.environment["XDG_DATA_HOME"] = str(small_disk("1m", read_only=True))
    async with await desk.editor() as editor:
        told = await refused(editor, "session/new", cwd=str(desk.project), mcpServers=[])
        assert told.details.startswith("SYSTEM.IO.WRITE_FAILED: "), told.details
        await refused(editor, "session/list")


def limited(desk, blocks: int) -> tuple[str, ...]:
    """No file may grow beyond this: as a full disk, for everything that is written."""
    return ("/bin/sh", "-c", f"ulimit -f {blocks}; exec {shlex.join(desk.command)} --log-level error")


async def test_a_session_that_cannot_be_kept_is_refused_and_nothing_is_half_written(desk):
    desk.command = limited(desk, 0)
    async with await desk.editor() as editor:
        told = await refused(editor, "session/new", cwd=str(desk.project), mcpServers=[])
        assert told.details.startswith("SYSTEM.IO.WRITE_FAILED: "), told.details
        assert await editor.list_sessions() == []
    assert [file for file in desk.session_files if file.is_file()] == []


async def test_a_turn_that_cannot_be_kept_is_answered_and_the_session_stays_as_it_was(desk):
    plain = desk.command
    desk.command = limited(desk, 8)
    async with await desk.editor() as editor:
        session = await editor.new_session(desk.project)
        (file,) = desk.session_files
        kept = json.loads(file.read_bytes())
        assert (await editor.prompt(session, "/status " + "x" * 50_000)).stop_reason == "end_turn"
        assert json.loads(file.read_bytes()) == kept
        assert desk.session_files == [file]
        heard = await editor.prompt(session, "/hello who=Ada")  # nor can a run be kept
        assert heard.meta["awf"]["status"] == "failed"
        assert heard.meta["awf"]["error"]["code"].startswith("SYSTEM.")
    desk.command = plain
    async with await desk.editor() as editor:
        await editor.load_session(session, desk.project)
        await works(desk, editor, session)


async def test_a_full_disk_in_the_middle_of_a_session_is_told_and_loses_nothing_of_it(desk, small_disk):
    disk = small_disk("16m")
    desk.environment |= {"AWF_STORAGE": str(disk / "runs"), "XDG_DATA_HOME": str(disk / "data")}
    async with await desk.editor() as editor:
        session = await editor.new_session(desk.project)
        await works(desk, editor, session)
        with (disk / "filler").open("wb", buffering=0) as filler, pytest.raises(OSError, match="No space"):
            while filler.write(b"x" * 4096):
                pass
        told = await refused(editor, "session/new", cwd=str(desk.project), mcpServers=[])
        assert told.details.startswith("SYSTEM.IO.WRITE_FAILED: ")
        heard = await editor.prompt(session, "/hello who=Ada")
        assert heard.meta["awf"]["error"]["code"] == "SYSTEM.STORE.WRITE_FAILED"
        (disk / "filler").unlink()
        await works(desk, editor, session)
    async with await desk.editor() as editor:
        assert (await editor.load_session(session, desk.project)).user_text.startswith("/hello who=Ada")
        await works(desk, editor, session)


async def test_a_log_that_cannot_be_written_is_told(desk):
    (desk.data / "awf" / "acp-serve.log").mkdir(parents=True)
    async with await desk.editor() as editor:
        told = await refused(editor, "session/new", cwd=str(desk.project), mcpServers=[])
    assert "acp-serve.log" in told.details
