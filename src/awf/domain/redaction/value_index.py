"""Finds any of many known texts in a text, at a cost that hardly depends on how many they are.

The text is taken in steps as long as the shortest of them allows, and at each step four bytes are looked up in a set. The
set holds what can stand there if one of the known texts lies across: its bytes at every offset. So a clean text costs one
walk through a set in C; only known texts whose bytes were met are searched for.
"""

from __future__ import annotations

import functools
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from awf.domain.redaction.spans import merged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from awf.domain.redaction.spans import Span

    _Families = dict[bytes, tuple[bytes, ...]]  # a text → it and all that begin with it
    # Whether none is met in what is taken of a text; else whose they are.
    _Glance = tuple[Callable[[Iterable[int]], bool], Callable[[bytes], Sequence[int]], "_Grams"]

__all__ = ["ValueIndex"]

_AT_ONCE = 1 << 18  # bytes; so that other threads get their turn
_WIDTH = 4  # bytes that are looked up, as a number
_MIDDLE = 7  # bytes; a shorter text need not hold four that are aligned
_LONG = 15  # bytes; such texts allow for longer steps
_FEW = 512  # numbers; for texts of so many there is a way that takes all steps in one go


class _Grams(NamedTuple):
    """The bytes that give known texts away."""

    step: int  # every how many of them one is looked up
    owners: Mapping[int, _Families]
    known: frozenset[int]

    def view(self, data: bytes) -> Sequence[int]:
        """What is looked up in a text."""
        return memoryview(data)[: len(data) & -_WIDTH].cast("I")[:: self.step]

    def taker(self, size: int) -> Callable[[bytes], Sequence[int]]:
        """The same for texts of so many numbers, at once."""
        return _taker((size + self.step - 1) // self.step, self.step)


class ValueIndex:
    def __init__(self, texts: Iterable[bytes]) -> None:
        self.texts = sorted({text for text in texts if text})
        self.longest = max(map(len, self.texts), default=0)
        families = _families(self.texts)
        self._short = {root: family for root, family in families.items() if len(root) < _MIDDLE}
        middle = {root: family for root, family in families.items() if _MIDDLE <= len(root) < _LONG}
        long = {root: family for root, family in families.items() if len(root) >= _LONG}
        # Apart, lest a short one has all take small steps.
        self._grams = [_grams(some) for some in (long, middle) if some]
        self._heads = {text[:3] for text in self.texts}
        self._glances: dict[int, list[_Glance]] = {}  # by the size of texts, in numbers

    def may_hold(self, data: bytes) -> bool:
        """Whether any of the texts is in there."""
        size = len(data) // _WIDTH
        for is_spared, taken, grams in self._glances.get(size) or self._glances_at(size):
            if not is_spared(taken(data)) and any(text in data for text in self._owned(grams, data)):
                return True
        return any(text in data for text in self._short) if self._short else False

    def _glances_at(self, size: int) -> list[_Glance]:
        if size > _FEW:
            long = size > _AT_ONCE // _WIDTH
            return [(_never if long else one.known.isdisjoint, one.view, one) for one in self._grams]
        made: list[_Glance] = [(one.known.isdisjoint, one.taker(size), one) for one in self._grams]
        self._glances[size] = made
        return made

    def spans(self, data: bytes) -> list[Span]:
        """Where the texts stand; what overlaps is one."""
        if not self.may_hold(data):
            return []
        found: list[Span] = []
        for text in self._near(data):
            end = 0
            at = data.find(text)
            while at >= 0:
                if at < end:  # over itself, as in `abab` and `ababab`
                    found[-1] = (found[-1][0], at + len(text))
                else:
                    found.append((at, at + len(text)))
                end = at + len(text)
                at = data.find(text, at + 1)
        return merged(found)

    def places(self, data: bytes) -> list[Span]:
        """Every place of every text; they may overlap."""
        found = []
        for text in self._near(data):
            at = data.find(text)
            while at >= 0:
                found.append((at, at + len(text)))
                at = data.find(text, at + len(text))
        return found

    def begun(self, data: bytes) -> int:
        """How many bytes at the end may be the beginning of a text that goes on."""
        start = 0
        if spans := self.spans(data):
            begin, start = spans[-1]
            if len(data) - begin < self.longest and self.goes_on(data[begin:]):
                return len(data) - begin
        for place in range(max(start, len(data) - self.longest + 1), len(data)):
            head = data[place : place + 3]
            if (len(head) < 3 or head in self._heads) and self.goes_on(data[place:]):
                return len(data) - place
        return 0

    def goes_on(self, beginning: bytes) -> bool:
        """Whether one of the texts begins like this and is longer."""
        from bisect import bisect_right

        at = bisect_right(self.texts, beginning)
        return at < len(self.texts) and self.texts[at].startswith(beginning)

    def _near(self, data: bytes) -> list[bytes]:
        """The texts that have to be searched for."""
        near = {root: family for root, family in self._short.items() if root in data}
        for grams in self._grams:
            near |= self._owned(grams, data)
        return [text for family in near.values() for text in family]

    @staticmethod
    def _owned(grams: _Grams, data: bytes) -> _Families:
        """Those whose bytes are met."""
        view = grams.view(data)
        at_once = _AT_ONCE // (_WIDTH * grams.step)
        owned: _Families = {}
        for start in range(0, len(view), at_once):
            for gram in grams.known.intersection(view[start : start + at_once]):
                owned |= grams.owners[gram]
        return owned


def _families(texts: list[bytes]) -> _Families:
    """Texts that begin with another one are found where that one is."""
    grown: dict[bytes, list[bytes]] = {}
    root: bytes | None = None
    for text in texts:  # sorted, so that they follow it
        if root is None or not text.startswith(root):
            root = text
        grown.setdefault(root, []).append(text)
    return {root: tuple(family) for root, family in grown.items()}


def _grams(families: _Families) -> _Grams:
    # So that one of those that are looked up lies within, wherever a text stands.
    step = (min(map(len, families)) + 1) // _WIDTH - 1
    owners: dict[int, _Families] = {}
    for root, family in families.items():
        for offset in range(_WIDTH * step):
            (gram,) = memoryview(root[offset : offset + _WIDTH]).cast("I")
            owners.setdefault(gram, {})[root] = family
    return _Grams(step, owners, frozenset(owners))


@functools.lru_cache(maxsize=1024)
def _taker(count: int, step: int) -> Callable[[bytes], Sequence[int]]:
    """Takes so many numbers, one every so many."""
    between = f"{_WIDTH * (step - 1)}x"
    return Struct(f"={count}I" if step == 1 else "=" + between.join("I" * count)).unpack_from


def _never(_: Iterable[int]) -> bool:
    """Of a long text: it is looked at in pieces."""
    return False
