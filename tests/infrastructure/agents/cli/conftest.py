"""Agents made of small scripts: a dialect of their own, and a world in which they are run by the real provider."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import textwrap
from pathlib import Path
from typing import Annotated, Any

import psutil
import pytest

from awf.domain.agent import AgentRequest, TextDelta, Thought, ToolFinished, ToolStarted, UsageReport
from awf.domain.run import Usage
from awf.infrastructure.agents.cli.options import CommonOptions
from awf.infrastructure.agents.cli.programs import Programs
from awf.infrastructure.agents.cli.provider import CliAgent
from awf.infrastructure.agents.cli.shapes import (
    Answer,
    CostSoFar,
    Invocation,
    SessionKnown,
    ToolsOffered,
    Trouble,
)
from awf.infrastructure.processes import ProcessRunner
from awf.infrastructure.telemetry.logs import LogListener
from awf.testing.laboratory import Laboratory

PRELUDE = '''\
import json, os, signal, subprocess, sys, time

def emit(**event):
    sys.stdout.write(json.dumps(event) + "\\n")
    sys.stdout.flush()

class Tools:
    """Starts our server as a program would, and asks for its list."""

    def __init__(self):
        with open(os.environ["STUB_MCP"]) as stream:
            command = json.load(stream)
        self.server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                 "clientInfo": {"name": "stub", "version": "1"}})
        self.send({"method": "notifications/initialized"})
        self.names = [tool["name"] for tool in self.ask("tools/list", {})["tools"]]

    def send(self, message):
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\\n")
        self.server.stdin.flush()

    def ask(self, method, params):
        self.send({"id": 1, "method": method, "params": params})
        while True:
            answer = json.loads(self.server.stdout.readline())
            if answer.get("id") == 1:
                return answer["result"]

    def call(self, name, **arguments):
        return self.ask("tools/call", {"name": name, "arguments": arguments})["content"][0]["text"]
'''


class StubOptions(CommonOptions, frozen=True, kw_only=True):
    lock: Annotated[str, "A first-run lock."] = ""
    rounds: Annotated[int | None, "A number."] = None


class StubReader:
    def read(self, event):
        match event["type"]:
            case "text":
                yield TextDelta(event["text"])
            case "thought":
                yield Thought(event["text"])
            case "tool":
                yield ToolStarted(event["id"], event["name"], event.get("input", {}))
            case "tool_result":
                yield ToolFinished(event["id"], event.get("name", ""), event["output"])
            case "session":
                yield SessionKnown(event["id"])
            case "usage":
                yield UsageReport(Usage(event["input"], event["output"], None, "unknown"))
            case "total":
                yield CostSoFar(event["cost"])
            case "offer":
                yield ToolsOffered(names=tuple(event["names"]), connected=event.get("connected"))
            case "answer":
                yield Answer(event["text"])
            case "error":
                yield Trouble(message=event["message"], retryable=event.get("retryable", True))

    def end(self):
        return ()


class Stub:
    """A dialect as small as can be. Its own tools of ours start with `ours_`."""

    install_hint = "npm install -g stub"
    options = StubOptions
    proven = ((1, 0, 0), (1, 2, 9))

    def __init__(self, name: str = "stub") -> None:
        self.name = name
        self.program = f"{name}-cli"

    async def prepare(self, *_):
        return {}

    def invocation(self, task, prepared):
        path = os.path.join(task.folder, "mcp.json")
        tools = {path: json.dumps(list(task.endpoint.command))} if task.endpoint else {}
        key = {"STUB_KEY": task.options.api_key} if task.options.api_key else {}
        return Invocation(
            argv=[task.program, *task.options.extra_args],
            env={"STUB_QUIET": "1", "STUB_MCP": path, **key},
            without=frozenset({"STUB_UNWANTED"}),
            stdin=task.prompt,
            files={**tools, os.path.join(task.folder, "system.txt"): task.system_prompt},
            first_run_lock=task.options.lock,
        )

    def reader(self, task):
        return StubReader()

    def own_tool(self, name):
        return name.removeprefix("ours_") if name.startswith("ours_") else None


def write_program(folder: Path, name: str, body: str, version: str = 'print("stub 1.2.3")') -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    asked = f'if sys.argv[1:] == ["--version"]:\n{textwrap.indent(textwrap.dedent(version), "    ")}\n    sys.exit()\n'
    path = folder / name
    path.write_text(f"#!{sys.executable} -S\n{PRELUDE}\n{asked}\n{textwrap.dedent(body)}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


class World:
    """One provider over a program that the test writes, and everything it shows."""

    def __init__(self, folder: Path, grace: float) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.runner = ProcessRunner(grace=grace)
        self.programs = Programs(str(folder / "cache"), patience=20.0)
        self.agent = CliAgent(Stub(), lambda: self.runner, self.programs)
        self.shown: list[Any] = []
        self.env = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(folder / "home"), "WORLD": str(folder)}

    def program(self, body: str, version: str = 'print("stub 1.2.3")') -> Path:
        return write_program(self.bin, "stub-cli", body, version)

    def request(
        self, prompt: str = "hello", options: dict[str, Any] | None = None, **keys: Any
    ) -> AgentRequest:
        return AgentRequest(
            run_id="run", step="work", path="work", prompt=prompt, options=options or {}, cwd=str(self.folder),
            state=str(self.folder / "state"), env={**self.env, **keys.pop("env", {})}, **keys,
        )  # fmt: skip

    async def run(self, prompt: str = "hello", options: dict[str, Any] | None = None, **keys: Any) -> Any:
        return await self.agent.run(self.request(prompt, options, **keys), self.shown.append)

    def processes(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            try:
                alive = process.status() != psutil.STATUS_ZOMBIE
                if alive and process.environ().get("WORLD") == str(self.folder):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def of(self, kind: type) -> list[Any]:
        return [shown for shown in self.shown if isinstance(shown, kind)]


@pytest.fixture
async def world(tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    made = World(tmp_path, grace=0.3)
    try:
        yield made
        assert made.processes() == []
        assert list(scratch.iterdir()) == []
    finally:
        await made.runner.close()


class StubLaboratory(Laboratory):
    """A laboratory whose agents are stubs: `stub` and `other`."""

    logs = False

    def app(self):
        app = super().app()
        if self.logs:
            app.set_up_logging()
        app.providers = {
            name: CliAgent(Stub(name), lambda: app.runner, app.programs) for name in ("stub", "other")
        }
        return app

    def program(self, body: str, name: str = "stub", version: str = 'print("stub 1.2.3")') -> Path:
        return write_program(self.folder / "bin", f"{name}-cli", body, version)

    async def step(self, prompt: str = "hello", *, proxy: bool = False, listener=None, **keys: Any):
        tools = {"mcp_proxy": {"enable": True, "intercept_builtins": True}} if proxy else {}
        state = {"type": "agent", "provider": "stub", "prompt": prompt, "on_success": "done", **tools, **keys}
        states = {"initial": "work", "work": state, "done": {"type": "terminal"}}
        text = json.dumps({"name": "stubs", "states": states})
        return await self.run(text, listener=self._log if self.logs else listener)

    def _log(self, stamped):
        """As the command line does; `run` makes an app of its own, which has the log set up by then."""
        LogListener()(stamped)


@pytest.fixture
def stubs(tmp_path):
    lab = StubLaboratory(tmp_path)
    lab.environment["PATH"] = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    lab.environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    return lab


@pytest.fixture(name="until")
def _until():
    async def until(check, what="this"):
        async with asyncio.timeout(60):
            while not (found := check()):
                await asyncio.sleep(0.01)
        return found

    return until
