"""What the lines of a spill file say: entries, and the short records of plain calls (call_form.py)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from awf.domain.audit import AuditEntry
from awf.domain.audit_chain import decoded_entry
from awf.infrastructure.audit_store.call_form import AHEAD, BETWEEN, CALL, DECISION, FORM, WrittenForm
from awf.infrastructure.audit_store.joining import Begun, add, request_of, take
from awf.infrastructure.audit_store.spill import SUM, lines_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.infrastructure.audit_store.joining import Item

__all__ = ["SpillForms", "items_of", "owing"]

# What stands behind the form: as we write it, and nothing that would say more in JSON.
_HASH = rb" ([0-9a-f]+)"
_BEGUN = rb"([A-Za-z0-9._:-]+) ([0-9]{16})"
_decision = re.compile(_BEGUN + _HASH).fullmatch
_call = re.compile(_BEGUN + _HASH + rb" ([0-9]{16}) (-?[0-9]+)" + _HASH).fullmatch
_ahead = re.compile(rb"a [0-9a-f]{8} " + _BEGUN + _HASH).fullmatch
# The same for a whole line of decisions, or of calls: what both say, and its words.
_decisions = re.compile(rb"(?:\A|(?<=\t))d( [0-9a-f]{8} ([^ \t]+) [^\t]*)").findall
_calls = re.compile(
    rb"(?:\A|(?<=\t))c( ([0-9a-f]{8}) " + _BEGUN + _HASH + rb") ([0-9]{16}) (-?[0-9]+)" + _HASH + rb"(?=\t|\Z)"
).findall  # fmt: skip
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


class _Reading:
    """One piece of a spill file."""

    def __init__(self, name: str, now: float, forms: SpillForms, before: Callable[[], bytes]) -> None:
        self._name = name
        self._now = now
        self._forms = forms
        self._before = before
        self._undefined: set[bytes] = set()  # forms that were looked for in vain
        self._begun: dict[bytes, tuple[int, bytes]] = {}  # request → where its decision is, and what it says
        self._waiting: dict[
            bytes, int
        ] = {}  # request → the place of its decision, where that was made an item
        self._ahead = b""  # what is ahead of its call, which follows, as a rule
        self.kept: list[Item | None] = []

    def take(self, data: bytes) -> None:
        """Raises `ValueError` or `DecodeError` for a line that nobody of us wrote."""
        if self._ahead:
            self._take_ahead(data)
        kind = data[:1]
        if kind == CALL:
            found = _call(data, 11)
            if found is None:
                raise ValueError("no call of ours")
            self._take_call(data, found.groups())
        elif kind == DECISION:
            self._take_decision(data)
        elif kind == AHEAD:
            if _ahead(data) is None:
                raise ValueError("nothing that would be ahead of a call")
            self._ahead = data
        elif kind == FORM:
            self._forms.learn(data[2:10], data[11:])
        else:
            entry = _entry(data, self._name, self._now)
            request = request_of(entry)
            if request in self._begun:
                self._make(request)
            take(entry, request, self._waiting, self.kept)

    def _take_decision(self, data: bytes) -> None:
        """Most are followed by their call, which says all that they do: they are looked at only where they are not."""
        request = _named(data)
        if request in self._begun:
            raise ValueError("a second decision of one call")
        self._begun[request] = len(self.kept), data[1:]
        self.kept.append(None)

    def _take_decisions(self, line: bytes) -> bool:
        """All of one line, if that says nothing else. False: nothing was taken."""
        found, count = _decisions(line), line.count(_BETWEEN) + 1
        begun = {request: (place, said) for place, (said, request) in enumerate(found, len(self.kept))}
        if self._ahead or len(begun) != count or not self._begun.keys().isdisjoint(begun):
            return False
        self._begun.update(begun)
        self.kept += [None] * count
        return True

    def _take_calls(self, line: bytes) -> bool:
        """The same for calls."""
        found, begun, kept = _calls(line), self._begun, self.kept
        if self._ahead or len(found) != line.count(_BETWEEN) + 1:
            return False
        latest, form = b"", None
        for said, name, request, moment, given, ended, taken, output in found:
            known = begun.get(request)
            try:
                if form is None or name != latest:
                    latest, form = name, self._form(name)
                if known is not None and known[1] == said:
                    del begun[request]
                    kept.append(form.call(request, moment, given, ended, taken, output))
                else:
                    self._take_call(CALL + said, (request, moment, given, ended, taken, output))
            except (ValueError, msgspec.DecodeError):
                form = None
                self._tell_damage()
        return True

    def _take_call(self, data: bytes, words: tuple[bytes, ...]) -> None:
        form, kept = self._form(data[2:10]), self.kept
        known = self._begun.get(words[0])
        if known is not None and data.startswith(known[1], 1):
            del self._begun[words[0]]
            kept.append(form.call(*words))
            return
        if known is not None:
            self._make(words[0])
        add(form.effect(*words), self._waiting.pop(words[0], None), kept)

    def _take_ahead(self, following: bytes) -> None:
        """It counts unless its call follows."""
        ahead, self._ahead = self._ahead, b""
        if following.startswith(CALL + ahead[1:] + b" "):
            return
        found = _ahead(ahead)
        assert found is not None
        request, moment, given = found.groups()
        try:
            self._take_call(ahead, (request, moment, given, moment, b"0", b""))
        except ValueError:
            self._tell_damage()

    def _make(self, request: bytes) -> None:
        """A decision by itself, at its place."""
        place, said = self._begun.pop(request)
        data = DECISION + said
        try:
            found = _decision(data, 11)
            if found is None:
                raise ValueError("no decision of ours")  # noqa: TRY301  damaged, whatever it is
            self.kept[place] = Begun(self._form(data[2:10]), found.groups())
            self._waiting[request] = place
        except ValueError:
            self.kept[place] = _damage(self._name, self._now)

    def _tell_damage(self) -> None:
        self.kept.append(_damage(self._name, self._now))

    def take_line(self, line: bytes | None) -> None:
        """None: one that does not have its checksum. What is damaged is told, not passed over."""
        if line is None:
            self._tell_damage()
            return
        kind = line[:1]
        if (kind == CALL and self._take_calls(line)) or (kind == DECISION and self._take_decisions(line)):
            return
        for data in line.split(_BETWEEN):
            try:
                self.take(data)
            except (ValueError, msgspec.DecodeError):
                self._tell_damage()

    def end(self) -> None:
        """Nothing follows."""
        if self._ahead:
            self._take_ahead(b"")
        for request in list(self._begun):
            self._make(request)

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
        reading.take_line(line)
    reading.end()
    return [item for item in reading.kept if item is not None]


def owing(chunk: bytes) -> int:
    """How long the last line is, if it is ahead of its call, which is about to follow."""
    line = chunk[chunk.rfind(b"\n", 0, -1) + 1 : -1]
    said = line[max(line.rfind(_BETWEEN) + 1, SUM) :]
    return len(line) + 1 if _ahead(said) else 0


def _entry(data: bytes, name: str, now: float) -> AuditEntry:
    try:
        return decoded_entry(data)
    except msgspec.DecodeError:
        return _damage(name, now)


def _damage(name: str, now: float) -> AuditEntry:
    return AuditEntry(kind="audit_gap", created_at=now, details={"cause": "damaged line", "spill": name})


def _named(data: bytes) -> bytes:
    """The request that a record is about."""
    end = data.find(b" ", 11)
    if end < 0:
        raise ValueError("no record of ours")
    return data[11:end]
