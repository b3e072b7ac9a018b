"""A gateway's desk without a gateway: what it says is set by the test, and what happens is told by it."""

from __future__ import annotations

import asyncio
import itertools

from awf.application.gate.refusal import ApprovalRefused

STARTED = 1_780_000_000
FORECAST = {
    "name": "fetch_forecast",
    "description": "Forecast of a station. Needs the station's number.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "q": {"type": "string", "description": "Where"},
            "station_id": {"type": "string"},
            "debug_mode": {"type": "boolean"},
            "units": {"type": "string", "enum": ["metric", "imperial", "kelvin"]},
        },
        "required": ["q", "station_id"],
    },
}
GET_WEATHER = {
    "name": "get_weather",
    "description": "Get the weather for a city",
    "inputSchema": {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Where"},
            "units": {"type": "string", "enum": ["metric", "imperial"]},
        },
        "required": ["city"],
    },
}
EDITS = {"hidden": ["debug_mode"], "sent": ["station_id"], "renamed": {"q": "city"}}


def a_tool(server="kb", name="search", published=None, **more):
    original = {"name": name, "description": f"The tool {name}.", "inputSchema": {"type": "object"}}
    shown = published or original
    return {
        "id": f"{server}:{name}",
        "name": shown["name"],
        "server": server,
        "original": original,
        "published": shown,
        "profiles": [],
        "quarantined": False,
        **more,
    }


def weather(**more):
    tool = a_tool("weather", "fetch_forecast", GET_WEATHER, profiles=["people"], **more)
    return {**tool, "original": FORECAST}


def a_server(name, state="ready", **more):
    facts = {"tools": 1, "calls": 0, "errors": 0, "restarts": 0, "in_flight": 0}
    known = {"name": name, "transport": "stdio", "state": state, "detail": "", "protocol": "2026-07-28"}
    return {**known, **facts, "since": STARTED, **more}


class FakeWatch:
    def __init__(self, desk):
        self._desk = desk
        self._events = asyncio.Queue()
        self.taken = 0
        desk.watches.append(self)

    def tell(self, event):
        self._events.put_nowait(event)

    def __aiter__(self):
        return self

    async def __anext__(self):
        event = await self._events.get()
        if event is None:
            raise StopAsyncIteration
        if isinstance(event, Exception):
            raise event
        self.taken += 1
        return event

    def close(self):
        if self in self._desk.watches:
            self._desk.watches.remove(self)


def a_question(number=1, **more):
    asked = {"id": f"approval_{number:016x}", "tool": "mail:send", "arguments": '{"to": "bob@example.com"}'}
    why = {
        "reason": "It sends something.",
        "rule": "no-mail",
        "client": "claude-code",
        "context": "ctx_0123456789abcdef",
    }
    return {**asked, **why, "asked": STARTED, "until": STARTED + 3600, **more}


def a_context(name, confidentiality="confidential", integrity="trusted", **more):
    label = {"confidentiality": confidentiality, "integrity": integrity}
    return {"id": name, **label, "raised_by": "kb:read", "raised": STARTED, **more}


KNOWN = {
    "action": "network.request",
    "judged_as": ["network.request"],
    "only_reads": False,
    "classification": "confidential",
    "integrity": "untrusted",
    "open_world": True,
    "required": ["weather.read", "network.request"],
    "confirmation": True,
    "limits": {"timeout_ms": 5000, "max_output_bytes": 65536, "max_output_lines": 200},
    "refusal": "",
    "notes": ["`x-level` is not a level."],
}


class FakeGate:
    """A `Gate` that writes down what it is answered."""

    def __init__(self, desk, key="the-right-key"):
        self._desk = desk
        self.key = key
        self.shadow = False
        self.contexts = []
        self.trouble = ""
        self.open = []
        self.more = 0
        self.answers = []
        self.failure = None  # what answering fails with
        self.slow = None  # an event: what is open is told only then, as it is now
        self.asked = 0  # how often that was

    def is_operator(self, key):
        return key == self.key

    async def status(self, *, operator):
        known = {"shadow": self.shadow, "contexts": self.contexts, "more_contexts": 0}
        return {**known, "trouble": self.trouble}

    async def approvals(self, *, operator):
        shown = [one if operator else {**one, "arguments": None} for one in self.open]
        told = {"operator": operator, "waiting": len(self.open) + self.more, "approvals": shown}
        self.asked += 1
        if self.slow is not None:
            await self.slow.wait()
        return told

    async def answer(self, approval_id, *, granted):
        if self.failure is not None:
            raise self.failure
        found = next((one for one in self.open if one["id"] == approval_id), None)
        if found is None:
            raise ApprovalRefused(approval_id, "unknown")
        self.answers.append((approval_id, granted))
        self.close(approval_id)
        return {**found, "status": "granted" if granted else "denied"}

    # The test's side

    def ask(self, *questions):
        self.open += questions
        self._desk.tell({"type": "approvals"})

    def close(self, approval_id):
        self.open = [one for one in self.open if one["id"] != approval_id]
        self._desk.tell({"type": "approvals"})


class FakeDesk:
    """A `Desk`. Without a gate, unless a test gives it one."""

    def __init__(self):
        self.gate = None
        self.servers = [
            a_server("weather", calls=1204, errors=3),
            a_server(
                "kb", "failed", transport="streamableHttp", detail="it does not answer", protocol="", tools=0
            ),
        ]
        self.tool_list = [a_tool(), weather(edits=EDITS)]
        self.problems = []
        self.drift = []
        self.call_list = []
        self.watches = []
        self._numbers = itertools.count(1)

    def status(self):
        return {
            "version": "1.2.3",
            "started": STARTED,
            "config": ".awf/gateway.yaml",
            "reloads": 2,
            "reload_error": "",
            "sessions": 3,
            "streams": 1,
            "in_flight": sum(call["outcome"] == "running" for call in self.call_list),
            "servers": self.servers,
            "profiles": [{"name": "people", "description": "For people", "tools": 1, "path": "/mcp/people"}],
            "drift": self.drift,
            "problems": self.problems,
        }

    def tools(self):
        return self.tool_list

    def calls(self, *, operator=False):
        return self.call_list[:300]

    def watch(self, *, operator=False):
        return FakeWatch(self)

    def with_gate(self, **more):
        self.gate = FakeGate(self, **more)
        return self.gate

    # The test's side

    def tell(self, event):
        for watch in list(self.watches):
            watch.tell(event)

    def changed(self):
        self.tell({"type": "status"})

    def begin(self, server="weather", tool="fetch_forecast", name="get_weather", **more):
        number = next(self._numbers)
        call = {"id": f"c{number}", "time": STARTED + number, "server": server, "tool": tool, "name": name}
        rest = {"client": "claude-code", "outcome": "running", "code": "", "duration_ms": None}
        return self._set({**call, **rest, **more})

    def end(self, call, outcome="ok", duration_ms=12.3, code="", **more):
        return self._set({**call, "outcome": outcome, "duration_ms": duration_ms, "code": code, **more})

    def _set(self, call):
        places = [at for at, one in enumerate(self.call_list) if one["id"] == call["id"]]
        if places:
            self.call_list[places[0]] = call
        else:
            self.call_list.insert(0, call)
        self.tell({"type": "call", "call": call})
        return call
