"""A scripted agent as a program of its own, the way coding agents are: it starts the MCP server it is told of, uses
its tools, and tells on standard output what it does, one JSON object per line. Standard library only.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any


class McpClient:
    """Just enough of a client to list and call tools, one call at a time."""

    def __init__(self, command: list[str]) -> None:
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._next = 0
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "scripted", "version": "1"},
        }
        self.request("initialize", hello)
        self._write({"method": "notifications/initialized"})
        self.tools = [tool["name"] for tool in self.request("tools/list", {})["tools"]]

    def call(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        try:
            result = self.request("tools/call", {"name": name, "arguments": arguments})
        except RuntimeError as error:
            return str(error), True
        texts = [block.get("text") or f"({block['type']})" for block in result["content"]]
        return "\n".join(texts), bool(result.get("isError"))

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._next += 1
        self._write({"id": self._next, "method": method, "params": params})
        assert self._server.stdout is not None
        while line := self._server.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == self._next:
                if "error" in answer:
                    raise RuntimeError(answer["error"]["message"])
                found: dict[str, Any] = answer["result"]
                return found
        raise SystemExit("the MCP server has gone away")

    def _write(self, message: dict[str, Any]) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._server.stdin.flush()

    def close(self) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait()


def tell(kind: str, **fields: Any) -> None:
    sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
    sys.stdout.flush()


def play(actions: list[dict[str, Any]], tools: McpClient | None) -> None:
    for number, action in enumerate(actions, 1):
        kind, value = action["kind"], action["value"]
        if kind == "tool":
            _use(f"call-{number}", value, tools)
        elif kind == "wait":
            time.sleep(value)
        elif kind == "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        else:
            tell(kind, value=value)


def _use(call_id: str, value: dict[str, Any], tools: McpClient | None) -> None:
    name, given = str(value["name"]), value.get("input") or {}
    tell("tool_started", id=call_id, name=name, input=given)
    if tools is not None and "output" not in value and "error" not in value:
        output, is_error = tools.call(name, given)
    else:
        output, is_error = str(value.get("error", value.get("output", ""))), "error" in value
    tell("tool_finished", id=call_id, name=name, output=output, is_error=is_error)


def main() -> None:
    task = json.load(sys.stdin)
    tools = McpClient(task["endpoint"]) if task["endpoint"] else None
    play(task["actions"], tools)
    if tools is not None:
        tools.close()


if __name__ == "__main__":
    main()
