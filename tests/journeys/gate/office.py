"""A small MCP server of the older era: reads, writes, mails, fetches. Standard library only.

In $OFFICE_JOURNAL it notes every call, with its arguments, before it answers. `slow` waits until the file that it names is there.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

ANYTHING = {"type": "object"}
TOOLS = ("read", "look", "write", "mail", "fetch", "slow", "long")
_writing = threading.Lock()


def send(message: dict) -> None:
    with _writing:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def note(name: str, given: dict) -> None:
    line = json.dumps({"tool": name, "arguments": given}) + "\n"
    with open(os.environ["OFFICE_JOURNAL"], "a", encoding="utf-8") as journal:
        journal.write(line)


def call(number: object, name: str, given: dict) -> None:
    note(name, given)
    if name == "slow":
        while not os.path.exists(given["until"]):
            time.sleep(0.01)
    text = "words\n" * given.get("lines", 1000) if name == "long" else f"{name}: {given.get('text', 'done')}"
    send({"id": number, "result": {"content": [{"type": "text", "text": text}]}})


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        number, method = message.get("id"), message["method"]
        if method == "initialize":
            info = {"name": "office", "version": "1"}
            version = message["params"]["protocolVersion"]
            send(
                {
                    "id": number,
                    "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info},
                }
            )
        elif method == "tools/list":
            tools = [{"name": name, "inputSchema": ANYTHING} for name in TOOLS]
            send({"id": number, "result": {"tools": tools}})
        elif method == "tools/call":
            params = message["params"]
            work = (number, params["name"], params.get("arguments") or {})
            threading.Thread(target=call, args=work, daemon=True).start()
        elif number is not None:
            send({"id": number, "result": {}})


main()
