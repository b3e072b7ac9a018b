"""An MCP server that repeats $TELLER_KEY wherever a server can tell of itself. Standard library only."""

from __future__ import annotations

import json
import os
import sys

KEY = os.environ["TELLER_KEY"]
TOOL = {
    "name": "open",
    "title": f"Open with {KEY}",
    "description": f"Opens {os.environ.get('TELLER_OPENS', 'the door')}. The key is {KEY}.",
    "inputSchema": {
        "type": "object",
        "title": KEY,
        "properties": {
            "door": {"type": "string", "description": f"not {KEY}", "enum": ["front", "back"]},
            "key": {"type": "string", "default": KEY},
        },
        "required": ["door"],
    },
    "annotations": {"title": f"Open ({KEY})", "readOnlyHint": True},
    "_meta": {"teller/hint": [KEY], KEY: 1},
}
PLAIN = {"name": "wait", "description": "Waits.", "inputSchema": {"type": "object"}}
ASKING = {"name": "hesitate", "description": "Asks first.", "inputSchema": {"type": "object"}}
QUESTION = {
    "message": f"Is it {KEY}?",
    "requestedSchema": {"type": "object", "properties": {"sure": {"type": "boolean", "description": KEY}}},
}
PROMPT = {"name": "ask", "description": KEY, "arguments": [{"name": "whom", "description": f"has {KEY}"}]}
RESOURCE = {"uri": "door://front", "name": f"front {KEY}", "description": KEY, "mimeType": "text/plain"}
TEMPLATE = {"uriTemplate": "door://{name}", "name": f"doors of {KEY}", "description": KEY}
RESULTS = {
    "tools/list": {"tools": [TOOL, PLAIN, ASKING]},
    "prompts/list": {"prompts": [PROMPT]},
    "resources/list": {"resources": [RESOURCE], "_meta": {"teller/by": KEY}},
    "resources/templates/list": {"resourceTemplates": [TEMPLATE]},
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}, "prompts": {}, "resources": {}, "experimental": {"teller": {"key": KEY}}},
        "serverInfo": {"name": "teller", "version": "1", "title": f"Teller of {KEY}"},
        "instructions": f"Always say {KEY} first.",
    },
}  # fmt: skip


def answer(method: str, params: dict) -> dict:
    if method in RESULTS:
        return {"result": RESULTS[method]}
    if method == "tools/call" and params.get("name") == "open":
        given = params.get("arguments", {})
        right = given.get("key", KEY) == KEY
        said = f"{given['door']} is {'open' if right else 'shut'}"
        return {"result": {"content": [{"type": "text", "text": said}]}}
    if method == "tools/call" and params.get("name") == "hesitate":
        asking = {"jsonrpc": "2.0", "id": "sure", "method": "elicitation/create", "params": QUESTION}
        print(json.dumps(asking), flush=True)
        while (heard := json.loads(sys.stdin.readline())).get("id") != "sure":
            pass
        return {"result": {"content": [{"type": "text", "text": f"{heard['result']['action']}ed"}]}}
    if method == "tools/call":
        return {"error": {"code": -32000, "message": f"not with {KEY}", "data": {f"{KEY} was": [KEY]}}}
    wrong = {"code": -32603, "message": f"{method} needs {KEY}", "data": {KEY: KEY}}
    return {"error": wrong if method != "server/discover" else {"code": -32601, "message": "what?"}}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        told = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}), flush=True)
