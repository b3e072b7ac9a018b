"""Official and popular MCP clients, each in an environment of its own, all driven in the same way.

A task names targets (an address, or a command to start) and steps; a driver makes all steps at each target and says what
came back, and what it was asked and told meanwhile.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from awf.testing import peers

HERE = Path(__file__).parent
OLDER, NEWER = "2025-11-25", "2026-07-28"
SECONDS = 280  # less than the time limit of a test, so that the driver's own words are seen
NODE_OF_THE_SDKS = (20,)

Step = dict[str, Any]
Target = dict[str, Any]
Run = Callable[[Mapping[str, Target], Sequence[Step], Path], dict[str, Any]]


@dataclass(frozen=True)
class GatewayClient:
    name: str
    way: str  # http, sse or stdio
    protocol: str  # what it and the gateway must agree on
    run: Run
    mode: str = "auto"
    hears_the_last_progress: bool = True

    def target(self, address: str, command: Sequence[str], environment: Mapping[str, str]) -> Target:
        if self.way == "stdio":
            return {"command": list(command), "env": dict(environment), "mode": self.mode}
        path = "sse" if self.way == "sse" else "mcp"
        return {"url": f"{address}/{path}", "way": self.way, "mode": self.mode}


def _told(argv: Sequence[str], folder: Path, accepted: Sequence[int] = (0,)) -> str:
    done = subprocess.run(
        argv, cwd=folder, env=peers.peer_environment(folder / "home"), stdin=subprocess.DEVNULL, capture_output=True,
        text=True, encoding="utf-8", timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode in accepted, (
        f"{argv[:2]} ended with {done.returncode}: {done.stderr[-3000:]}{done.stdout[-500:]}"
    )
    return done.stdout


def _python(driver: str, *requirements: str) -> Run:
    def run(targets: Mapping[str, Target], steps: Sequence[Step], folder: Path) -> dict[str, Any]:
        python = peers.requested(lambda: peers.python_peer(*requirements))
        task = json.dumps({"targets": targets, "steps": steps})
        return dict(json.loads(_told([python, str(HERE / "drivers" / driver), task], folder)))

    return run


def _typescript(line: int, package: str) -> Run:
    def run(targets: Mapping[str, Target], steps: Sequence[Step], folder: Path) -> dict[str, Any]:
        node = peers.requested(lambda: peers.node_executable(NODE_OF_THE_SDKS))
        packages = str(peers.requested(lambda: peers.npm_peer(package)))
        task = json.dumps({"targets": targets, "steps": steps, "line": line, "packages": packages})
        script = str(HERE / "drivers" / "tour_typescript.mjs")
        return dict(json.loads(_told([node, script, task], folder)))

    return run


# -- the inspector: a command line, one process for each request -------------------------------------------------------

INSPECTOR = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"


def _inspector(targets: Mapping[str, Target], steps: Sequence[Step], folder: Path) -> dict[str, Any]:
    node = peers.requested(peers.node_executable)
    script = peers.requested(lambda: peers.npm_peer("@modelcontextprotocol/inspector@2.12.0")) / INSPECTOR
    seen = {}
    for name, target in targets.items():
        config = folder / "inspector.json"
        config.write_text(json.dumps({"mcpServers": {name: _entry(target)}}), encoding="utf-8")
        options = ["--cli", "--config", str(config), "--server", name, "--format", "json", "--quiet"]
        done = []
        for step in steps:
            told = json.loads(_told([node, str(script), *options, *_request(step)], folder))["result"]
            done.append(told["tools"] if step["do"] == "list_tools" else told)
        era = target["mode"]  # it does not tell
        seen[name] = {"protocol": NEWER if era == "modern" else OLDER, "steps": done, "heard": []}
    return seen


def _entry(target: Target) -> dict[str, Any]:
    era = {"protocolEra": target["mode"]}
    if "command" in target:
        command, *arguments = target["command"]
        return {"command": command, "args": arguments, "env": target["env"], **era}
    return {"type": "streamable-http", "url": target["url"], **era}


def _request(step: Step) -> list[str]:
    if step["do"] == "list_tools":
        return ["--method", "tools/list"]
    arguments = json.dumps(step["arguments"])
    return ["--method", "tools/call", "--tool-name", step["name"], "--tool-args-json", arguments]


# -- all of them -------------------------------------------------------------------------------------------------------

_V1 = _python("tour_v1.py", "mcp==1.30.0")
_V2 = _python("tour_v2.py", "mcp==2.3.0")
_T1 = _typescript(1, "@modelcontextprotocol/sdk@1.32.2")
_T2 = _typescript(2, "@modelcontextprotocol/client@2.4.0")
_LANGCHAIN = _python("langchain_agent.py", "langchain-mcp-adapters==0.3.2")
_FASTMCP = _python("fastmcp_client.py", "fastmcp-slim[client]==4.1.8")

TOURISTS = [
    GatewayClient("python sdk 1, http", "http", OLDER, _V1),
    GatewayClient("python sdk 1, sse", "sse", OLDER, _V1),
    GatewayClient("python sdk 1, stdio", "stdio", OLDER, _V1),
    GatewayClient("python sdk 2, http", "http", NEWER, _V2),
    GatewayClient("python sdk 2, http, legacy", "http", OLDER, _V2, "legacy"),
    GatewayClient("python sdk 2, stdio", "stdio", NEWER, _V2),
    GatewayClient("typescript sdk 1, http", "http", OLDER, _T1),
    GatewayClient("typescript client 2, http", "http", NEWER, _T2, hears_the_last_progress=False),
]
"""Clients that can be asked and told something by a server."""

CLIENTS = [
    *TOURISTS,
    GatewayClient("python sdk 2, http, pinned", "http", NEWER, _V2, NEWER),
    GatewayClient("python sdk 2, stdio, pinned", "stdio", NEWER, _V2, NEWER),
    GatewayClient("python sdk 2, stdio, legacy", "stdio", OLDER, _V2, "legacy"),
    GatewayClient("typescript sdk 1, sse", "sse", OLDER, _T1),
    GatewayClient("typescript sdk 1, stdio", "stdio", OLDER, _T1),
    GatewayClient("typescript client 2, http, legacy", "http", OLDER, _T2, "legacy"),
    GatewayClient("typescript client 2, stdio", "stdio", NEWER, _T2),
    GatewayClient("langchain, http", "http", OLDER, _LANGCHAIN),
    GatewayClient("langchain, sse", "sse", OLDER, _LANGCHAIN),
    GatewayClient("fastmcp, http", "http", NEWER, _FASTMCP),
    GatewayClient("fastmcp, sse", "sse", OLDER, _FASTMCP, "legacy"),
    GatewayClient("fastmcp, stdio", "stdio", NEWER, _FASTMCP),
    GatewayClient("inspector, http", "http", OLDER, _inspector, "legacy"),
    GatewayClient("inspector, http, modern", "http", NEWER, _inspector, "modern"),
    GatewayClient("inspector, stdio", "stdio", OLDER, _inspector, "legacy"),
]
