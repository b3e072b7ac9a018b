"""The `awf` command as a person meets it: real processes, a home and a project folder of their own, nothing left behind."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import secrets
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")

PATIENCE = 60.0
EXIT_STATUS = {"USER": 1, "WORKFLOW": 2, "EXECUTION": 3, "SYSTEM": 4}
CODE = re.compile(r"\b(?:USER|WORKFLOW|EXECUTION|SYSTEM)\.[A-Z_]+\.[A-Z_]+\b")
MARK = "AWF_JOURNEY"
GUARD = "awf-guard"


def until(check: Callable[[], T], what: str = "this") -> T:
    """Wait until it is so; fail when it does not come true."""
    end = time.monotonic() + PATIENCE
    while not (found := check()):
        assert time.monotonic() < end, f"{what} did not come true in time"
        time.sleep(0.01)
    return found


def lines_of(path: Path) -> list[str]:
    """The whole lines of a file that may still be growing, or not be there yet."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    return text.splitlines() if text.endswith("\n") else text.splitlines()[:-1]


@dataclass(frozen=True)
class Told:
    """What one command came to."""

    status: int
    out: bytes
    err: bytes

    @property
    def stdout(self) -> str:
        return self.out.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        return self.err.decode("utf-8", "replace")

    def json(self) -> Any:
        """The one document on standard output; two of them would not parse."""
        return json.loads(self.out)

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    def succeeded(self) -> Told:
        assert (self.status, "Traceback" in self.stderr) == (0, False), self.stderr
        return self

    def one_error(self, code: str, *, exit_status: int | None = None) -> Told:
        """One coded error in words, with a way on, and the exit status of its category."""
        said = self.stdout + self.stderr
        assert "Traceback" not in said, said
        assert set(CODE.findall(said)) == {code}, said
        assert self.status == (exit_status or EXIT_STATUS[code.split(".", 1)[0]]), said
        assert re.search(r"^ +(hint|look|resume)\b", said, re.MULTILINE), said
        return self


class Running:
    """A command that goes on while the test does something else. Its output goes to files, so that it never waits for us."""

    def __init__(self, process: subprocess.Popen[bytes], out: Path, err: Path) -> None:
        self.process = process
        self.out = out
        self.err = err

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def events(self, kind: str = "") -> list[dict[str, Any]]:
        """The events so far, of a run that was started with -o ndjson."""
        found = [json.loads(line) for line in lines_of(self.out)]
        return [event for event in found if not kind or event["type"] == kind]

    def until_event(self, kind: str, **fields: Any) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            fitting = [event for event in self.events(kind) if fields.items() <= event.items()]
            if not fitting and not self.alive and not self.events(kind):
                raise AssertionError(f"it ended without {kind}: {self.err.read_text()}")
            return fitting[0] if fitting else None

        found = until(look, f"{kind} {fields}")
        assert found is not None
        return found

    @property
    def run_id(self) -> str:
        return str(until(self.events, "the first event")[0]["run_id"])

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def guard(self) -> psutil.Process:
        """The small process that ends the commands when awf is killed."""
        return until(lambda: [p for p in psutil.Process(self.pid).children() if is_guard(p)], "a guard")[0]

    def wait(self) -> Told:
        status = self.process.wait(PATIENCE)
        return Told(status, self.out.read_bytes(), self.err.read_bytes())


def is_guard(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return GUARD in process.cmdline()
    return False


def is_gone(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


class Journey:
    """A home, a project folder, a run store, and the command to be used there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.project = root / "project"
        self.storage = root / "runs"
        self.scratch = root / "scratch"
        self.mark = secrets.token_hex(8)
        for folder in (self.project, root / "home", self.scratch):
            folder.mkdir()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(root / "home"),
            "TMPDIR": str(self.scratch),
            "AWF_STORAGE": str(self.storage),
            "NO_COLOR": "1",
            MARK: self.mark,
        }
        self._started: list[Running] = []

    # -- doing ---------------------------------------------------------------------------------------------------

    def awf(self, *arguments: str | bytes, **options: Any) -> Told:
        done = subprocess.run(
            self.command(*arguments), env=self.environment, check=False,
            **{"cwd": self.project, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
               "timeout": PATIENCE, **options},
        )  # fmt: skip
        return Told(done.returncode, done.stdout or b"", done.stderr or b"")

    def start(self, *arguments: str) -> Running:
        name = self.root / f"output-{len(self._started)}"
        out, err = name.with_suffix(".out"), name.with_suffix(".err")
        with out.open("wb") as stdout, err.open("wb") as stderr:
            process = subprocess.Popen(
                self.command(*arguments), cwd=self.project, env=self.environment, stdin=subprocess.DEVNULL,
                stdout=stdout, stderr=stderr,
            )  # fmt: skip
        self._started.append(Running(process, out, err))
        return self._started[-1]

    def on_terminal(self, *arguments: str, typed: str = "", after: str = "") -> Told:
        """The same with a terminal on all three streams. What it shows comes back as standard output.

        `after`: what is seen before anything is typed.
        """
        ours, theirs = pty.openpty()
        try:
            process = subprocess.Popen(
                self.command(*arguments), cwd=self.project, env={**self.environment, "TERM": "xterm", "COLUMNS": "100"},
                stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(theirs)
        shown = bytearray()
        with os.fdopen(ours, "r+b", buffering=0) as terminal:
            if not after:
                terminal.write(typed.encode())
            with contextlib.suppress(OSError):  # how a terminal says that nobody is left on the other side
                while chunk := terminal.read(65536):
                    waited = after.encode() not in shown
                    shown += chunk
                    if waited and after.encode() in shown:
                        terminal.write(typed.encode())
            return Told(process.wait(PATIENCE), bytes(shown), b"")

    @staticmethod
    def command(*arguments: str | bytes) -> list[str | bytes]:
        return [sys.executable, "-m", "awf", *arguments]

    def shell(self, script: str) -> Told:
        """A line as it is typed into a shell; `$awf` stands for the command."""
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.project, env={**self.environment, "awf": f"{sys.executable} -m awf"},
            stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        return Told(done.returncode, done.stdout, done.stderr)

    # -- files ---------------------------------------------------------------------------------------------------

    def write(self, name: str, text: str | bytes) -> str:
        """A file of the project; what to call it on the command line."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return f"./{name}"

    def workflow(self, file: str, states: dict[str, Any], **keys: Any) -> str:
        """A workflow file; JSON is YAML, too."""
        return self.write(
            f"{file}.yaml",
            json.dumps({"name": Path(file).name, **keys, "states": states}, ensure_ascii=False),
        )

    def steps(self, name: str, *commands: str | dict[str, Any], **keys: Any) -> str:
        """A workflow of commands in a row, named a, b, c, …, that ends with `done`."""
        names = [chr(ord("a") + number) for number in range(len(commands))]
        states: dict[str, Any] = {"initial": names[0]}
        for one, following, command in zip(names, [*names[1:], "done"], commands, strict=True):
            written = command if isinstance(command, dict) else {"command": command}
            states[one] = {"type": "step", "on_success": following, **written}
        states["done"] = {"type": "terminal", "message": "all done"}
        return self.workflow(name, states, **keys)

    def touch(self, name: str) -> None:
        (self.project / name).touch()

    def trace(self) -> list[str]:
        """What the commands of the workflow noted in the file `trace`."""
        return lines_of(self.project / "trace")

    # -- looking -------------------------------------------------------------------------------------------------

    def history(self) -> list[dict[str, Any]]:
        return list(self.awf("history", "-o", "json").succeeded().json())

    def run_record(self, run_id: str) -> dict[str, Any]:
        return dict(self.awf("status", run_id, "-o", "json").succeeded().json()["run"])

    def processes(self) -> list[psutil.Process]:
        """Everything alive that this journey has started, directly or not."""
        return list(self._marked())

    def _marked(self) -> Iterator[psutil.Process]:
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.status() != psutil.STATUS_ZOMBIE and process.environ().get(MARK) == self.mark:
                    yield process

    def commands(self) -> list[psutil.Process]:
        """The processes that runs have started."""
        return [process for process in self._marked() if self._run_of(process)]

    @staticmethod
    def _run_of(process: psutil.Process) -> str:
        with contextlib.suppress(psutil.Error):
            return process.environ().get("AWF_RUN_ID", "")
        return ""

    def nothing_is_left(self) -> None:
        until(lambda: not self.processes(), f"the end of {self.processes()}")
        assert list(self.scratch.iterdir()) == []

    def clean_up(self) -> None:
        for process in self._marked():
            with contextlib.suppress(psutil.Error):
                process.send_signal(signal.SIGKILL)
        for running in self._started:
            running.process.wait(PATIENCE)
