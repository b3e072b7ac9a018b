"""The whole example in one command, offline: start the gateway on a free port, ask it as an agent would, show both sides.

The client in here is the standard library's; `agent.py` is the same on the official SDK.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weather_server import TOOL

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
MCP = "2026-07-28"
SECONDS = 30


def main(city: str = "Oslo") -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "received"
        with gateway(folder, log) as url:
            (tool,) = ask(url, "tools/list")["tools"]
            arguments = {"city": city}
            result = ask(url, "tools/call", name=tool["name"], arguments=arguments)
        received = json.loads(log.read_text(encoding="utf-8"))
    print("the server offers  ", signature(TOOL))
    print("the agent sees     ", signature(tool))
    print("the agent calls    ", tool["name"], json.dumps(arguments, ensure_ascii=False))
    print("the server receives", TOOL["name"], json.dumps(received, ensure_ascii=False))
    print("the agent reads    ", result["content"][0]["text"])


def signature(tool: dict[str, Any]) -> str:
    schema = tool["inputSchema"]
    needed = schema.get("required", [])
    return f"{tool['name']}({', '.join(name + '*' * (name in needed) for name in schema['properties'])})"


@contextlib.contextmanager
def gateway(folder: str, log: Path) -> Iterator[str]:
    """Its address. What it would keep for the next time goes into a folder that is thrown away."""
    command = [*awf(), "gateway", "serve", "--config", "sidecar_config.json", "--port", "0"]
    environment = {**os.environ, "WEATHER_LOG": str(log), "AWF_STORAGE": folder, "XDG_DATA_HOME": folder}
    with subprocess.Popen(command, cwd=HERE, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield address(process)
        finally:
            process.terminate()


def awf() -> list[str]:
    """The command: of this Python, on the path, or of this checkout."""
    if importlib.util.find_spec("awf"):
        return [sys.executable, "-m", "awf"]
    beside = HERE.parents[1] / ".venv" / "bin" / "awf"
    found = shutil.which("awf") or (str(beside) if beside.exists() else None)
    if found is None:
        sys.exit("awf is not installed for this Python, nor on the path. In a checkout: make setup")
    return [found]


def address(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        if line.startswith("listening on "):
            return line.split()[-1]
        said += line
    sys.exit(f"the gateway did not start:\n{said}")


def ask(url: str, method: str, **params: Any) -> dict[str, Any]:
    """One request of the stateless protocol: everything is said each time, so there is no handshake."""
    prefix = "io.modelcontextprotocol/"
    params["_meta"] = {f"{prefix}protocolVersion": MCP, f"{prefix}clientCapabilities": {}}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": MCP,
        "Mcp-Method": method,
    }
    if "name" in params:
        headers["Mcp-Name"] = params["name"]
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    request = urllib.request.Request(url, body, headers)  # noqa: S310  an address of our own
    with urllib.request.urlopen(request, timeout=SECONDS) as response:  # noqa: S310
        answer: dict[str, Any] = json.load(response)
    return answer["result"]


if __name__ == "__main__":
    main(*sys.argv[1:])
