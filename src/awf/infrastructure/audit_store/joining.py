"""A decision and its effect become one where both are at hand: what the chain keeps of a call."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NamedTuple

from awf.domain.audit import AuditEntry
from awf.domain.audit_chain import decoded_entry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from awf.infrastructure.audit_store.call_form import WrittenForm

__all__ = ["Begun", "Item", "add", "join", "request_of", "take"]

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


class Begun(NamedTuple):
    """A decision whose effect has not come. Most are dropped again, so that nothing is made before it is wanted."""

    form: WrittenForm
    words: tuple[bytes, ...]

    @property
    def request(self) -> bytes:
        return self.words[0]

    @property
    def data(self) -> bytes:
        """Its canonical form."""
        return self.form.decision(*self.words)


Item = AuditEntry | Begun | bytes  # bytes: a whole call, in its canonical form


def join(entries: Iterable[AuditEntry]) -> list[Item]:
    """Entries by themselves, in their order; a call stands where its effect does. They are used up."""
    waiting: dict[bytes, int] = {}
    kept: list[Item | None] = []
    for entry in entries:
        take(entry, request_of(entry), waiting, kept)
    return [item for item in kept if item is not None]


def request_of(entry: AuditEntry) -> bytes:
    return entry.request_id.encode("utf-8", "surrogatepass")


def take(entry: AuditEntry, request: bytes, waiting: dict[bytes, int], kept: list[Item | None]) -> None:
    """`waiting`: request → the place of its decision; `kept`: what there is so far, with gaps where two became one."""
    if request and entry.kind == "decision":
        waiting[request] = len(kept)
    place = waiting.pop(request, None) if request and entry.kind == "effect" else None
    add(entry, place, kept)


def add(entry: AuditEntry, place: int | None, kept: list[Item | None]) -> None:
    """`place`: of the decision that it is the effect of."""
    decision = kept[place] if place is not None else None
    if isinstance(decision, Begun):
        decision = decoded_entry(decision.data)
    if place is not None and isinstance(decision, AuditEntry) and _take_up(decision, entry):
        kept[place] = None
        entry = decision
    kept.append(entry)


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
