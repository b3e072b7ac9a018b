"""What the lines of a spill file say: entries, and the short records of plain calls (call_form.py)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from awf.domain.audit import AuditEntry
from awf.domain.audit_chain import DAMAGED_LINE, decoded_entry
from awf.infrastructure.audit_store.call_form import (
    AHEAD,
    BETWEEN,
    CALL,
    CALLS,
    DECISION,
    DECISIONS,
    FORM,
    WrittenForm,
)
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
_milliseconds = re.compile(rb"-?[0-9]+").fullmatch
# The same for those of one turn: nothing is left of them without these signs, nor of hashes without those.
_SIGNS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:- "
_HEX = b"0123456789abcdef"
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


_Decided = tuple[int, bytes, bytes, bytes]  # a decision: its place, its form, when it was made, and the hash


class _Reading:
    """One piece of a spill file."""

    def __init__(self, name: str, now: float, forms: SpillForms, before: Callable[[], bytes]) -> None:
        self._name = name
        self._now = now
        self._forms = forms
        self._before = before
        self._undefined: set[bytes] = set()  # forms that were looked for in vain
        self._begun: dict[bytes, _Decided] = {}  # by request
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
            found = _decision(data, 11)
            if found is None:
                raise ValueError("no decision of ours")
            request, moment, given = found.groups()
            self._begin(data[2:10], moment, [request], [given])
        elif kind == DECISIONS:
            self._take_decisions(data)
        elif kind == CALLS:
            self._take_calls(data)
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

    def _take_decisions(self, data: bytes) -> None:
        _, form, moment, *words = data.split(b" ")
        requests, given = words[::2], words[1::2]
        _check(data, moment, words, given, 2)
        self._begin(form, moment, requests, given)

    def _begin(self, form: bytes, moment: bytes, requests: list[bytes], given: list[bytes]) -> None:
        begun = self._begun
        self._form(form)
        if len(set(requests)) != len(requests) or not begun.keys().isdisjoint(requests):
            raise ValueError("a second decision of one call")
        places = range(len(self.kept), len(self.kept) + len(requests))
        begun.update(
            (request, (place, form, moment, one))
            for place, request, one in zip(places, requests, given, strict=True)
        )
        self.kept += [None] * len(requests)

    def _take_calls(self, data: bytes) -> None:
        _, name, ended, *words = data.split(b" ")
        requests, times, outputs = words[::3], words[1::3], words[2::3]
        _check(data, ended, words, outputs, 3)
        if not all(map(_milliseconds, set(times))):
            raise ValueError("no time of ours")
        form, begun, kept = self._form(name), self._begun, self.kept
        for request, taken, output in zip(requests, times, outputs, strict=True):
            known = begun.get(request)
            if known is not None and known[1] == name:
                del begun[request]
                kept.append(form.call(request, known[2], known[3], taken, output))
            else:
                self._end(form, request, ended, taken, output)

    def _take_call(self, data: bytes, words: tuple[bytes, ...]) -> None:
        name = data[2:10]
        form, (request, moment, given, ended, taken, output) = self._form(name), words
        known = self._begun.get(request)
        if known is not None and known[1:] == (name, moment, given):
            del self._begun[request]
            self.kept.append(form.call(request, moment, given, taken, output))
        else:
            self._end(form, request, ended, taken, output)

    def _end(self, form: WrittenForm, request: bytes, ended: bytes, taken: bytes, output: bytes) -> None:
        """A call whose decision is in another place, or is another one."""
        if request in self._begun:
            self._make(request)
        add(form.effect(request, ended, taken, output), self._waiting.pop(request, None), self.kept)

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
        place, form, moment, given = self._begun.pop(request)
        self.kept[place] = Begun(self._form(form), (request, moment, given))
        self._waiting[request] = place

    def _tell_damage(self) -> None:
        self.kept.append(_damage(self._name, self._now))

    def take_lines(self, lines: list[bytes | None]) -> None:
        at = 0
        while at < len(lines):
            if self._is_taken_whole(lines[at : at + 3]):
                at += 3
            else:
                self._take_line(lines[at])
                at += 1

    def _is_taken_whole(self, lines: list[bytes | None]) -> bool:
        """Three lines as a call by itself leaves them. False: nothing was taken."""
        decision, ahead, call = lines if len(lines) == 3 else (None, None, None)
        if decision is None or call is None or decision[:1] != DECISION or self._ahead:
            return False
        said = decision[1:]
        if ahead != AHEAD + said or not call.startswith(CALL + said):
            return False
        found = _call(call, 11)
        if found is None or found.end(3) != len(decision) or found[1] in self._begun:
            return False
        try:
            form = self._form(call[2:10])
        except ValueError:
            return False
        request, moment, given, _, taken, output = found.groups()
        self.kept.append(form.call(request, moment, given, taken, output))
        return True

    def _take_line(self, line: bytes | None) -> None:
        """None: one that does not have its checksum. What is damaged is told, not passed over."""
        if line is None:
            self._tell_damage()
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
    reading.take_lines(list(lines_in(chunk)))
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
    return AuditEntry(kind="audit_gap", created_at=now, details={"cause": DAMAGED_LINE, "spill": name})


def _check(data: bytes, moment: bytes, words: list[bytes], hashes: list[bytes], size: int) -> None:
    """Records of one turn, of so many words each. Raises `ValueError`."""
    if (
        not words
        or len(words) % size
        or b"" in words
        or not (len(moment) == 16 and moment.isdigit())
        or data.translate(None, _SIGNS)
        or b"".join(hashes).translate(None, _HEX)
    ):
        raise ValueError("no record of ours")
