"""A little ACP agent for the tests of the scripted editor: the prompt says what it shall do, faults included."""

import json
import os
import sys
import time

asked = {}  # our requests: id → what to do with the answer
waiting = {}  # session → the prompt that waits for its cancellation
sessions = 0


def send(**message):
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    sys.stdout.buffer.flush()


def show(session, kind, **update):
    send(method="session/update", params={"sessionId": session, "update": {"sessionUpdate": kind, **update}})


def say(session, text, **more):
    show(session, "agent_message_chunk", content={"type": "text", "text": text}, **more)


def end(request_id, reason="end_turn"):
    send(id=request_id, result={"stopReason": reason, "_meta": {"little": True}})


def ask(request_id, method, params, then):
    asked[request_id] = then
    send(id=request_id, method=method, params=params)


def commands(session):
    show(session, "available_commands_update", availableCommands=[{"name": "go", "description": "Go"}])


def prompted(request_id, session, text):
    if text == "call":
        show(session, "plan", entries=[{"content": "a", "priority": "medium", "status": "pending"}])
        show(session, "tool_call", toolCallId="t", title="T", rawInput={"a": 1})
        show(session, "tool_call_update", toolCallId="t", status="in_progress", title=None)
        show(session, "agent_thought_chunk", content={"type": "text", "text": "hm"})
        show(session, "tool_call_update", toolCallId="t", status="completed", rawOutput=[2])
        show(session, "plan", entries=[{"content": "a", "priority": "medium", "status": "completed"}])
        say(session, "one ", messageId="1")
        say(session, "two", messageId="2")
        end(request_id)
        commands(session)
    elif text in {"ask", "withdraw"}:
        show(session, "tool_call", toolCallId="q", title="Q")

        def then(answer):
            show(session, "tool_call_update", toolCallId="q", status="completed")
            say(session, json.dumps(answer))
            end(request_id)

        kinds = ["allow_once", "allow_always", "reject_once", "reject_always"]
        options = [{"optionId": f"o-{kind}", "name": kind, "kind": kind} for kind in kinds]
        call = {"toolCallId": "q", "title": "Q"}
        ask(
            "p1",
            "session/request_permission",
            {"sessionId": session, "toolCall": call, "options": options},
            then,
        )
        if text == "withdraw":
            send(method="$/cancel_request", params={"requestId": "p1"})
    elif text == "form":

        def filled(answer):
            say(session, json.dumps(answer))
            end(request_id)

        schema = {"type": "object", "properties": {"env": {"type": "string"}}}
        params = {"sessionId": session, "mode": "form", "message": "?", "requestedSchema": schema}
        ask("f1", "elicitation/create", params, filled)
    elif text == "wait":
        show(session, "tool_call", toolCallId="w", title="W", status="in_progress")
        waiting[session] = request_id
    elif text == "late":
        end(request_id)
        say(session, "too late")
    elif text == "noise":
        sys.stdout.buffer.write(b"starting up\n")
        end(request_id)
    elif text == "die":
        print("that was it", file=sys.stderr)
        sys.exit(3)
    elif text == "fail":
        send(id=request_id, error={"code": -32603, "message": "no", "data": {"details": "why not"}})
    elif text == "flood":
        for _ in range(3000):
            say(session, "x" * 1000)
        end(request_id)
    else:
        say(session, f"echo: {text}")
        end(request_id)


def requested(request_id, method, params):
    global sessions
    session = params.get("sessionId")
    if method == "initialize":
        send(id=request_id, result={"protocolVersion": 1})
    elif method == "session/new":
        sessions += 1
        send(id=request_id, result={"sessionId": f"s{sessions}"})
        commands(f"s{sessions}")
    elif method == "session/load":
        show(session, "user_message_chunk", content={"type": "text", "text": "before"})
        say(session, "then")
        send(id=request_id, result={})
        commands(session)
    elif method == "session/list":
        known = [{"sessionId": f"s{number}", "cwd": params.get("cwd", "/")} for number in range(1, 4)]
        first = int(params.get("cursor", 0))
        more = {"nextCursor": str(first + 1)} if first < 2 else {}
        send(id=request_id, result={"sessions": known[first : first + 1], **more})
    elif method == "session/set_config_option":
        value, kind = params["value"], params.get("type", "select")
        offered = {} if kind == "boolean" else {"options": [{"value": value, "name": value}]}
        option = {"id": params["configId"], "name": "C", "type": kind, "currentValue": value, **offered}
        send(id=request_id, result={"configOptions": [option]})
    elif method in {"session/resume", "session/close", "session/delete", "session/set_mode"}:
        send(id=request_id, result={})
    elif method == "session/prompt":
        prompted(request_id, session, params["prompt"][0].get("text", "?"))
    else:
        send(id=request_id, error={"code": -32601, "message": "no such method", "data": {"details": method}})


for line in sys.stdin.buffer:
    try:
        message = json.loads(line)
    except ValueError:
        send(id=None, error={"code": -32700, "message": "not JSON", "data": {"details": "not JSON"}})
        continue
    if "method" not in message:
        asked.pop(message["id"])({key: message[key] for key in ("result", "error") if key in message})
    elif "id" in message:
        requested(message["id"], message["method"], message.get("params", {}))
    elif message["method"] == "session/cancel" and (
        turn := waiting.pop(message["params"]["sessionId"], None)
    ):
        show(message["params"]["sessionId"], "tool_call_update", toolCallId="w", status="failed")
        end(turn, "cancelled")
print(f"good bye, {os.environ.get('NAME', '')}", file=sys.stderr)
if "STUBBORN" in os.environ:
    sys.stderr.close()
    time.sleep(600)
