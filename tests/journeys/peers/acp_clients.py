"""The real ACP clients, each driven the same way against any agent command; every frame is written down.

An SDK plays a scenario: a list of actions (below) in one or more processes of the agent, with the answers to permissions
and forms given beforehand. `play` gives back what the SDK understood. acpx is a command line; `Acpx` builds its
arguments, keeps its state in a home of its own, and ends what it leaves running.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import psutil

from awf.testing import peers
from awf.testing.acp_heard import Heard, TurnHeard
from awf.testing.acp_wire import WireChecker

HERE = Path(__file__).parent
SCHEMAS = HERE.parents[1] / "protocols" / "acp"
SECONDS = 120.0  # for one command
ANSWER_SECONDS = 60.0  # for one answer of the agent
MARK = "ACP_PEER_MARK"

PYTHON_SDK = "agent-client-protocol==0.12.1"
PYTHON_SDK_NEXT = "agent-client-protocol==1.0.0rc3"
TYPESCRIPT_SDK = "@agentclientprotocol/sdk@2.4.0"
TYPESCRIPT_NODE = (20,)
ACPX = {"0.19.1": (22, 13), "0.1.15": (20,)}  # version → the Node it needs
ACPX_DENIED = 5  # its exit status after a permission was refused
LETTING_GO = 5  # how often a command is tried whose session is just being let go


@dataclass(frozen=True)
class Agent:
    """How a client starts the agent, and where the frames are written down."""

    command: list[str]
    cwd: Path
    scratch: Path
    environment: dict[str, str]

    def recorded(self) -> list[str]:
        return [sys.executable, str(HERE / "recorder.py"), str(self.scratch / "traffic"), *self.command]

    def frames(self) -> list[list[tuple[str, bytes]]]:
        """What went over the pipes, one list for each process: who said it (`>` the client), and the line. Waits until
        the processes have ended.
        """
        files = sorted(self.scratch.glob("traffic-*.frames"), key=lambda file: file.stat().st_ctime_ns)
        return [[(line[:1].decode(), line[2:]) for line in _finished(file)] for file in files]

    def judge(self, *, house_rules: bool = True) -> int:
        """Every frame of every process must be right; how many there were. `house_rules=False` for agents of others."""
        count = 0
        for process in self.frames():
            checker = WireChecker(SCHEMAS, house_rules=house_rules)
            for who, line in process:
                checker.client_sent(line) if who == ">" else checker.agent_sent(line)
            count += checker.frames
        return count

    @property
    def stderr(self) -> str:
        """What the agent's processes said there, when an SDK had started them."""
        file = self.scratch / "agent.stderr"
        return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""


def _finished(file: Path) -> list[bytes]:
    end = time.monotonic() + SECONDS
    with file.open("rb") as stream:
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return [line for line in stream if line.endswith(b"\n")]
            except BlockingIOError:
                assert time.monotonic() < end, f"an agent is still running: {file}"
                time.sleep(0.01)


# -- what a scenario can say; sessions go by names of the scenario's own ----------------------------------------------

Action = dict[str, Any]


def new(session: str, servers: list[dict[str, Any]] | None = None) -> Action:
    return {"do": "new", "session": session, "servers": servers or []}


def commands(session: str) -> Action:
    """Wait until the list of commands has come; the result is the list."""
    return {"do": "commands", "session": session}


def prompt(session: str, text: str = "", **more: Any) -> Action:
    """`blocks=[…]` instead of a text. `cancel_on="tool_call"` (or another kind of update, or "permission") or
    `cancel_after_ms=N` cancels it.
    """
    return {"do": "prompt", "session": session, "text": text, **more}


def restart() -> Action:
    """End the agent as editors do, and start another process."""
    return {"do": "restart"}


def load(session: str, servers: list[dict[str, Any]] | None = None) -> Action:
    return {"do": "load", "session": session, "servers": servers or []}


def resume(session: str) -> Action:
    return {"do": "resume", "session": session}


def listing(cwd: str | None = None) -> Action:
    return {"do": "list", **({} if cwd is None else {"cwd": cwd})}


def close(session: str) -> Action:
    return {"do": "close", "session": session}


def delete(session: str) -> Action:
    return {"do": "delete", "session": session}


def set_mode(session: str, mode: str) -> Action:
    return {"do": "set_mode", "session": session, "mode": mode}


def set_option(session: str, option: str, value: str) -> Action:
    return {"do": "set_option", "session": session, "option": option, "value": value}


# -- what came of it ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """One action: its result or its error, and what was shown and asked until the next one began."""

    do: str
    result: Any
    error: dict[str, Any] | None
    updates: list[dict[str, Any]]
    questions: list[dict[str, Any]]
    action: dict[str, Any]

    @property
    def turn(self) -> TurnHeard:
        """A prompt, as a person sees it."""
        assert self.error is None, self.error
        return TurnHeard(self.updates, self.result, stop_reason=self.result["stopReason"])

    @property
    def heard(self) -> Heard:
        return Heard(self.updates, self.result if isinstance(self.result, dict) else {})


@dataclass(frozen=True)
class Played:
    initialize: list[dict[str, Any]]  # one for each process
    steps: list[Step]
    exits: list[int]
    sessions: dict[str, str]  # name → id
    complaints: str  # what the SDK wrote on its standard error: updates that it refused, for one

    def of(self, do: str) -> list[Step]:
        return [step for step in self.steps if step.do == do]

    @property
    def turns(self) -> list[TurnHeard]:
        return [step.turn for step in self.of("prompt")]


def _played(told: dict[str, Any], complaints: str) -> Played:
    steps = [
        Step(step["do"], step.get("result"), step.get("error"), step["updates"], step["questions"], step)
        for step in told["steps"]
    ]
    return Played(told["initialize"], steps, told["exits"], told["sessions"], complaints)


# -- the SDKs ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SdkClient:
    name: str
    driver: str
    package: str

    def play(
        self,
        agent: Agent,
        *actions: Action,
        permissions: tuple[str, ...] = ("allow",),
        form: str | dict[str, Any] = "cancel",
        capabilities: dict[str, Any] | None = None,
    ) -> Played:
        """Permissions in their order, the last one for all that follow: allow, allow_always, deny, deny_always, cancelled,
        or hold (until the turn is cancelled). A form is filled in, or answered with decline or cancel.
        """
        argv, packages = self._argv()
        scenario = {
            "command": agent.recorded(), "cwd": str(agent.cwd), "env": agent.environment, "packages": packages,
            "stderr": str(agent.scratch / "agent.stderr"), "capabilities": capabilities or {},
            "permissions": list(permissions), "form": form, "seconds": ANSWER_SECONDS, "actions": list(actions),
        }  # fmt: skip
        told = _run(
            [*argv, json.dumps(scenario)], agent.scratch, peers.peer_environment(agent.scratch / "home")
        )
        assert told.status == 0, (
            f"{self.name} ended with {told.status}: {told.err[-4000:]}\nagent: {agent.stderr[-2000:]}"
        )
        return _played(json.loads(told.out), told.err)

    def _argv(self) -> tuple[list[str], str]:
        script = str(HERE / "drivers" / self.driver)
        if self.driver.endswith(".py"):
            return [peers.requested(lambda: peers.python_peer(self.package)), script], ""
        node = peers.requested(lambda: peers.node_executable(TYPESCRIPT_NODE))
        return [node, script], str(peers.requested(lambda: peers.npm_peer(self.package)))


SDK_CLIENTS = [
    SdkClient("python sdk", "acp_python.py", PYTHON_SDK),
    SdkClient("python sdk, next", "acp_python.py", PYTHON_SDK_NEXT),
    SdkClient("typescript sdk", "acp_typescript.mjs", TYPESCRIPT_SDK),
]


@dataclass(frozen=True)
class Told:
    status: int
    out: str
    err: str

    @property
    def frames(self) -> list[dict[str, Any]]:
        """The frames of both sides, of a command with `--format json`."""
        return [json.loads(line) for line in self.out.splitlines() if line.startswith("{")]

    @property
    def turn(self) -> TurnHeard:
        """The last prompt of the command and what was shown from then on."""
        frames = self.frames
        start = max(number for number, frame in enumerate(frames) if frame.get("method") == "session/prompt")
        answers = [frame for frame in frames[start:] if "stopReason" in (frame.get("result") or {})]
        assert answers, f"the prompt was not answered: {frames[start:]}"
        updates = [
            frame["params"]["update"] for frame in frames[start:] if frame.get("method") == "session/update"
        ]
        return TurnHeard(updates, answers[-1]["result"], stop_reason=answers[-1]["result"]["stopReason"])


def _run(argv: list[str], cwd: Path, environment: dict[str, str]) -> Told:
    """Bounded; when it does not end, its whole group is ended."""
    process = subprocess.Popen(
        argv, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    return _ended(process)


def _ended(process: subprocess.Popen[bytes]) -> Told:
    try:
        out, err = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"{process.args} did not end: {out[-2000:]!r} {err[-2000:]!r}") from None
    return Told(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


# -- acpx --------------------------------------------------------------------------------------------------------------


@dataclass
class Acpx:
    """One person's acpx with one agent. Use it as a context: at the end nothing of it is left running.

    A named session has a process that keeps its agent for `ttl` seconds after the last prompt, and then lets it go. `rest`
    waits for that: the next prompt then meets a new agent. (After `stop`, 0.1.15 fails once: its lock is left over.)
    `Agent.frames` needs one or the other.
    """

    version: str
    agent: Agent
    ttl: int = 3
    # Its socket lies there. A path that is too long for a socket is cut off without a word, and then left behind.
    home: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="acpx-")))
    mark: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def environment(self) -> dict[str, str]:
        own = peers.peer_environment(self.home)
        return {**self.agent.environment, **own, MARK: self.mark}

    def argv(self, *arguments: str) -> list[str]:
        """Options of acpx come first, then its command: `argv("--deny-all", "exec", "hello")`."""
        node = peers.requested(lambda: peers.node_executable(ACPX[self.version]))
        folder = peers.requested(lambda: peers.npm_peer(f"acpx@{self.version}"))
        script = str(folder / "node_modules" / "acpx" / "dist" / "cli.js")
        started = ["--agent", shlex.join(self.agent.recorded()), "--cwd", str(self.agent.cwd)]
        return [node, script, *started, "--ttl", str(self.ttl), *arguments]

    def run(self, *arguments: str) -> Told:
        """Again where acpx says that the process of its session was just letting go, so that nobody has heard of it."""
        for _ in range(LETTING_GO):
            told = _run(self.argv(*arguments), self.agent.cwd, self.environment)
            if told.status == 0 or "QUEUE_OWNER_CLOSED" not in told.out:
                break
        return told

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """To do something else while it runs; `ended` gives what came of it."""
        return subprocess.Popen(
            self.argv(*arguments), cwd=self.agent.cwd, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    ended = staticmethod(_ended)

    # -- in its words

    def exec(self, text: str, *options: str, after: tuple[str, ...] = ()) -> Told:
        """One turn in a process of its own; `after` are options of `exec`, such as `--config-option workflow=deploy`."""
        return self.run(*self._as_frames, *options, "exec", *after, text)

    def new_session(self, name: str) -> Told:
        return self.run(*self._as_frames, "sessions", "new", "--name", name)

    def prompt(self, name: str, text: str, *options: str) -> Told:
        return self.run(*self._as_frames, *options, "prompt", "-s", name, text)

    def start_prompt(self, name: str, text: str, *options: str) -> subprocess.Popen[bytes]:
        return self.start(*self._as_frames, *options, "prompt", "-s", name, text)

    def cancel(self, name: str) -> Told:
        return self.run(*self._as_frames, "cancel", "-s", name)

    def set_option(self, name: str, option: str, value: str) -> Told:
        return self.run(*self._as_frames, "set", option, value, "-s", name)

    def set_mode(self, name: str, mode: str) -> Told:
        return self.run(*self._as_frames, "set-mode", mode, "-s", name)

    def close_session(self, name: str) -> Told:
        return self.run(*self._as_frames, "sessions", "close", name)

    _as_frames = ("--format", "json", "--json-strict")

    # -- ending

    def processes(self) -> list[psutil.Process]:
        """Everything alive that this one has started, directly or not."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.status() != psutil.STATUS_ZOMBIE and process.environ().get(MARK) == self.mark:
                    found.append(process)
        return found

    def rest(self) -> None:
        """Wait until everything has ended by itself."""
        end = time.monotonic() + SECONDS
        while left := self.processes():
            assert time.monotonic() < end, f"still running: {left}"
            psutil.wait_procs(left, timeout=1)

    def stop(self) -> None:
        """End what is left: ask, and only then insist."""
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                process.terminate()
        psutil.wait_procs(self.processes(), timeout=10)
        for process in self.processes():
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(self.processes(), timeout=10)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        sockets = (
            f"acpx-{hashlib.sha256(str(self.home).encode()).hexdigest()[:10]}"  # where the newer one has them
        )
        for folder in (self.home, Path("/tmp", sockets)):
            shutil.rmtree(folder, ignore_errors=True)
