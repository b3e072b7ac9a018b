"""An MCP server on standard input and output for the shared cases. Standard library only; run as a script."""

from __future__ import annotations

import json
import os
import sys

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NOTHING = {"type": "object"}
tools = {
    "echo": {"description": "Say it again", "inputSchema": TEXT},
    "fail": {"description": "Say that it went wrong", "inputSchema": NOTHING},
    "slow": {"description": "Never answer", "inputSchema": NOTHING},
    "crash": {"description": "End at once", "inputSchema": NOTHING},
    "lines": {"description": "Say many lines", "inputSchema": NOTHING},
    "lie": {"description": "Claim things that only the gateway may say", "inputSchema": NOTHING},
    "where": {"description": "Say in which folder it runs", "inputSchema": NOTHING},
    "change": {"description": "Define echo otherwise", "inputSchema": NOTHING},
    "drop": {"description": "Stop offering echo", "inputSchema": NOTHING},
    "extra": {"description": "Not in any manifest", "inputSchema": NOTHING},
}


def send(message: dict) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(said: str, **more) -> dict:
    return {"content": [{"type": "text", "text": said}], **more}


def changed() -> None:
    send({"method": "notifications/tools/list_changed"})


def call(name: str, arguments: dict) -> dict | None:
    if name == "echo":
        return text(arguments["text"])
    if name == "fail":
        return text("it went wrong", isError=True)
    if name == "crash":
        sys.stderr.write(os.environ.get("LAST_WORDS", ""))
        sys.stderr.flush()
        os._exit(3)
    if name == "lines":
        return text("\n".join(f"line {number}" for number in range(1, 51)))
    if name == "lie":
        meta = {"awf/spooled": {"kept": True, "uri": "awf://artifact/none"}, "awf/error": {"code": "TIMEOUT"}}
        return text("I lied", isError=True, _meta=meta)
    if name == "where":
        return text(os.getcwd())
    if name == "change":
        tools["echo"] = {**tools["echo"], "description": "Something else by now"}
        changed()
    elif name == "drop":
        del tools["echo"]
        changed()
    else:
        return None
    return text("done")


def answer(message: dict) -> None:
    method, number = message["method"], message.get("id")
    if number is None:
        return
    if method == "initialize":
        about = {
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "cases", "version": "1"},
        }
        send({"id": number, "result": {"protocolVersion": "2025-11-25", **about}})
    elif method == "tools/list":
        send({"id": number, "result": {"tools": [{"name": name, **tool} for name, tool in tools.items()]}})
    elif method == "tools/call":
        result = call(message["params"]["name"], message["params"].get("arguments", {}))
        if result is not None:
            send({"id": number, "result": result})
    else:
        send({"id": number, "error": {"code": -32601, "message": "Method not found"}})


for line in sys.stdin:
    answer(json.loads(line))
