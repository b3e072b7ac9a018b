"""Which rules can apply to a tool at all, and in which order."""

from collections.abc import Iterable, Sequence

import msgspec

from awf.application.gate.tool_facts import ToolFacts
from awf.domain.name_patterns import fits
from awf.domain.policy import PolicyRule

__all__ = ["Judgement", "applies_to_tool", "judged_actions", "judgements"]


class Judgement(msgspec.Struct, frozen=True):
    """One action of a tool, and the rules about it: the conditional ones in order, then the one without a condition."""

    action: str
    rules: tuple[PolicyRule, ...]
    last: PolicyRule | None  # None: the fallback decides


def judgements(rules: Sequence[PolicyRule], facts: ToolFacts) -> tuple[Judgement, ...]:
    fitting = [rule for rule in rules if applies_to_tool(rule, facts.id)]
    return tuple(_judgement(action, fitting) for action in judged_actions(facts.actions))


def judged_actions(actions: Iterable[str]) -> tuple[str, ...]:
    """A tool that may do anything with files reads and writes them."""
    found: dict[str, None] = {}
    for action in actions:
        found.update(dict.fromkeys(("file.read", "file.write") if action == "file.*" else (action,)))
    return tuple(found)


def applies_to_tool(rule: PolicyRule, tool_id: str) -> bool:
    return not rule.tools or any(fits(tool_id, pattern) for pattern in rule.tools)


def _judgement(action: str, rules: Sequence[PolicyRule]) -> Judgement:
    exact = [rule for rule in rules if rule.action == action]
    patterns = [rule for rule in rules if rule.action != action and fits(action, rule.action)]
    conditional: list[PolicyRule] = []
    for rule in (*exact, *patterns):
        if not rule.when:
            return Judgement(action, tuple(conditional), rule)
        conditional.append(rule)
    return Judgement(action, tuple(conditional), None)
