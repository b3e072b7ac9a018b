"""A person's folders for `awf acp-serve`: a home, a project with workflows, a run store. Nothing may be left running."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import secrets
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import psutil

from awf.testing.acp_editor import ScriptedEditor
from awf.testing.acp_wire import WireChecker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

T = TypeVar("T")
SCHEMAS = Path(__file__).parents[2] / "protocols" / "acp"
PATIENCE = 60.0
MARK = "AWF_ACP_JOURNEY"
WHO = [
    {"name": "who", "type": "string", "required": True},
    {"name": "tone", "enum": ["warm", "dry"], "default": "dry"},
]
TURNS = 5

# A child of the command outlives it unless somebody ends the whole group.
SLOW = "test -e go || { sleep 300 & echo $$ > begun; echo at work; wait; }"


def command(line: str, **more: Any) -> dict[str, Any]:
    return {"type": "step", "command": line, **more}


def agent(*actions: Any, **more: Any) -> dict[str, Any]:
    turns = [{"do": list(actions)}]
    return {"type": "agent", "provider": "scripted", "prompt": "Go.", "options": {"turns": turns}, **more}


def conversation(turns: list[Any], **more: Any) -> dict[str, Any]:
    told = {"type": "agent", "provider": "scripted", "mode": "conversation", "prompt": "Begin."}
    return {**told, "options": {"turns": turns}, **more}


def tool(name: str, **given: Any) -> dict[str, Any]:
    return {"tool": {"name": name, "input": given}}


def until(check: Callable[[], T], what: str) -> T:
    end = time.monotonic() + PATIENCE
    while not (found := check()):
        assert time.monotonic() < end, f"{what} did not come true in time"
        time.sleep(0.01)
    return found


class Desk:
    command: tuple[str, ...] = (sys.executable, "-m", "awf", "acp-serve")

    def __init__(self, root: Path) -> None:
        self.root, self.home, self.project = root, root / "home", root / "a project"
        self.data, self.storage, self.scratch = root / "data", root / "runs", root / "scratch"
        for folder in (self.home, self.project / ".awf" / "workflows", self.data, self.scratch):
            folder.mkdir(parents=True)
        self.mark = secrets.token_hex(8)
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "SHELL": "/bin/sh", MARK: self.mark,
            "XDG_DATA_HOME": str(self.data), "AWF_STORAGE": str(self.storage),
        }  # fmt: skip

    # -- files ---------------------------------------------------------------------------------------------------

    def path(self, name: str) -> Path:
        return self.project / ".awf" / "workflows" / f"{name}.yaml"

    def workflow(self, name: str, states: Mapping[str, Any], message: str = "", **keys: Any) -> None:
        """The states in their order unless they say how to go on, and an end that says something."""
        inside = {name for state in states.values() for name in state.get("parallel", state.get("body", ()))}
        names, linked = [*(name for name in states if name not in inside), "done"], dict(states)
        for one, following in itertools.pairwise(names):
            on = "on_complete" if "body" in states[one] else "on_success"
            linked[one] = {on: following, **states[one]}
        end = {"type": "terminal", **({"message": message} if message else {})}
        text = {"name": name, **keys, "states": {"initial": names[0], **linked, "done": end}}
        self.path(name).write_text(json.dumps(text), encoding="utf-8")

    def usual_workflows(self) -> None:
        greet = command("echo {{ inputs.tone }} greetings, {{ inputs.who | shellquote }}")
        self.workflow(
            "hello", {"greet": greet, "after": command("echo after")}, "Said to {{ inputs.who }}.",
            inputs=WHO, description="Greet somebody",
        )  # fmt: skip
        self.workflow("slow", {"wait": command(SLOW), "after": command("echo over")}, description="Take long")
        gate = {"message": "May it be made?", "on_deny": "skip"}
        self.workflow(
            "gate", {"make": command("echo x >> made", approval=gate)}, "made: {{ states.make.status }}"
        )
        turns = [{"expect": "Begin", "do": "Answer 1."}]
        turns += [{"expect": f"line {number}", "do": f"Answer {number}."} for number in range(2, TURNS + 1)]
        talk = {"talk": conversation(turns), "after": command("echo over")}
        self.workflow("talk", talk, "It ended with: {{ states.talk.output }}")
        self.workflow("add", {"ask": agent(tool("add", a=19, b=23), "Added.")}, "{{ states.ask.output }}")

    def line(self, name: str) -> str:
        with contextlib.suppress(FileNotFoundError):
            return (self.project / name).read_text()
        return ""

    @property
    def made(self) -> int:
        """How often the gate was passed."""
        return len(self.line("made").split())

    @property
    def session_files(self) -> list[Path]:
        return sorted(self.data.rglob("editor-sessions/*"))

    # -- processes -----------------------------------------------------------------------------------------------

    async def editor(
        self, *arguments: str, capabilities: Mapping[str, Any] | None = None, **options: Any
    ) -> ScriptedEditor:
        editor = await ScriptedEditor.start(
            [*self.command, *arguments], cwd=self.project, env=self.environment, checker=WireChecker(SCHEMAS), **options
        )  # fmt: skip
        await editor.initialize(capabilities)
        return editor

    def awf(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "awf", *arguments], cwd=self.project, env=self.environment,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip

    def runs(self) -> list[dict[str, Any]]:
        done = self.awf("history", "-o", "json")
        assert done.returncode == 0, done.stderr
        return list(json.loads(done.stdout))

    def processes(self) -> list[psutil.Process]:
        """All that was started here, directly or not, and lives."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                alive = process.status() != psutil.STATUS_ZOMBIE
                if alive and process.environ().get(MARK) == self.mark:
                    found.append(process)
        return found

    def commands(self) -> list[psutil.Process]:
        """Those that runs have started."""
        found = []
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("AWF_RUN_ID"):
                    found.append(process)
        return found

    def nothing_is_left(self) -> None:
        until(lambda: not self.processes(), "the end of every process")

    def clean_up(self) -> None:
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                process.kill()
