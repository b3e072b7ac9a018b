"""What the audit is told of a call. Nothing secret is in it: arguments and results only as hashes of what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.domain.audit import AuditEntry

if TYPE_CHECKING:
    from awf.application.gate.origin import Origin
    from awf.application.gate.passage import Passage

__all__ = ["decision_entry", "effect_entry", "unknown_entry"]

LONGEST = 200  # of a name that an agent chose


def decision_entry(passage: Passage, now: float, error: str = "") -> AuditEntry:
    origin, decision = passage.origin, passage.decision
    assert decision is not None
    return AuditEntry(
        kind="decision",
        created_at=now,
        request_id=passage.request_id,
        tool_id=passage.tool.facts.id,
        context=origin.context,
        client=origin.client,
        door=origin.door,
        grant_ids=_used(passage),
        input_hash=passage.input_hash,
        decision=decision.verdict,
        reason=decision.reason,
        rule=decision.rule,
        code=decision.code,
        risk=decision.risk,
        shadowed=decision.shadowed or "",
        label_before="" if passage.label is None else str(passage.label),
        error=error,
    )


def _used(passage: Passage) -> tuple[str, ...]:
    """The grants that cover something, and the one that brought an approval."""
    carrier, grants = passage.carrier, passage.grants
    return (*grants, carrier) if carrier and carrier not in grants else grants


def effect_entry(passage: Passage, now: float, duration_ms: int, error: str, output_hash: str) -> AuditEntry:
    return AuditEntry(
        kind="effect",
        created_at=now,
        request_id=passage.request_id,
        tool_id=passage.tool.facts.id,
        context=passage.origin.context,
        output_hash=output_hash,
        success=not error,
        error=error,
        duration_ms=duration_ms,
    )


def unknown_entry(name: str, origin: Origin, request_id: str, now: float, input_hash: str) -> AuditEntry:
    return AuditEntry(
        kind="decision",
        created_at=now,
        request_id=request_id,
        tool_id=name[:LONGEST],
        context=origin.context,
        client=origin.client,
        door=origin.door,
        input_hash=input_hash,
        decision="deny",
        reason="There is no such tool.",
        code="tool:unknown",
        error="RESOURCE_NOT_FOUND",
    )
