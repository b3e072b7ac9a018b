"""Why a call is allowed or not."""

from __future__ import annotations

import contextlib

import msgspec
import pytest

from awf.application.gate.decision_document import CallView
from awf.application.gate.explaining import explained
from awf.application.gate.origin import Origin
from awf.application.gate.passage import Gated
from awf.domain.decision_fields import FIELDS
from awf.domain.gate_file import Approvals, GateKeys, Levels
from awf.domain.grant import Holder
from awf.domain.label import PLAIN, Label
from awf.domain.override import ToolOverride
from awf.domain.policy import Decision, Policy, PolicyRule
from awf.domain.tool import ToolFailure
from awf.testing.gate_lab import GateLab
from awf.testing.gate_shelf import facts_of, rules_of

RULES = [
    PolicyRule(
        id="etc", action="file.*", when="path.startsWith('/etc/')", decision="deny", reason="Not there."
    ),
    PolicyRule(id="size", action="file.write", when="arguments.size > 3", decision="deny"),
    PolicyRule(id="ask", action="*", decision="allow_with_confirm"),
]


def explain(arguments, before=(), after=()):
    facts = facts_of("fs:save", override=ToolOverride(policy_action="file.write"))
    rules, call = rules_of(Policy(rules=RULES), facts), CallView(arguments)
    return explained(rules, call, rules.decide(call), before, after)


def asked(explanation):
    return [(one.rule, one.holds, one.decides) for one in explanation.rules]


def test_every_rule_is_told_in_the_order_in_which_it_is_asked():
    found = explain({"path": "/etc/passwd", "size": 1})
    assert asked(found) == [("size", False, False), ("etc", True, True), ("ask", True, False)]
    assert found.decision.rule == "etc"
    assert found.document.keys() == FIELDS.keys()
    assert found.document["paths"] == ["/etc/passwd"]
    assert found.version == "1"


def test_a_condition_that_fails_decides_and_says_why():
    found = explain({"path": "/etc/passwd"})
    assert asked(found)[0] == ("size", None, True)
    assert "arguments.size is not defined" in found.rules[0].error
    assert found.decision.code == "policy:condition_failed"


def test_each_path_is_told_by_itself():
    found = explain({"paths": ["/a", "/etc/b"], "size": 1})
    assert [(one.path, one.rule) for one in found.rules if one.decides] == [("/a", "ask"), ("/etc/b", "etc")]
    assert found.decision.rule == "etc"
    assert len(explain({"paths": [f"/p{n}" for n in range(500)], "size": 1}).rules) == 60


def test_every_stage_is_told_in_the_order_in_which_it_is_asked():
    level = Decision(verdict="deny", code="level", reason="It knows secrets.")
    found = explain({"path": "/a", "size": 1}, [("arguments", None), ("level", level)], [("grants", None)])
    assert [(stage.name, stage.decision.verdict) for stage in found.stages] == [
        ("arguments", "allow"),
        ("level", "deny"),
        ("policy", "allow_with_confirm"),
        ("grants", "allow"),
    ]


def test_it_is_a_json_document():
    found = msgspec.json.decode(msgspec.json.encode(explain({"path": "/a", "size": 1})))
    assert list(found) == ["version", "tool", "document", "rules", "stages", "decision"]
    assert found["tool"]["actions"] == ["file.write"]


# -- what the gate foresees --------------------------------------------------------------------------------------------

SECRET = Label("secret", "trusted")
OVERRIDES = {
    "web:open": ToolOverride(policy_action="network.request"),
    "kb:scoped": ToolOverride(policy_action="connector.read", required_scopes=["kb"]),
    "kb:asked": ToolOverride(policy_action="connector.read", requires_confirmation=True),
    "kb:both": ToolOverride(
        policy_action="connector.read", required_scopes=["kb"], requires_confirmation=True
    ),
}
POLICIES = {
    "none": [],
    "deny": [PolicyRule(id="no", action="*", decision="deny", reason="Not here.")],
    "ask": [PolicyRule(id="ask", action="*", decision="allow_with_confirm", reason="Mind you.")],
    "broken": [PolicyRule(id="size", action="*", when="arguments.size > 3", decision="deny")],
}


def takes_all(arguments):
    return []


@pytest.mark.parametrize("granted", [False, True], ids=["nothing granted", "granted"])
@pytest.mark.parametrize("shadow", [False, True], ids=["in earnest", "shadow"])
@pytest.mark.parametrize("label", [PLAIN, SECRET], ids=["public", "secret"])
@pytest.mark.parametrize("rules", POLICIES)
@pytest.mark.parametrize("tool_id", ["kb:plain", *OVERRIDES])
async def test_what_is_explained_is_what_is_then_decided_and_recorded(tool_id, rules, label, shadow, granted):
    policy = Policy(rules=POLICIES[rules], shadow=shadow)
    lab = GateLab(GateKeys(policy=policy, approvals=Approvals(wait=0.0)), OVERRIDES)
    origin = Origin(context="ctx", door="gateway", named=True)
    if label != PLAIN:
        await lab.contexts.raise_("ctx", label, "kb:secrets")
    if granted:
        await lab.grants.issue("kb", by="ann")
        await lab.grants.issue("connector.read", by="ann")
    tool, before = lab.tool(tool_id), lab.kinds
    foreseen = (await lab.gate.explained(Gated(lab.gate, tool, origin), {}, label, takes_all)).decision
    assert (lab.kinds, lab.reached) == (before, [])
    with contextlib.suppress(ToolFailure):
        await lab.call(tool, origin=origin)
    (made,) = lab.of_kind("decision")
    if foreseen.verdict == "allow_with_confirm":  # and nobody was there
        assert (made.decision, made.code) == ("deny", "approval:pending")
        return
    assert (made.decision, made.code, made.reason, made.rule, made.shadowed) == (
        foreseen.verdict,
        foreseen.code,
        foreseen.reason,
        foreseen.rule,
        foreseen.shadowed or "",
    )


ORIGINS = {
    "a name that somebody made": Origin(context="minted", door="gateway", named=True),
    "a name that was made up": Origin(context="made up", door="gateway", named=True),
    "a name that was used": Origin(context="used", door="gateway", named=True),
    "no id at all": Origin(context="a\nb", door="gateway", named=True),
    "no name and no token": Origin(context="gateway:x", door="gateway"),
    "a token": Origin(context="subject:ci", door="gateway", holder=Holder("", "ci", "subject:ci")),
    "a step": Origin(context="run:1", door="step"),
}


@pytest.mark.parametrize("shadow", [False, True], ids=["in earnest", "shadow"])
@pytest.mark.parametrize("who", ORIGINS)
async def test_a_context_that_does_not_count_is_explained_as_it_is_decided_and_none_is_made(who, shadow):
    policy = Policy(rules=[], shadow=shadow)
    lab, origin = GateLab(GateKeys(policy=policy)), ORIGINS[who]
    await lab.contexts.raise_("used", SECRET, "kb:secrets")
    await lab.contexts.mint("minted")
    gate = lab.opened(GateKeys(policy=policy, levels=Levels(contexts="minted")), {})
    tool, before, known = lab.tool("kb:plain"), lab.kinds, await lab.contexts.all()
    found = await gate.explained(Gated(gate, tool, origin), {}, None, takes_all)
    told = await gate.explained(Gated(gate, tool, origin), {}, PLAIN, takes_all)
    assert (lab.kinds, await lab.contexts.all()) == (before, known)
    with contextlib.suppress(ToolFailure):
        await lab.call(tool, origin=origin)
    (made,) = lab.of_kind("decision")
    refused = who not in {"a name that somebody made", "a token", "a step"}
    assert (made.code == "context:refused") is refused
    for one in (found.decision, told.decision):
        assert (made.decision, made.code, made.reason) == (one.verdict, one.code, one.reason)
        assert made.shadowed == (one.shadowed or "")
    assert ({one.name: one.decision for one in found.stages}["level"].code == "context:refused") is refused


async def test_arguments_that_do_not_fit_decide_before_anything_else_also_in_shadow_mode():
    lab = GateLab(GateKeys(policy=Policy(rules=POLICIES["deny"], shadow=True)))
    gated = Gated(lab.gate, lab.tool(), Origin(context="ctx", door="gateway"))
    found = await lab.gate.explained(
        gated, {"n": "x"}, PLAIN, lambda given: [f"n: {given['n']} is no number"]
    )
    assert (found.decision.verdict, found.decision.code) == ("deny", "invalid_arguments")
    assert found.decision.reason == "n: x is no number"
    assert [(one.name, one.decision.verdict, one.decision.shadowed) for one in found.stages] == [
        ("arguments", "deny", None),
        ("level", "allow", None),
        ("policy", "allow", "deny"),
    ]
