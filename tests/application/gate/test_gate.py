"""One call through the gate: what is asked in which order, and what comes of it. Each test goes both ways."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from awf.application.gate.origin import Origin
from awf.application.running.tasks import spawn
from awf.domain.gate_file import GateKeys, Levels, Limits
from awf.domain.grant import GrantScope, Holder
from awf.domain.label import PLAIN, Label
from awf.domain.override import ToolOverride
from awf.domain.policy import Policy, PolicyDefaults, PolicyRule
from awf.domain.tool import ToolFailure, text_result
from awf.testing.gate_lab import GateLab, ScriptedAsking

pytestmark = pytest.mark.anyio
PATIENT = 30.0

READER = ToolOverride(policy_action="file.read", classification="confidential")
FETCHER = ToolOverride(policy_action="network.request")
OVERRIDES = {
    "files:read": READER,
    "files:plain": ToolOverride(policy_action="file.read"),
    "files:write": ToolOverride(policy_action="file.write"),
    "web:fetch": FETCHER,
    "kb:search": ToolOverride(policy_action="connector.read", required_scopes=["kb"]),
}


def rules(*given: PolicyRule, fallback="allow", **more) -> Policy:
    return Policy(rules=list(given), defaults=PolicyDefaults(fallback=fallback), **more)


DENY_ALL = rules(PolicyRule(id="no", action="*", decision="deny", reason="Not here."))


@pytest.fixture(params=[False, True], ids=["through", "in two steps"])
def lab_of(request):
    """A function that makes a laboratory, and takes the keys of the file."""

    def make(overrides=None, **keys) -> GateLab:
        return GateLab(GateKeys(**keys), {**OVERRIDES, **(overrides or {})}, in_two_steps=request.param)

    return make


async def refused(work, code: str = "PERMISSION_DENIED") -> str:
    with pytest.raises(ToolFailure) as failure:
        await work
    assert failure.value.code == code
    return failure.value.message


# -- what is allowed ---------------------------------------------------------------------------------------------------


async def test_a_call_that_is_allowed_is_carried_out_and_recorded_before_and_after(lab_of):
    lab = lab_of()
    seen = []

    async def look():
        seen.extend(lab.kinds)
        return text_result("found")

    assert (await lab.call(lab.tool("files:plain"), {"path": "a"}, answer=look)).text == "found"
    assert seen == ["decision"]  # before it was carried out
    before, after = lab.entries
    assert (before.decision, before.tool_id, before.context, before.door) == (
        "allow", "files:plain", "ctx", "gateway",
    )  # fmt: skip
    assert (after.kind, after.success, after.request_id) == ("effect", True, before.request_id)
    assert before.input_hash
    assert after.output_hash
    assert not await lab.audit.open_calls()
    assert (await lab.audit.verify()).is_sound


async def test_a_call_that_a_rule_denies_is_not_carried_out_and_says_why(lab_of):
    lab = lab_of(policy=DENY_ALL)
    assert await refused(lab.call(lab.tool("files:plain"))) == "Not here."
    assert lab.reached == []
    (entry,) = lab.entries
    assert (entry.decision, entry.rule, entry.code, entry.error) == (
        "deny",
        "no",
        "policy",
        "PERMISSION_DENIED",
    )


async def test_a_tool_that_fails_is_recorded_with_its_code(lab_of):
    lab = lab_of()
    await refused(lab.call(lab.tool("files:plain"), answer=ToolFailure("TIMEOUT", "slow")), "TIMEOUT")
    effect = lab.entries[-1]
    assert (effect.kind, effect.success, effect.error, effect.output_hash) == ("effect", False, "TIMEOUT", "")


async def test_an_error_that_a_tool_says_is_a_failure_with_an_output(lab_of):
    lab = lab_of()
    assert (await lab.call(lab.tool("files:plain"), answer=text_result("no", is_error=True))).is_error
    effect = lab.entries[-1]
    assert (effect.success, effect.error) == (False, "EXECUTION_FAILED")
    assert effect.output_hash


async def test_a_call_that_is_cancelled_is_recorded_as_such():
    lab = GateLab()
    begun = asyncio.Event()

    async def for_ever():
        begun.set()
        await asyncio.Event().wait()

    task = spawn(lab.call(lab.tool(), answer=for_ever), "a call", awaited=True)
    await begun.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert lab.entries[-1].error == "CANCELLED"
    assert not await lab.audit.open_calls()


# -- levels ------------------------------------------------------------------------------------------------------------


async def test_whoever_knows_something_secret_reaches_nobody_whatever_the_policy_says(lab_of):
    allow = PolicyRule(id="yes", action="*", decision="allow")
    lab = lab_of(policy=rules(allow))
    await lab.call(lab.tool("files:read"))
    message = await refused(lab.call(lab.tool("web:fetch")))
    assert "confidential" in message
    assert "awf gateway context reset " in message
    assert lab.reached == ["files:read"]
    assert lab.entries[-1].code == "level:open_world"


async def test_the_level_is_asked_before_the_policy_and_the_policy_before_grants_and_people(lab_of):
    scoped = {
        "web:fetch": ToolOverride(
            policy_action="network.request", required_scopes=["net"], requires_confirmation=True
        )
    }
    ask = ScriptedAsking(True)

    async def code(**keys):
        lab = lab_of(scoped, **keys)
        if keys.pop("raised", False):
            await lab.contexts.raise_("ctx", Label("secret"), "test")
        await refused(lab.call(lab.tool("web:fetch"), asking=ask))
        return lab.of_kind("decision")[-1].code

    lab = lab_of(scoped, policy=DENY_ALL)
    await lab.contexts.raise_("ctx", Label("secret"), "test")
    await refused(lab.call(lab.tool("web:fetch"), asking=ask))
    assert lab.entries[-1].code == "level:open_world"
    assert await code(policy=DENY_ALL) == "policy"
    assert await code() == "grants:missing"
    assert ask.asked == []


async def test_the_level_rises_before_the_call_is_carried_out(lab_of):
    lab = lab_of()
    seen = []

    async def look():
        seen.append((await lab.store.contexts.find("ctx")).label)
        return text_result("secret words")

    result = await lab.call(lab.tool("files:read"), answer=look)
    assert seen == [Label("confidential")]
    assert result.meta["awf/label"] == {"confidentiality": "confidential", "integrity": "trusted"}
    assert lab.kinds == ["decision", "level_raised", "effect"]
    assert lab.entries[0].label_before == "public/trusted"


async def test_a_call_that_fails_has_raised_the_level_all_the_same(lab_of):
    lab = lab_of()
    await refused(lab.call(lab.tool("files:read"), answer=ToolFailure("TIMEOUT", "slow")), "TIMEOUT")
    assert await lab.contexts.load("ctx") == Label("confidential")


async def test_a_result_that_calls_itself_secret_raises_the_level_before_it_is_handed_out(lab_of):
    lab = lab_of()
    said = msgspec.structs.replace(
        text_result("x"), meta={"ifc": {"confidentiality": "private", "integrity": "untrusted"}}
    )
    result = await lab.call(lab.tool("files:plain"), answer=said)
    assert (await lab.store.contexts.find("ctx")).label == Label("confidential", "untrusted")
    assert result.meta["awf/label"] == {"confidentiality": "confidential", "integrity": "untrusted"}
    await refused(lab.call(lab.tool("web:fetch")))


async def test_a_result_cannot_talk_down_what_its_tool_is_said_to_return(lab_of):
    lab = lab_of()
    said = msgspec.structs.replace(text_result("x"), meta={"ifc": {"confidentiality": "public"}})
    result = await lab.call(lab.tool("files:read"), answer=said)
    assert result.meta["awf/label"]["confidentiality"] == "confidential"
    assert await lab.contexts.load("ctx") == Label("confidential")


async def test_what_one_context_has_read_is_nothing_to_another(lab_of):
    lab = lab_of()
    await lab.call(lab.tool("files:read"), context="one")
    await lab.call(lab.tool("web:fetch"), context="another")
    await refused(lab.call(lab.tool("web:fetch"), context="one"))


async def test_after_a_reset_by_a_person_calls_reach_others_again(lab_of):
    lab = lab_of()
    await lab.call(lab.tool("files:read"))
    await lab.contexts.reset("ctx", "ann")
    await lab.call(lab.tool("web:fetch"))
    assert lab.of_kind("context_reset")[0].details["by"] == "ann"


async def test_a_reset_by_another_process_counts_once_it_can_be_seen(lab_of):
    lab = lab_of()
    await lab.call(lab.tool("files:read"))
    await lab.store.contexts.reset("ctx")
    lab.time_passes(1)
    await lab.call(lab.tool("web:fetch"))


async def test_a_level_that_another_process_has_raised_counts_once_it_can_be_seen(lab_of):
    lab = lab_of()
    await lab.call(lab.tool("web:fetch"))
    await lab.store.contexts.raise_label("ctx", Label("secret"), "elsewhere", 1.0)
    lab.time_passes(1)
    await refused(lab.call(lab.tool("web:fetch")))


async def test_a_call_under_way_to_others_is_stopped_when_its_context_learns_a_secret(lab_of):
    lab = lab_of()
    begun, ended = asyncio.Event(), []

    async def slow():
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    fetching = spawn(lab.call(lab.tool("web:fetch"), answer=slow), "fetching", awaited=True)
    other = spawn(lab.call(lab.tool("web:fetch"), context="other", answer=slow), "fetching", awaited=True)
    async with asyncio.timeout(PATIENT):
        await begun.wait()
        await lab.call(lab.tool("files:read"))
        message = await refused(fetching)
    assert "was stopped, and may have happened" in message
    assert ended
    stopped = [entry for entry in lab.of_kind("effect") if entry.tool_id == "web:fetch"]
    assert [(entry.success, entry.error) for entry in stopped] == [(False, "PERMISSION_DENIED")]
    assert not other.done()
    other.cancel()
    await asyncio.wait([other])


async def test_a_secret_is_not_read_before_calls_to_others_were_stopped(lab_of):
    """When the reading call is carried out, nothing of the same context can be on its way out any more."""
    lab = lab_of()
    begun = asyncio.Event()

    async def slow():
        begun.set()
        await asyncio.Event().wait()

    fetching = spawn(lab.call(lab.tool("web:fetch"), answer=slow), "fetching", awaited=True)
    await begun.wait()
    seen = []

    async def read():
        seen.append(bool(fetching.cancelling()))
        return text_result("x")

    await lab.call(lab.tool("files:read"), answer=read)
    assert seen == [True]
    await refused(fetching)


async def test_a_call_that_has_not_left_when_its_context_learns_a_secret_is_not_made(lab_of):
    """It waits for a person; meanwhile the same agent reads something."""
    asks = {"web:fetch": ToolOverride(policy_action="network.request", requires_confirmation=True)}
    lab, ask = lab_of(asks), ScriptedAsking()
    fetching = spawn(lab.call(lab.tool("web:fetch"), asking=ask), "fetching", awaited=True)
    async with asyncio.timeout(PATIENT):
        await ask.came.wait()
        await lab.call(lab.tool("files:read"))
        ask.say(True)
        await refused(fetching)
    assert lab.reached == ["files:read"]
    assert not await lab.audit.open_calls()


async def test_a_level_that_rises_while_the_decision_is_recorded_stops_the_call(lab_of, monkeypatch):
    lab = lab_of()
    record, held, go = lab.audit.record, asyncio.Event(), asyncio.Event()

    def slowly(entry):
        record(entry)
        if entry.tool_id == "web:fetch" and entry.kind == "decision":
            held.set()
            return go.wait()
        return None

    monkeypatch.setattr(lab.audit, "record", slowly)
    monkeypatch.setattr(type(lab.audit), "is_immediate", False)
    fetching = spawn(lab.call(lab.tool("web:fetch")), "fetching", awaited=True)
    async with asyncio.timeout(PATIENT):
        await held.wait()
        await lab.call(lab.tool("files:read"))
        go.set()
        assert "was not made" in await refused(fetching)
    assert lab.reached == ["files:read"]
    assert lab.entries[-1].error == "PERMISSION_DENIED"


# -- minted contexts ---------------------------------------------------------------------------------------------------

MINTED = Levels(contexts="minted")


async def test_where_contexts_are_minted_a_name_of_a_clients_own_choice_is_refused(lab_of):
    lab = lab_of(levels=MINTED)
    message = await refused(lab.call(lab.tool("files:plain"), context="mine"))
    assert "awf gateway context new" in message
    assert lab.reached == []
    assert lab.entries[-1].code == "context:refused"
    made = await lab.contexts.mint()
    await lab.call(lab.tool("files:plain"), context=made.context_id)


async def test_where_contexts_are_minted_those_that_nobody_can_choose_count_and_no_others(lab_of):
    """Who leaves the name out must not be rid of what it has read under the name."""
    lab = lab_of(levels=MINTED)
    message = await refused(
        lab.call(lab.tool("files:plain"), origin=Origin(context="gateway:x", door="gateway"))
    )
    assert "X-AWF-Context" in message
    assert lab.reached == []
    known = Origin(context="subject:ann", door="gateway", holder=Holder("", "ann", "subject:ann"))
    for own in (known, Origin(context="run:x", door="step"), Origin(context="mcp-serve:x", door="mcp-serve")):
        await lab.call(lab.tool("files:plain"), origin=own)
    assert lab.reached == ["files:plain"] * 3


async def test_what_can_be_no_context_is_refused(lab_of):
    lab = lab_of()
    await refused(lab.call(lab.tool("files:plain"), context="a\nb"))
    await refused(lab.call(lab.tool("files:plain"), context="x" * 300))
    assert lab.reached == []
    assert [entry.code for entry in lab.entries] == ["context:refused"] * 2


# -- grants ------------------------------------------------------------------------------------------------------------

SCOPED = ("kb", "connector.read")


async def granted(lab, *capabilities, **more):
    return [await lab.grants.issue(one, by="ann", **more) for one in capabilities]


async def test_without_a_grant_a_tool_with_scopes_is_refused_and_says_what_is_missing(lab_of):
    lab = lab_of()
    message = await refused(lab.call(lab.tool()))
    assert "kb, connector.read" in message
    assert "awf grant add kb && awf grant add connector.read" in message
    assert lab.entries[-1].code == "grants:missing"


async def test_a_scope_that_no_grant_can_name_is_covered_by_one_of_everything_alone(lab_of):
    lab = lab_of()
    tool = lab.tool(annotations={"requiredScopes": ["a b"]})
    await granted(lab, *SCOPED, "a.*")
    assert "needs a grant of a b. A person can give it: awf grant add '*'" in await refused(lab.call(tool))
    await granted(lab, "*")
    await lab.call(tool)
    assert lab.reached == ["kb:search"]


async def test_with_grants_it_is_called_and_they_are_recorded(lab_of):
    lab = lab_of()
    given = await granted(lab, *SCOPED)
    await lab.call(lab.tool())
    assert lab.of_kind("decision")[0].grant_ids == tuple(grant.grant_id for grant in given)


async def test_a_grant_that_was_revoked_or_is_over_counts_no_more(lab_of):
    lab = lab_of()
    await granted(lab, *SCOPED, expires_in=60)
    await lab.call(lab.tool())
    lab.time_passes(60)
    await refused(lab.call(lab.tool()))
    (anew,) = await granted(lab, "*")
    await lab.call(lab.tool())
    await lab.grants.revoke(anew.grant_id, "ann")
    await refused(lab.call(lab.tool()))
    assert lab.reached == ["kb:search"] * 2


async def test_a_grant_for_somebody_else_does_not_count(lab_of):
    lab = lab_of()
    scopes = [GrantScope(workspace="/other"), GrantScope(user="bob"), GrantScope(session="other")]
    for scope in scopes:
        await granted(lab, *SCOPED, scope=scope)
    mine = Origin(context="ctx", door="gateway", named=True, holder=Holder("/here", "ann", "ctx"))
    await refused(lab.call(lab.tool(), origin=mine))
    await granted(lab, *SCOPED, scope=GrantScope(workspace="/here", user="ann", session="ctx"))
    await lab.call(lab.tool(), origin=mine)


async def test_ids_that_a_caller_names_are_the_only_ones_that_count_and_each_is_judged(lab_of):
    lab = lab_of()
    (whole,) = await granted(lab, "*")
    (over,) = await granted(lab, "kb", expires_in=1)
    (gone,) = await granted(lab, "kb")
    await lab.grants.revoke(gone.grant_id, "ann")
    (foreign,) = await granted(lab, "kb", scope=GrantScope(session="other"))
    lab.time_passes(2)

    def naming(*ids):
        return Origin(context="ctx", door="api", grant_ids=ids)

    bad = (over.grant_id, gone.grant_id, foreign.grant_id, "grant_forged")
    message = await refused(lab.call(lab.tool(), origin=naming(*bad)))
    for one, why in zip(bad, ("expired", "revoked", "foreign", "unknown"), strict=True):
        assert f"{one} is {why}" in message
    await refused(lab.call(lab.tool(), origin=naming()))
    await lab.call(lab.tool(), origin=naming(whole.grant_id, "grant_forged"))


async def test_actions_have_to_be_granted_where_the_file_says_always(lab_of):
    from awf.domain.gate_file import Grants

    lab = lab_of(grants=Grants(actions="always"))
    await refused(lab.call(lab.tool("files:plain")))
    await granted(lab, "file.*")
    await lab.call(lab.tool("files:plain"))


async def test_a_revocation_by_another_process_counts_once_it_can_be_seen(lab_of):
    lab = lab_of()
    given = await granted(lab, "*")
    await lab.call(lab.tool())
    await lab.store.grants.revoke(given[0].grant_id, 1.0)
    lab.time_passes(1)
    await refused(lab.call(lab.tool()))


# -- shadow mode -------------------------------------------------------------------------------------------------------


async def shadowed(lab, *calls):
    for tool in calls:
        await lab.call(lab.tool(tool))
    return [(entry.tool_id, entry.decision, entry.shadowed) for entry in lab.of_kind("decision")]


async def test_in_shadow_mode_everything_passes_and_what_would_have_been_decided_is_recorded(lab_of):
    lab = lab_of(policy=msgspec.structs.replace(DENY_ALL, shadow=True))
    assert await shadowed(lab, "files:plain", "kb:search") == [
        ("files:plain", "allow", "deny"), ("kb:search", "allow", "deny"),
    ]  # fmt: skip


async def test_in_shadow_mode_nobody_is_asked_and_nothing_needs_a_grant(lab_of):
    asks = {"mail:send": ToolOverride(requires_confirmation=True)}
    lab = lab_of(asks, policy=rules(shadow=True))
    assert await shadowed(lab, "mail:send", "kb:search") == [
        ("mail:send", "allow", "allow_with_confirm"), ("kb:search", "allow", "deny"),
    ]  # fmt: skip
    assert lab.of_kind("approval_required") == []


async def test_in_shadow_mode_the_strictest_that_would_have_been_decided_is_recorded(lab_of):
    asks = {"mail:send": ToolOverride(requires_confirmation=True)}
    lab = lab_of(asks, policy=msgspec.structs.replace(DENY_ALL, shadow=True))
    assert await shadowed(lab, "mail:send") == [("mail:send", "allow", "deny")]


async def test_in_shadow_mode_levels_rise_and_close_nothing(lab_of):
    lab = lab_of(policy=rules(shadow=True))
    found = await shadowed(lab, "files:read", "web:fetch")
    assert found[1] == ("web:fetch", "allow", "deny")
    assert await lab.contexts.load("ctx") == Label("confidential")


async def test_in_shadow_mode_calls_under_way_are_not_stopped(lab_of):
    lab = lab_of(policy=rules(shadow=True))
    begun, go = asyncio.Event(), asyncio.Event()

    async def slow():
        begun.set()
        await go.wait()
        return text_result("page")

    fetching = spawn(lab.call(lab.tool("web:fetch"), answer=slow), "fetching", awaited=True)
    async with asyncio.timeout(PATIENT):
        await begun.wait()
        await lab.call(lab.tool("files:read"))
        go.set()
        assert (await fetching).text == "page"


async def test_in_shadow_mode_a_context_that_does_not_count_passes_as_well(lab_of):
    lab = lab_of(policy=rules(shadow=True), levels=MINTED)
    await lab.call(lab.tool("files:read"), context="mine")
    assert lab.of_kind("decision")[0].shadowed == "deny"
    assert lab.reached == ["files:read"]
    assert not await lab.audit.open_calls()


# -- limits of time ----------------------------------------------------------------------------------------------------


async def test_a_call_that_takes_too_long_is_stopped_and_recorded():
    lab = GateLab(GateKeys(limits=Limits(timeout_ms=20)))
    ended = []

    async def slow():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    message = await refused(lab.call(lab.tool(), answer=slow), "TIMEOUT")
    assert "0.02 s" in message
    assert ended
    assert lab.entries[-1].error == "TIMEOUT"


async def test_time_that_a_person_needs_to_answer_does_not_count():
    asks = {"kb:search": ToolOverride(requires_confirmation=True)}
    lab, ask = GateLab(GateKeys(limits=Limits(timeout_ms=20)), asks), ScriptedAsking()
    calling = spawn(lab.call(lab.tool(), asking=ask), "a call", awaited=True)
    async with asyncio.timeout(PATIENT):
        await ask.came.wait()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(calling), 0.1)  # longer than the tool may take
        ask.say(True)
        assert (await calling).text == "done"


async def test_a_timeout_of_the_tool_itself_is_not_ours():
    lab = GateLab(GateKeys(limits=Limits(timeout_ms=60_000)))
    with pytest.raises(TimeoutError):
        await lab.call(lab.tool(), answer=TimeoutError())
    assert lab.entries[-1].error == "EXECUTION_FAILED"


# -- stores that fail --------------------------------------------------------------------------------------------------


async def test_a_store_that_cannot_be_asked_refuses_and_it_is_recorded(lab_of, monkeypatch):
    from awf.domain.errors import AwfError

    lab = lab_of()

    def gone(*_, **__):
        raise AwfError("SYSTEM.GATE_STORE.UNAVAILABLE", "The store is gone.", hint="Look.")

    monkeypatch.setattr(lab.store.grants, "grants", gone)
    assert "The store is gone." in await refused(lab.call(lab.tool()))
    monkeypatch.setattr(lab.store.contexts, "find", gone)
    lab.time_passes(1)
    assert "The store is gone." in await refused(lab.call(lab.tool("files:plain"), context="another"))
    assert lab.reached == []
    assert [entry.decision for entry in lab.of_kind("decision")] == ["deny", "deny"]


async def test_a_level_that_cannot_be_kept_keeps_the_call_from_being_made(lab_of, monkeypatch):
    from awf.domain.errors import AwfError

    lab = lab_of()

    async def full(*_, **__):
        raise AwfError("SYSTEM.GATE_STORE.UNAVAILABLE", "The disk is full.", hint="Look.")

    monkeypatch.setattr(lab.store.contexts, "raise_label", full)
    with pytest.raises((ToolFailure, AwfError), match=r"The disk is full\."):
        await lab.call(lab.tool("files:read"))
    assert lab.reached == []
    assert not await lab.audit.open_calls()
    said = msgspec.structs.replace(text_result("x"), meta={"ifc": {"confidentiality": "secret"}})
    with pytest.raises((ToolFailure, AwfError), match=r"The disk is full\."):
        await lab.call(lab.tool("files:plain"), context="another", answer=said)
    assert not await lab.audit.open_calls()


async def test_a_call_that_is_cancelled_while_its_level_rises_is_not_left_open(lab_of, monkeypatch):
    lab = lab_of()
    held = asyncio.Event()

    async def hang(*_, **__):
        held.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(lab.store.contexts, "raise_label", hang)
    calling = spawn(lab.call(lab.tool("files:read")), "a call", awaited=True)
    await held.wait()
    calling.cancel()
    await asyncio.wait([calling])
    assert lab.reached == []
    assert not await lab.audit.open_calls()
    assert lab.entries[-1].error == "CANCELLED"


async def test_a_new_gate_takes_the_place_of_an_old_one_which_still_stops_what_it_has_let_through():
    lab = GateLab(GateKeys(), OVERRIDES)
    begun = asyncio.Event()

    async def slow():
        begun.set()
        await asyncio.Event().wait()

    fetching = spawn(lab.call(lab.tool("web:fetch"), answer=slow), "fetching", awaited=True)
    await begun.wait()
    lab.gate = lab.built(GateKeys(policy=rules()), OVERRIDES)
    await lab.call(lab.tool("files:read"))
    await refused(fetching)
    assert await lab.contexts.load("ctx") != PLAIN


async def test_a_tool_that_reaches_others_and_returns_secrets_can_be_called_by_whoever_knows_none(lab_of):
    both = {"wiki:search": ToolOverride(open_world=True, classification="confidential")}
    lab = lab_of(both)
    assert (await lab.call(lab.tool("wiki:search"))).text == "done"
    assert await lab.contexts.load("ctx") == Label("confidential")
    await refused(lab.call(lab.tool("wiki:search")))


async def test_a_reset_while_a_secret_is_on_its_way_does_not_make_it_forgotten(lab_of):
    lab = lab_of()
    await lab.call(lab.tool("files:read"))

    async def reset_meanwhile():
        await lab.store.contexts.reset("ctx")  # by another process, which this one has not noticed
        return text_result("secret words")

    await lab.call(lab.tool("files:read"), answer=reset_meanwhile)
    assert (await lab.store.contexts.find("ctx")).label == Label("confidential")


async def test_a_reset_that_was_not_noticed_yet_does_not_leave_the_next_secret_unlabelled(lab_of):
    lab = lab_of()
    await lab.call(lab.tool("files:read"))
    await lab.store.contexts.reset("ctx")
    seen = []

    async def look():
        seen.append((await lab.store.contexts.find("ctx")).label)
        return text_result("secret words")

    await lab.call(lab.tool("files:read"), answer=look)
    assert seen == [Label("confidential")]
