"""Why a call would be allowed or not: the document that rules see, every rule that was asked, and each stage's word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.gate.decision_document import document
from awf.domain.decision_fields import DOCUMENT_VERSION
from awf.domain.policy import Decision
from awf.domain.ports.expressions import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from awf.application.gate.candidates import Judgement
    from awf.application.gate.deciding import ToolRules
    from awf.application.gate.decision_document import CallView
    from awf.domain.policy import PolicyRule

    Word = tuple[str, Decision | None]  # the name of a stage, and what it says; None: nothing against it

__all__ = ["AskedRule", "Explanation", "Stage", "explained"]

_MOST_TARGETS = 20


class AskedRule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule, asked about one action, path and host of the call."""

    rule: str  # empty: the fallback
    action: str
    path: str = ""
    host: str = ""
    when: str = ""
    holds: bool | None = None  # None: its condition cannot be evaluated
    error: str = ""
    decides: bool = False  # the first that holds, or fails
    decision: str = ""


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """What one part of the gate says: arguments, level, policy, grants, approval. The first that denies decides."""

    name: str
    decision: Decision


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    version: str = DOCUMENT_VERSION
    tool: dict[str, Any]
    document: dict[str, Any]
    rules: tuple[AskedRule, ...]
    stages: tuple[Stage, ...]
    decision: Decision  # what counts of all that


def explained(
    rules: ToolRules,
    call: CallView,
    decision: Decision,
    before: Sequence[Word] = (),
    after: Sequence[Word] = (),
) -> Explanation:
    """`decision`: what the gate decides. `before`, `after`: what the other stages say, in the order in which they are asked."""
    found = rules.reader.read(call.arguments)
    asked: list[AskedRule] = []
    for at, (path, host) in enumerate(rules.targets(found)):
        if at == _MOST_TARGETS:
            break
        whole = {**document(rules.facts, call, found), "path": path, "host": host}
        for judgement in rules.judgements:
            asked.extend(_asked(rules, judgement, whole))
    facts: dict[str, Any] = msgspec.to_builtins(rules.facts)
    return Explanation(
        tool=facts,
        document=document(rules.facts, call, found),
        rules=tuple(asked),
        stages=tuple(
            Stage(name=name, decision=said or Decision(verdict="allow", code=name))
            for name, said in (*before, ("policy", rules.decide(call)), *after)
        ),
        decision=decision,
    )


def _asked(rules: ToolRules, judgement: Judgement, whole: dict[str, Any]) -> Iterator[AskedRule]:
    open_yet = True
    for rule in judgement.rules:
        holds, error = _answer(rules, rule, whole)
        decides = open_yet and holds is not False
        open_yet = open_yet and not decides
        yield AskedRule(
            rule=rule.id,
            action=judgement.action,
            path=whole["path"],
            host=whole["host"],
            when=rule.when,
            holds=holds,
            error=error,
            decides=decides,
            decision="deny" if holds is None else rule.decision,
        )
    last = judgement.last
    yield AskedRule(
        rule=last.id if last else "",
        action=judgement.action,
        path=whole["path"],
        host=whole["host"],
        holds=True,
        decides=open_yet,
        decision=last.decision if last else rules.fallback,
    )


def _answer(rules: ToolRules, rule: PolicyRule, whole: dict[str, Any]) -> tuple[bool | None, str]:
    try:
        return rules.holds(rule, whole), ""
    except ExpressionError as error:
        return None, error.message
