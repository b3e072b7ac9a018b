"""A person's folders, and `awf acp-serve` started in them as an editor does. Nothing may be left running."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from awf.testing.acp_editor import ScriptedEditor
from awf.testing.acp_wire import WireChecker

SCHEMAS = Path(__file__).parents[2] / "protocols" / "acp"
PATIENCE = 60.0


def until(check, what: str):
    end = time.monotonic() + PATIENCE
    while not (found := check()):
        assert time.monotonic() < end, f"{what} did not come true in time"
        time.sleep(0.01)
    return found


class Desk:
    command = (sys.executable, "-m", "awf", "acp-serve")

    def __init__(self, root: Path) -> None:
        self.home, self.project = root / "home", root / "project"
        self.home.mkdir()
        (self.project / ".awf" / "workflows").mkdir(parents=True)
        self.data = self.home / ".local" / "share" / "awf"
        self.log = self.data / "acp-serve.log"
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.home), "SHELL": "/bin/sh"}

    def workflow(self, name: str, *commands: str, **keys) -> None:
        """Commands in a row."""
        names = [f"step{number}" for number in range(1, len(commands) + 1)]
        states = {
            one: {"type": "step", "command": command, "on_success": following}
            for one, command, following in zip(names, commands, [*names[1:], "done"], strict=True)
        }
        text = {"name": name, **keys, "states": {"initial": names[0], **states, "done": {"type": "terminal"}}}
        (self.project / ".awf" / "workflows" / f"{name}.yaml").write_text(json.dumps(text))

    def slow(self) -> None:
        """A workflow whose first command waits, with a child that does the same, unless there is a file `go`."""
        self.workflow(
            "slow", "test -e go || { sleep 300 & echo $$ > begun; echo at work; wait; }", "echo over"
        )

    def begun(self) -> None:
        until(lambda: self.line("begun"), "the beginning of the step")

    def line(self, name: str) -> str:
        with contextlib.suppress(FileNotFoundError):
            return (self.project / name).read_text()
        return ""

    def run(self, *arguments: str, **options) -> subprocess.CompletedProcess[str]:
        """The command to its end; standard input is empty."""
        given = {"cwd": self.project, "env": self.environment, "stdin": subprocess.DEVNULL, **options}
        return subprocess.run(
            [*self.command, *arguments],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            **given,
        )

    async def editor(self, *arguments: str, **options) -> ScriptedEditor:
        editor = await ScriptedEditor.start(
            [*self.command, *arguments],
            cwd=self.project,
            env=self.environment,
            checker=WireChecker(SCHEMAS),
            **options,
        )
        await editor.initialize()
        return editor

    def processes(self) -> list[psutil.Process]:
        """All that was started here, directly or not, and lives."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                alive = process.status() != psutil.STATUS_ZOMBIE
                if alive and process.environ().get("HOME") == str(self.home):
                    found.append(process)
        return found

    def nothing_is_left(self) -> None:
        until(lambda: not self.processes(), "the end of every process")

    def traced(self, path: Path) -> list[dict]:
        return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def desk(tmp_path):
    here = Desk(tmp_path)
    try:
        yield here
        here.nothing_is_left()
    finally:
        for process in here.processes():
            with contextlib.suppress(psutil.Error):
                process.kill()
