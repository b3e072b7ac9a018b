"""`awf acp-serve` as it is started: its options, its files, what it never writes, and how it ends."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from awf.testing.acp_editor import RequestRefused

pytestmark = pytest.mark.journey
OPTIONS = ["--trace-wire", "--storage", "--log-file", "--log-level"]


def refused(done: subprocess.CompletedProcess[str], code: str, *words: str) -> None:
    """A person reads one line that says what is wrong, and the editor's log shows it, too."""
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert "Traceback" not in done.stderr
    first, *others = done.stderr.splitlines()
    assert first.startswith(f"awf acp-serve: {code}: "), first
    assert all(word in first for word in words), first
    assert not any(code in line for line in others)


# -- the command line --------------------------------------------------------------------------------------------------


def test_help_names_every_option_and_says_what_it_is_for(desk):
    for flag in ("--help", "-h"):
        done = desk.run(flag)
        assert (done.returncode, done.stderr) == (0, "")
        assert "Agent Client Protocol" in done.stdout
        assert all(option in done.stdout for option in OPTIONS)
    assert "acp-serve" not in cli(desk, "--help").stdout  # it is for editors, not for people


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--bogus"], ["--bogus", "no such option"]),
        (["--format", "json"], ["--format", "no such option"]),
        (["deploy"], ["deploy", "no such option"]),
        (["--trace-wire"], ["--trace-wire", "needs a value"]),
        (["--trace-wire="], ["--trace-wire", "needs a value"]),
        (["--storage", ""], ["--storage", "needs a value"]),
        (["--log-level", "loud"], ["--log-level", "loud"]),
    ],
    ids=lambda value: " ".join(value) if value and value[0].startswith("-") else "",
)
def test_a_command_line_that_makes_no_sense_is_refused_before_anything_is_served(desk, arguments, words):
    refused(desk.run(*arguments), "USER.ACP.USAGE", *words)
    assert list(desk.home.iterdir()) == []


def test_a_terminal_is_told_that_it_is_no_editor(desk):
    ours, theirs = pty.openpty()
    try:
        done = desk.run(stdin=theirs)
    finally:
        os.close(theirs)
        os.close(ours)
    refused(done, "USER.ACP.NO_EDITOR", "editor")
    assert "docs/editors.md" in done.stderr


def a_missing_folder(folder: Path) -> str:
    return str(folder / "nowhere" / "file")


def a_folder(folder: Path) -> str:
    return str(folder)


def a_pipe_without_a_reader(folder: Path) -> str:
    os.mkfifo(folder / "pipe")
    return str(folder / "pipe")


@pytest.mark.parametrize("place", [a_missing_folder, a_folder, a_pipe_without_a_reader])
@pytest.mark.parametrize("option", ["--trace-wire", "--log-file"])
def test_a_file_that_cannot_be_written_is_refused_at_once(desk, option, place):
    path = place(desk.project)
    refused(desk.run(option, path), "USER.ACP.USAGE", option, path, "cannot be written")


def test_the_trace_cannot_be_the_wire_itself(desk):
    refused(desk.run("--trace-wire", "/dev/stdout"), "USER.ACP.USAGE", "--trace-wire", "standard output")


async def test_a_data_directory_that_cannot_be_used_is_told_in_the_editor(desk):
    (desk.home / ".local").write_text("not a folder")
    async with await desk.editor() as editor:
        with pytest.raises(RequestRefused) as told:
            await editor.new_session(desk.project)
        with pytest.raises(RequestRefused):
            await editor.new_session(desk.project)  # it is still there to be asked
    assert told.value.details.startswith("SYSTEM.IO.WRITE_FAILED: "), told.value.details
    assert "acp-serve.log" in told.value.details


async def test_a_working_directory_that_is_gone_is_no_obstacle(desk):
    """Editors start agents wherever they are; the session names its folder."""
    desk.workflow("hello", "echo hello")
    desk.command = (
        "/bin/sh",
        "-c",
        f'mkdir gone; cd gone; rmdir ../gone; exec "{sys.executable}" -m awf acp-serve',
    )
    async with await desk.editor() as editor:
        heard = await editor.prompt(await editor.new_session(desk.project), "/hello")
    assert (heard.stop_reason, heard.meta["awf"]["status"]) == ("end_turn", "completed")


async def test_five_hundred_workflows_are_all_offered_after_the_session_is_made(desk):
    for number in range(500):
        desk.workflow(f"flow{number:03}", "true")
    async with await desk.editor() as editor:
        commands = await editor.commands(await editor.new_session(desk.project))
    assert [one["name"] for one in commands[:500]] == [f"flow{number:03}" for number in range(500)]


# -- files -------------------------------------------------------------------------------------------------------------


async def test_the_log_is_a_file_in_the_data_directory_and_nothing_comes_on_standard_error(desk):
    desk.workflow("hello", "echo hello")
    editor = await desk.editor("--log-level", "debug")
    await editor.prompt(await editor.new_session(desk.project), "/hello")
    ended = await editor.close()
    assert (ended.status, ended.stderr) == (0, "")
    assert "hello" in desk.log.read_text()


async def test_another_log_file_can_be_chosen(desk):
    desk.workflow("hello", "echo hello")
    async with await desk.editor(f"--log-file={desk.project / 'my.log'}", "--log-level=debug") as editor:
        await editor.prompt(await editor.new_session(desk.project), "/hello")
    assert "hello" in desk.line("my.log")
    assert not desk.log.exists()


async def test_a_log_that_has_grown_large_is_begun_anew_and_the_old_one_kept(desk):
    desk.data.mkdir(parents=True)
    with desk.log.open("wb") as log:
        log.truncate(6_000_000)
    async with await desk.editor() as editor:
        await editor.new_session(desk.project)
    assert desk.log.with_name("acp-serve.log.1").stat().st_size == 6_000_000
    assert desk.log.stat().st_size < 1_000_000


async def test_runs_are_kept_where_the_option_says(desk):
    desk.workflow("hello", "echo hello")
    async with await desk.editor("--storage", str(desk.project / "elsewhere")) as editor:
        await editor.prompt(await editor.new_session(desk.project), "/hello")
    assert list((desk.project / "elsewhere").iterdir())


async def test_a_run_store_that_cannot_be_used_is_told_in_the_turn_and_the_thread_stays(desk):
    desk.workflow("hello", "echo hello")
    (desk.project / "file").touch()
    async with await desk.editor("--storage", str(desk.project / "file")) as editor:
        session = await editor.new_session(desk.project)
        heard = await editor.prompt(session, "/hello")
        after = await editor.prompt(session, "/workflows")
    assert (heard.stop_reason, heard.meta["awf"]["error"]["code"]) == ("end_turn", "SYSTEM.STORE.UNAVAILABLE")
    assert "--storage" in heard.text
    assert "hello" in after.text


SERVERS = [
    {"name": "local", "command": "/bin/false", "args": [], "env": [{"name": "KEY", "value": "hush-env"}]},
    {
        "type": "http",
        "name": "far",
        "url": "http://127.0.0.1:1/mcp",
        "headers": [{"name": "Authorization", "value": "Bearer hush-header"}],
    },
]


async def test_the_trace_has_every_message_of_both_directions_and_no_secret(desk):
    desk.environment["DEPLOY_TOKEN"] = "hush-environment"
    inputs = [{"name": "pin", "type": "string", "secret": True}, {"name": "env", "type": "string"}]
    desk.workflow("show", "echo $DEPLOY_TOKEN; echo {{inputs.pin}} {{inputs.env}}", inputs=inputs)
    trace = desk.project / "wire.jsonl"
    prompt = '/show pin="hush-typed in" env=prod hush-environment'
    async with await desk.editor("--trace-wire", str(trace)) as editor:
        session = await editor.new_session(desk.project, SERVERS)
        await editor.prompt(session, prompt)  # one word too many: refused, and shown
        heard = await editor.prompt(session, prompt.removesuffix(" hush-environment"))
        await editor.notify("_note", {"text": "hush-environment"})
        said, heard_lines = editor.agent.lines(">"), editor.agent.lines("<")
    assert (heard.stop_reason, heard.meta["awf"]["status"]) == ("end_turn", "completed")
    told = desk.traced(trace)
    assert [one["message"].get("method") for one in told if one["direction"] == "in"] == [
        json.loads(line)["method"] for line in said
    ]
    sent = [one["message"] for one in told if one["direction"] == "out"]
    assert [json.dumps(one) for one in sent[: len(heard_lines)]] == [
        json.dumps(json.loads(line)) for line in heard_lines
    ]
    assert "hush" not in trace.read_text()
    (opened,) = [one["message"]["params"] for one in told if one["message"].get("method") == "session/new"]
    assert opened["mcpServers"][0]["env"] == [{"name": "KEY", "value": "***"}]
    assert opened["mcpServers"][1]["headers"] == [{"name": "Authorization", "value": "***"}]
    assert "prod" in json.dumps(sent)
    times = [one["time"] for one in told]
    assert times == sorted(times)
    assert trace.stat().st_mode & 0o077 == 0
    assert "hush" not in b"".join(heard_lines).decode()
    assert "hush" not in desk.log.read_text()


async def test_what_is_sent_before_the_agent_is_there_is_masked_too(desk):
    desk.environment["DEPLOY_TOKEN"] = "hush-environment"
    trace = desk.project / "wire.jsonl"
    async with await desk.editor("--trace-wire", str(trace)) as editor:
        with pytest.raises(RequestRefused):
            await editor.request("hush-environment", {})
        for line in (b"[" * 5000, b'["\\ud800", ' + b"[" * 700 + b"]" * 701, b"no json: hush-environment"):
            await editor.send(line + b"\n")
            await editor.wait_for_stray()
    assert "hush" not in trace.read_text()
    assert [one["message"] for one in desk.traced(trace) if one["direction"] == "in"][-1] == "no json: ***"


async def test_a_trace_is_added_to_what_the_file_holds(desk):
    trace = desk.project / "wire.jsonl"
    for _ in range(2):
        async with await desk.editor("--trace-wire", str(trace)):
            pass
    methods = [one["message"].get("method") for one in desk.traced(trace)]
    assert methods == ["initialize", None, "initialize", None]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
async def test_a_full_disk_ends_the_trace_and_not_the_conversation(desk):
    desk.workflow("hello", "echo hello")
    editor = await desk.editor("--trace-wire", "/dev/full")
    heard = await editor.prompt(await editor.new_session(desk.project), "/hello")
    ended = await editor.close()
    assert heard.meta["awf"]["status"] == "completed"
    assert ended.stderr.splitlines() == ["/dev/full: the trace is given up: No space left on device"]


async def test_a_failure_that_nobody_foresaw_is_answered_and_its_traceback_is_for_the_log(desk):
    desk.environment["DEPLOY_TOKEN"] = "hush-environment"
    desk.environment["PYTHONPATH"] = str(_site(desk, BREAKING))
    editor = await desk.editor()
    session = await editor.new_session(desk.project)
    with pytest.raises(RequestRefused) as told:
        await editor.set_mode(session, "hush-environment")
    ended = await editor.close()
    assert told.value.details == "SYSTEM.INTERNAL.BUG: session/set_mode failed with KeyError: '***'"
    assert (ended.status, ended.stderr) == (0, "")
    assert "KeyError" in desk.log.read_text()
    assert "hush" not in desk.log.read_text()


async def test_secrets_of_the_environment_are_masked_before_any_run_has_begun(desk):
    desk.environment |= {
        "DEPLOY_TOKEN": "hush-environment",
        "WORD_TOKEN": "text",
    }  # one is a word of the protocol
    desk.workflow("deploy", "true", description="puts hush-environment to use")
    async with await desk.editor() as editor:
        session = await editor.new_session(desk.project)
        commands = await editor.commands(session)
        for prompt in ("/hush-environment", "/workflows", "/deploy hush-environment"):
            await editor.prompt(session, prompt)
        with pytest.raises(RequestRefused) as told:
            await editor.set_mode(session, "hush-environment")
    assert commands[0]["description"] == "puts *** to use"
    assert told.value.message == "There is no mode '***'."
    assert b"hush" not in b"".join(editor.agent.lines())


# -- stray prints ------------------------------------------------------------------------------------------------------

SITE = """\
import atexit, builtins, os, sys
if sys.argv[1:2] == ["acp-serve"] or "acp-serve" in sys.orig_argv:
    def shout(when):
        print("stray print", when)
        os.system("echo stray child " + when)
        os.write(1, b"stray write\\n")
    print("stray print before")
    atexit.register(print, "stray print after")
    class Shouting:
        def find_spec(self, name, path=None, target=None):
            if name == "awf.application.editor.service":
                shout("while serving")
            return None
    sys.meta_path.insert(0, Shouting())
"""
BREAKING = """\
import sys
if "acp-serve" in sys.orig_argv:
    from awf.application.editor.service import EditorService
    def set_mode(self, session, mode):
        raise KeyError(mode)
    EditorService.set_mode = set_mode
"""


def _site(desk, text: str) -> Path:
    folder = desk.home.parent / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(text)
    return folder


@pytest.mark.parametrize("ending", ["end of input", "SIGTERM"])
async def test_a_stray_print_never_reaches_the_editor(desk, ending):
    """Before, while and after it serves: of Python, of a child process, or straight to the descriptor."""
    desk.environment["PYTHONPATH"] = str(_site(desk, SITE))
    editor = await desk.editor()
    await editor.new_session(desk.project)
    if ending == "SIGTERM":
        editor.agent.signal(signal.SIGTERM)
    ended = await (editor.close() if ending == "end of input" else editor.ended())
    assert ended.status == 0
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in editor.agent.lines())
    for stray in ("print before", "print while serving", "child while serving", "write", "print after"):
        assert f"stray {stray}" in ended.stderr


NOISY_PLUGIN = """\
print("stray print of a plugin", flush=True)
from awf.plugin import Plugin
plugin = Plugin("noisy", version="1.0.0")
@plugin.operation
def greet(name: str) -> str:
    print("stray print in a call", flush=True)
    return f"Hello, {name}."
if __name__ == "__main__":
    plugin.serve()
"""


async def test_the_prints_of_a_plugin_never_reach_the_editor(desk):
    (desk.project / "noisy.py").write_text(NOISY_PLUGIN)
    plugins = {"plugins": {"noisy": {"command": [sys.executable, "noisy.py"]}}}
    (desk.project / ".awf" / "plugins.yaml").write_text(json.dumps(plugins))
    greet = {"type": "operation", "operation": "noisy.greet", "inputs": {"name": "Ada"}, "on_success": "done"}
    states = {"initial": "greet", "greet": greet, "done": {"type": "terminal"}}
    (desk.project / ".awf" / "workflows" / "greet.yaml").write_text(
        json.dumps({"name": "greet", "states": states})
    )
    async with await desk.editor() as editor:
        heard = await editor.prompt(await editor.new_session(desk.project), "/greet")
    assert heard.stop_reason == "end_turn"
    assert "Hello, Ada." in json.dumps(heard.updates) + json.dumps(heard.meta)


# -- the end -----------------------------------------------------------------------------------------------------------


def test_input_that_ends_before_it_began_is_a_good_end(desk):
    done = desk.run()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


async def at_work(desk, *arguments: str):
    """An editor in whose session a step is at work."""
    desk.slow()
    editor = await desk.editor(*arguments)
    session = await editor.new_session(desk.project)
    turn = await editor.begin(session, "/slow")
    await turn.wait_for(lambda update: "at work" in json.dumps(update))
    desk.begun()
    return editor, turn


async def test_the_end_of_the_input_in_the_middle_of_a_step_ends_everything(desk):
    editor, turn = await at_work(desk)
    ended = await editor.close()
    assert (ended.status, ended.stderr) == (0, "")
    desk.nothing_is_left()
    assert the_run(desk)["status"] == "cancelled"
    del turn


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_in_the_middle_of_a_step_ends_everything_in_good_order(desk, number):
    editor, turn = await at_work(desk)
    editor.agent.signal(number)
    ended = await editor.ended()
    assert (ended.status, ended.stderr) == (0, "")
    desk.nothing_is_left()
    assert the_run(desk)["status"] == "cancelled"
    del turn


async def test_a_signal_before_the_first_session_is_a_good_end(desk):
    editor = await desk.editor()
    editor.agent.signal(signal.SIGTERM)
    ended = await editor.ended()
    assert (ended.status, ended.stderr) == (0, "")


def test_an_editor_that_stops_reading_in_the_middle_of_a_step_is_noticed_and_everything_ends(desk):
    """The pipe breaks while standard input stays open."""
    desk.workflow("chatty", "echo $$ > begun; while :; do echo line; sleep 0.05; done")
    process = subprocess.Popen(
        desk.command, cwd=desk.project, env=desk.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    with process:
        try:
            say(process, 1, "initialize", protocolVersion=1)
            hear(process, 1)
            say(process, 2, "session/new", cwd=str(desk.project), mcpServers=[])
            session = hear(process, 2)["result"]["sessionId"]
            blocks = [{"type": "text", "text": "/chatty"}]
            say(process, 3, "session/prompt", sessionId=session, prompt=blocks)
            desk.begun()
            process.stdout.close()
            assert process.wait(60) == 0
            assert process.stderr.read() == b""
        finally:
            process.kill()
    desk.nothing_is_left()
    assert the_run(desk)["status"] == "cancelled"


def say(process: subprocess.Popen[bytes], number: int, method: str, **params) -> None:
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def hear(process: subprocess.Popen[bytes], number: int) -> dict:
    return next(message for message in map(json.loads, process.stdout) if message.get("id") == number)


def cli(desk, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "awf", *arguments], cwd=desk.project, env=desk.environment,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def the_run(desk) -> dict:
    (run,) = json.loads(cli(desk, "history", "-o", "json").stdout)
    return run


async def test_killed_in_the_middle_of_a_step_it_leaves_no_process_and_a_run_that_can_go_on(desk):
    editor, turn = await at_work(desk)
    session = turn.session
    editor.agent.signal(signal.SIGKILL)
    ended = await editor.ended()
    assert ended.status == -signal.SIGKILL
    desk.nothing_is_left()
    run = the_run(desk)
    assert run["status"] not in {"completed", "cancelled", "failed"}, run
    async with await desk.editor() as again:  # the editor is started anew, too
        replayed = await again.load_session(session, desk.project)
        assert {call["status"] for call in replayed.calls.values()} <= {"completed", "failed"}
        assert (await again.prompt(session, "/status")).stop_reason == "end_turn"
    (desk.project / "go").touch()
    resumed = cli(desk, "resume", run["id"])
    assert resumed.returncode == 0, resumed.stderr
    assert the_run(desk)["status"] == "completed"
