"""Why a call is allowed or not."""

from __future__ import annotations

import msgspec

from awf.application.gate.decision_document import CallView
from awf.application.gate.explaining import Stage, explained
from awf.domain.decision_fields import FIELDS
from awf.domain.override import ToolOverride
from awf.domain.policy import Decision, Policy, PolicyRule
from awf.testing.gate_shelf import facts_of, rules_of

RULES = [
    PolicyRule(
        id="etc", action="file.*", when="path.startsWith('/etc/')", decision="deny", reason="Not there."
    ),
    PolicyRule(id="size", action="file.write", when="arguments.size > 3", decision="deny"),
    PolicyRule(id="ask", action="*", decision="allow_with_confirm"),
]


def explain(arguments, *more):
    facts = facts_of("fs:save", override=ToolOverride(policy_action="file.write"))
    return explained(rules_of(Policy(rules=RULES), facts), CallView(arguments), more)


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


def test_later_stages_are_told_too_and_the_strictest_counts():
    level = Stage(name="level", decision=Decision(verdict="deny", code="level", reason="It knows secrets."))
    found = explain({"path": "/a", "size": 1}, level)
    assert [stage.name for stage in found.stages] == ["policy", "level"]
    assert found.decision.code == "level"


def test_it_is_a_json_document():
    found = msgspec.json.decode(msgspec.json.encode(explain({"path": "/a", "size": 1})))
    assert list(found) == ["version", "tool", "document", "rules", "stages", "decision"]
    assert found["tool"]["actions"] == ["file.write"]
