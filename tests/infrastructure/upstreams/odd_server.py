"""An MCP server on standard input and output that misbehaves on request. Standard library only; run as a script."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading

MODERN = "2026-07-28"
options = argparse.ArgumentParser()
options.add_argument("--era", default="legacy", choices=["legacy", "modern", "both"])
options.add_argument("--version", default="2025-11-25", help="what it answers to initialize")
options.add_argument("--supported", default=MODERN)
options.add_argument("--probe", default="error", choices=["error", "silence", "exit", "other", "late"])
options.add_argument("--tools", type=int, default=0)
options.add_argument("--page", type=int, default=0)
options.add_argument("--endless", action="store_true")
options.add_argument("--banner", default="")
options.add_argument("--starts", default="", help="a file that gets a line for each start")
options.add_argument("--log", default="", help="a file that gets every line received")
options.add_argument("--exit", type=int, default=None, help="end at once with this status")
options.add_argument("--deaf", action="store_true", help="ignore the end of the input and SIGTERM")
options.add_argument("--hush", action="store_true", help="close the output at once, and live on")
options.add_argument("--mute", action="store_true", help="read, and never answer anything")
options = options.parse_args()

out = sys.stdout.buffer
lock = threading.Lock()
asked: dict[str, dict] = {}
extra: list[str] = []
held: list = []
listening: list = []


def put(line: bytes) -> None:
    with lock:
        out.write(line + b"\n")
        out.flush()


def send(message: dict) -> None:
    put(json.dumps({"jsonrpc": "2.0", **message}).encode())


def note(path: str, text: str) -> None:
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(text + "\n")


def error(number, code, text, data=None) -> None:
    send({"id": number, "error": {"code": code, "message": text, **({"data": data} if data else {})}})


def text(value) -> dict:
    shown = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return {"content": [{"type": "text", "text": shown}]}


def done(number, result: dict, modern: bool) -> None:
    send({"id": number, "result": {**({"resultType": "complete"} if modern else {}), **result}})


def is_modern(params: dict) -> bool:
    return "io.modelcontextprotocol/protocolVersion" in params.get("_meta", {})


def tools() -> list[dict]:
    first = {
        "name": "echo",
        "title": "Echo",
        "description": "Say it again",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "x-odd": 1},
        "annotations": {"readOnlyHint": True, "policyAction": "odd.read"},
        "icons": [{"src": "data:,"}],
        "execution": {"taskSupport": "forbidden"},
        "_meta": {"odd/extra": [1, 2]},
        "futureField": {"kept": True},
    }
    plain = [{"name": name, "inputSchema": {"type": "object"}} for name in extra]
    many = [
        {"name": f"tool_{number:04}", "inputSchema": {"type": "object"}} for number in range(options.tools)
    ]
    return [first, *plain, *many]


def listing(params: dict) -> dict:
    found = tools()
    if options.endless:
        return {"tools": found, "nextCursor": "again"}
    if not options.page:
        return {"tools": found, "ttlMs": 0, "cacheScope": "private"}
    start = int(params.get("cursor", "0"))
    end = start + options.page
    more = {"nextCursor": str(end)} if end < len(found) else {}
    return {"tools": found[start:end], "ttlMs": 0, "cacheScope": "private", **more}


def changed() -> None:
    for number in listening:
        meta = {"io.modelcontextprotocol/subscriptionId": number}
        send({"method": "notifications/tools/list_changed", "params": {"_meta": meta}})
    if not listening:
        send({"method": "notifications/tools/list_changed"})


def ask(method: str) -> dict:
    number = f"ask-{method}"
    asked[number] = {"event": threading.Event()}
    send({"id": number, "method": method, "params": {}})
    asked[number]["event"].wait(20)
    return asked[number].get("answer", {})


def call(number, params: dict, modern: bool) -> None:
    name, arguments = params.get("name"), params.get("arguments", {})
    token = params.get("_meta", {}).get("progressToken")
    if name == "echo":
        done(
            number,
            {
                **text(arguments.get("text", "")),
                "structuredContent": {"said": arguments.get("text")},
                "_meta": {"odd/result": 7},
            },
            modern,
        )
    elif name == "params":
        done(number, text(params), modern)
    elif name == "fail":
        done(number, {**text("it went wrong"), "isError": True}, modern)
    elif name == "refuse":
        error(number, arguments.get("code", -32000), "I would rather not", {"why": "mood"})
    elif name == "die":
        print("last words of the server", file=sys.stderr, flush=True)
        os._exit(3)
    elif name == "hush":
        print("from now on I keep to myself", file=sys.stderr, flush=True)
        os.close(1)
        if arguments.get("notes"):
            note(options.log, json.dumps({"hushed": number}))
        while arguments.get("lives_on"):
            threading.Event().wait(1)
    elif name == "never":
        note(options.log, json.dumps({"waiting": number}))
    elif name == "garbage":
        for _ in range(20):
            put(b"this is no message")
        put(b'{"jsonrpc": "2.0"}')
        put(b"[]")
        put(b"\xff\xfe")
        put(b"")
        done(number, text("after the noise"), modern)
    elif name == "huge":
        done(number, text("x" * arguments["size"]), modern)
    elif name == "wrong_ids":
        for other in (number + 1000, "nobody", None, True, -1):
            send({"id": other, "result": text("for somebody else")})
        done(number, text("for you"), modern)
    elif name == "twice":
        done(number, text("first"), modern)
        done(number, text("second"), modern)
    elif name == "as_text":
        done(str(number), text("the id came back as text"), modern)
    elif name == "progress":
        for step in (1, 2):
            send(
                {
                    "method": "notifications/progress",
                    "params": {
                        "progressToken": token,
                        "progress": step,
                        "total": 2,
                        "message": f"step {step}",
                    },
                }
            )
        send({"method": "notifications/progress", "params": {"progressToken": "other", "progress": 99}})
        done(number, text("done"), modern)
    elif name == "grow":
        extra.append(f"grown_{len(extra)}")
        changed()
        done(number, text("grown"), modern)
    elif name == "ask":
        threading.Thread(target=lambda: done(number, text(ask(arguments["method"])), modern)).start()
    elif name == "input":
        send(
            {
                "id": number,
                "result": {
                    "resultType": "input_required",
                    "requestState": "s",
                    "inputRequests": {
                        "q": {"method": "elicitation/create", "params": {"message": "Your name?"}}
                    },
                },
            }
        )
    elif name == "hold":
        held.append((number, arguments.get("text", "")))
        if len(held) == arguments["until"]:
            for other, said in reversed(held):
                done(other, text(said), modern)
            held.clear()
    elif name == "shout":
        sys.stderr.write("noise " * 40 + "\n" if not arguments else "x" * arguments["size"])
        for _ in range(arguments.get("lines", 0)):
            sys.stderr.write("noise\n")
        sys.stderr.flush()
        done(number, text("said"), modern)
    elif name == "half_emoji":
        put(
            b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"cut \\ud83d"}],"n":NaN}}'
            % number
        )
    elif name == "batch":
        put(
            json.dumps(
                [
                    {"jsonrpc": "2.0", "method": "notifications/message", "params": {}},
                    {"jsonrpc": "2.0", "id": number, "result": text("in a batch")},
                ]
            ).encode()
        )
    elif name == "empty":
        send({"id": number})
    elif name == "pid":
        done(number, text(str(os.getpid())), modern)
    else:
        error(number, -32602, f"Unknown tool: {name}")


def take(message: dict) -> None:
    method, number, params = message.get("method"), message.get("id"), message.get("params", {})
    if options.mute:
        return
    if method is None:
        if number in asked:
            asked[number]["answer"] = {key: message[key] for key in ("result", "error") if key in message}
            asked[number]["event"].set()
        return
    modern = is_modern(params)
    if number is None:
        return
    if method == "server/discover":
        probe(number)
    elif method == "initialize" and options.era != "modern":
        done(
            number,
            {
                "protocolVersion": options.version,
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "odd", "version": "1"},
            },
            False,
        )
    elif method == "initialize":
        error(number, -32022, "Unsupported protocol version", {"supported": [MODERN], "requested": "?"})
    elif modern and options.era == "legacy":
        error(number, -32602, "what is this _meta?")
    elif not modern and options.era == "modern":
        error(number, -32602, "Missing _meta")
    elif method == "tools/list":
        done(number, listing(params), modern)
    elif method == "tools/call":
        call(number, params, modern)
    elif method == "subscriptions/listen":
        listening.append(number)
        send(
            {
                "method": "notifications/subscriptions/acknowledged",
                "params": {
                    "notifications": {"toolsListChanged": True},
                    "_meta": {"io.modelcontextprotocol/subscriptionId": number},
                },
            }
        )
    else:
        error(number, -32601, f"Method not found: {method}")


def probe(number) -> None:
    if options.era == "legacy":
        if options.probe == "exit":
            os._exit(9)
        if options.probe == "other":
            send({"id": number, "result": {"what": "ever"}})
        elif options.probe == "error":
            error(number, -32602, "Invalid request parameters")
        return
    if MODERN not in options.supported:
        error(
            number,
            -32022,
            "Unsupported protocol version",
            {"supported": options.supported.split(","), "requested": MODERN},
        )
        return
    done(
        number,
        {
            "supportedVersions": options.supported.split(","),
            "capabilities": {"tools": {"listChanged": True}},
            "ttlMs": 0,
            "cacheScope": "private",
            "instructions": "be odd",
        },
        True,
    )


def main() -> None:
    note(options.starts, str(os.getpid()))
    if options.exit is not None:
        print("cannot go on", file=sys.stderr, flush=True)
        os._exit(options.exit)
    if options.hush:
        print("from now on I keep to myself", file=sys.stderr, flush=True)
        os.close(1)
        while True:
            threading.Event().wait(1)
    if options.banner:
        put(options.banner.encode())
    if options.deaf:
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    late: list[dict] = []
    for line in sys.stdin:
        note(options.log, line.rstrip("\n"))
        message = json.loads(line)
        if options.probe == "late" and message.get("method") == "server/discover" and not late:
            late.append(message)  # as if it had been starting up all the while
            continue
        if late and message.get("method") == "initialize":
            take(late[0])
        take(message)
    while options.deaf:
        threading.Event().wait(1)


main()
