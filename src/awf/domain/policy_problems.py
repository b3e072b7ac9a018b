"""What is wrong with the rules of a policy, as far as the file alone tells."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from awf.domain.decision_fields import FIELDS
from awf.domain.policy import ACTIONS, Policy, PolicyRule
from awf.domain.ports.expressions import Conditions, ExpressionError, Reference
from awf.domain.problem import NodePath, Problem, Severity, suggest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["problems_of_policy"]

_FILE = "USER.GATEWAY.INVALID_FILE"
_RULES: NodePath = ("policy", "rules")
_JUDGED = tuple(
    action for action in ACTIONS if action != "file.*"
)  # that one is judged as the two it stands for


def problems_of_policy(policy: Policy, servers: Iterable[str], conditions: Conditions) -> Iterator[Problem]:
    """`servers`: the names before the colon of tools that there may be."""
    known = [*servers, "builtin"]
    seen: dict[str, int] = {}
    for at, rule in enumerate(policy.rules):
        yield from _problems_of_id(rule, at, seen)
        yield from _problems_of_action(rule, at)
        for place, pattern in enumerate(rule.tools):
            yield from _problems_of_tool(pattern, (*_RULES, at, "tools", place), known)
        if rule.when:
            yield from _problems_of_condition(rule.when, (*_RULES, at, "when"), conditions)
        yield from _out_of_reach(policy.rules, at)


def _found(path: NodePath, message: str, hint: str, severity: Severity = "error") -> Problem:
    return Problem(code=_FILE, message=message, path=path, hint=hint, severity=severity)


def _problems_of_id(rule: PolicyRule, at: int, seen: dict[str, int]) -> Iterator[Problem]:
    if not rule.id.strip():
        message = "The rule has no id, so that no decision could name it."
        yield _found((*_RULES, at, "id"), message, "Give it a short name, such as no-delete.")
    elif seen.setdefault(rule.id, at) != at:
        message = f"Two rules have the id “{rule.id}”, so that a decision could not say which it was."
        yield _found((*_RULES, at, "id"), message, "Rename one of the two.")


def _problems_of_action(rule: PolicyRule, at: int) -> Iterator[Problem]:
    if any(fnmatchcase(action, rule.action) for action in ACTIONS):
        return
    close = suggest(rule.action, ACTIONS)
    hint = (
        f"did you mean “{close}”?" if close else f"There are: {', '.join(ACTIONS)}; or a pattern such as *."
    )
    yield _found((*_RULES, at, "action"), f"“{rule.action}” is no action.", hint)


def _problems_of_tool(pattern: str, path: NodePath, servers: Sequence[str]) -> Iterator[Problem]:
    server, colon, tool = pattern.partition(":")
    if pattern == "*" or server.startswith("plugin."):
        return
    if not colon or not server or not tool:
        hint = "Write it as SERVER:TOOL; SERVER:* means all tools of a server."
        yield _found(path, f"“{pattern}” does not say of which server the tool is.", hint)
    elif not any(fnmatchcase(name, server) for name in servers):
        close = suggest(server, servers)
        hint = f"did you mean “{close}”?" if close else f"Servers here: {', '.join(sorted(servers))}."
        yield _found(path, f"No server is named “{server}”, so that the rule is about nothing.", hint)


def _problems_of_condition(text: str, path: NodePath, conditions: Conditions) -> Iterator[Problem]:
    try:
        # Both: one knows the names, the other is what will be evaluated.
        references = conditions.condition(text).references
        conditions.first_match([[text]])
    except ExpressionError as error:
        yield _found(path, f"The condition cannot be read: {error.message}.", error.hint)
        return
    for reference in dict.fromkeys(one.parts for one in references):
        yield from _problems_of_name(Reference(reference), path)


def _problems_of_name(reference: Reference, path: NodePath) -> Iterator[Problem]:
    root, *below = reference.parts
    if root not in FIELDS:
        close = suggest(root, FIELDS)
        hint = f"did you mean “{close}”?" if close else f"There are: {', '.join(FIELDS)}."
        yield _found(path, f"Conditions know no “{root}”.", hint)
        return
    fields = FIELDS[root]
    if fields is None or not below or below[0] in fields or (not fields and below[0].isdigit()):
        return
    close = suggest(below[0], fields)
    known = f"It has: {', '.join(fields)}." if fields else f"`{root}` has nothing below it."
    hint = f"did you mean “{root}.{close}”?" if close else known
    yield _found(path, f"There is no “{root}.{below[0]}”.", hint)


# -- rules that never apply ------------------------------------------------------------------------------------------


def _out_of_reach(rules: Sequence[PolicyRule], at: int) -> Iterator[Problem]:
    """A rule before which, for each of its actions, another one decides in any case."""
    rule = rules[at]
    actions = [action for action in _JUDGED if fnmatchcase(action, rule.action)]
    before = [_decided_before(rules, at, action) for action in actions]
    if before and all(before):
        names = ", ".join(dict.fromkeys(f"“{one}”" for one in before))
        message = f"The rule “{rule.id}” can never apply: {names} decides before it."
        hint = "Put it before, or give the other one a condition."
        yield _found((*_RULES, at), message, hint, "warning")


def _decided_before(rules: Sequence[PolicyRule], at: int, action: str) -> str:
    own = rules[at]
    for index, other in enumerate(rules):
        if index == at or other.when or not fnmatchcase(action, other.action) or not _covers(other, own):
            continue
        if (other.action != action, index) < (own.action != action, at):
            return other.id or f"number {index + 1}"
    return ""


def _covers(other: PolicyRule, own: PolicyRule) -> bool:
    """Whether it is about every tool that the rule is about."""
    if not other.tools:
        return True
    return bool(own.tools) and all(
        any(pattern == wide or fnmatchcase(pattern, wide) for wide in other.tools) for pattern in own.tools
    )
