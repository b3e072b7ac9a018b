"""An MCP server that does, on command, what servers must not do. Standard library only.

The first argument is the manner in which it lives: `plain`, `mute` (reads and never answers), `deaf` (does not read),
`dies`, `chatty` (prints lines before it speaks), `endless` (its list has no last page), `waits` (for the file that the
second argument names), or a path to a JSON file that holds its tool list, read anew whenever the list is asked for.

In $VILLAIN_JOURNAL it notes what happens to it, one line each, so that a test can wait for that.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time

MANNER = sys.argv[1] if len(sys.argv) > 1 else "plain"
ANYTHING = {"type": "object"}
TOOLS = [
    {
        "name": "echo",
        "description": "Says what it was told.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}, "token": {"type": "string"}},
        },
    },
    {"name": "hang", "description": "Never answers.", "inputSchema": ANYTHING},
    {"name": "die", "description": "Ends the server at once.", "inputSchema": ANYTHING},
    {"name": "hush", "description": "Closes its output and lives on.", "inputSchema": ANYTHING},
    {"name": "big", "description": "Answers with so many bytes.", "inputSchema": ANYTHING},
    {"name": "write", "description": "Writes lines before it answers.", "inputSchema": ANYTHING},
    {"name": "shout", "description": "Writes to standard error.", "inputSchema": ANYTHING},
    {"name": "ask", "description": "Asks the client something.", "inputSchema": ANYTHING},
    {
        "name": "fail",
        "description": "Answers with an error.",
        "inputSchema": {
            "type": "object",
            "properties": {"error": {"type": "object"}, "token": {"type": "string"}},
        },
    },
]

_writing = threading.Lock()
_answers: dict[str, dict] = {}
_answered = threading.Condition()


def note(text: str) -> None:
    path = os.environ.get("VILLAIN_JOURNAL")
    if path:
        with open(path, "a", encoding="utf-8") as journal:
            journal.write(f"{text}\n")


def write(data: bytes) -> None:
    with _writing:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def send(message: dict) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def text_result(text: str) -> dict:
    return {"content": [{"type": "text", "text": text}]}


def shown_tools() -> list:
    if MANNER.endswith(".json"):
        with open(MANNER, encoding="utf-8") as listed:
            return json.load(listed)
    return TOOLS


def call(number: object, params: dict) -> None:
    name, given = params["name"], params.get("arguments") or {}
    note(f"called {name}")
    if name == "hang":
        return
    if name == "die":
        note(f"dies {os.getpid()}")
        os.kill(os.getpid(), given.get("signal", 9))
        time.sleep(60)
    if name == "hush":
        os.close(1)
        time.sleep(600)
    if name == "big":
        head = (
            b'{"jsonrpc":"2.0","id":%b,"result":{"content":[{"type":"text","text":"'
            % json.dumps(number).encode()
        )
        tail = b'"}]}}\n'
        size = given["bytes"] - len(head) - len(tail) if given.get("whole") else given["bytes"]
        if given.get("progress"):
            token = (params.get("_meta") or {}).get("progressToken")
            send({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
        write(head + b"x" * size + tail)
        return
    if name == "shout":
        sys.stderr.write(given["text"] * given.get("times", 1))
        sys.stderr.flush()
    if name == "write":
        lines = "".join(f"{line}\n" for line in given["lines"]).replace('"$ID"', json.dumps(number)).encode()
        for _ in range(given.get("times", 1)):
            write(lines)
        note("wrote")
        if given.get("silent"):
            return
    if name == "ask":
        key = f"question-{number}"
        send({"id": key, "method": given["method"], "params": given.get("params", {})})
        note("asked")
        with _answered:
            _answered.wait_for(lambda: key in _answers, timeout=given.get("patience", 120))
            send({"id": number, "result": text_result(json.dumps(_answers.pop(key, None)))})
        return
    if name == "fail":
        if "error" in given:
            send({"id": number, "error": given["error"]})
        else:
            said = text_result(f"the token {given.get('token')} is wrong")
            send({"id": number, "result": {**said, "isError": True}})
        return
    said = given.get("text", "done") if name == "echo" else "done"
    send({"id": number, "result": {**text_result(said), "_meta": {"pid": os.getpid(), "given": given}}})


def take(message: dict) -> None:
    method, number = message.get("method"), message.get("id")
    if method is None:
        with _answered:
            _answers[str(number)] = message
            _answered.notify_all()
    elif number is None:
        if method == "notifications/cancelled":
            note("cancelled")
    elif method == "initialize":
        capabilities = {"tools": {"listChanged": True}, "logging": {}}
        told = {"name": "villain", "version": "1"}
        version = message["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": told}
        send({"id": number, "result": result})
    elif method == "tools/list":
        note("listed")
        page = {"tools": shown_tools()}
        if MANNER == "endless":
            page = {"tools": [], "nextCursor": str(time.monotonic_ns())}
        send({"id": number, "result": page})
    elif method == "tools/call":
        threading.Thread(target=call, args=(number, message["params"]), daemon=True).start()
    elif method in {"ping", "logging/setLevel"}:
        send({"id": number, "result": {}})
    else:
        send({"id": number, "error": {"code": -32601, "message": f"no {method} here"}})


def main() -> None:
    note(f"started {os.getpid()}")
    if MANNER == "dies":
        sys.stderr.write(f"cannot go on: {os.environ.get('VILLAIN_SAYS', 'no reason')}\n")
        raise SystemExit(3)
    if MANNER == "deaf":
        threading.Event().wait()
    if MANNER == "waits":
        while not os.path.exists(sys.argv[2]):
            time.sleep(0.02)
    if MANNER == "chatty":
        write(
            b'Welcome!\n\xff\xfe not even text\n{"half": \n[]\n[1,2]\nnull\n"text"\n{}\n'
            + b"x" * 100_000
            + b"\n"
        )
    for line in sys.stdin.buffer:
        if MANNER != "mute":
            take(json.loads(line))
    note("left")


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError, KeyboardInterrupt):
        main()
