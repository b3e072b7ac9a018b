"""One event for each call: its decision and its effect in one, whether the chain has them in one record or in two."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from awf.domain.audit import AuditEntry, AuditKind, AuditRecord  # noqa: TC001  msgspec reads annotations

__all__ = ["Outcome", "ToolAuditEvent", "event_of", "in_calendar", "whole_call"]

_FIRST, _LAST = -62135596800.0, 253402300799.999  # moments of the years 1 and 9999

Outcome = Literal[
    "success",
    "failure",
    "denied",
    "unknown",  # the process that made the call ended before it could say
    "open",  # under way
    "",  # it was no call
]


class ToolAuditEvent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    sequence: int  # of the record that tells the outcome
    tool_id: str
    request_id: str
    grant_ids: tuple[str, ...]
    input_hash: str
    output_hash: str
    success: bool | None
    duration_ms: int
    created_at: float
    kind: AuditKind
    outcome: Outcome
    decision: str
    reason: str
    rule: str
    risk_tags: tuple[str, ...]
    shadowed: str
    context: str
    label_before: str
    label_after: str
    client: str
    door: str
    error: str
    trace_id: str
    by: str  # the person, where it was one who did or decided it
    status: str  # of a question that was asked or answered


def event_of(record: AuditRecord, decision: AuditEntry | None = None) -> ToolAuditEvent:
    """The event of a record; of an effect together with the decision that it followed."""
    entry = record.entry if decision is None else whole_call(decision, record.entry)
    details = entry.details
    grant = details.get("grant")  # one that was made
    return ToolAuditEvent(
        sequence=record.sequence,
        tool_id=entry.tool_id,
        request_id=entry.request_id,
        grant_ids=entry.grant_ids,
        input_hash=entry.input_hash,
        output_hash=entry.output_hash,
        success=_success(entry),
        duration_ms=entry.duration_ms,
        created_at=entry.created_at,
        kind="call" if entry.kind in {"decision", "effect"} else entry.kind,
        outcome=_outcome(entry),
        decision=entry.decision,
        reason=entry.reason,
        rule=entry.rule,
        risk_tags=entry.risk,
        shadowed=entry.shadowed,
        context=entry.context,
        label_before=entry.label_before,
        label_after=entry.label_after,
        client=entry.client,
        door=entry.door,
        error=entry.error,
        trace_id=entry.trace_id,
        by=_text(details, "decidedBy") or _text(details, "by") or _text(grant, "issuedBy"),
        status=_text(details, "status") or _text(grant, "capability"),
    )


def in_calendar(moment: float) -> float:
    """The moment, or the nearest one that has a date: whoever changes a record may make any number of it."""
    return min(max(moment, _FIRST), _LAST)


def _text(details: Any, name: str) -> str:
    """Of details, whatever they are."""
    value = details.get(name) if isinstance(details, dict) else None
    return value if isinstance(value, str) else ""


def whole_call(decision: AuditEntry, effect: AuditEntry) -> AuditEntry:
    """What both say; where they differ, the decision about what was to be done, the effect about what came of it."""
    told = {
        name: getattr(effect, name)
        for name in ("success", "output_hash", "error", "duration_ms", "label_after")
        if getattr(effect, name) or name == "success"
    }
    missing = {
        name: value
        for name in effect.__struct_fields__
        if (value := getattr(effect, name)) and not getattr(decision, name)
    }
    details = {**decision.details, **effect.details}
    return msgspec.structs.replace(decision, **{**missing, **told, "kind": "effect", "details": details})


def _success(entry: AuditEntry) -> bool | None:
    return False if entry.kind == "decision" and entry.is_final else entry.success


def _outcome(entry: AuditEntry) -> Outcome:
    if entry.kind == "decision":
        if entry.decision == "deny":
            return "denied"
        return "failure" if entry.success is False else "open"
    if entry.kind not in {"call", "effect"}:
        return ""
    if entry.success is None:
        return "unknown"
    return "success" if entry.success else "failure"
