"""What a policy says about a call."""

from __future__ import annotations

import pytest

from awf.application.gate.decision_document import CallView, document
from awf.domain.decision_fields import FIELDS
from awf.domain.label import Label
from awf.domain.override import ToolOverride
from awf.domain.policy import Decision, Policy, PolicyDefaults, PolicyRule
from awf.domain.ports.expressions import ExpressionError
from awf.testing.gate_shelf import LANGUAGE, Shelf, facts_of, rules_of

ROOT = "/home/ada/project"


def rule(name: str, action: str = "*", decision: str = "deny", **more) -> PolicyRule:
    return PolicyRule(id=name, action=action, decision=decision, **more)


def decide(
    *rules, arguments=None, action="file.write", tool_id="fs:save", call=None, around=None, **policy
) -> Decision:
    policy.setdefault("rules", list(rules))
    facts = facts_of(tool_id, override=ToolOverride(policy_action=action))
    call = call or CallView({} if arguments is None else arguments)
    return rules_of(Policy(**policy), facts, around=around).decide(call)


def test_without_rules_the_fallback_decides():
    assert decide() == Decision(verdict="allow")
    denied = decide(defaults=PolicyDefaults(fallback="deny"))
    assert (denied.verdict, denied.rule, denied.code) == ("deny", "", "policy")


def test_the_first_rule_that_holds_decides():
    rules = [
        rule("never", when="1 == 2"),
        rule("ask", when="true", decision="allow_with_confirm", reason="Look."),
        rule("later"),
    ]
    assert decide(*rules) == Decision(verdict="allow_with_confirm", rule="ask", reason="Look.")


def test_rules_that_name_the_action_come_before_those_with_a_pattern():
    assert decide(rule("wide"), rule("exact", "file.write", "allow")).rule == "exact"
    assert decide(rule("wide"), rule("other", "file.read", "allow")).rule == "wide"


def test_a_rule_is_about_the_tools_it_names():
    named = rule("named", tools=["fs:s?ve", "kb:*"])
    assert decide(named).rule == "named"
    assert decide(named, tool_id="fs:load").rule == ""


def test_a_tool_that_may_do_anything_with_files_is_judged_as_reader_and_as_writer():
    rules = [rule("reading", "file.read", "allow"), rule("writing", "file.write")]
    assert decide(*rules, action="file.*").rule == "writing"
    assert decide(*reversed(rules), action="file.*").rule == "writing"
    assert decide(rule("both", "file.*"), action="file.*").rule == "both"
    assert decide(rule("both", "file.*"), action="connector.read").rule == ""


def test_what_a_server_says_of_itself_does_not_help_it():
    policy = Policy(rules=[rule("reads", "connector.read", "allow"), rule("rest", "connector.*")])
    facts = facts_of(annotations={"policyAction": "connector.read", "readOnlyHint": True})
    assert rules_of(policy, facts).decide(CallView({})).rule == "rest"


def test_every_path_is_judged_and_the_strictest_result_counts():
    rules = [
        rule("secrets", when="path.startsWith('/etc/')"),
        rule("outside", when=f"!path.startsWith('{ROOT}/')", decision="allow_with_confirm"),
    ]
    assert decide(*rules, arguments={"path": "a"}).verdict == "allow"
    assert decide(*rules, arguments={"paths": ["a", "/tmp/b"]}).rule == "outside"
    assert decide(*rules, arguments={"paths": ["a", "/tmp/b", "/etc/passwd"]}).rule == "secrets"
    assert decide(*rules, arguments={"paths": ["/etc/passwd", "a"]}).rule == "secrets"


def test_a_link_does_not_lead_past_a_rule():
    around = Shelf(links={f"{ROOT}/notes": "/etc/passwd"})
    secrets = rule("secrets", when="path.startsWith('/etc/')")
    assert decide(secrets, arguments={"path": "notes"}, around=around).rule == "secrets"


def test_every_path_is_judged_with_every_host():
    both = rule("both", when="path == '/b' && host == 'evil.org'")
    arguments = {"paths": ["/a", "/b"], "urls": ["https://good.org", "https://evil.org"]}
    assert decide(both, arguments=arguments).rule == "both"
    assert decide(both, arguments={**arguments, "paths": ["/a"]}).verdict == "allow"


def test_without_a_path_there_is_one_judgement_with_an_empty_one():
    assert decide(rule("none", when="path == '' && host == '' && size(paths) == 0")).rule == "none"


def test_risks_of_call_tool_and_rule_are_added_up():
    asked = rule("ask", decision="allow_with_confirm", risk_tags=["connector"])
    found = decide(asked, arguments={"paths": ["a", "b"]}, tool_id="fs:delete_all", around=Shelf(f"{ROOT}/a"))
    assert found.risk == ("delete", "overwrite", "connector", "batch")
    assert found.score == 100


def test_rules_see_risks():
    no_delete = rule("no-delete", "file.*", when="risk.exists(t, t == 'delete')")
    assert decide(no_delete, tool_id="fs:delete_file").rule == "no-delete"
    assert decide(no_delete, arguments={"operation": "remove"}).rule == "no-delete"
    assert decide(no_delete).verdict == "allow"


def test_labels_and_context_are_seen():
    rules = [
        rule("secret", when="labels.confidentiality == 'secret'"),
        rule("bob", when="context.user == 'bob'"),
    ]
    facts = facts_of(override=ToolOverride(policy_action="file.read"))
    prepared = rules_of(Policy(rules=rules), facts)
    for _ in range(2):  # the second time from memory
        assert prepared.decide(CallView({}, {"user": "ada"})).rule == ""
        assert prepared.decide(CallView({}, {"user": "bob"})).rule == "bob"
        assert prepared.decide(CallView({}, {"user": "bob"}, Label("secret"))).rule == "secret"
        assert prepared.decide(CallView({}, {})).rule == ""


def test_the_memory_for_callers_is_bounded():
    facts = facts_of(override=ToolOverride(policy_action="file.read"))
    prepared = rules_of(Policy(rules=[rule("bob", when="context.user == 'bob'")]), facts)
    for number in range(2_000):
        assert prepared.decide(CallView({}, {"user": f"u{number}"})).verdict == "allow"
    assert prepared.decide(CallView({}, {"user": "bob"})).rule == "bob"
    assert prepared._memory is not None
    assert len(prepared._memory) <= 512


@pytest.mark.parametrize(
    ("when", "arguments"),
    [
        ("arguments.missing == 1", {}),
        ("arguments.n > 3", {"n": "4"}),
        ("arguments.n > 3", {"n": 2**70}),
        ("arguments.n > 3", {"n": float("nan")}),
        ("arguments.n > 3", {"n": float("inf")}),
        ("arguments.n", {"n": 1}),
        ("arguments.n / 0 == 1", {"n": 1}),
        ("arguments.n == 1 and (", {}),
        ("arguments.deep.exists(x, x == 1)", {"deep": [[[[]]]] * 3}),
    ],
)
def test_a_condition_that_fails_denies_and_says_which(when, arguments):
    found = decide(
        rule("fine", when="false"),
        rule("shaky", when=when),
        rule("rest", decision="allow"),
        arguments=arguments,
    )
    if "deep" in when:
        assert found.rule == "rest"
        return
    assert (found.verdict, found.rule, found.code) == ("deny", "shaky", "policy:condition_failed")
    assert "shaky" in found.reason


def test_a_condition_that_would_fail_does_no_harm_behind_one_that_holds():
    assert (
        decide(rule("first", when="true", decision="allow"), rule("shaky", when="arguments.x == 1")).rule
        == "first"
    )
    odd = {"n": float("nan")}
    first = rule("first", when="true", decision="allow")
    assert decide(first, rule("shaky", when="arguments.n == 1"), arguments=odd).rule == "first"


def test_has_asks_before_a_value_is_used():
    careful = rule("careful", when="has(arguments.n) && arguments.n > 3")
    assert decide(careful).verdict == "allow"
    assert decide(careful, arguments={"n": 4}).rule == "careful"
    assert decide(careful, arguments={"n": None}).code == "policy:condition_failed"


def test_more_targets_than_can_be_judged_are_denied_only_where_a_rule_asks_for_them():
    many = {"paths": [f"/p{n}" for n in range(1_500)]}
    assert decide(rule("p", when="path == '/x'"), arguments=many).code == "policy:arguments_too_large"
    assert decide(rule("a", when="size(arguments.paths) == 1"), arguments=many).verdict == "allow"
    wide = {"paths": [f"/p{n}" for n in range(100)], "urls": [f"https://h{n}" for n in range(100)]}
    assert decide(rule("p", when="path == host"), arguments=wide).code == "policy:arguments_too_large"


def test_shadow_mode_lets_everything_pass_and_tells_what_would_have_been():
    found = decide(rule("no", reason="Why."), shadow=True)
    assert (found.verdict, found.shadowed, found.rule, found.reason) == ("allow", "deny", "no", "Why.")
    assert decide(rule("yes", decision="allow"), shadow=True).shadowed is None
    assert decide(rule("odd", when="arguments.x == 1"), shadow=True).shadowed == "deny"


def test_a_tool_that_is_refused_is_denied_whatever_the_rules_say():
    policy = Policy(rules=[rule("all", decision="allow")], strict=True)
    from awf.domain.gate_file import GateKeys

    found = rules_of(policy, facts_of(keys=GateKeys(policy=policy))).decide(CallView({}))
    assert (found.verdict, found.code) == ("deny", "policy:action_missing")


def test_many_conditions_keep_their_order():
    rules = [rule(f"r{n}", when=f"arguments.n == {n}") for n in range(100)]
    for number in (0, 11, 12, 50, 99):
        assert decide(*rules, arguments={"n": number}).rule == f"r{number}"
    assert decide(*rules, arguments={"n": 100}).rule == ""


def test_the_document_has_exactly_the_names_that_are_promised():
    whole = document(facts_of(), CallView({"a": 1}, {"user": "bob"}))
    assert whole.keys() == FIELDS.keys()
    for name, fields in FIELDS.items():
        if fields:
            assert tuple(whole[name]) == fields
    assert whole["context"]["user"] == "bob"


def test_what_goes_wrong_outside_of_conditions_denies_too():
    class Broken(Shelf):
        def meanings(self, path):
            raise RuntimeError(path)

    found = decide(rule("p", when="path == ''"), arguments={"path": "a"}, around=Broken())
    assert (found.verdict, found.code) == ("deny", "policy:failed")


def test_the_language_agrees_with_itself_on_what_is_no_condition():
    with pytest.raises(ExpressionError):
        LANGUAGE.first_match([["arguments.x =="]])
