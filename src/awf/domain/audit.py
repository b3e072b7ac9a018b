"""What the audit keeps of a call, of decisions, and of everything that changes what may be decided."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, Literal

import msgspec

from awf.domain.errors import AwfError

__all__ = [
    "AuditCheckpoint",
    "AuditEntry",
    "AuditFilter",
    "AuditFlaw",
    "AuditKind",
    "AuditRecord",
    "AuditReport",
    "AuditUnavailable",
    "BrokenAuditError",
    "FlawKind",
    "MovedAudit",
]

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
    follows: int = 0  # of an effect that stands apart: the number of its decision; the log fills it in
    details: dict[str, Any] = {}  # what this kind has beside

    @property
    def is_final(self) -> bool:
        """Of a decision: whether no effect will follow."""
        return self.decision == "deny" or self.success is False


class AuditRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An entry in its place. `hash` is over the canonical JSON of sequence, previous hash and entry."""

    sequence: int
    previous: str
    entry: AuditEntry
    hash: str


class AuditCheckpoint(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Signed: up to record `size` the log was this, and its last hash was `head`."""

    origin: str  # which log
    size: int
    head: str
    created_at: float
    key: str  # the public key, in base 64
    signature: str = ""  # over the canonical JSON of the rest, in base 64


class AuditFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which records are wanted. What is left empty does not matter."""

    kinds: tuple[AuditKind, ...] = ()
    tool: str = ""  # with * and ?
    context: str = ""
    request_id: str = ""
    since: float = 0.0
    until: float = 0.0
    every_effect: bool = False  # effects by themselves do not say all about their calls: let them through

    def admits(self, entry: AuditEntry) -> bool:
        if self.kinds and entry.kind not in self.kinds:
            return False
        if self.every_effect and entry.kind == "effect":
            return True
        return (
            (not self.tool or fnmatchcase(entry.tool_id, self.tool))
            and (not self.context or entry.context == self.context)
            and (not self.request_id or entry.request_id == self.request_id)
            and (not self.since or entry.created_at >= self.since)
            and (not self.until or entry.created_at < self.until)
        )


FlawKind = Literal[
    "changed",  # a record does not have its hash
    "missing",  # numbers are left out
    "order",  # a record does not follow from the one before
    "cut",  # the end is gone
    "head",  # the keyed head is not that of the last record
    "checkpoint",  # a signature does not hold, or signs another log than this
    "witness",  # the same, of the witness file
    "database",  # the file itself is damaged, or what helps to read the log disagrees with it
]


class AuditFlaw(msgspec.Struct, frozen=True):
    kind: FlawKind
    sequence: int  # where
    message: str


class AuditReport(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What came of looking at every record."""

    records: int
    first: int = 1  # an export may begin later
    sound_until: int  # up to this record nothing is wrong
    head: str = ""
    checkpoints: int = 0
    witnessed: int = 0  # checkpoints found in the witness file
    flaws: tuple[AuditFlaw, ...] = ()  # the first ones
    notes: tuple[str, ...] = ()  # what could not be checked, and why; no flaw by itself

    @property
    def is_sound(self) -> bool:
        return not self.flaws


class BrokenAuditError(AwfError):
    """It is not as it was written."""

    def __init__(self, message: str, hint: str, report: AuditReport) -> None:
        super().__init__("EXECUTION.AUDIT.BROKEN", message, hint=hint)
        self.report = report


class MovedAudit(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What came of copying a log to where several machines share one."""

    outcome: Literal[
        "none",  # there is nothing to copy
        "copied",
        "known",  # it was copied before
        "other",  # there is another log, and two chains cannot become one
        "unsound",  # it is not as it was written
    ]
    place: str  # where the old log lies
    records: int = 0  # how many were copied
    flaw: str = ""  # of an unsound one


class AuditUnavailable(Exception):  # noqa: N818  a state of affairs that callers decide about
    """Nothing can be recorded now."""
