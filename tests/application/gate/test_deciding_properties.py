"""Any policy, any call: the order is the promised one, the strictest counts, and nothing raises."""

from __future__ import annotations

import math
from fnmatch import fnmatchcase

from hypothesis import given, settings
from hypothesis import strategies as st

from awf.application.gate.decision_document import CallView
from awf.domain.label import Label
from awf.domain.override import ToolOverride
from awf.domain.policy import ACTIONS, Policy, PolicyDefaults, PolicyRule
from awf.testing.gate_shelf import Shelf, facts_of, rules_of

STRICTNESS = {"allow": 0, "allow_with_confirm": 1, "deny": 2}
# Each condition with what it means, told in Python.
CONDITIONS = {
    "": lambda call, path: True,
    "true": lambda call, path: True,
    "false": lambda call, path: False,
    "has(arguments.a)": lambda call, path: "a" in call.arguments,
    "has(arguments.a) && arguments.a == 'x'": lambda call, path: call.arguments.get("a") == "x",
    "arguments.exists(k, k == 'b')": lambda call, path: "b" in call.arguments,
    "path.endsWith('x')": lambda call, path: path.endswith("x"),
    "'batch' in risk": lambda call, path: len(dict.fromkeys(call.arguments.get("paths", []))) > 1,
    "size(paths) == 2": lambda call, path: len(dict.fromkeys(call.arguments.get("paths", []))) == 2,
    "labels.confidentiality != 'public'": lambda call, path: call.label.confidentiality != "public",
    "context.user == 'bob'": lambda call, path: call.context.get("user") == "bob",
    "tool.server == 'fs'": lambda call, path: True,
}
RULES = st.builds(
    PolicyRule,
    id=st.uuids().map(str),
    action=st.sampled_from([*ACTIONS, "*", "connector.*", "*.read"]),
    tools=st.sampled_from([[], ["fs:*"], ["fs:save"], ["kb:*"], ["kb:*", "*:save"]]),
    when=st.sampled_from(list(CONDITIONS)),
    decision=st.sampled_from(list(STRICTNESS)),
)
CALLS = st.builds(
    CallView,
    st.fixed_dictionaries(
        {},
        optional={
            "a": st.sampled_from(["x", "y", 1, None]),
            "b": st.integers(-(2**63), 2**63 - 1),
            "paths": st.lists(st.sampled_from(["/x", "/y", "/z"]), max_size=3),
        },
    ),
    st.sampled_from([{}, {"user": "bob"}, {"user": "ada"}]),
    st.sampled_from([Label(), Label("secret", "untrusted")]),
)


def reference(policy: Policy, actions: tuple[str, ...], call: CallView) -> tuple[int, set[str]]:
    """How strict the result is, and the rules that may be named for it. Written to be read, not to be fast."""
    found = []
    for action in {
        one for each in actions for one in (["file.read", "file.write"] if each == "file.*" else [each])
    }:
        for path in call.arguments.get("paths") or [""]:
            rules = [
                one
                for one in policy.rules
                if not one.tools or any(fnmatchcase("fs:save", p) for p in one.tools)
            ]
            tiers = [
                [one for one in rules if one.action == action],
                [one for one in rules if one.action != action and fnmatchcase(action, one.action)],
            ]
            ordered = [one for tier in tiers for one in tier]
            first = next((one for one in ordered if CONDITIONS[one.when](call, path)), None)
            decision = first.decision if first else policy.defaults.fallback
            found.append((STRICTNESS[decision], first.id if first else ""))
    worst = max(strictness for strictness, _ in found)
    return worst, {name for strictness, name in found if strictness == worst}


@settings(deadline=None, max_examples=200)
@given(
    st.lists(RULES, max_size=12),
    st.sampled_from(list(STRICTNESS)),
    st.sampled_from(ACTIONS),
    st.lists(CALLS, min_size=1, max_size=4),
)
def test_the_order_is_that_of_a_plain_reading(rules, fallback, action, calls):
    policy = Policy(rules=rules, defaults=PolicyDefaults(fallback=fallback))
    prepared = rules_of(policy, facts_of("fs:save", override=ToolOverride(policy_action=action)))
    for call in calls:
        found = prepared.decide(call)
        strictness, names = reference(policy, (action,), call)
        assert STRICTNESS[found.verdict] == strictness
        assert found.rule in names


@settings(deadline=None, max_examples=100)
@given(st.lists(RULES, max_size=12), st.lists(st.sampled_from(["/x", "/y", "/z"]), min_size=1, max_size=4))
def test_a_call_about_several_paths_is_as_strict_as_the_strictest_of_them(rules, paths):
    apart = [one for one in rules if "path" not in one.when.replace("path.", "") and "risk" not in one.when]
    prepared = rules_of(
        Policy(rules=apart), facts_of("fs:save", override=ToolOverride(policy_action="file.write"))
    )
    alone = [prepared.decide(CallView({"paths": [path]})) for path in paths]
    together = prepared.decide(CallView({"paths": paths}))
    assert STRICTNESS[together.verdict] == max(STRICTNESS[one.verdict] for one in alone)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(RULES, max_size=8),
    st.dictionaries(
        st.sampled_from(["policyAction", "readOnlyHint", "openWorldHint"]), st.sampled_from([*ACTIONS, True])
    ),
    CALLS,
)
def test_hints_of_a_server_never_make_a_decision_milder(rules, hints, call):
    # Conditions may look at the hints themselves; then it is the rule's author who believes them.
    policy = Policy(rules=rules)
    silent = rules_of(policy, facts_of("fs:save")).decide(call)
    spoken = rules_of(policy, facts_of("fs:save", annotations=hints)).decide(call)
    assert STRICTNESS[spoken.verdict] >= STRICTNESS[silent.verdict]


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(10**30), max_value=10**30)
    | st.floats()
    | st.text(st.characters(exclude_categories=())),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["a", "n", "path", "url"]) | st.text(), inner)
    ),
    max_leaves=20,
)
DARING = [
    "arguments.a.b.c == 1", "arguments.n > 10", "arguments.a.startsWith('x')", "size(arguments) > 2",
    "arguments.a[0] == arguments.n", "path.matches('^/etc')", "host == arguments.a", "lower(arguments.a) == 'x'",
    "arguments.exists(k, arguments[k] == 1)", "string(arguments.a) == 'x'", "hosts.all(h, h.endsWith('.org'))",
]  # fmt: skip


@settings(deadline=None, max_examples=200)
@given(ANYTHING, st.lists(st.sampled_from(DARING), min_size=1, max_size=4))
def test_no_argument_makes_a_decision_raise(arguments, conditions):
    rules = [
        PolicyRule(id=f"r{at}", action="*", when=text, decision="deny") for at, text in enumerate(conditions)
    ]
    prepared = rules_of(Policy(rules=rules), facts_of("fs:save"), around=Shelf())
    for given_arguments in (arguments, {"a": arguments}, {"n": arguments, "path": arguments}):
        found = prepared.decide(CallView(given_arguments))
        assert found.verdict in STRICTNESS
        assert found.code != "policy:failed", found.reason


@given(st.floats(allow_nan=True) | st.integers(min_value=2**63))
def test_a_number_that_cannot_be_compared_does_not_pass_by(number):
    limit = PolicyRule(id="limit", action="*", when="arguments.n > 100", decision="deny")
    found = rules_of(Policy(rules=[limit]), facts_of("fs:save")).decide(CallView({"n": number}))
    small = isinstance(number, float) and math.isfinite(number) and number <= 100
    assert found.verdict == ("allow" if small else "deny")
