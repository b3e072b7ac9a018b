"""The page of a gateway with a gate, over HTTP: who sees what, who may answer, and what never shows."""

from __future__ import annotations

import asyncio
import json
import logging
import shlex

import pytest

from awf.application.gate.approvals import ApprovalDesk
from awf.domain.audit import AuditFilter
from awf.domain.gate_file import Limits
from awf.domain.gateway_file import Listen
from awf.domain.label import Label
from awf.domain.override import ToolOverride
from awf.domain.policy import Policy
from awf.infrastructure.gate_store import SqliteGateStore

PATIENT = 30.0
ECHO = "memory:echo"
ASKED = {"overrides": {ECHO: ToolOverride(requires_confirmation=True)}}
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
YES, NO = b'{"granted": true}', b'{"granted": false}'


class Agent:
    """A session at the gateway that makes calls."""

    def __init__(self, doors, **headers):
        self._doors = doors
        self._headers = {**JSON, **headers}

    async def greet(self):
        info = {"name": "an-agent", "version": "1"}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        _, headers, _ = await self._post(id=1, method="initialize", params=hello)
        self._headers |= {"Mcp-Session-Id": headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
        return self

    async def call(self, text):
        params = {"name": "echo", "arguments": {"text": text}}
        _, _, body = await self._post(id=2, method="tools/call", params=params)
        return next(
            json.loads(line[line.index("{") :])["result"]
            for line in body.decode().splitlines()
            if '"result"' in line
        )

    def begin(self, text):
        return asyncio.get_running_loop().create_task(self.call(text))

    async def _post(self, **message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        return await self._doors.send("POST", "/mcp", body, self._headers)


def key_of(doors):
    return {"X-AWF-Operator": doors.app.gate_rooms.operator_key}


async def told(doors, path, headers=()):
    status, _, body = await doors.send("GET", path, headers=headers)
    assert status == 200, body
    return json.loads(body)


async def one_question(doors, headers=()):
    async with asyncio.timeout(PATIENT):
        while not (found := await told(doors, "/api/approvals", headers))["approvals"]:
            await asyncio.sleep(0.01)
    (question,) = found["approvals"]
    return question


async def answer(doors, question, body=YES, **headers):
    fields = {**JSON, **headers}
    path = f"/api/approvals/{question['id']}"
    return (await doors.send("POST", path, body, fields))[0]


async def stands(doors, question):
    return (await doors.app.gate_rooms.desk.find(question["id"])).status


# -- answers


async def test_a_call_that_waits_goes_on_when_the_page_says_yes(gated):
    doors = await gated(**ASKED)
    call = (await Agent(doors).greet()).begin("hello")
    question = await one_question(doors, key_of(doors))
    assert (question["tool"], question["client"]) == (ECHO, "an-agent")
    assert json.loads(question["arguments"]) == {"text": "hello"}
    assert await answer(doors, question, **key_of(doors)) == 200
    assert (await call)["content"] == [{"type": "text", "text": "hello"}]
    used = await doors.app.gate_rooms.desk.find(question["id"])
    assert (used.status, used.decided_by) == ("used", "the gateway's page")
    assert await answer(doors, question, **key_of(doors)) == 409


async def test_a_call_that_the_page_denies_is_refused_and_listed_with_the_reason(gated):
    doors = await gated(**ASKED)
    call = (await Agent(doors).greet()).begin("hello")
    assert await answer(doors, await one_question(doors), NO, **key_of(doors)) == 200
    result = await call
    assert result["isError"] is True
    (listed,) = await told(doors, "/api/calls")
    assert (listed["outcome"], listed["code"]) == ("refused", "PERMISSION_DENIED")
    assert listed["reason"] == "echo needs a person's approval, and the answer was no (the gateway's page)."
    assert listed["reason"] == result["content"][0]["text"]


@pytest.mark.parametrize(
    "headers",
    [{}, {"X-AWF-Operator": ""}, {"X-AWF-Operator": "wrong"}, {"Authorization": "Bearer wrong"}],
    ids=["none", "empty", "wrong", "elsewhere"],
)
async def test_an_agent_on_this_machine_cannot_answer_without_the_key(gated, headers):
    doors = await gated(**ASKED)
    call = (await Agent(doors).greet()).begin("hello")
    question = await one_question(doors)
    assert await answer(doors, question, **headers) == 403
    assert await answer(doors, {"id": "approval_of_nobody"}, **headers) == 403
    assert await stands(doors, question) == "pending"
    assert await answer(doors, question, NO, **key_of(doors)) == 200
    await call


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Host": "evil.example"}],
    ids=["origin", "no origin", "host"],
)
async def test_a_page_from_elsewhere_cannot_answer_even_with_the_key(gated, headers):
    doors = await gated(**ASKED)
    call = (await Agent(doors).greet()).begin("hello")
    question = await one_question(doors)
    assert await answer(doors, question, **key_of(doors), **headers) in {403, 421}
    assert await stands(doors, question) == "pending"
    assert await answer(doors, question, NO, **key_of(doors), Origin=f"http://127.0.0.1:{doors.port}") == 200
    await call


async def test_where_the_door_asks_for_a_token_the_key_alone_opens_nothing(gated):
    doors = await gated(**ASKED, listen=Listen(tokens=["a-token-of-the-agent"]))
    bearer = {"Authorization": "Bearer a-token-of-the-agent"}
    call = (await Agent(doors, **bearer).greet()).begin("hello")
    question = await one_question(doors, bearer)
    assert await answer(doors, question, **key_of(doors)) == 401
    assert await answer(doors, question, **bearer) == 403
    assert await stands(doors, question) == "pending"
    assert await answer(doors, question, **bearer, **key_of(doors)) == 200
    assert (await call)["content"] == [{"type": "text", "text": "hello"}]


# -- looking


async def test_what_an_agent_could_use_is_shown_to_the_operator_only(gated):
    doors = await gated(**ASKED)
    contexts = doors.app.gate_rooms.contexts
    minted = await contexts.mint()
    await contexts.raise_(minted.context_id, Label("confidential"), "kb:read")
    call = (await Agent(doors, **{"X-AWF-Context": minted.context_id}).greet()).begin("what I have read")
    question = await one_question(doors)
    assert (question["arguments"], question["context"]) == (None, f"{minted.context_id[:8]}…")
    (listed,) = (await told(doors, "/api/status"))["gate"]["contexts"]
    assert listed["id"] == f"{minted.context_id[:8]}…"
    for path in ("/api/status", "/api/approvals", "/api/calls", "/api/tools"):
        _, _, body = await doors.send("GET", path, headers={"X-AWF-Operator": "wrong"})
        assert minted.context_id.encode() not in body
        assert b"what I have read" not in body
    assert (await one_question(doors, key_of(doors)))["context"] == minted.context_id
    (listed,) = (await told(doors, "/api/status", key_of(doors)))["gate"]["contexts"]
    assert (listed["id"], listed["confidentiality"]) == (minted.context_id, "confidential")
    assert (listed["raised_by"], listed["integrity"]) == ("kb:read", "trusted")
    assert await answer(doors, question, NO, **key_of(doors)) == 200
    await call


@pytest.mark.parametrize("chosen", ["", "the work of an agent, it's long"], ids=["minted", "named"])
async def test_a_reason_names_the_context_of_a_call_in_full_to_its_agent_and_to_the_operator_only(
    gated, chosen
):
    doors = await gated(overrides={ECHO: ToolOverride(policy_action="network.request")})
    contexts = doors.app.gate_rooms.contexts
    context = (await contexts.mint(chosen)).context_id
    await contexts.raise_(context, Label("confidential"), "kb:read")
    seen, whole = doors.book.watch(), doors.book.watch(operator=True)

    result = await (await Agent(doors, **{"X-AWF-Context": context}).greet()).call("hello")

    command = f"awf gateway context reset {shlex.quote(context)}"
    assert command in result["content"][0]["text"]
    (record,) = await doors.app.audit.records(where=AuditFilter(kinds=("decision",)))
    assert command in record.entry.reason
    (listed,) = await told(doors, "/api/calls")
    assert listed["reason"].endswith(f"context reset {context[:8]}…")
    assert context not in json.dumps([listed, await news_of(seen), await told(doors, "/api/status")])
    (listed,) = await told(doors, "/api/calls", key_of(doors))
    assert command in listed["reason"]
    assert command in (await news_of(whole))["reason"]
    for headers, shown in (({}, False), (key_of(doors), True)):
        assert (command in await first_news(doors, headers)) is shown


async def news_of(watch):
    """The call that has ended, as a watcher hears of it."""
    async with asyncio.timeout(PATIENT):
        while (news := await anext(watch))["type"] != "call" or news["call"]["outcome"] == "running":
            pass
    return news["call"]


async def first_news(doors, headers):
    """What the page hears first."""
    reader, writer = await asyncio.open_connection("127.0.0.1", doors.port)
    fields = {"Host": f"127.0.0.1:{doors.port}", **headers}
    lines = ["GET /api/events HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    try:
        async with asyncio.timeout(PATIENT):
            writer.write("\r\n".join([*lines, "", ""]).encode())
            said = await reader.readuntil(b"\n\n")
    finally:
        writer.close()
        await writer.wait_closed()
    found = json.loads(said[said.index(b"data: ") + 6 :])
    return found["calls"][0]["reason"]


async def test_contexts_that_have_read_nothing_are_not_listed_and_the_latest_comes_first(gated):
    doors = await gated(**ASKED)
    contexts = doors.app.gate_rooms.contexts
    await contexts.mint("plain")
    for name in ("first", "second"):
        await contexts.raise_(name, Label("secret"), "kb:read")
    shown = (await told(doors, "/api/status"))["gate"]["contexts"]
    assert [one["id"] for one in shown] == ["second", "first"]
    await contexts.reset("second", "a person")
    shown = (await told(doors, "/api/status"))["gate"]["contexts"]
    assert [one["id"] for one in shown] == ["first"]


@pytest.mark.parametrize("shadow", [True, False])
async def test_the_status_says_whether_the_gate_only_watches(gated, shadow):
    doors = await gated(policy=Policy(shadow=shadow))
    assert (await told(doors, "/api/status"))["gate"]["shadow"] is shadow


async def test_a_tool_is_shown_with_what_the_gate_knows_of_it(gated):
    known = ToolOverride(
        classification="confidential",
        integrity="untrusted",
        open_world=True,
        policy_action="connector.read",
        required_scopes=["kb.read"],
        limits=Limits(timeout_ms=500),
    )
    doors = await gated(overrides={ECHO: known}, limits=Limits(max_output_lines=7))
    (tool,) = await told(doors, "/api/tools")
    assert tool["gate"] == {
        "action": "connector.read",
        "judged_as": ["connector.read"],
        "only_reads": True,
        "classification": "confidential",
        "integrity": "untrusted",
        "open_world": True,
        "required": ["kb.read", "connector.read"],
        "confirmation": False,
        "limits": {"timeout_ms": 500, "max_output_lines": 7},
        "refusal": "",
        "notes": [],
    }


async def test_without_a_gate_nothing_of_it_shows(doors):
    assert "gate" not in await told(doors, "/api/status")
    assert "gate" not in (await told(doors, "/api/tools"))[0]
    assert (await doors.send("GET", "/api/approvals"))[0] == 404
    assert await answer(doors, {"id": "x"}, **{"X-AWF-Operator": "x"}) == 404
    doors.http.tick()


# -- news


async def test_a_page_hears_at_once_of_what_is_asked_and_answered_here(gated):
    doors = await gated(**ASKED)
    doors.http.tick()
    with_news = doors.book.watch()
    asked = await doors.app.gate_rooms.desk.request(ECHO, "h", "ctx")
    async with asyncio.timeout(PATIENT):
        assert await anext(with_news) == {"type": "approvals"}
        await doors.app.gate_rooms.desk.decide(asked.approval_id, granted=False, by="a person")
        assert await anext(with_news) == {"type": "approvals"}
        await doors.app.gate_rooms.contexts.raise_("ctx", Label("secret"), "kb:read")
        assert await anext(with_news) == {"type": "status"}


async def test_a_page_hears_of_what_another_process_asks_and_of_what_time_ends(gated, tmp_path):
    doors = await gated(**ASKED)
    doors.now = lambda: 0.0
    doors.http.tick()
    news = doors.book.watch()
    doors.http.tick()
    doors.book.changed()
    other = SqliteGateStore(str(tmp_path / "s" / "gate"))
    try:
        asked = await ApprovalDesk(other.approvals).request("other:tool", "h", "ctx", summary="{}")
    finally:
        other.close()
    doors.http.tick()
    async with asyncio.timeout(PATIENT):
        assert await anext(news) == {"type": "status"}  # nothing was told of an unchanged store
        assert await anext(news) == {"type": "approvals"}
        assert (await one_question(doors))["id"] == asked.approval_id
        doors.http.tick()
        doors.book.changed()
        assert await anext(news) == {"type": "status"}
        doors.now = lambda: asked.expires_at
        doors.http.tick()
        assert await anext(news) == {"type": "approvals"}


async def test_the_key_shows_nowhere(gated, tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    doors = await gated(**ASKED)
    key = doors.app.gate_rooms.operator_key
    call = (await Agent(doors).greet()).begin(f"the key is {key}")
    question = await one_question(doors, key_of(doors))
    assert key not in question["arguments"]
    assert await answer(doors, question, **key_of(doors)) == 200
    assert key not in json.dumps(await call)  # what passes the gate is freed of it
    for path in ("/metrics", "/api/status", "/api/tools", "/api/calls", "/api/approvals", "/"):
        _, headers, body = await doors.send("GET", path, headers=key_of(doors))
        assert key not in f"{headers}{body}"
    assert key not in caplog.text
    await doors.app.close()
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert [file.name for file in files if key.encode() in file.read_bytes()] == ["operator.key"]
    assert any("audit" in str(file) for file in files)
