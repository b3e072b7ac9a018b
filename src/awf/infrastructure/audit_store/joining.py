"""From what writers spilled to what the chain keeps: a decision and its effect become one where both are at hand."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from awf.domain.audit import AuditEntry
from awf.domain.audit_chain import decoded_entry
from awf.infrastructure.audit_store.call_form import CALL, DECISION, effect_in
from awf.infrastructure.audit_store.spill import lines_in

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Begun", "Item", "damage", "items_of", "join"]

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
    """A decision whose effect has not come. Most are dropped again, so that nothing is cut out before it is wanted."""

    request: bytes
    line: bytes

    @property
    def data(self) -> bytes:
        """Its canonical form."""
        return self.line[len(DECISION) + len(self.request) + 1 :]


Item = AuditEntry | Begun | bytes  # bytes: a whole call, in its canonical form


def items_of(chunk: bytes, name: str, now: float) -> list[Item]:
    """What the lines say, in their order; a call stands where its effect does. A damaged line is told, not passed over."""
    waiting: dict[bytes, int] = {}  # request → the place of its decision
    kept: list[Item | None] = []
    for data in lines_in(chunk):
        if data is None:
            kept.append(damage(name, now))
            continue
        try:
            _sorted_in(data, name, now, waiting, kept)
        except (ValueError, msgspec.DecodeError):  # a line that nobody of us wrote
            kept.append(damage(name, now))
    return [item for item in kept if item is not None]


def _sorted_in(
    data: bytes, name: str, now: float, waiting: dict[bytes, int], kept: list[Item | None]
) -> None:
    if data.startswith(CALL):
        end = data.index(b" ", 2)
        place = waiting.pop(data[2:end], None)
        if place is not None and type(kept[place]) is Begun:
            whole = data[data.index(b" ", end + 1) + 1 :]
            kept[place] = None
            kept.append(whole)
        else:
            _add(effect_in(data[end + 1 :]), place, kept)
    elif data.startswith(DECISION):
        request = data[2 : data.index(b" ", 2)]
        waiting[request] = len(kept)
        kept.append(Begun(request, data))
    else:
        _take(_entry(data, name, now), waiting, kept)


def _entry(data: bytes, name: str, now: float) -> AuditEntry:
    try:
        return decoded_entry(data)
    except msgspec.DecodeError:
        return damage(name, now)


def damage(name: str, now: float) -> AuditEntry:
    return AuditEntry(kind="audit_gap", created_at=now, details={"cause": "damaged line", "spill": name})


def join(entries: Iterable[AuditEntry]) -> list[Item]:
    """The same for entries by themselves. They are used up."""
    waiting: dict[bytes, int] = {}
    kept: list[Item | None] = []
    for entry in entries:
        _take(entry, waiting, kept)
    return [item for item in kept if item is not None]


def _take(entry: AuditEntry, waiting: dict[bytes, int], kept: list[Item | None]) -> None:
    request = entry.request_id.encode("utf-8", "surrogatepass")
    if request and entry.kind == "decision":
        waiting[request] = len(kept)
    place = waiting.pop(request, None) if request and entry.kind == "effect" else None
    _add(entry, place, kept)


def _add(entry: AuditEntry, place: int | None, kept: list[Item | None]) -> None:
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
