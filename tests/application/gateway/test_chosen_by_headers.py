"""Defaults that ask for headers: what a client says there is its choice, so it is judged, shown and bound like an argument."""

from __future__ import annotations

import pytest

from awf.domain.gate_file import Approvals
from awf.domain.mcp import RpcError
from awf.domain.override import ToolOverride
from awf.domain.policy import Policy, PolicyDefaults, PolicyRule
from awf.domain.value_source import parse_value
from awf.testing.gate_lab import GateLab
from awf.testing.memory_upstreams import MemoryServer

pytestmark = pytest.mark.anyio
ERAS = pytest.mark.parametrize("era", ["visitor", "modern"])
FORMS = {"elicitation": {}}
YES = {"action": "accept", "content": {"allow": True}}
SCHEMA = {"type": "object", "properties": {name: {"type": "string"} for name in ("path", "text", "made")}}
OVERRIDES = {
    "files:save": ToolOverride(
        policy_action="file.write",
        defaults={"path": parse_value("${header:X-Document:-a.txt}"), "made": parse_value("${now()}")},
        rename_fields={"text": "words"},
    )
}
NOT_THERE = PolicyRule(id="no", action="file.*", when="path.startsWith('/etc/')", decision="deny")
ASK = PolicyRule(id="ask", action="*", decision="allow_with_confirm")
PASSWD, SHADOW = {"x-document": "/etc/passwd"}, {"x-document": "/etc/shadow"}


@pytest.fixture
def gate():
    return GateLab()


@pytest.fixture
def gated(house, gate):
    async def make(*rules, server=None, overrides=OVERRIDES):
        server = server or MemoryServer().tool("save", inputSchema=SCHEMA)
        policy = Policy(rules=list(rules), defaults=PolicyDefaults(fallback="allow"))
        return await house(gate=gate, file={"overrides": overrides, "policy": policy}, files=server)

    return make


def is_refused(result) -> bool:
    return result["isError"] is True and result["_meta"]["awf/error"]["code"] == "PERMISSION_DENIED"


def sent(house):
    return [params["arguments"]["path"] for params in house.memory["files"].seen("tools/call")]


@ERAS
async def test_a_rule_about_files_sees_what_a_header_names(gated, era):
    house = await gated(NOT_THERE)
    visitor = await getattr(house, era)()
    assert is_refused(await visitor.call("save", {"words": "x"}, headers=PASSWD))
    for headers in ({}, {"x-document": "b.txt"}):
        assert not (await visitor.call("save", {"words": "x"}, headers=headers)).get("isError")
    assert sent(house) == ["a.txt", "b.txt"]


@ERAS
async def test_it_is_among_the_arguments_that_rules_see(gated, era):
    house = await gated(PolicyRule(id="no", action="*", when="has(arguments.path)", decision="deny"))
    visitor = await getattr(house, era)()
    assert is_refused(await visitor.call("save", {"words": "x"}, headers=PASSWD))
    assert not (await visitor.call("save", {"words": "x"})).get("isError")
    assert sent(house) == ["a.txt"]


@ERAS
async def test_calls_with_other_headers_are_other_calls_in_the_record_and_the_time_is_not(gated, gate, era):
    house = await gated()
    visitor = await getattr(house, era)()
    for headers in (PASSWD, SHADOW, PASSWD):
        await visitor.call("save", {"words": "x"}, headers=headers)
    first, second, third = (entry.input_hash for entry in gate.of_kind("decision"))
    assert first == third
    assert first != second


async def test_a_person_sees_what_a_header_names_and_allows_nothing_else(gated, gate):
    house = await gated(ASK)
    visitor = await house.modern(capabilities=FORMS)
    call = {"name": "save", "arguments": {"words": "x"}}
    asked = await visitor.ask("tools/call", call, headers=PASSWD)
    message = asked["inputRequests"]["approval"]["params"]["message"]
    assert '"path": "/etc/passwd"' in message
    assert "now()" not in message
    again = {**call, "requestState": asked["requestState"], "inputResponses": {"approval": YES}}
    other = await visitor.ask("tools/call", again, headers=SHADOW)
    assert other["resultType"] == "input_required"
    assert sent(house) == []
    assert (await visitor.ask("tools/call", again, headers=PASSWD))["resultType"] == "complete"
    assert sent(house) == ["/etc/passwd"]


async def test_what_was_allowed_elsewhere_for_one_header_is_not_allowed_for_another(gated, gate):
    house = await gated(ASK)
    gate.desk.settings = Approvals(wait=0.0)
    visitor = await house.visitor()
    assert is_refused(await visitor.call("save", {"words": "x"}, headers=PASSWD))
    (asked,) = await gate.desk.open_ones()
    await gate.desk.decide(asked.approval_id, granted=True, by="ann")
    assert is_refused(await visitor.call("save", {"words": "x"}, headers=SHADOW))
    assert not (await visitor.call("save", {"words": "x"}, headers=PASSWD)).get("isError")
    assert sent(house) == ["/etc/passwd"]


async def test_secrets_in_a_header_are_not_shown(gated, gate):
    gate.masker.add("KEY", "hunter2-long-and-secret")
    house = await gated(ASK)
    visitor = await house.modern(capabilities=FORMS)
    headers = {"x-document": "/home/hunter2-long-and-secret"}
    asked = await visitor.ask("tools/call", {"name": "save", "arguments": {"words": "x"}}, headers=headers)
    assert "hunter2" not in str(asked)


async def test_who_comes_back_to_a_call_that_waits_cannot_change_what_it_is_about(gated):
    async def save(asked):
        await asked.ask("elicitation/create", {"message": "Sure?"})
        return {"content": [{"type": "text", "text": "saved"}]}

    house = await gated(server=MemoryServer().tool("save", save, inputSchema=SCHEMA))
    visitor = await house.modern(capabilities=FORMS)
    call = {"name": "save", "arguments": {"words": "x"}}
    asked = await visitor.ask("tools/call", call, headers=PASSWD)
    answers = {key: {"action": "accept", "content": {}} for key in asked["inputRequests"]}
    again = {**call, "requestState": asked["requestState"], "inputResponses": answers}
    with pytest.raises(RpcError):
        await visitor.ask("tools/call", again, headers=SHADOW)
    done = await visitor.ask("tools/call", again, headers=PASSWD)
    assert done["content"][0]["text"] == "saved"
