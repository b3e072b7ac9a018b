"""What can be said about the rules of a policy before any call."""

from __future__ import annotations

import pytest

from awf.domain.policy import Policy, PolicyRule
from awf.domain.policy_problems import problems_of_policy
from awf.infrastructure.expressions import ExpressionLanguage


def rule(name: str = "r", action: str = "*", **more) -> PolicyRule:
    return PolicyRule(id=name, action=action, **{"decision": "deny", **more})


def problems(*rules: PolicyRule):
    return list(problems_of_policy(Policy(rules=list(rules)), ["weather", "kb"], ExpressionLanguage()))


def test_sound_rules_have_no_problems():
    assert not problems(
        rule("a", "file.*", when="risk.exists(t, t == 'delete') && has(arguments.path)"),
        rule("b", "connector.read", tools=["weather:*", "builtin:Bash", "plugin.db:query", "*"]),
        rule("c", when="tool.annotations.readOnlyHint == true && context.user == 'x' && paths[0] == host"),
        rule("d"),
    )


@pytest.mark.parametrize(
    ("broken", "path", "message", "hint"),
    [
        (rule("", "file.read"), ("id",), "has no id", "no-delete"),
        (rule(action="file.raed"), ("action",), "“file.raed” is no action", "did you mean “file.read”?"),
        (rule(action="fil.*"), ("action",), "“fil.*” is no action", "did you mean “file.*”?"),
        (rule(action="xyz"), ("action",), "“xyz” is no action", "There are: file.read"),
        (rule(tools=["kb:x", "search"]), ("tools", 1), "does not say of which server", "SERVER:TOOL"),
        (rule(tools=["wether:x"]), ("tools", 0), "No server is named “wether”", "did you mean “weather”?"),
        (rule(when="arguments.x =="), ("when",), "cannot be read", ""),
        (rule(when="pth == 'x'"), ("when",), "know no “pth”", "did you mean “path”?"),
        (rule(when="inputs.x == 'x'"), ("when",), "know no “inputs”", "There are: tool, arguments"),
        (rule(when="tool.nam == 'x'"), ("when",), "no “tool.nam”", "did you mean “tool.name”?"),
        (rule(when="path.name == 'x'"), ("when",), "no “path.name”", "nothing below"),
        (rule(when="nope(arguments)"), ("when",), "no function nope", "There are"),
        (rule(when="paths.exists(awf_x, true)"), ("when",), "is taken", "awf_"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_a_way_out(broken, path, message, hint):
    (problem,) = problems(rule("first", when="true"), broken)
    assert problem.path == ("policy", "rules", 1, *path)
    assert (problem.code, problem.severity) == ("USER.GATEWAY.INVALID_FILE", "error")
    assert message in problem.message
    assert hint in problem.hint


def test_two_rules_cannot_have_one_id():
    (problem,) = problems(rule("same", "file.read"), rule("same", "file.write"))
    assert problem.path == ("policy", "rules", 1, "id")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (rule("a"), rule("b")),
        (rule("a"), rule("b", "file.*", when="true")),
        (rule("a", "file.*"), rule("b", "file.?*")),
        (rule("a", "file.read"), rule("b", "file.read", tools=["kb:*"])),
        (rule("a", "file.read", tools=["kb:*"]), rule("b", "file.read", tools=["kb:x", "kb:y*"])),
    ],
)
def test_a_rule_that_can_never_apply_is_warned_about(before, after):
    (problem,) = problems(before, after)
    assert problem.severity == "warning"
    assert problem.path == ("policy", "rules", 1)
    assert "“b” can never apply: “a” decides before it" in problem.message


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (rule("a", when="true"), rule("b")),
        (rule("a"), rule("b", "file.read")),
        (rule("a", "file.*"), rule("b")),
        (rule("a", tools=["kb:*"]), rule("b")),
        (rule("a", tools=["kb:*"]), rule("b", tools=["kb:x", "weather:y"])),
        (rule("a", "file.read"), rule("b", "file.*")),
    ],
)
def test_and_one_that_can_is_not(before, after):
    assert not problems(before, after)


def test_rules_that_name_the_action_count_before_a_pattern_wherever_they_stand():
    (problem,) = problems(rule("wide", "file.*"), rule("reads", "file.read"), rule("writes", "file.write"))
    assert problem.path == ("policy", "rules", 0)
    assert "“reads”, “writes” decides before it" in problem.message
