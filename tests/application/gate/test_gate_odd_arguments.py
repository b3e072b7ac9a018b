"""Arguments that no schema expects: they neither break the gate nor pass it by, and each call is recorded."""

from __future__ import annotations

import math

import pytest

from awf.application.gate.origin import Origin
from awf.application.gate.passage import Gated
from awf.domain.gate_file import Approvals, GateKeys
from awf.domain.override import ToolOverride
from awf.domain.policy import Policy, PolicyDefaults, PolicyRule
from awf.domain.tool import ToolFailure
from awf.infrastructure.gate_store import SqliteGateStore
from awf.testing.gate_lab import GateLab

pytestmark = pytest.mark.anyio


def deep(levels: int = 10_000, *, lists: bool = False):
    made: object = "end"
    for _ in range(levels):
        made = [made] if lists else {"a": made}
    return made


ODD = {
    "half a character": {"q": "a\ud800b"},
    "half a character in a key": {"a\udfff": 1},
    "a huge integer": {"q": 10**5000},
    "a huge integer beside a secret": {"q": 10**5000, "password": "x"},
    "a negative huge integer": {"q": -(2**70)},
    "not a number": {"q": math.nan},
    "infinity": {"q": [math.inf, -math.inf]},
    "10 000 objects in each other": {"q": deep()},
    "10 000 lists in each other": {"q": deep(lists=True)},
    "a secret at the bottom": {"password": deep(500)},
    "a null character": {"path": "a\0b", "url": "http://\0/"},
    "a strange address": {"url": "http://[::1/%00", "path": "\ud800/../.."},
    "a long text": {"q": "x" * 2_000_000},
    "a wide object": {str(number): number for number in range(20_000)},
}
KINDS = pytest.mark.parametrize("arguments", ODD.values(), ids=list(ODD))
ALLOW = Policy(defaults=PolicyDefaults(fallback="allow"))
ABOUT_ARGUMENTS = [
    PolicyRule(id="q", action="*", when="has(arguments.q) && arguments.q == 'never'", decision="allow"),
    PolicyRule(id="paths", action="*", when="path.startsWith('/etc') || host == 'x'", decision="deny"),
]


def rules(verdict, *more):
    return Policy(rules=list(more), defaults=PolicyDefaults(fallback=verdict))


@pytest.fixture(params=[False, True], ids=["through", "in two steps"])
def lab_of(request):
    def make(**keys) -> GateLab:
        lab = GateLab(GateKeys(**keys), in_two_steps=request.param)
        lab.masker.add("door", "hunter2-long")
        return lab

    return make


async def outcome(lab, arguments) -> str:
    try:
        await lab.call(lab.tool(), arguments)
    except ToolFailure as failure:
        assert failure.code == "PERMISSION_DENIED"
        return "refused"
    return "done"


@KINDS
async def test_a_call_with_odd_arguments_that_is_allowed_is_made_and_recorded(lab_of, arguments):
    lab = lab_of(policy=ALLOW)
    assert await outcome(lab, arguments) == "done"
    decision, effect = lab.entries
    assert len(decision.input_hash) == len(effect.output_hash) == 64
    assert (await lab.audit.verify()).is_sound


@KINDS
async def test_a_call_with_odd_arguments_that_is_denied_is_not_made_and_recorded(lab_of, arguments):
    lab = lab_of(policy=rules("deny"))
    assert await outcome(lab, arguments) == "refused"
    assert lab.reached == []
    assert len(lab.entries) == 1


@KINDS
async def test_rules_about_odd_arguments_either_hold_or_deny_and_never_break(lab_of, arguments):
    denying = lab_of(policy=rules("deny", *ABOUT_ARGUMENTS))
    assert await outcome(denying, arguments) == "refused"
    assert denying.reached == []
    allowing = lab_of(policy=rules("allow", *ABOUT_ARGUMENTS))
    assert (await outcome(allowing, arguments) == "done") == (allowing.reached != [])
    assert len(allowing.of_kind("decision")) == 1


@KINDS
@pytest.mark.parametrize("kept", ["memory", "sqlite"])
async def test_people_can_be_asked_about_odd_arguments_and_the_answer_is_for_them_alone(
    arguments, kept, tmp_path
):
    lab = GateLab(GateKeys(policy=rules("allow_with_confirm"), approvals=Approvals(wait=0.02)))
    store = SqliteGateStore(str(tmp_path / "gate")) if kept == "sqlite" else None
    if store is not None:
        lab.desk._store = store.approvals
    assert await outcome(lab, arguments) == "refused"
    (question,) = await lab.desk.open_ones()
    await lab.desk.decide(question.approval_id, granted=True, by="ann")
    assert await outcome(lab, {"other": 1}) == "refused"
    assert await outcome(lab, arguments) == "done"
    assert lab.reached == ["kb:search"]
    if store is not None:
        store.close()


@KINDS
async def test_odd_arguments_that_do_not_fit_or_are_for_no_tool_are_recorded(lab_of, arguments):
    lab = lab_of()
    origin = Origin(context="ctx", door="gateway")
    gated = Gated(lab.gate, lab.tool(), origin)
    await lab.gate.rejected(gated, arguments, "call-1", "INVALID_ARGUMENTS", "no: \ud800")
    await lab.gate.unknown("no\ud800pe", arguments, origin, "call-2")
    assert [entry.decision for entry in lab.entries] == ["deny", "deny"]
    assert lab.entries[0].input_hash == lab.entries[1].input_hash


async def test_odd_arguments_that_differ_have_different_hashes(lab_of):
    lab = lab_of(policy=ALLOW)
    for arguments in ODD.values():
        await lab.call(lab.tool(), arguments)
    hashes = [entry.input_hash for entry in lab.of_kind("decision")]
    assert len(set(hashes)) == len(hashes)


async def test_a_condition_that_fails_does_not_tell_what_it_failed_on(lab_of):
    """Reasons are recorded and shown; what is in arguments is not for everyone."""
    rule = PolicyRule(id="sum", action="*", when="int(arguments.q) > 3", decision="allow")
    lab = lab_of(policy=rules("allow", rule))
    for word in ("hunter2-long", "AKIAABCDEFGHIJKLMNOP"):
        assert await outcome(lab, {"q": word, "password": word}) == "refused"
        entry = lab.entries[-1]
        assert entry.code == "policy:condition_failed"
        assert word not in entry.reason


async def test_an_override_for_odd_names_is_found():
    lab = GateLab(GateKeys(), {"a\ud800:b": ToolOverride(requires_confirmation=True)})
    assert lab.gate.tool("a\ud800:b", "b", "mcp:a").facts.requires_confirmation
