"""The real agent programs, at the versions that isolation is proven for, before a scripted model.

`agent_lab("claude")` gives a laboratory for one program: installed outside the project, alone on a short PATH, with an
empty home, a dummy key and a model server on the loopback. Nothing of the caller's own environment gets in.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from awf.domain.events import (
    AgentIsolation,
    AgentText,
    AgentThought,
    AgentTool,
    AgentUsage,
    ToolCallFinished,
    ToolCallStarted,
    Warned,
)
from awf.testing.fake_models import FakeModelServer, Scenario
from awf.testing.laboratory import Laboratory
from awf.testing.peers import PeerUnavailable, node_executable, npm_peer, requested

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from awf.testing.laboratory import Ran

# provider → the package that tests install, the program's name, and where a native program lies that the package's
# own install script would link (packages are installed without running their scripts).
PACKAGES = {
    "claude": ("@anthropic-ai/claude-code@2.1.325", "claude", "@anthropic-ai/claude-code-*/claude"),
    "gemini": ("@google/gemini-cli@0.61.0", "gemini", ""),
    "codex": ("@openai/codex@0.166.0", "codex", ""),
    "opencode": ("opencode-ai@1.18.33", "opencode", "opencode-*/bin/opencode"),
    "github_copilot": ("@github/copilot@1.0.102", "copilot", ""),
}
ROOT_OF_API = {"claude": "", "gemini": ""}  # the others' base address ends with the version
MODELS = {
    "claude": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-pro",
    "codex": "gpt-5.5",
    "opencode": "fake-model",
    "github_copilot": "fake-model",
    "openai_compatible": "fake-model",
}
NOTE = "xyzzy"
PATIENCE = 30.0


def scripted(name: str, prompt: str, *turns: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "prompt": prompt, "turns": list(turns)}


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"tool": tool, "args": arguments}]}


def error(status: int, **more: Any) -> dict[str, Any]:
    return {"error": {"status": status, "message": f"scripted {status}", **more}}


# What the model does for the prompts that all programs are tried with. A test's own scripts come before them.
SCRIPTS = [
    scripted(
        "read",
        "read the note",
        {"thinking": "let me see", "text": "Reading. ", **call("Read", file_path="note.txt")},
        call("Bash", command="echo from bash"),
        {"text": "The note says: {{all_tool_results}}"},
    ),
    scripted("plain", "just answer", {"text": "Just an answer."}),
    scripted("again", "say again", {"text": "Again, message {{user_turns}}."}),
    scripted("refused", "answer 401", error(401, type="authentication_error")),
    scripted("forbidden", "answer 403", error(403, type="permission_error")),
    scripted("wrong", "answer 400", error(400, type="invalid_request_error")),
    scripted("busy", "answer 429", error(429, type="rate_limit_error", headers={"Retry-After": "0"})),
    scripted("broken", "answer 500", error(500)),
    scripted("cut", "cut the stream", {"text": "This sentence is never finished.", "drop_after_chunks": 3}),
    scripted("endless", "take long", {"text": "Starting. ", "hang_s": 120}),
    scripted("default", "", {"text": "Tools: {{tools}}"}),
]


def program_of(provider: str, folder: Path) -> Path:
    """A folder with nothing but the program and the Node it needs; empty for a provider that needs no program."""
    if provider not in PACKAGES:
        folder.mkdir(parents=True)
        return folder
    package, program, native = PACKAGES[provider]
    installed = requested(lambda: npm_peer(package)) / "node_modules"
    found = (
        sorted(installed.glob(native), key=lambda path: len(str(path)))
        if native
        else [installed / ".bin" / program]
    )
    if not found or not found[0].exists():
        requested(lambda: _missing(package, program))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / program).symlink_to(found[0])
    (folder / "node").symlink_to(requested(node_executable))
    return folder


def _missing(package: str, program: str) -> None:
    raise PeerUnavailable(f"{package} brings no program {program} for this machine")


@dataclass
class Seen:
    """What one run looked like from both sides: the events, and what the model was asked."""

    ran: Ran
    requests: list[dict[str, Any]]  # of the model, in order, without those on the side (titles and such)
    path: str = "work"
    tools: set[str] = field(default_factory=set)  # that the model had

    @property
    def result(self) -> Any:
        return self.ran.steps[self.path].result

    @property
    def output(self) -> str:
        return str(self.result.output)

    @property
    def error(self) -> Any:
        return self.result.error

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.ran.of(AgentText))

    @property
    def thoughts(self) -> str:
        return "".join(event.text for event in self.ran.of(AgentThought))

    @property
    def agent_calls(self) -> list[AgentTool]:
        """Tool calls as the program tells them."""
        return [event for event in self.ran.of(AgentTool) if event.phase == "started"]

    @property
    def agent_results(self) -> list[AgentTool]:
        return [event for event in self.ran.of(AgentTool) if event.phase == "finished"]

    @property
    def our_calls(self) -> list[ToolCallStarted]:
        """Tool calls that came to AWF."""
        return self.ran.of(ToolCallStarted)

    @property
    def our_results(self) -> list[ToolCallFinished]:
        return self.ran.of(ToolCallFinished)

    @property
    def isolation(self) -> str:
        """As it was last reported."""
        told = self.ran.of(AgentIsolation)
        return told[-1].isolation if told else ""

    @property
    def warnings(self) -> list[str]:
        return [event.message for event in self.ran.of(Warned)]

    @property
    def usage(self) -> list[AgentUsage]:
        return self.ran.of(AgentUsage)

    def asked(self) -> str:
        """All that was sent to the model, as one text."""
        return json.dumps([request["body"] for request in self.requests])


class AgentLab:
    """One program, one scripted model, one project."""

    def __init__(self, provider: str, root: Path, fake: FakeModelServer, note: Any) -> None:
        self.provider = provider
        self.fake = fake
        self.bin = program_of(provider, root / "bin")
        self.home = root / "home"
        self.project = root / "project"
        self.home.mkdir(parents=True)
        self.project.mkdir()
        (self.project / "note.txt").write_text(f"{NOTE}\n", encoding="utf-8")
        self.lab = Laboratory(self.project)
        self.lab.environment = {
            "PATH": os.pathsep.join([str(self.bin), *self._plain_path()]),
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "SHELL": "/bin/sh",
            "AWF_STORAGE": str(root / "storage"),
            "XDG_CACHE_HOME": str(root / "cache"),
        }
        self._note = note

    @staticmethod
    def _plain_path() -> list[str]:
        """Where the system keeps its programs, and git wherever it is."""
        git = shutil.which("git")
        return [*([os.path.dirname(git)] if git else []), "/usr/bin", "/bin"]

    @property
    def environment(self) -> dict[str, str]:
        return self.lab.environment

    def options(self, **more: Any) -> dict[str, Any]:
        """What points the program to the scripted model."""
        base = self.fake.url + ROOT_OF_API.get(self.provider, "/v1")
        return {"base_url": base, "api_key": "dummy-key", "model": MODELS[self.provider], **more}

    def state(
        self, prompt: str, mode: str = "intercept", *, options: dict[str, Any] | None = None, **keys: Any
    ) -> dict[str, Any]:
        """An agent state. Modes: intercept (our tools only), additive (both), native (its own only)."""
        proxy = {"mcp_proxy": _PROXIES[mode]} if mode in _PROXIES else {}
        return {
            "type": "agent",
            "provider": self.provider,
            "prompt": prompt,
            "options": self.options(**(options or {})),
            "timeout": "60s",
            **proxy,
            **keys,
        }

    async def step(
        self, prompt: str, mode: str = "intercept", *, options: dict[str, Any] | None = None, **keys: Any
    ) -> Seen:
        """Run one agent step, named `work`."""
        return await self.steps({"work": self.state(prompt, mode, options=options, **keys)}, mode=mode)

    async def steps(self, states: dict[str, dict[str, Any]], *, mode: str = "", **run: Any) -> Seen:
        """Run states one after another; each goes on with the next, and the last one with the end."""
        names = [*states, "done"]
        chained = {
            name: {"on_success": following, **state}
            for (name, state), following in zip(states.items(), names[1:], strict=True)
        }
        workflow = {
            "name": "journey",
            "states": {"initial": names[0], **chained, "done": {"type": "terminal"}},
        }
        before = len(self.fake.model_requests())
        ran = await self.lab.run(json.dumps(workflow), **run)
        requests = self.fake.model_requests()[before:]
        tools = {name for request in requests for name in request["tools"]}
        if mode and tools:
            self._note(self.provider, mode, tools)
        return Seen(ran, requests, names[0], tools)

    async def together(self, states: dict[str, dict[str, Any]]) -> dict[str, Any]:
        """Run states at the same time, whatever becomes of each; their results by name."""
        group = {
            "type": "parallel",
            "parallel": list(states),
            "strategy": "best_effort",
            "on_success": "done",
        }
        workflow = {
            "name": "journey",
            "states": {"initial": "group", "group": group, **states, "done": {"type": "terminal"}},
        }
        ran = await self.lab.run(json.dumps(workflow))
        return {name: ran.steps[f"group/{name}"].result for name in states}

    # -- what is left --------------------------------------------------------------------------------------------

    def files(self) -> dict[str, str]:
        """Every file of the project and the home, by its content; to be compared before and after."""
        found = [path for folder in (self.project, self.home) for path in folder.rglob("*") if path.is_file()]
        skipped = self.project / "workflow.yaml"
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in found if path != skipped}

    def processes(self) -> list[psutil.Process]:
        """Everything alive that belongs to this laboratory: programs hand their home on when nothing else."""
        return list(self._of_this_home())

    def _of_this_home(self) -> Iterator[psutil.Process]:
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.status() != psutil.STATUS_ZOMBIE and process.environ().get("HOME") == str(
                    self.home
                ):
                    yield process

    def nothing_is_left(self) -> None:
        end = time.monotonic() + PATIENCE
        while left := self.processes():
            assert time.monotonic() < end, f"still running: {left}"
            time.sleep(0.02)

    def clean_up(self) -> None:
        for process in self._of_this_home():
            with contextlib.suppress(psutil.Error):
                process.kill()


_PROXIES = {
    "intercept": {"enable": True, "intercept_builtins": True},
    # A tool of a server of ours that no agent has under this name, next to its own tools.
    "additive": {
        "enable": True,
        "intercept_builtins": False,
        "mcp_servers": {
            "inner": {"command": sys.executable, "args": ["-m", "awf", "mcp-serve"], "tools": ["Glob"]}
        },
    },
}


@pytest.fixture
def agent_lab(tmp_path, request):
    """`agent_lab(provider, scripts)`: a laboratory whose model follows the scripts given, then the usual ones."""
    made: list[AgentLab] = []

    def note(provider: str, mode: str, tools: set[str]) -> None:
        request.node.user_properties.append(("agent_tools", [provider, mode, sorted(tools)]))

    def make(provider: str, scripts: Sequence[dict[str, Any]] = ()) -> AgentLab:
        fake = servers.enter_context(
            FakeModelServer(Scenario({"name": "journey", "scripts": [*scripts, *SCRIPTS]}))
        )
        made.append(AgentLab(provider, tmp_path / f"{provider}-{len(made)}", fake, note))
        return made[-1]

    with contextlib.ExitStack() as servers:
        try:
            yield make
            for lab in made:
                lab.nothing_is_left()
        finally:
            for lab in made:
                lab.clean_up()
