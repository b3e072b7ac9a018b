"""Whatever reaches a server passes the gate: also what is no tool call, and methods that only the server knows."""

from __future__ import annotations

import pytest

from awf.domain import gateway_file
from awf.domain.gate_file import Approvals
from awf.domain.mcp import METHOD_NOT_FOUND, RpcError
from awf.domain.override import ToolOverride
from awf.domain.policy import Policy, PolicyDefaults, PolicyRule
from awf.testing.gate_lab import GateLab
from awf.testing.memory_upstreams import MemoryServer

pytestmark = pytest.mark.anyio
COMPLETE = {"ref": {"type": "ref/resource", "uri": "u"}, "argument": {"name": "a", "value": "free text"}}
ALLOWING, DENYING = (Policy(defaults=PolicyDefaults(fallback=verdict)) for verdict in ("allow", "deny"))
REQUESTS = [
    ("resources/read", {"uri": "u"}),
    ("prompts/get", {"name": "p"}),
    ("completion/complete", COMPLETE),
    ("resources/subscribe", {"uri": "u"}),
    ("tasks/result", {"taskId": "t"}),
    ("files/read", {"path": "/etc/passwd"}),
]


def server():
    able = {"tools": {}, "resources": {"subscribe": True}, "prompts": {}, "completions": {}}
    made = MemoryServer(capabilities=able).tool("do").tool("read")
    made.lists["resources"] = [{"uri": "u", "name": "u"}]
    made.lists["prompts"] = [{"name": "p"}]
    for method, _ in REQUESTS:
        made.on(method, {"answered": method})
    return made


@pytest.fixture
def gate():
    return GateLab()


@pytest.fixture
def gated(house, gate):
    async def make(policy=ALLOWING, **file):
        return await house(gate=gate, file={"policy": policy, **file}, kb=server())

    return make


@pytest.mark.parametrize(("method", "params"), REQUESTS)
async def test_what_is_denied_is_recorded_and_never_sent(gated, gate, method, params):
    one = await gated(DENYING)
    with pytest.raises(RpcError) as refused:
        await (await one.visitor()).ask(method, params)
    assert refused.value.data["code"] == "PERMISSION_DENIED"
    assert one.memory["kb"].seen(method) == []
    assert [(entry.tool_id, entry.decision) for entry in gate.of_kind("decision")] == [
        (f"kb:{method}", "deny")
    ]


@pytest.mark.parametrize(("method", "params"), REQUESTS)
async def test_what_is_allowed_is_recorded_and_answered(gated, gate, method, params):
    one = await gated()
    assert (await (await one.visitor()).ask(method, params))["answered"] == method
    assert gate.of_kind("decision")[-1].tool_id == f"kb:{method}"


async def test_what_the_gateway_answers_itself_is_all_that_it_knows_and_asks_no_rule_about(gated):
    gateway = (await gated()).gateway
    known = {"initialize", *gateway._legacy, *gateway._modern}
    assert known - gateway_file.ANSWERED_HERE == set(gateway_file.REQUESTS)
    assert known >= gateway_file.ANSWERED_HERE


async def test_in_the_newer_era_nothing_is_listened_to_that_is_denied(gated, gate):
    one = await gated(DENYING)
    wanted = {"notifications": {"resourceSubscriptions": ["u"], "toolsListChanged": True}}
    listening = (await one.modern()).begin("subscriptions/listen", wanted)
    await listening.ear.until("notifications/subscriptions/acknowledged")
    [told] = listening.ear.of("notifications/subscriptions/acknowledged")
    assert "resourceSubscriptions" not in told["params"]["notifications"]
    assert gate.of_kind("decision")[-1].tool_id == "kb:resources/subscribe"
    await listening.cancelled()


async def test_rules_see_what_an_unknown_method_is_about(gated):
    rule = PolicyRule(id="etc", action="*", when="path.startsWith('/etc/')", decision="deny")
    one = await gated(Policy(rules=[rule], defaults=PolicyDefaults(fallback="allow")))
    visitor = await one.visitor()
    with pytest.raises(RpcError):
        await visitor.ask("files/read", {"path": "/etc/passwd"})
    assert await visitor.ask("files/read", {"path": "/home/x"})


async def test_rules_about_files_go_by_what_the_server_gets(house, gate):
    rule = PolicyRule(id="etc", action="*", when="path.startsWith('/etc/')", decision="deny")
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    kb = MemoryServer().tool("read", inputSchema=schema).tool("log", inputSchema=schema)
    overrides = {
        "kb:read": ToolOverride(rename_fields={"path": "what"}),
        "kb:log": ToolOverride(defaults={"path": "/etc/motd"}),
    }
    file = {"policy": Policy(rules=[rule], defaults=PolicyDefaults(fallback="allow")), "overrides": overrides}
    visitor = await (await house(gate=gate, file=file, kb=kb)).visitor()
    assert (await visitor.call("read", {"what": "/etc/shadow"}))["isError"]
    assert (await visitor.call("log", {}))["isError"]
    assert kb.seen("tools/call") == []
    assert "isError" not in await visitor.call("read", {"what": "/home/notes"})


async def test_a_method_that_is_too_long_to_be_recorded_is_not_found(gated):
    with pytest.raises(RpcError) as refused:
        await (await (await gated()).visitor()).ask("x" * 5000, {})
    assert refused.value.code == METHOD_NOT_FOUND


@pytest.mark.parametrize(("method", "params"), REQUESTS)
async def test_where_a_tool_of_a_server_reaches_others_all_that_is_asked_of_it_does(
    gated, gate, method, params
):
    secret, world = ToolOverride(classification="confidential"), ToolOverride(open_world=True)
    one = await gated(overrides={"kb:read": secret, "kb:do": world})
    visitor = await one.visitor()
    assert await visitor.ask(method, params)
    await visitor.call("read")
    before = len(one.memory["kb"].seen(method))
    with pytest.raises(RpcError):
        await (await one.visitor()).ask(method, params)
    assert gate.of_kind("decision")[-1].code == "level:open_world"
    assert len(one.memory["kb"].seen(method)) == before


async def test_notifications_that_nobody_knows_are_kept_from_servers(gated, until):
    one = await gated()
    visitor = await one.visitor(capabilities={"roots": {}})
    await visitor.call("do")
    kb = one.memory["kb"]
    one.gateway.heard(visitor.client, {"method": "notifications/made/up", "params": {"text": "a secret"}})
    changed = {"method": "notifications/roots/list_changed", "params": {"text": "a secret"}}
    one.gateway.heard(visitor.client, changed)
    await until(lambda: kb.seen("notifications/roots/list_changed"))
    assert kb.seen("notifications/made/up") == []
    assert kb.seen("notifications/roots/list_changed") == [{}]


# -- known secrets -------------------------------------------------------------------------------------------------------

SECRET = "hunter2-long-and-secret"


async def test_what_a_server_says_while_it_works_holds_no_secret(house, gate):
    def work(asked):
        asked.progress(1, message=f"with {SECRET}")
        asked.say("notifications/message", {"level": "error", "logger": SECRET, "data": {SECRET: [SECRET]}})
        return "done"

    gate.masker.add("env.TOKEN", SECRET)
    kb = MemoryServer(capabilities={"tools": {}, "logging": {}}).tool("do", work)
    one = await house(gate=gate, file={"policy": ALLOWING}, kb=kb)
    visitor = await one.visitor(level="debug")
    request = visitor.begin("tools/call", {"name": "do", "arguments": {}}, token="t")
    await request.answer()
    [progress] = request.ear.of("notifications/progress")
    assert progress["params"]["message"] == "with ***"
    heard = [*request.ear.of("notifications/message"), *visitor.standing.of("notifications/message")]
    assert heard
    assert SECRET not in str(heard)


async def test_what_a_client_calls_itself_is_recorded_without_secrets(house, gate):
    gate.masker.add("env.TOKEN", SECRET)
    one = await house(gate=gate, file={"policy": ALLOWING}, kb=server())
    visitor = await one.visitor()
    visitor.client.info = {"name": f"agent {SECRET}"}
    await visitor.call("do", headers={"x-awf-context": f"ctx-{SECRET}"})
    assert {(entry.client, entry.context) for entry in gate.of_kind("decision", "call")} == {
        ("agent ***", "ctx-***")
    }


async def test_news_of_a_resource_hold_no_secret_and_are_known_by_the_address_that_was_asked_for(house, gate):
    gate.masker.add("env.TOKEN", SECRET)
    one = await house(gate=gate, file={"policy": ALLOWING}, kb=server())
    visitor = await one.visitor()
    uri = f"u?key={SECRET}"
    for wanted in ("u", uri):
        await visitor.ask("resources/subscribe", {"uri": wanted})
    updated, kb = "notifications/resources/updated", one.memory["kb"]
    kb.say(updated, {"uri": "u", "title": f"key {SECRET}", "_meta": {SECRET: [SECRET]}})
    kb.say(updated, {"uri": uri})
    told, known = visitor.standing.of(updated)
    assert told["params"] == {"uri": "u", "title": "key ***", "_meta": {"***": ["***"]}}
    assert known["params"]["uri"] == uri


async def test_a_notification_whose_name_holds_a_secret_is_dropped(house, gate):
    gate.masker.add("env.TOKEN", SECRET)
    one = await house(gate=gate, file={"policy": ALLOWING}, kb=server())
    visitor = await one.visitor(capabilities={"roots": {}})
    await visitor.call("do")
    way = one.memory["kb"].received[-1].way
    way.say(f"notifications/{SECRET}", {"x": 1})
    way.say("notifications/own", {"x": SECRET})
    assert [message["method"] for message in visitor.standing.heard] == ["notifications/own"]
    assert SECRET not in str(visitor.standing.heard)


# -- what else a call brings ----------------------------------------------------------------------------------------------

CONFIRMED = {"kb:do": ToolOverride(requires_confirmation=True)}


async def test_of_a_call_only_what_the_gate_goes_by_reaches_a_server(gated):
    one = await gated()
    for era in ("visitor", "modern"):
        visitor = await getattr(one, era)()
        await visitor.ask(
            "tools/call",
            {"name": "do", "arguments": {"c": 1}, "dryRun": False, "task": {"ttl": 5}},
            meta={"force": "yes"},
        )
        got = one.memory["kb"].seen("tools/call")[-1]
        assert {key: got[key] for key in got if key != "_meta"} == {
            "name": "do",
            "arguments": {"c": 1},
            "task": {"ttl": 5},
        }
        assert "force" not in got.get("_meta", {})


async def test_without_a_gate_all_of_a_call_reaches_its_server(house):
    one = await house(kb=server())
    given = {"name": "do", "arguments": {"c": 1}, "dryRun": False, "task": {"ttl": 5}}
    await (await one.visitor()).ask("tools/call", given, meta={"force": "yes"})
    assert one.memory["kb"].seen("tools/call") == [{**given, "_meta": {"force": "yes"}}]


@pytest.mark.parametrize(
    "more",
    [
        {"task": {"ttl": 5}},
        {"inputResponses": {"confirm": {"action": "accept"}}},
        {"requestState": "really"},
        {"arguments": {"c": 1, "beside the arguments": {}}},
    ],
)
async def test_what_a_person_has_allowed_is_the_call_with_all_that_changes_it(gated, gate, more):
    one = await gated(overrides=CONFIRMED, approvals=Approvals(wait=0))
    plain = {"name": "do", "arguments": {"c": 1}}
    for visit in (one.visitor, one.modern):
        visitor = await visit()
        assert (await visitor.ask("tools/call", plain))["isError"]
        [asked] = await gate.desk.open_ones()
        await gate.desk.decide(asked.approval_id, granted=True, by="test")
        assert (await visitor.ask("tools/call", {**plain, **more}))["isError"]
        [other] = await gate.desk.open_ones()
        assert other.arguments_hash != asked.arguments_hash
        assert next(iter(more)) in other.summary or "beside" in other.summary
        before = len(one.memory["kb"].seen("tools/call"))
        await gate.desk.decide(other.approval_id, granted=True, by="test")
        assert "isError" not in await visitor.ask("tools/call", {**plain, **more})
        assert "isError" not in await visitor.ask("tools/call", plain)
        assert len(one.memory["kb"].seen("tools/call")) == before + 2


async def test_rules_see_what_a_client_brings_back_to_a_request(gated):
    rule = PolicyRule(id="etc", action="*", when="path.startsWith('/etc/')", decision="deny")
    one = await gated(Policy(rules=[rule], defaults=PolicyDefaults(fallback="allow")))
    visitor = await one.visitor()
    assert await visitor.ask("files/read", {"inputResponses": {}}, meta={"path": "/etc/passwd"})
    assert "path" not in one.memory["kb"].seen("files/read")[-1].get("_meta", {})
