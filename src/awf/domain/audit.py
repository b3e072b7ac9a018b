"""What the audit keeps of a call, of decisions, and of everything that changes what may be decided."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

__all__ = ["AuditEntry", "AuditKind", "AuditRecord", "AuditUnavailable"]

AuditKind = Literal[
    "decision",  # before a call
    "effect",  # after it
    "call",  # both in one, where the one came soon after the other
    "approval_required",
    "approval_resolved",
    "grant_added",
    "grant_revoked",
    "level_raised",
    "context_reset",
    "context_minted",
    "spooled",
    "configuration",
    "audit_gap",  # what was kept in memory while the store was out of reach
]


class AuditEntry(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """What is said about one moment, before it has a place in the chain. All of it is redacted already."""

    kind: AuditKind
    created_at: float
    request_id: str = ""  # joins the decision and the effect of one call
    tool_id: str = ""
    context: str = ""
    client: str = ""
    door: str = ""  # gateway, step, mcp-serve, api
    grant_ids: tuple[str, ...] = ()
    input_hash: str = ""
    output_hash: str = ""
    decision: str = ""
    reason: str = ""
    rule: str = ""
    code: str = ""  # which stage decided
    risk: tuple[str, ...] = ()
    shadowed: str = ""
    label_before: str = ""  # such as `confidential/untrusted`
    label_after: str = ""
    success: bool | None = None
    error: str = ""  # the code of a tool error
    duration_ms: int = 0
    trace_id: str = ""
    details: dict[str, Any] = {}  # what this kind has beside


class AuditRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An entry in its place. `hash` is over the canonical JSON of sequence, previous hash and entry."""

    sequence: int
    previous: str
    entry: AuditEntry
    hash: str


class AuditUnavailable(Exception):  # noqa: N818  a state of affairs that callers decide about
    """Nothing can be recorded now."""
