"""What is judged, recorded and shown is what is done: not something beside it, before it, or under another name."""

from __future__ import annotations

import msgspec
import pytest

from awf.domain.mcp import RpcError
from awf.domain.override import ToolOverride
from awf.domain.policy import Policy, PolicyDefaults, PolicyRule
from awf.testing.gate_lab import GateLab
from awf.testing.memory_upstreams import MemoryServer

ABLE = {"elicitation": {}}
CLOSED = {"type": "object", "additionalProperties": False, "properties": {"path": {"type": "integer"}}}
DRAFT_7 = {
    **CLOSED,
    "$schema": "http://json-schema.org/draft-07/schema#",
    "definitions": {"t": {"type": "string"}},
    "properties": {"path": {"type": "integer", "$ref": "#/definitions/t"}},
}


@pytest.fixture
def gate():
    return GateLab()


def policy(*rules):
    made = [PolicyRule(id=str(at), action="*", decision="deny", **one) for at, one in enumerate(rules)]
    return Policy(rules=made, defaults=PolicyDefaults(fallback="allow"))


OPEN = policy()
KEPT = policy({"when": "path.startsWith('/etc/')"}, {"when": "host == 'evil.example'"})


def says_no(answer):
    return answer["_meta"]["awf/error"]["code"] == "PERMISSION_DENIED"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        DRAFT_7,
        {**CLOSED, "title": 5},
        {**CLOSED, "required": "path"},
        {**CLOSED, "$schema": "x:y"},
    ],
)
async def test_whatever_a_server_says_of_its_arguments_they_are_looked_at(house, gate, schema):
    files = MemoryServer().tool("read", inputSchema=schema)
    visitor = await (await house(gate=gate, file={"policy": KEPT}, files=files)).visitor()
    assert says_no(await visitor.call("read", {"path": "/etc/shadow"}))
    assert not files.seen("tools/call")


async def test_what_comes_beside_the_arguments_is_looked_at_whatever_they_may_be(house, gate):
    schema = {**CLOSED, "properties": {"n": {"type": "integer"}}}
    files = MemoryServer().tool("count", inputSchema=schema)
    visitor = await (await house(gate=gate, file={"policy": KEPT}, files=files)).visitor()
    call = {"name": "count", "arguments": {"n": 1}, "requestState": "s"}
    for content in ({"path": "/etc/shadow"}, {"url": "http://evil.example/"}):
        answers = {"q": {"action": "accept", "content": content}}
        assert says_no(await visitor.ask("tools/call", {**call, "inputResponses": answers}))
    assert not files.seen("tools/call")


async def test_what_a_completion_is_asked_for_is_looked_at_under_its_name(house, gate):
    files = MemoryServer(capabilities={"completions": {}, "tools": {}}).tool("x")
    files.on("completion/complete", {"completion": {"values": ["/etc/shadow"]}})
    visitor = await (await house(gate=gate, file={"policy": KEPT}, files=files)).visitor()
    ref = {"type": "ref/prompt", "name": "A"}
    with pytest.raises(RpcError, match="is not allowed"):
        await visitor.ask("completion/complete", {"ref": ref, "argument": {"name": "path", "value": "/etc/"}})
    assert not files.seen("completion/complete")


def asking(method, heard):
    async def asks(asked):
        answer = await asked.ask("elicitation/create", {"message": "Really?"})
        heard.append((asked.params, answer))
        return {"contents": [], "content": [], "completion": {"values": []}}

    server = MemoryServer(capabilities={"resources": {}, "completions": {}, "tools": {}})
    server.lists["resources"] = [{"uri": uri, "name": uri} for uri in ("db://prod", "db://test")]
    return server.tool("x", asks) if method == "tools/call" else server.on(method, asks).tool("x")


def answered(first):
    return {
        "requestState": first["requestState"],
        "inputResponses": {key: {"action": "accept"} for key in first["inputRequests"]},
    }


@pytest.mark.parametrize(
    ("method", "one", "other"),
    [
        ("resources/read", {"uri": "db://prod"}, {"uri": "db://test"}),
        ("resources/read", {"uri": "db://prod", "name": "n"}, {"uri": "db://test", "name": "n"}),
        (
            "completion/complete",
            {"ref": {"type": "ref/resource", "uri": "db://prod"}, "argument": {"name": "a", "value": ""}},
            {"ref": {"type": "ref/resource", "uri": "db://test"}, "argument": {"name": "a", "value": ""}},
        ),
    ],
)
async def test_an_answer_is_for_the_request_that_was_judged_with_it(house, gate, method, one, other):
    heard = []
    opened = await house(gate=gate, file={"policy": OPEN}, db=asking(method, heard))
    visitor = await opened.modern(capabilities=ABLE)
    first = await visitor.ask(method, one)
    with pytest.raises(RpcError, match="not waiting for input"):
        await visitor.ask(method, {**other, **answered(first)})
    assert heard == []
    await visitor.ask(method, {**one, **answered(first)})
    assert len(heard) == 1


async def test_a_call_that_waits_is_taken_up_in_its_own_context_only(house, gate):
    heard = []
    opened = await house(gate=gate, file={"policy": OPEN}, db=asking("tools/call", heard))
    visitor = await opened.modern(capabilities=ABLE)
    first = await visitor.call("x", {}, headers={"x-awf-context": "one"})
    again = {"name": "x", "arguments": {}, **answered(first)}
    with pytest.raises(RpcError, match="not waiting for input"):
        await visitor.ask("tools/call", again, headers={"x-awf-context": "two"})
    assert heard == []
    await visitor.ask("tools/call", again, headers={"x-awf-context": "one"})
    assert len(heard) == 1


@pytest.mark.parametrize("value", [1234567890123456, 1234567890123456789, 123456789012345678901234567890])
async def test_a_known_secret_is_found_as_a_number_however_long_it_is(house, gate, value):
    gate.masker.add("KEY", str(value))
    result = {"content": [], "structuredContent": {"account": value, "of": ["1"]}, "_meta": {"a": value}}
    bank = (
        MemoryServer()
        .tool("read", result)
        .tool("plain", {"content": [], "structuredContent": {"account": value}})
    )
    visitor = await (await house(gate=gate, file={"policy": OPEN}, bank=bank)).visitor()
    for name in ("read", "plain", "plain"):
        assert str(value) not in msgspec.json.encode(await visitor.call(name, {})).decode()


@pytest.mark.parametrize("override", [{}, {"enabled": False}])
async def test_a_server_reaches_others_also_by_a_tool_that_is_not_offered(house, gate, override):
    db = MemoryServer(capabilities={"resources": {}, "tools": {}}).on("resources/read", {"contents": []})
    db.tool("fetch", annotations={"openWorldHint": True}).tool("x").lists["resources"] = [
        {"uri": "u", "name": "u"}
    ]
    overrides = {"kb:secret": ToolOverride(classification="secret"), "db:fetch": ToolOverride(**override)}
    file = {"policy": OPEN, "overrides": overrides}
    opened = await house(gate=gate, file=file, db=db, kb=MemoryServer().tool("secret"))
    visitor = await opened.visitor()
    await visitor.ask("resources/read", {"uri": "u"})
    await visitor.call("secret", {})
    with pytest.raises(RpcError):
        await visitor.ask("resources/read", {"uri": "u"})


async def test_a_rule_that_names_a_tool_with_brackets_is_about_that_tool(house, gate):
    file = {"policy": policy({"tools": ["kb:x[1]"]})}
    kb = MemoryServer().tool("x[1]").tool("x1")
    visitor = await (await house(gate=gate, file=file, kb=kb)).visitor()
    refused = {name for name in await visitor.tools() if (await visitor.call(name, {})).get("isError")}
    assert len(refused) == 1
    assert [call["name"] for call in kb.seen("tools/call")] == ["x1"]
