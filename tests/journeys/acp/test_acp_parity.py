"""The same workflow by `awf run` and by an editor, with every agent: the same output, the same tool calls (SC-002).

The agents are the real programs before a scripted model; laboratories are those of tests/journeys/agents.
"""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from awf.testing.acp_editor import ZED, ScriptedEditor
from awf.testing.acp_wire import WireChecker

pytestmark = pytest.mark.journey
SCHEMAS = Path(__file__).parents[2] / "protocols" / "acp"
AWF = [sys.executable, "-m", "awf"]


def _laboratories() -> Any:
    """Test modules are imported by path, so what another folder shares is loaded here."""
    known = "journeys_agents_conftest"
    if known not in sys.modules:
        file = Path(__file__).parents[1] / "agents" / "conftest.py"
        spec = importlib.util.spec_from_file_location(known, file)
        sys.modules[known] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[known])
    return sys.modules[known]


agent_lab = _laboratories().agent_lab
PROVIDERS = ["claude", "gemini", "codex", "opencode", "github_copilot", "openai_compatible"]
IN_PIECES = ["claude", "gemini", "github_copilot", "openai_compatible"]  # the others give whole messages
THINKING = set(PROVIDERS) - {"gemini"}  # which does not tell its thoughts
COMMAND = "echo $((6 * 7)) > answer; cat answer"
ANSWER = "All three are done, and this is the whole answer."
SCRIPT = {
    "name": "three calls",
    "prompt": "use three tools",
    "turns": [
        {
            "thinking": "let me see",
            "text": "Reading it, piece by piece. ",
            "tool_calls": [{"tool": "Read", "args": {"file_path": "missing.txt"}}],
        },
        {"tool_calls": [{"tool": "Read", "args": {"file_path": "note.txt"}}]},
        {"tool_calls": [{"tool": "Bash", "args": {"command": COMMAND}}]},
        {"text": ANSWER},
    ],
}
TRACE = [
    ("Read", {"file_path": "missing.txt"}, True),
    ("Read", {"file_path": "note.txt"}, False),
    ("Bash", {"command": COMMAND}, False),
]


class Both:
    """One project with one workflow, for a person at the command line and one in an editor."""

    def __init__(self, lab: Any, state: dict[str, Any]) -> None:
        self.lab = lab
        workflow = {
            "name": "journey",
            "states": {
                "initial": "task",
                "task": {**state, "on_success": "done"},
                "done": {"type": "terminal", "message": "all done"},
            },
            "outputs": {"answer": "{{states.task.output}}"},
        }
        folder = lab.project / ".awf" / "workflows"
        folder.mkdir(parents=True)
        (folder / "journey.yaml").write_text(json.dumps(workflow))

    def run(self, *options: str) -> str:
        """What `awf run` prints."""
        done = subprocess.run(
            [*AWF, "run", "journey", *options], cwd=self.lab.project, env=self.lab.environment,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200, check=False,
        )  # fmt: skip
        self.status, self.errors = done.returncode, done.stderr
        return done.stdout

    async def editor(self) -> ScriptedEditor:
        editor = await ScriptedEditor.start(
            [*AWF, "acp-serve"],
            cwd=self.lab.project,
            env=self.lab.environment,
            checker=WireChecker(SCHEMAS),
            patience=200.0,
        )
        await editor.initialize(ZED)
        return editor

    async def prompted(self) -> Any:
        async with await self.editor() as editor:
            return await editor.prompt(await editor.new_session(self.lab.project), "/journey")

    async def stored(self, run_id: str) -> list[dict[str, Any]]:
        app = self.lab.lab.app()
        try:
            return [event.fields for event in app.store.events(run_id)]
        finally:
            await app.close()


def carried_out(events: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any], bool]]:
    """The calls that AWF made: tool, input, whether it failed."""
    ended = {event["call_id"]: event["is_error"] for event in events if event["type"] == "tool.call.finished"}
    return [
        (event["tool"], event["input"], ended[event["call_id"]])
        for event in events
        if event["type"] == "tool.call.started"
    ]


def told(events: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any], bool]]:
    """The calls as the agent tells them."""
    calls = [event for event in events if event["type"] == "agent.tool"]
    ended = {event["call_id"]: event["is_error"] for event in calls if event["phase"] == "finished"}
    return [
        (event["name"], event["input"], ended[event["call_id"]])
        for event in calls
        if event["phase"] == "started"
    ]


def shown(heard: Any) -> list[dict[str, Any]]:
    """The calls inside the step, as an editor has them in the end."""
    return [call for call in heard.calls.values() if "parentToolCallId" in call["_meta"]["awf"]]


def own_words(heard: Any) -> list[dict[str, Any]]:
    """What the agent itself said, piece by piece; without what AWF adds at the end."""
    return [update for update in heard.of("agent_message_chunk") if "/task/" in update["messageId"]]


def message(heard: Any, ending: str) -> str:
    """The message whose id ends so."""
    (found,) = [text for name, text in heard.messages.items() if name.endswith(ending)]
    return found


# -- our tools ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_the_command_line_and_the_editor_give_the_same_output_by_the_same_calls(provider, agent_lab):
    """SC-002."""
    lab = agent_lab(provider, [SCRIPT])
    both = Both(lab, lab.state("use three tools", timeout="180s"))
    by_command = [json.loads(line) for line in both.run("-o", "ndjson").splitlines()]
    assert both.status == 0, both.errors
    heard = await both.prompted()

    ended = by_command[-1]
    told_by_editor = heard.meta["awf"]
    assert (heard.stop_reason, told_by_editor["status"]) == ("end_turn", "completed")
    assert told_by_editor["outputs"] == ended["outputs"] == {"answer": ANSWER}
    assert message(heard, "/answer") == f"all done\nanswer: {ANSWER}"
    assert heard.questions == ()  # the editor offers files and terminals, and is asked for neither

    in_store = await both.stored(ended["run_id"])
    by_editor = await both.stored(told_by_editor["runId"])
    assert carried_out(by_command) == carried_out(in_store) == carried_out(by_editor) == TRACE
    assert told(in_store) == told(by_editor)
    assert [event["type"] for event in in_store if event["type"].startswith(("step", "workflow"))] == [
        event["type"] for event in by_editor if event["type"].startswith(("step", "workflow"))
    ]
    the_same_calls_are_shown_once(heard, lab.project)
    the_agent_is_heard(heard, provider)


def the_same_calls_are_shown_once(heard: Any, project: Path) -> None:
    calls = shown(heard)
    assert [(call["kind"], call["title"], call["rawInput"], call["status"]) for call in calls] == [
        ("read", "Read missing.txt", TRACE[0][1], "failed"),
        ("read", "Read note.txt", TRACE[1][1], "completed"),
        ("execute", f"Bash: {COMMAND}", TRACE[2][1], "completed"),
    ]
    assert [call.get("locations", []) for call in calls] == [
        [{"path": str(project / "missing.txt")}],
        [{"path": str(project / "note.txt")}],
        [],
    ]
    assert "xyzzy" in calls[1]["rawOutput"]["output"]
    assert calls[2]["rawOutput"]["output"].startswith("42\n")
    assert {call["_meta"]["awf"]["source"] for call in calls} == {"builtin"}
    (step,) = [call for call in heard.calls.values() if call not in calls]
    assert (step["kind"], step["status"]) == ("think", "completed")
    assert {call["_meta"]["awf"]["parentToolCallId"] for call in calls} == {step["toolCallId"]}
    assert len([one for one in heard.updates if one["sessionUpdate"] == "tool_call"]) == 4
    assert {entry["status"] for entry in heard.plan} == {"completed"}


def the_agent_is_heard(heard: Any, provider: str) -> None:
    """Its words while they come, its thoughts where it tells them, and what it used where it says of how much."""
    words = own_words(heard)
    said = " ".join("".join(word["content"]["text"] for word in words).split())
    assert said == f"Reading it, piece by piece. {ANSWER}"
    assert len(words) >= (5 if provider in IN_PIECES else 2), words
    assert heard.thoughts == ("let me see" if provider in THINKING else "")
    usage = heard.of("usage_update")
    if provider == "claude":
        assert usage[-1]["size"] == 200_000
        assert 0 < usage[-1]["used"] < usage[-1]["size"]
        assert usage[-1]["cost"]["currency"] == "USD"
    else:
        assert usage == []  # the others do not tell how much their model can hold


@pytest.mark.parametrize("provider", ["claude", "codex", "openai_compatible"])
async def test_the_answer_in_the_editor_is_what_the_command_prints(provider, agent_lab):
    lab = agent_lab(provider)
    both = Both(lab, lab.state("just answer"))
    printed = both.run()
    assert both.status == 0, both.errors
    heard = await both.prompted()
    assert printed == "all done\nanswer: Just an answer.\n"
    assert message(heard, "/answer") == printed.rstrip("\n")


@pytest.mark.parametrize("provider", ["claude", "openai_compatible"])
async def test_what_goes_wrong_goes_wrong_in_the_same_way(provider, agent_lab):
    lab = agent_lab(provider)
    both = Both(lab, lab.state("answer 400"))
    by_command = [json.loads(line) for line in both.run("-o", "ndjson").splitlines()]
    heard = await both.prompted()
    failed = next(event for event in by_command if event["type"] == "workflow.failed")
    assert (heard.stop_reason, heard.meta["awf"]["status"]) == ("end_turn", "failed")
    assert heard.meta["awf"]["error"]["code"] == failed["code"]
    assert heard.meta["awf"]["exitStatus"] == failed["exit_status"] == both.status
    assert failed["message"] in heard.text
    (step,) = heard.calls.values()
    assert step["status"] == "failed"


# -- tools of the agent's own ------------------------------------------------------------------------------------------

NATIVE = {"claude": "Read", "gemini": "read_file"}


@pytest.mark.parametrize("provider", NATIVE)
async def test_tools_of_the_agents_own_and_ours_are_each_shown_once(provider, agent_lab):
    """Additive mode: the agent reads by itself, and looks for files through AWF."""
    own = NATIVE[provider]
    script = {
        "name": "own and ours",
        "prompt": "use your own",
        "turns": [
            {"tool_calls": [{"tool": own, "args": {"file_path": "note.txt"}}]},
            {"tool_calls": [{"tool": "Glob", "args": {"pattern": "*.txt"}}]},
            {"text": "Both."},
        ],
    }
    lab = agent_lab(provider, [script])
    both = Both(lab, lab.state("use your own", "additive", timeout="180s"))
    by_command = [json.loads(line) for line in both.run("-o", "ndjson").splitlines()]
    assert both.status == 0, both.errors
    heard = await both.prompted()
    by_editor = await both.stored(heard.meta["awf"]["runId"])
    assert carried_out(by_command) == carried_out(by_editor) == [("Glob", {"pattern": "*.txt"}, False)]
    assert told(by_command) == told(by_editor)
    calls = shown(heard)
    assert [(call["kind"], call["status"]) for call in calls] == [
        ("read", "completed"),
        ("search", "completed"),
    ]
    assert [call["title"] for call in calls] == [f"{own} note.txt", "Glob *.txt"]
    assert provider == "gemini" or "xyzzy" in json.dumps(
        calls[0]["content"]
    )  # which does not tell what it read
    assert "source" not in calls[0]["_meta"]["awf"]
    assert calls[1]["_meta"]["awf"]["source"] == "mcp:inner"
    assert len([one for one in heard.updates if one["sessionUpdate"] == "tool_call"]) == 3


# -- live --------------------------------------------------------------------------------------------------------------


SLOW = {
    "name": "slow speech",
    "prompt": "speak slowly",
    "turns": [{"text": "Starting, and on it goes. " * 40, "delay_s": 1.0}],
}


@pytest.mark.parametrize("provider", IN_PIECES)
async def test_words_are_shown_while_the_model_still_speaks(provider, agent_lab):
    """It would go on for a minute; the editor has its first words when it cancels the turn."""
    lab = agent_lab(provider, [SLOW])
    both = Both(lab, lab.state("speak slowly", timeout="180s"))
    async with await both.editor() as editor:
        turn = await editor.begin(await editor.new_session(lab.project), "/journey")
        first = await turn.wait_for(is_speech)
        await turn.wait_for(lambda update: is_speech(update) and update is not first)
        await editor.cancel(turn.session)
        heard = await turn.end()
    assert heard.stop_reason == "cancelled"
    assert heard.text.startswith("Starting, and on")
    (step,) = heard.calls.values()
    assert (step["status"], step["_meta"]["awf"]["cancelled"]) == ("failed", True)
    lab.nothing_is_left()


def is_speech(update: dict[str, Any]) -> bool:
    return update["sessionUpdate"] == "agent_message_chunk"


@pytest.mark.parametrize("ending", ["killed", "left alone"])
async def test_an_agent_does_not_outlive_whoever_drives_it(ending, agent_lab):
    """`awf acp-serve` is killed while the agent's program speaks; or the editor vanishes without a word."""
    lab = agent_lab("claude", [SLOW])
    both = Both(lab, lab.state("speak slowly", timeout="180s"))
    editor = await both.editor()
    turn = await editor.begin(await editor.new_session(lab.project), "/journey")
    await turn.wait_for(is_speech)
    if ending == "killed":
        editor.agent.signal(signal.SIGKILL)
    else:
        editor.agent.vanish()
    ended = await editor.ended()
    assert ended.status == (-signal.SIGKILL if ending == "killed" else 0)
    lab.nothing_is_left()


# -- conversations -----------------------------------------------------------------------------------------------------

NUMBERS = [
    {"name": f"number {n}", "prompt": f"speak number {n}", "turns": [{"text": f"Number {n}."}]}
    for n in range(1, 6)
]


@pytest.mark.parametrize("provider", ["claude", "codex"])
async def test_a_conversation_of_five_turns_goes_on_over_restarts_of_the_agent(provider, agent_lab):
    """SC-003, with the editor closed and opened again in the middle: once to load the thread, once to resume it."""
    lab = agent_lab(provider, NUMBERS)
    both = Both(lab, {**lab.state("speak number 1", timeout="180s"), "mode": "conversation"})
    async with await both.editor() as editor:
        session = await editor.new_session(lab.project)
        turns = [await editor.prompt(session, "/journey"), await editor.prompt(session, "speak number 2")]
    lab.nothing_is_left()
    async with await both.editor() as editor:
        replayed = await editor.load_session(session, lab.project)
        turns.append(await editor.prompt(session, "speak number 3"))
    lab.nothing_is_left()
    async with await both.editor() as editor:
        await editor.resume_session(session, lab.project)
        turns += [await editor.prompt(session, f"speak number {n}") for n in (4, 5)]
        last = await editor.prompt(session, "/end")
    assert [words_of(turn) for turn in turns] == [f"Number {n}." for n in range(1, 6)]
    assert {(turn.stop_reason, turn.meta["awf"]["status"]) for turn in turns} == {("end_turn", "waiting")}
    assert len({turn.meta["awf"]["runId"] for turn in [*turns, last]}) == 1
    assert replayed.user_text.split() == ["/journeyspeak", "number", "2"]
    assert words_of(replayed) == "Number 1.Number 2."
    assert (last.stop_reason, last.meta["awf"]["status"]) == ("end_turn", "completed")
    assert last.meta["awf"]["outputs"] == {"answer": "Number 5."}
    asked_last = json.dumps(lab.fake.model_requests()[-1]["body"])
    assert all(f"speak number {n}" in asked_last for n in range(1, 6))


def words_of(heard: Any) -> str:
    return "".join(word["content"]["text"].strip() for word in own_words(heard))
