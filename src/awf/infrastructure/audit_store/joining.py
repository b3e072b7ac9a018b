"""From what writers spilled to what the chain keeps: a decision and its effect become one where both are at hand."""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from awf.domain.audit import AuditEntry
from awf.domain.audit_chain import decoded_entry
from awf.infrastructure.audit_store.call_form import BETWEEN, CALL, DECISION, FORM, WrittenForm
from awf.infrastructure.audit_store.spill import lines_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Begun", "Item", "SpillForms", "damage", "items_of", "join"]

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
# What stands behind the form: as we write it, and nothing that would say more in JSON.
_DECIDED = rb"[A-Za-z0-9._:-]+ [0-9]+\.[0-9]+ [0-9a-f]+"
_is_decision = re.compile(_DECIDED).fullmatch
_is_call = re.compile(_DECIDED + rb" [0-9a-z.+-]+ -?[0-9]+ [0-9a-f]+").fullmatch
_BETWEEN = BETWEEN.encode()


class SpillForms:
    """The forms that a spill file defines, also before the place from which it is read."""

    def __init__(self) -> None:
        self._known: dict[bytes, WrittenForm] = {}

    def learn(self, name: bytes, definition: bytes) -> None:
        self._known[name] = WrittenForm(definition)

    def find(self, name: bytes, before: Callable[[], bytes]) -> WrittenForm:
        """`before`: what stands in the file before. Raises `ValueError`."""
        found = self._known.get(name)
        if found is None:  # somebody else has merged that part
            for line in lines_in(before()):
                for data in line.split(_BETWEEN) if line is not None else ():
                    if data[:1] == FORM:
                        self.learn(data[2:10], data[11:])
            found = self._known.get(name)
            if found is None:
                raise ValueError("a form that nobody has defined")
        return found


class Begun(NamedTuple):
    """A decision whose effect has not come. Most are dropped again, so that nothing is made before it is wanted."""

    form: WrittenForm
    words: list[bytes]

    @property
    def request(self) -> bytes:
        return self.words[0]

    @property
    def data(self) -> bytes:
        """Its canonical form."""
        return self.form.decision(*self.words)


Item = AuditEntry | Begun | bytes  # bytes: a whole call, in its canonical form


class _Reading:
    """One piece of a spill file."""

    def __init__(self, name: str, now: float, forms: SpillForms, before: Callable[[], bytes]) -> None:
        self._name = name
        self._now = now
        self._forms = forms
        self._before = before
        self._undefined: set[bytes] = set()  # forms that were looked for in vain
        self._waiting: dict[bytes, int] = {}  # request → the place of its decision
        self.kept: list[Item | None] = []

    def take(self, data: bytes) -> None:
        """Raises `ValueError` or `DecodeError` for a line that nobody of us wrote."""
        kind, kept = data[:1], self.kept
        if kind == CALL:
            if not _is_call(data, 11):
                raise ValueError("no call of ours")
            form, words = self._form(data[2:10]), data[11:].split(b" ")
            place = self._waiting.pop(words[0], None)
            if place is not None and type(kept[place]) is Begun:
                kept[place] = None
                kept.append(form.call(*words))
            else:
                _add(form.effect(*words), place, kept)
        elif kind == DECISION:
            if not _is_decision(data, 11):
                raise ValueError("no decision of ours")
            form, words = self._form(data[2:10]), data[11:].split(b" ")
            self._waiting[words[0]] = len(kept)
            kept.append(Begun(form, words))
        elif kind == FORM:
            self._forms.learn(data[2:10], data[11:])
        else:
            _take(_entry(data, self._name, self._now), self._waiting, kept)

    def _form(self, name: bytes) -> WrittenForm:
        if name in self._undefined:
            raise ValueError("a form that nobody has defined")
        try:
            return self._forms.find(name, self._before)
        except ValueError:
            self._undefined.add(name)
            raise


def items_of(
    chunk: bytes, name: str, now: float, forms: SpillForms, before: Callable[[], bytes] = bytes
) -> list[Item]:
    """What the lines say, in their order; a call stands where its effect does. A damaged line is told, not passed over.

    `forms`: those of this file, as far as they are known; `before`: what stands in the file before the chunk.
    """
    reading = _Reading(name, now, forms, before)
    for line in lines_in(chunk):
        for data in line.split(_BETWEEN) if line is not None else (None,):
            try:
                if data is None:
                    raise ValueError("it does not have its checksum")  # noqa: TRY301  damaged, whatever it is
                reading.take(data)
            except (ValueError, msgspec.DecodeError):
                reading.kept.append(damage(name, now))
    return [item for item in reading.kept if item is not None]


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
