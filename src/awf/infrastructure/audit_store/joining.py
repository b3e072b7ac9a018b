"""From what writers spilled to what the chain keeps: a decision and its effect become one where both are at hand."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.audit import AuditEntry
from awf.domain.audit_chain import decoded_entry
from awf.infrastructure.audit_store.spill import lines_in

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["damage", "entries_of", "join"]

# What both may say; they must not say different things.
_SHARED = (
    "tool_id",
    "context",
    "client",
    "door",
    "grant_ids",
    "input_hash",
    "decision",
    "reason",
    "rule",
    "risk",
    "shadowed",
    "label_before",
    "trace_id",
)
_shared = operator.attrgetter(*_SHARED)


def entries_of(chunk: bytes, name: str, now: float) -> list[AuditEntry]:
    """One for each line. A damaged line is told, not passed over."""
    entries: list[AuditEntry] = []
    for data in lines_in(chunk):
        try:
            entries.append(decoded_entry(data) if data is not None else damage(name, now))
        except msgspec.DecodeError:
            entries.append(damage(name, now))
    return join(entries)


def damage(name: str, now: float) -> AuditEntry:
    return AuditEntry(kind="audit_gap", created_at=now, details={"cause": "damaged line", "spill": name})


def join(entries: Iterable[AuditEntry]) -> list[AuditEntry]:
    """In their order; a call stands where its effect does. The entries are used up."""
    waiting: dict[str, int] = {}
    kept: list[AuditEntry | None] = []
    for entry in entries:
        request = entry.request_id
        if request:
            if entry.kind == "decision":
                waiting[request] = len(kept)
            elif entry.kind == "effect" and (place := waiting.pop(request, None)) is not None:
                decision = kept[place]
                if decision is not None and _take_up(decision, entry):
                    kept[place] = None
                    entry = decision  # noqa: PLW2901
        kept.append(entry)
    return [entry for entry in kept if entry is not None]


def _take_up(decision: AuditEntry, effect: AuditEntry) -> bool:
    """Make one of both, unless something would be lost."""
    taken: list[tuple[str, Any]] = []
    for name, said, before in zip(_SHARED, _shared(effect), _shared(decision), strict=True):
        if said and said != before:
            if before:
                return False
            taken.append((name, said))
    if decision.is_final or (effect.details and not decision.details.keys().isdisjoint(effect.details)):
        return False
    for name, said in taken:
        setattr(decision, name, said)
    decision.kind = "call"
    decision.success = effect.success
    decision.output_hash = effect.output_hash
    decision.error = effect.error
    decision.duration_ms = effect.duration_ms
    decision.label_after = effect.label_after or decision.label_after
    if effect.details:
        decision.details = {**decision.details, **effect.details}
    return True
