"""The gate in the gateway: calls of both eras, asked about, refused, relabelled and recorded. Each test goes both ways."""

from __future__ import annotations

import asyncio
import functools

import pytest

from awf.application.running.tasks import spawn
from awf.domain.gate_file import Approvals, Levels, Limits
from awf.domain.label import Label
from awf.domain.mcp import RpcError
from awf.domain.override import ToolOverride
from awf.domain.policy import Policy, PolicyDefaults, PolicyRule
from awf.testing.gate_lab import GateLab
from awf.testing.memory_upstreams import MemoryServer, text

pytestmark = pytest.mark.anyio
PATIENT = 30.0
FORMS = {"elicitation": {}}
CHANGED = "notifications/tools/list_changed"
ASK_MAIL = Policy(
    rules=[PolicyRule(id="mail", action="*", tools=["mail:*"], decision="allow_with_confirm", reason="It sends.")],
    defaults=PolicyDefaults(fallback="allow"),
)  # fmt: skip
LEVELS = {
    "files:read": ToolOverride(policy_action="file.read", classification="confidential"),
    "web:fetch": ToolOverride(policy_action="network.request"),
}
ANN = {"to": "ann"}
LETTER = {"type": "object", "properties": {"to": {"type": "string"}, "from": {"type": "string"}}}
YES = {"action": "accept", "content": {"allow": True}}


def servers():
    return {
        "files": MemoryServer().tool("read", "secret words").tool("list", "names"),
        "web": MemoryServer().tool("fetch", "a page"),
        "mail": MemoryServer().tool("send", "sent", inputSchema=LETTER),
    }


@pytest.fixture
def gate():
    return GateLab()


@pytest.fixture
def gated(house, gate):
    async def make(**file):
        made = servers()
        return await house(gate=gate, file={"overrides": LEVELS, "policy": ASK_MAIL, **file}, **made)

    return make


def said(result) -> str:
    return result["content"][0]["text"]


def is_refused(result) -> bool:
    return result["isError"] is True and result["_meta"]["awf/error"]["code"] == "PERMISSION_DENIED"


def sent(house) -> int:
    return len(house.memory["mail"].seen("tools/call"))


# -- levels ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ["visitor", "modern"])
async def test_after_a_secret_was_read_what_reaches_others_is_refused_and_never_sent(gated, gate, era):
    house = await gated()
    visitor = await getattr(house, era)()
    assert said(await visitor.call("fetch")) == "a page"
    read = await visitor.call("read")
    assert read["_meta"]["awf/label"]["confidentiality"] == "confidential"
    assert is_refused(await visitor.call("fetch"))
    assert len(house.memory["web"].seen("tools/call")) == 1
    assert gate.of_kind("decision")[-1].code == "level:open_world"


@pytest.mark.parametrize("era", ["visitor", "modern"])
async def test_another_session_of_the_same_context_is_refused_too_and_another_context_is_not(gated, era):
    house = await gated()
    await (await house.visitor()).call("read")
    another = await getattr(house, era)()
    assert is_refused(await another.call("fetch"))
    assert said(await another.call("fetch", headers={"x-awf-context": "fresh"})) == "a page"
    await another.call("read", headers={"x-awf-context": "fresh"})
    third = await getattr(house, era)()
    assert is_refused(await third.call("fetch", headers={"x-awf-context": "fresh"}))


async def test_sessions_of_the_older_era_hear_of_it_and_see_fewer_tools_and_a_reset_gives_them_back(
    gated, gate
):
    house = await gated()
    reader, bystander = await house.visitor(), await house.visitor()
    everything = await reader.tools()
    await bystander.tools()
    await reader.call("read")
    for visitor in (reader, bystander):
        await visitor.standing.until(CHANGED)
        assert await visitor.tools() == [name for name in everything if name != "fetch"]
    await gate.contexts.reset("gateway", "ann")
    await reader.standing.until(CHANGED, 2)
    assert await reader.tools() == everything
    assert said(await reader.call("fetch")) == "a page"
    assert gate.of_kind("context_reset")[0].details["by"] == "ann"


async def test_lists_of_the_newer_era_stay_as_they_are(gated):
    house = await gated()
    visitor = await house.modern()
    before = await visitor.ask("tools/list")
    await visitor.call("read")
    assert await visitor.ask("tools/list") == before


async def test_in_shadow_mode_lists_stay_as_they_are(gated):
    house = await gated(policy=Policy(shadow=True))
    visitor = await house.visitor()
    before = await visitor.tools()
    await visitor.call("read")
    assert await visitor.tools() == before
    assert said(await visitor.call("fetch")) == "a page"


async def test_a_call_under_way_to_others_is_stopped_and_its_server_is_told(gated, until):
    house = await gated()
    web = house.memory["web"]
    held = web.hold("fetch")
    visitor = await house.visitor()
    fetching = visitor.begin("tools/call", {"name": "fetch"})
    async with asyncio.timeout(PATIENT):
        await held.reached()
    await visitor.call("read")
    assert is_refused(await fetching.answer())
    await until(lambda: web.seen("notifications/cancelled"))


async def test_a_call_under_way_is_stopped_also_when_another_file_counts_by_now(gated):
    house = await gated()
    held = house.memory["web"].hold("fetch")
    visitor = await house.visitor()
    fetching = visitor.begin("tools/call", {"name": "fetch"})
    async with asyncio.timeout(PATIENT):
        await held.reached()
    again = house.file_of(house.memory, overrides=LEVELS, policy=Policy(), approvals=Approvals(wait=60))
    assert not await house.gateway.fleet.reload(again)
    await visitor.call("read")
    assert is_refused(await fetching.answer())


async def test_a_reset_while_a_secret_is_on_its_way_does_not_make_it_forgotten(gated, gate):
    house = await gated()
    visitor = await house.visitor()
    await visitor.call("read")
    held = house.memory["files"].hold("read")
    reading = visitor.begin("tools/call", {"name": "read"})
    async with asyncio.timeout(PATIENT):
        await held.reached()
    await gate.store.contexts.reset("gateway")  # by another process
    house.memory["files"].release("read")
    assert said(await reading.answer()) == "secret words"
    assert (await gate.store.contexts.find("gateway")).label == Label("confidential")


async def test_a_name_that_was_not_minted_is_refused(gated, gate):
    house = await gated(levels=Levels(contexts="minted"))
    visitor = await house.modern()
    assert is_refused(await visitor.call("list", headers={"x-awf-context": "mine"}))
    made = await gate.contexts.mint()
    assert said(await visitor.call("list", headers={"x-awf-context": made.context_id})) == "names"
    assert is_refused(await visitor.call("list"))  # without a name
    house.gateway.origins.remember("alices", "alice")
    assert said(await (await house.modern(key="alices")).call("list")) == "names"  # her token's


async def test_nobody_takes_the_context_of_another_credential_or_of_the_gateway(gated, gate):
    house = await gated(levels=Levels(contexts="minted"))
    house.gateway.origins.remember("alices", "alice")
    house.gateway.origins.remember("bobs", "bob")
    alice, bob = await house.modern(key="alices"), await house.modern(key="bobs")
    for visitor in (alice, bob):
        assert said(await visitor.call("list")) == "names"
    for name in ("subject:bob", "gateway", "gateway:shop-0123456789ab", "mcp-serve:shop"):
        assert is_refused(await alice.call("list", headers={"x-awf-context": name}))
    assert said(await alice.call("list", headers={"x-awf-context": "subject:alice"})) == "names"


async def test_what_a_client_calls_itself_is_one_line(gated, gate):
    house = await gated()
    visitor = await house.visitor()
    visitor.client.info = {"name": "nice\n\napproval_0000\tspoof"}
    await visitor.call("list")
    assert gate.of_kind("decision", "call")[-1].client == "nice approval_0000 spoof"


async def test_a_header_that_can_be_no_context_is_refused_and_not_cut_to_another(gated, gate):
    house = await gated()
    visitor = await house.modern()
    await gate.contexts.raise_("x" * 200, Label("secret"), "test")
    for name in ("x" * 300, "a\x7fb"):
        assert is_refused(await visitor.call("list", headers={"x-awf-context": name}))


# -- the record --------------------------------------------------------------------------------------------------------


async def test_what_does_not_fit_and_what_does_not_exist_is_recorded(gated, gate):
    house = await gated()
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    house.memory["files"].tool("count", "1", inputSchema=schema)
    house.memory["files"].say("notifications/tools/list_changed")
    visitor = await house.visitor()
    await visitor.standing.until(CHANGED)
    assert (await visitor.call("count", {"n": "x"}))["isError"]
    with pytest.raises(RpcError):
        await visitor.call("nonsense")
    errors = [entry.error for entry in gate.of_kind("decision")]
    assert errors == ["INVALID_ARGUMENTS", "RESOURCE_NOT_FOUND"]


DEEP = functools.reduce(lambda inner, _: {"a": inner}, range(450), "it is token=x")


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"n": "x", "token": "tok_1234"}, ['n: "x" is not of type "integer"']),
        ({"n": 1, "token": "1234"}, ['token: "***" does not match']),
        ({"n": 1, "token": 1234, "more": DEEP}, ['token: "***"']),
        ({"n": "x", "pin": {"password": "p"}, "deep": DEEP}, ['n: "x" is not of type', "a secret argument"]),
    ],
)
async def test_what_does_not_fit_is_told_without_secrets_and_what_fits_is_not_said_to_be_wrong(
    gated, gate, given, wrong
):
    house = await gated()
    schema = {
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "token": {"type": "string", "pattern": "^(tok_|nothing)"},
            "pin": {"properties": {"password": {"enum": ["***", "q"]}}},
        },
    }
    house.memory["files"].tool("count", "1", inputSchema=schema)
    house.memory["files"].say("notifications/tools/list_changed")
    visitor = await house.visitor()
    await visitor.standing.until(CHANGED)
    told = said(await visitor.call("count", given)).splitlines()[1:-1]
    assert [part in line for part, line in zip(wrong, told, strict=True)] == [True] * len(wrong)
    (entry,) = gate.of_kind("decision")
    assert (entry.error, wrong[0] in entry.reason) == ("INVALID_ARGUMENTS", True)


async def test_calls_are_known_by_one_id_in_the_record_and_in_events(house, gate):
    told = []
    here = await house(gate=gate, file={"overrides": LEVELS}, record=told.append, **servers())
    visitor = await here.visitor()
    for name in ("list", "list", "read", "list"):
        await visitor.call(name)
    assert {event.call_id for event in told} == {entry.request_id for entry in gate.of_kind("decision")}


async def test_an_objection_of_the_server_is_recorded_alike_on_both_ways(gated, gate):
    house = await gated()
    house.memory["files"].tool("odd", RpcError(-32000, "out of paper"))
    house.memory["files"].say("notifications/tools/list_changed")
    visitor = await house.visitor()
    await visitor.standing.until(CHANGED)
    with pytest.raises(RpcError, match="out of paper"):
        await visitor.call("odd")
    effect = gate.entries[-1]
    assert (effect.kind, effect.error, effect.output_hash) == ("effect", "EXECUTION_FAILED", "")


async def test_a_call_that_the_client_cancels_is_recorded(gated, gate, until):
    house = await gated()
    held = house.memory["files"].hold("list")
    visitor = await house.visitor()
    listing = visitor.begin("tools/call", {"name": "list"})
    async with asyncio.timeout(PATIENT):
        await held.reached()
    await listing.cancelled()
    await until(lambda: gate.entries[-1].kind == "effect")
    assert gate.entries[-1].error == "CANCELLED"


async def test_a_server_that_dies_under_a_call_is_recorded(gated, gate):
    house = await gated()
    held = house.memory["files"].hold("list")
    visitor = await house.visitor()
    listing = visitor.begin("tools/call", {"name": "list"})
    async with asyncio.timeout(PATIENT):
        await held.reached()
    house.memory["files"].die()
    assert (await listing.answer())["isError"]
    assert gate.entries[-1].error == "EXECUTION_FAILED"
    assert not await gate.audit.open_calls()


async def test_a_call_that_takes_too_long_is_a_timeout(gated, gate):
    house = await gated(limits=Limits(timeout_ms=30))
    house.memory["files"].hold("list")
    visitor = await house.visitor()
    result = await visitor.call("list")
    assert result["_meta"]["awf/error"]["code"] == "TIMEOUT"
    assert gate.entries[-1].error == "TIMEOUT"


async def test_a_long_result_is_cut(gated, gate):
    house = await gated(limits=Limits(max_output_bytes=50))
    house.memory["files"].tool("long", "x" * 500)
    house.memory["files"].say("notifications/tools/list_changed")
    visitor = await house.visitor()
    await visitor.standing.until(CHANGED)
    result = await visitor.call("long")
    assert said(result) == "x" * 50
    assert result["content"][-1]["type"] == "resource_link"
    assert gate.of_kind("spooled")


# -- people: the older era ---------------------------------------------------------------------------------------------


async def answered(house, reply):
    visitor = await house.visitor(capabilities=FORMS)
    request = visitor.begin("tools/call", {"name": "send", "arguments": ANN})
    question = await request.ear.until("elicitation/create")
    assert "mail:send" in question["params"]["message"]
    assert "It sends." in question["params"]["message"]
    visitor.answered(question, reply)
    return await request.answer()


async def test_the_person_behind_a_client_says_yes(gated):
    house = await gated()
    assert said(await answered(house, YES)) == "sent"


@pytest.mark.parametrize(
    "reply",
    [
        {"action": "decline"},
        {"action": "cancel"},
        {"action": "accept", "content": {"allow": False}},
        {"action": "accept", "content": {"allow": "true"}},
        {"action": "accept"},
        {"action": "accept", "content": [True]},
        {},
    ],
)
async def test_whatever_is_not_clearly_a_yes_is_a_no(gated, reply):
    house = await gated()
    assert is_refused(await answered(house, reply))
    assert sent(house) == 0


async def test_a_client_that_fails_to_ask_leaves_the_question_to_others(gated, gate):
    house = await gated(approvals=Approvals(wait=60))
    visitor = await house.visitor(capabilities=FORMS)
    request = visitor.begin("tools/call", {"name": "send", "arguments": ANN})
    question = await request.ear.until("elicitation/create")
    visitor.client.answered({"id": question["id"], "error": {"code": -32603, "message": "no window"}})
    (asked,) = await gate.desk.open_ones()
    await gate.desk.decide(asked.approval_id, granted=True, by="ann")
    assert said(await request.answer()) == "sent"


async def test_an_answer_from_elsewhere_ends_the_question_at_the_client(gated, gate):
    house = await gated()
    visitor = await house.visitor(capabilities=FORMS)
    request = visitor.begin("tools/call", {"name": "send", "arguments": ANN})
    await request.ear.until("elicitation/create")
    (asked,) = await gate.desk.open_ones()
    await gate.desk.decide(asked.approval_id, granted=True, by="ann")
    assert said(await request.answer()) == "sent"
    await request.ear.until("notifications/cancelled")


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}])
@pytest.mark.parametrize("era", ["visitor", "modern"])
async def test_a_client_that_cannot_be_asked_is_told_how_to_go_on_and_finds_the_answer_later(
    gated, gate, capabilities, era
):
    house = await gated(approvals=Approvals(wait=0.02))
    visitor = await getattr(house, era)(capabilities=capabilities)
    refused = await visitor.call("send", ANN)
    assert is_refused(refused)
    (asked,) = await gate.desk.open_ones()
    assert asked.approval_id in said(refused)
    await gate.desk.decide(asked.approval_id, granted=True, by="ann")
    assert said(await visitor.call("send", ANN)) == "sent"
    assert is_refused(await visitor.call("send", ANN))
    assert sent(house) == 1


@pytest.mark.parametrize("era", ["visitor", "modern"])
async def test_where_the_file_says_so_clients_are_not_asked_and_their_answers_do_not_count(gated, gate, era):
    house = await gated(approvals=Approvals(wait=0.02, ask_client=False))
    visitor = await getattr(house, era)(capabilities=FORMS)
    request = visitor.begin("tools/call", {"name": "send", "arguments": ANN})
    result = await request.answer()
    assert is_refused(result)
    assert request.ear.of("elicitation/create") == []
    (asked,) = await gate.desk.open_ones()
    if era == "modern":
        again = {"requestState": f"awf-approval-{asked.approval_id}", "inputResponses": {"approval": YES}}
        assert is_refused(await visitor.ask("tools/call", {"name": "send", "arguments": ANN, **again}))
    await gate.desk.decide(asked.approval_id, granted=True, by="ann")
    assert said(await visitor.call("send", ANN)) == "sent"


# -- people: the newer era ---------------------------------------------------------------------------------------------


async def question(visitor, arguments=ANN):
    asked = await visitor.ask("tools/call", {"name": "send", "arguments": arguments})
    assert asked["resultType"] == "input_required"
    form = asked["inputRequests"]["approval"]
    assert form["method"] == "elicitation/create"
    assert "mail:send" in form["params"]["message"]
    return asked["requestState"]


def again(state, reply=YES, arguments=ANN):
    return {
        "name": "send",
        "arguments": arguments,
        "requestState": state,
        "inputResponses": {"approval": reply},
    }


async def test_a_call_is_made_again_with_the_answer_of_its_person(gated, gate):
    house = await gated()
    visitor = await house.modern(capabilities=FORMS)
    state = await question(visitor)
    assert sent(house) == 0
    result = await visitor.ask("tools/call", again(state))
    assert (said(result), result["resultType"]) == ("sent", "complete")
    passed = house.memory["mail"].seen("tools/call")[0]
    assert not {"requestState", "inputResponses"} & set(passed)
    assert gate.of_kind("approval_resolved")[0].details["decidedBy"] == "the client visitor"


@pytest.mark.parametrize("era", ["visitor", "modern"])
async def test_a_client_that_calls_itself_like_somebody_who_may_answer_is_recorded_as_a_client(
    gated, gate, era
):
    house = await gated()
    visitor = await getattr(house, era)(capabilities=FORMS, name="the gateway's\npage")
    if era == "modern":
        await visitor.ask("tools/call", again(await question(visitor)))
    else:
        request = visitor.begin("tools/call", {"name": "send", "arguments": ANN})
        visitor.answered(await request.ear.until("elicitation/create"), YES)
        await request.answer()
    assert gate.of_kind("approval_resolved")[0].details["decidedBy"] == "the client the gateway's page"
    assert gate.of_kind("decision")[-1].reason == "Approved by the client the gateway's page."


@pytest.mark.parametrize("reply", [{"action": "decline"}, {"action": "cancel"}])
async def test_a_no_in_the_newer_era_refuses_and_nobody_is_asked_the_same_again(gated, gate, reply):
    house = await gated()
    visitor = await house.modern(capabilities=FORMS)
    state = await question(visitor)
    for answer in (reply, YES):  # who has said no cannot take it back with the same question
        assert is_refused(await visitor.ask("tools/call", again(state, answer)))
    assert sent(house) == 0
    assert len(gate.of_kind("approval_required")) == 1
    assert gate.of_kind("decision")[-1].code == "approval:denied"
    assert await question(visitor) != state  # another call asks anew
    assert (await visitor.ask("tools/call", again(state, arguments={"to": "bob"})))[
        "resultType"
    ] == "input_required"


async def test_a_no_from_elsewhere_counts_before_the_clients_yes(gated, gate):
    house = await gated()
    visitor = await house.modern(capabilities=FORMS)
    state = await question(visitor)
    (asked,) = await gate.desk.open_ones()
    await gate.desk.decide(asked.approval_id, granted=False, by="ann")
    assert is_refused(await visitor.ask("tools/call", again(state)))
    assert sent(house) == 0


@pytest.mark.parametrize(
    "state", ["awf-approval-approval_forged", "awf-approval-", "something else", "", 7, None, {}]
)
async def test_a_state_that_is_forged_approves_nothing(gated, state):
    house = await gated()
    visitor = await house.modern(capabilities=FORMS)
    result = await visitor.ask("tools/call", again(state))
    assert result["resultType"] == "input_required"
    assert sent(house) == 0


async def test_a_state_is_worth_nothing_with_other_arguments_or_in_another_context(gated):
    house = await gated()
    visitor = await house.modern(capabilities=FORMS)
    state = await question(visitor)
    other = await visitor.ask("tools/call", again(state, arguments={"to": "mallory"}))
    assert other["resultType"] == "input_required"
    elsewhere = await visitor.ask("tools/call", again(state), headers={"x-awf-context": "other"})
    assert elsewhere["resultType"] == "input_required"
    assert sent(house) == 0


async def test_a_yes_with_a_call_of_something_else_answers_no_question(gated, gate):
    house = await gated()
    visitor = await house.modern(capabilities=FORMS)
    state = await question(visitor)
    harmless = {**again(state), "name": "list", "arguments": {}}
    await visitor.ask("tools/call", harmless)
    assert (await gate.desk.find(state.removeprefix("awf-approval-"))).status == "pending"


async def test_a_state_cannot_be_used_twice(gated):
    house = await gated()
    visitor = await house.modern(capabilities=FORMS)
    state = await question(visitor)
    await visitor.ask("tools/call", again(state))
    replayed = await visitor.ask("tools/call", again(state))
    assert replayed["resultType"] == "input_required"
    assert replayed["requestState"] != state
    assert sent(house) == 1


async def test_two_replays_at_once_make_one_call(gated):
    house = await gated()
    visitor = await house.modern(capabilities=FORMS)
    state = await question(visitor)
    requests = [visitor.begin("tools/call", again(state)) for _ in range(5)]
    for request in requests:
        await request.answer()
    assert sent(house) == 1


async def test_an_answer_of_a_client_that_says_it_cannot_be_asked_does_not_count(gated):
    house = await gated(approvals=Approvals(wait=0.02))
    asker, other = await house.modern(capabilities=FORMS), await house.modern()
    state = await question(asker)
    assert is_refused(await other.ask("tools/call", again(state)))
    assert sent(house) == 0


async def test_an_answer_that_comes_when_its_time_is_over_does_not_count(gated, gate):
    house = await gated(approvals=Approvals(valid=60))
    visitor = await house.modern(capabilities=FORMS)
    state = await question(visitor)
    gate.time_passes(61)
    result = await visitor.ask("tools/call", again(state))
    assert result["resultType"] == "input_required"
    assert sent(house) == 0


async def test_a_server_that_asks_something_itself_is_not_mistaken_for_the_gate(gated):
    """Both kinds of questions go through one door: the server's state is the server's."""
    house = await gated()
    asked = {
        "resultType": "input_required",
        "requestState": "awf-approval-of the server's own",
        "inputRequests": {"name": {"method": "elicitation/create", "params": {"message": "?"}}},
    }

    def ask(request):
        return text("hello") if "inputResponses" in request.params else asked

    house.memory["files"].modern, house.memory["files"].legacy = True, False
    house.memory["files"].die()
    house.memory["files"].tool("greet", ask)
    visitor = await house.modern(capabilities=FORMS)
    house.gateway.fleet.servers["files"].start()
    async with asyncio.timeout(PATIENT):
        while "greet" not in await visitor.tools():
            await asyncio.sleep(0.01)
    first = await visitor.ask("tools/call", {"name": "greet"})
    assert first["resultType"] == "input_required"
    reply = {"requestState": first["requestState"], "inputResponses": {"name": {"action": "decline"}}}
    assert said(await visitor.ask("tools/call", {"name": "greet", **reply})) == "hello"


@pytest.mark.parametrize("kept", ["", ".e30", ".!", ".bm8", ".W10=", ".ü"])
async def test_what_is_no_state_of_a_server_in_a_state_of_ours_is_left_out(gated, kept):
    house = await gated()
    visitor = await house.modern(capabilities=FORMS)
    assert said(await visitor.ask("tools/call", again(await question(visitor) + kept))) == "sent"


async def test_a_server_that_asks_as_well_gets_its_answer_when_a_person_has_allowed_that(house, gate):
    """Each of the two is asked about by itself, and a client sends what belongs to the latest question only."""
    asked = {
        "resultType": "input_required",
        "requestState": "where I was",
        "inputRequests": {"to": {"method": "elicitation/create", "params": {"message": "To whom?"}}},
    }
    heard = []

    def send(request):
        heard.append({key: request.params.get(key) for key in ("requestState", "inputResponses")})
        return text("sent") if "inputResponses" in request.params else asked

    mail = MemoryServer(modern=True).tool("send", send)
    opened = await house(gate=gate, file={"policy": ASK_MAIL}, mail=mail)
    visitor = await opened.modern(capabilities=FORMS)
    state = await question(visitor)
    from_server = await visitor.ask("tools/call", again(state))
    assert from_server["inputRequests"] == asked["inputRequests"]
    reply = {"to": {"action": "accept", "content": {"name": "bob"}}}
    call = {"name": "send", "arguments": ANN}
    answer = {**call, "requestState": from_server["requestState"], "inputResponses": reply}
    second = await visitor.ask("tools/call", answer)
    assert second["inputRequests"]["approval"]["params"]["message"].count("bob")
    no_state = second["requestState"].partition(".")[0]
    assert (await visitor.ask("tools/call", again(no_state)))["resultType"] == "input_required"
    assert len(heard) == 1
    assert said(await visitor.ask("tools/call", again(second["requestState"]))) == "sent"
    assert heard == [
        {"requestState": None, "inputResponses": None},
        {"requestState": "where I was", "inputResponses": reply},
    ]


async def test_what_a_new_server_asks_an_old_client_comes_without_known_secrets(house, gate):
    gate.masker.add("KEY", "sk-live-0123456789")
    wanted = {"method": "elicitation/create", "params": {"message": "Is it sk-live-0123456789?"}}

    def ask(request):
        given = request.params.get("inputResponses")
        return text("done") if given else {"resultType": "input_required", "inputRequests": {"a": wanted}}

    opened = await house(gate=gate, file={"policy": ASK_MAIL}, a=MemoryServer(modern=True).tool("x", ask))
    visitor = await opened.visitor(capabilities=FORMS)
    call = visitor.begin("tools/call", {"name": "x"})
    question = await call.ear.until("elicitation/create")
    visitor.answered(question, {"action": "accept", "content": {}})
    assert question["params"] == {"message": "Is it ***?"}
    assert said(await call.answer()) == "done"


# -- another file ------------------------------------------------------------------------------------------------------


async def answered_after(house, gate, **file):
    """A call that somebody allows when another file has been taken over meanwhile."""
    visitor = await house.visitor()
    sending = spawn(visitor.call("send", ANN), "sending", awaited=True)
    async with asyncio.timeout(PATIENT):
        while not (open_ones := await gate.desk.open_ones()):
            await asyncio.sleep(0)
        assert not await house.gateway.fleet.reload(house.file_of(house.memory, **file))
        await gate.desk.decide(open_ones[0].approval_id, granted=True, by="ann")
        return await sending


async def test_another_file_counts_from_then_on_for_calls_that_wait_for_a_person_too(gated, gate):
    house = await gated(approvals=Approvals(wait=60))
    deny = Policy(rules=[PolicyRule(id="no", action="*", decision="deny", reason="Not today.")])
    refused = await answered_after(house, gate, policy=deny)
    assert is_refused(refused)
    assert "Not today." in said(refused)
    assert is_refused(await (await house.visitor()).call("list"))
    assert gate.of_kind("decision")[-1].rule == "no"


async def test_what_a_person_allows_is_done_where_the_new_file_allows_it_or_asks_as_well(gated, gate):
    house = await gated(approvals=Approvals(wait=60))
    assert said(await answered_after(house, gate, policy=ASK_MAIL, approvals=Approvals(wait=60))) == "sent"
    allow = Policy(defaults=PolicyDefaults(fallback="allow"))
    assert said(await answered_after(house, gate, policy=allow)) == "sent"


async def test_a_tool_that_is_hidden_while_a_person_is_asked_is_not_called(gated, gate):
    house = await gated(approvals=Approvals(wait=60))
    hidden = {"mail:send": ToolOverride(enabled=False)}
    refused = await answered_after(house, gate, policy=ASK_MAIL, overrides=hidden)
    assert is_refused(refused)
    assert "not offered as it was" in said(refused)


@pytest.mark.parametrize(
    "changed",
    [
        {"mail:send": ToolOverride(defaults={"from": "public"})},  # another one than was going to be sent
        {"mail:send": ToolOverride(hide_fields=["to"])},
        {"mail:send": ToolOverride(open_world=True)},  # nobody would stop it when the agent learns a secret
    ],
)
async def test_a_call_that_a_person_allowed_is_not_made_when_it_would_be_another_one_by_now(
    gated, gate, changed
):
    before = {"mail:send": ToolOverride(defaults={"from": "secret"}, open_world=False)}
    house = await gated(approvals=Approvals(wait=60), overrides=before)
    refused = await answered_after(house, gate, policy=ASK_MAIL, overrides=changed)
    assert is_refused(refused)
    assert "not offered as it was" in said(refused)
    assert sent(house) == 0


async def test_a_call_that_a_person_allowed_is_made_where_all_that_matters_to_it_is_as_it_was(gated, gate):
    before = {"mail:send": ToolOverride(defaults={"from": "me"})}
    house = await gated(approvals=Approvals(wait=60), overrides=before)
    after = {"mail:send": ToolOverride(defaults={"from": "me"}, description="Other words")}
    assert said(await answered_after(house, gate, policy=ASK_MAIL, overrides=after)) == "sent"


async def test_a_file_without_a_gate_lets_calls_pass_and_one_with_a_gate_brings_it_back(gated, gate):
    house = await gated()
    visitor = await house.visitor()
    await visitor.call("read")
    deny = Policy(rules=[PolicyRule(id="no", action="*", decision="deny")])
    assert not await house.gateway.fleet.reload(house.file_of(house.memory, policy=deny))
    assert is_refused(await visitor.call("list"))
    assert not await house.gateway.fleet.reload(house.file_of(house.memory))
    assert said(await visitor.call("list")) == "names"


# -- what servers say of their errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "recorded"),
    [
        ("TIMEOUT", "TIMEOUT"),
        ("RATE_LIMITED", "RATE_LIMITED"),
        ("PERMISSION_DENIED", "EXECUTION_FAILED"),
        ("INVALID_ARGUMENTS", "EXECUTION_FAILED"),
        ("SANDBOX_VIOLATION", "EXECUTION_FAILED"),
        ("CANCELLED", "EXECUTION_FAILED"),
        ("ghp_0123456789", "EXECUTION_FAILED"),
        (["x"], "EXECUTION_FAILED"),
        (None, "EXECUTION_FAILED"),
    ],
)
async def test_a_server_cannot_write_into_the_record_that_its_call_was_refused(gated, gate, said, recorded):
    told = {"content": [], "isError": True, "_meta": {"awf/error": {"code": said}, "own": 1}}
    house = await gated(overrides={"files:list": ToolOverride(classification="confidential")})
    house.memory["files"]._tools["list"] = told
    visitor = await house.visitor()
    answer = await visitor.call("list")
    assert answer["_meta"]["awf/error"] == {"code": said}  # that is between the server and its client
    assert answer["_meta"]["own"] == 1
    [effect] = gate.of_kind("effect", "call")
    assert (effect.error, effect.success) == (recorded, False)
    assert house.book.calls()[0]["code"] == recorded
