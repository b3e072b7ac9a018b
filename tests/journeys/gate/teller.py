"""A small MCP server that tells the key it was given: in results, long ones, and errors. Standard library only."""

from __future__ import annotations

import json
import os
import sys

ANYTHING = {"type": "object"}
KEY = os.environ["API_KEY"]


def send(number: object, result: dict) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}) + "\n")
    sys.stdout.flush()


def said(given: dict) -> dict:
    text = f"the key is {KEY}\n" * given.get("times", 1)
    return {"content": [{"type": "text", "text": text}], "isError": given.get("wrong", False)}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        number, method = message.get("id"), message["method"]
        if method == "initialize":
            info, version = {"name": "teller", "version": "1"}, message["params"]["protocolVersion"]
            told = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            send(number, told)
        elif method == "tools/list":
            send(number, {"tools": [{"name": "tell", "inputSchema": ANYTHING}]})
        elif method == "tools/call":
            send(number, said(message["params"].get("arguments") or {}))
        elif number is not None:
            send(number, {})


main()
