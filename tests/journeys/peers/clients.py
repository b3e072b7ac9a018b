"""Every official MCP client, driven the same way: start a server, list its tools, call some, say what was seen."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from awf.testing import peers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HERE = Path(__file__).parent
SECONDS = 120
LEGACY, MODERN = "2025-11-25", "2026-07-28"
UNKNOWN_TOOL = -32602
NODE_OF_THE_SDKS = (20,)


@dataclass(frozen=True)
class Call:
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Server:
    """How a client starts the server, and where the frames are written down."""

    command: list[str]
    cwd: Path
    scratch: Path
    environment: dict[str, str]

    def recorded(self) -> list[str]:
        return [sys.executable, str(HERE / "recorder.py"), str(self.scratch / "traffic"), *self.command]

    def frames(self) -> list[list[tuple[str, bytes]]]:
        """What went over the pipes, one list for each server process: who said it (`>` the client), and the line."""
        files = sorted(self.scratch.glob("traffic-*.frames"), key=lambda file: file.stat().st_mtime_ns)
        return [[(line[:1].decode(), line[2:]) for line in _finished(file)] for file in files]


def _finished(file: Path) -> list[bytes]:
    """The whole lines, once the recorder is gone: a client may leave before it, or end it in the middle of one."""
    with file.open("rb") as stream:
        fcntl.flock(stream, fcntl.LOCK_SH)
        return [line for line in stream if line.endswith(b"\n")]


@dataclass(frozen=True)
class Seen:
    tools: list[dict[str, Any]]
    results: list[dict[str, Any]]
    protocol: str


@dataclass(frozen=True)
class PeerClient:
    name: str
    protocol: str  # what it and the server must agree on
    run: Callable[[Server, Sequence[Call]], Seen]
    patient: bool = True  # not one that starts two processes for each call


def _told(argv: Sequence[str], server: Server, accepted: Sequence[int] = (0,)) -> str:
    done = subprocess.run(
        argv, cwd=server.scratch, env=peers.peer_environment(server.scratch / "home"), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, encoding="utf-8", timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode in accepted, f"{argv[1]} ended with {done.returncode}: {done.stderr[-3000:]}"
    return done.stdout or done.stderr


def _driven(argv: Sequence[str], server: Server, calls: Sequence[Call], **more: str) -> Seen:
    task = {
        "command": server.recorded(),
        "cwd": str(server.cwd),
        "env": server.environment,
        "calls": [{"name": call.name, "arguments": call.arguments} for call in calls],
        **more,
    }
    return Seen(**json.loads(_told([*argv, json.dumps(task)], server)))


def _python(driver: str, requirement: str, **more: str) -> Callable[[Server, Sequence[Call]], Seen]:
    def run(server: Server, calls: Sequence[Call]) -> Seen:
        python = peers.requested(lambda: peers.python_peer(requirement))
        return _driven([python, str(HERE / "drivers" / driver)], server, calls, **more)

    return run


def _typescript(driver: str, package: str, **more: str) -> Callable[[Server, Sequence[Call]], Seen]:
    def run(server: Server, calls: Sequence[Call]) -> Seen:
        node = peers.requested(lambda: peers.node_executable(NODE_OF_THE_SDKS))
        packages = str(peers.requested(lambda: peers.npm_peer(package)))
        return _driven([node, str(HERE / "drivers" / driver)], server, calls, packages=packages, **more)

    return run


# -- the inspector: one process for each request -----------------------------------------------------------------------

INSPECTOR = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
TOOL_ERROR = 5  # its exit status for a result with isError, and for a tool that is not there


def _inspector(era: str) -> Callable[[Server, Sequence[Call]], Seen]:
    def run(server: Server, calls: Sequence[Call]) -> Seen:
        node = peers.requested(peers.node_executable)
        script = peers.requested(lambda: peers.npm_peer("@modelcontextprotocol/inspector@2.12.0")) / INSPECTOR
        config = _inspector_config(server, era)
        options = [
            "--cli",
            "--config",
            str(config),
            "--server",
            "awf",
            "--format",
            "json",
            "--quiet",
            "--method",
        ]

        def ask(*request: str) -> dict[str, Any]:
            told = json.loads(_told([node, str(script), *options, *request], server, (0, TOOL_ERROR)))
            return told["result"] if "result" in told else _inspector_error(told["error"])

        tools = ask("tools/list")["tools"]
        results = [
            ask("tools/call", "--tool-name", call.name, "--tool-args-json", json.dumps(call.arguments))
            for call in calls
        ]
        return Seen(tools, results, _negotiated(server))

    return run


def _inspector_config(server: Server, era: str) -> Path:
    command, *arguments = server.recorded()
    entry = {
        "command": command, "args": arguments, "cwd": str(server.cwd), "env": server.environment, "protocolEra": era
    }  # fmt: skip
    config = server.scratch / "inspector.json"
    config.write_text(json.dumps({"mcpServers": {"awf": entry}}), encoding="utf-8")
    return config


def _inspector_error(error: dict[str, Any]) -> dict[str, Any]:
    """It looks a tool up in the list before it calls it, and has a word of its own for one that is not there."""
    assert error["code"] == "tool_not_found", error
    return {"error": {"code": UNKNOWN_TOOL, "message": error["message"]}}


def _negotiated(server: Server) -> str:
    """The inspector does not say which protocol it speaks, but the frames do."""
    asked = [json.loads(line) for who, line in server.frames()[-1] if who == ">"]
    modern = [
        message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"]
        for message in asked
        if "_meta" in message.get("params", {}) and message["method"].startswith("tools/")
        if "io.modelcontextprotocol/protocolVersion" in message["params"]["_meta"]
    ]
    if modern:
        return str(modern[-1])
    answers = [json.loads(line) for who, line in server.frames()[-1] if who == "<"]
    return str(
        next(a["result"]["protocolVersion"] for a in answers if "protocolVersion" in a.get("result", {}))
    )


# -- no client at all: lines written and read by hand ------------------------------------------------------------------


def by_hand(server: Server, calls: Sequence[Call]) -> Seen:
    """The smallest legacy client. What it sees is what the others are compared with."""
    hello = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "hand", "version": "1"}}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        server.recorded(), cwd=server.cwd, env=server.environment, stdin=pipe, stdout=pipe
    ) as process:

        def ask(number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
            process.stdin.write(_line(id=number, method=method, params=params))
            process.stdin.flush()
            for line in process.stdout:
                answer = json.loads(line)
                if answer.get("id") == number:
                    return answer.get("result", answer)
            raise AssertionError(f"no answer to {method}")

        protocol = ask(0, "initialize", hello)["protocolVersion"]
        process.stdin.write(_line(method="notifications/initialized"))
        tools = ask(1, "tools/list", {})["tools"]
        results = [
            ask(number, "tools/call", {"name": call.name, "arguments": call.arguments})
            for number, call in enumerate(calls, 2)
        ]
        process.stdin.close()
        assert process.wait(SECONDS) == 0
    return Seen(tools, results, protocol)


def _line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


CLIENTS = [
    PeerClient("by hand", LEGACY, by_hand),
    PeerClient("python sdk 1.x", LEGACY, _python("python_v1.py", "mcp==1.30.0")),
    PeerClient("python sdk 2.x", MODERN, _python("python_v2.py", "mcp==2.3.0", mode="auto")),
    PeerClient("python sdk 2.x, legacy", LEGACY, _python("python_v2.py", "mcp==2.3.0", mode="legacy")),
    PeerClient("typescript sdk 1.x", LEGACY, _typescript("typescript_v1.mjs", "@modelcontextprotocol/sdk@1.32.2")),
    PeerClient(
        "typescript client 2.x", MODERN, _typescript("typescript_v2.mjs", "@modelcontextprotocol/client@2.4.0", mode="auto")
    ),
    PeerClient("inspector, legacy", LEGACY, _inspector("legacy"), patient=False),
    PeerClient("inspector, modern", MODERN, _inspector("modern"), patient=False),
]  # fmt: skip
