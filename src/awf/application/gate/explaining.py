"""Why a call would be allowed or not: the document that rules see, every rule that was asked, and each stage's word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.gate.decision_document import document
from awf.domain.decision_fields import DOCUMENT_VERSION
from awf.domain.policy import Decision, strictest
from awf.domain.ports.expressions import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from awf.application.gate.candidates import Judgement
    from awf.application.gate.deciding import ToolRules
    from awf.application.gate.decision_document import CallView
    from awf.domain.policy import PolicyRule

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
    """What one part of the gate says. Those behind the policy (level, grants, approval) add their own."""

    name: str
    decision: Decision


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    version: str = DOCUMENT_VERSION
    tool: dict[str, Any]
    document: dict[str, Any]
    rules: tuple[AskedRule, ...]
    stages: tuple[Stage, ...]
    decision: Decision  # the strictest of all stages


def explained(rules: ToolRules, call: CallView, more: Sequence[Stage] = ()) -> Explanation:
    """`more`: what the later stages say."""
    found = rules.reader.read(call.arguments)
    stages = (Stage(name="policy", decision=rules.decide(call)), *more)
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
        stages=stages,
        decision=strictest([stage.decision for stage in stages]),
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
