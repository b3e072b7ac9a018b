"""Masking by value, in every spelling of it: what all sinks do.

Wherever a secret's text turns up, it is replaced. What must survive a restart is *sealed* instead: the value is
replaced by a mark that names it, and unsealed with the value held elsewhere.
"""

from __future__ import annotations

import functools
import itertools
import re
from typing import TYPE_CHECKING, Any, Literal, get_origin, get_type_hints

import msgspec

from awf.domain.redaction.names import is_secret_key, looks_secret
from awf.domain.redaction.pieces import StreamMasker, TextMasker
from awf.domain.redaction.rebuilding import rebuilt
from awf.domain.redaction.spans import MASK, covered
from awf.domain.redaction.spellings import SHORTEST, spellings
from awf.domain.redaction.value_index import ValueIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = ["JointMasker", "Masker", "secret_values"]

_MASK = MASK.encode()
_EMPTY = "* \t\r\n"
_OPEN, _CLOSE, _SPELLED = "\ue000", "\ue001", "\ue002"
_SEALED = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")


class Masker:
    """Knows the secret values of one run."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}  # value → name
        self._passing: dict[str, tuple[str, ...]] = {}  # name → the last two values
        self.state = object()  # another one as soon as another value is known
        self._index: tuple[object, ValueIndex] | None = None  # of such a state
        self._marks: dict[str, str] = {}  # spelling → what it is sealed as

    def add(self, name: str, value: str) -> None:
        """A value that is nothing but asterisks says nothing, and is what we would write for it."""
        if len(value) >= SHORTEST and value not in self._names and value.strip(_EMPTY):
            self._names[value] = name
            self._marks = {}
            self.state = object()  # both are made anew when they are needed: values come by the dozen

    def renew(self, name: str, value: str) -> None:
        """A value that passes, such as a token. It and the one before are known; neither is worth to be sealed."""
        old = self._passing.get(name, ())
        if len(value) >= SHORTEST and value not in old and value.strip(_EMPTY):
            self._passing[name] = (*old[-1:], value)
            self.state = object()

    def learn(self, value: str) -> None:
        """A value that shows up in the midst of a run. It has no name to be sealed by: the next round may bring another one
        from the same place, and a resumed run must not take the one for the other.
        """
        self.renew(value, value)

    @property
    def values(self) -> dict[str, str]:
        return {name: value for value, name in self._names.items()}

    @property
    def index(self) -> ValueIndex:
        """Values may come from another thread meanwhile: then it is made again the next time."""
        state, known = self.state, self._index
        if known is None or known[0] is not state:
            values = itertools.chain(list(self._names), *list(self._passing.values()))
            spelled = (text for value in values for text in spellings(value))
            made = ValueIndex(text.encode("utf-8", "surrogatepass") for text in spelled)
            known = self._index = state, made
        return known[1]

    def mask(self, text: str) -> str:
        masked = self._covered(text) if self._names or self._passing else text
        return _SEALED.sub(MASK, masked) if _OPEN in masked else masked

    def _covered(self, text: str) -> str:
        """Again as long as there is something: with odd values a mask may complete another one. It gets shorter."""
        data = text.encode("utf-8", "surrogatepass")
        if not self.index.may_hold(data) or not (spans := self.index.spans(data)):
            return text
        while spans:
            data = covered(data, spans, _MASK)
            spans = self.index.spans(data)
        return data.decode("utf-8", "surrogatepass")

    def seal(self, text: str) -> str:
        data = text.encode("utf-8", "surrogatepass")
        if not self.index.may_hold(data):
            return text
        marks, parts, last = self._sealing(), [], 0
        for start, end in _side_by_side(self.index.places(data)):
            parts += [
                data[last:start],
                marks.get(data[start:end].decode("utf-8", "surrogatepass"), MASK).encode(),
            ]
            last = end
        return b"".join([*parts, data[last:]]).decode("utf-8", "surrogatepass")

    def _sealing(self) -> dict[str, str]:
        if not self._marks:
            for value, name in self._names.items():
                for number, spelled in enumerate(spellings(value)):
                    mark = f"{_OPEN}{name}{_SPELLED}{number}{_CLOSE}" if number else f"{_OPEN}{name}{_CLOSE}"
                    self._marks.setdefault(spelled, mark)
            self._marks |= {value: f"{_OPEN}{name}{_CLOSE}" for value, name in self._names.items()}
        return self._marks

    def unseal(self, text: str) -> str:
        if _OPEN not in text:
            return text
        values = self.values

        def opened(found: re.Match[str]) -> str:
            name, _, number = found.group(1).partition(_SPELLED)
            if name not in values:
                return MASK
            return spellings(values[name])[int(number)] if number else values[name]

        return _SEALED.sub(opened, text)

    def is_readable(self, value: Any) -> bool:
        """Whether every sealed mark in the value can still be unsealed."""
        if isinstance(value, dict | list):
            return all(
                self.is_readable(item) for item in (value.values() if isinstance(value, dict) else value)
            )
        names = self.values
        return not isinstance(value, str) or all(
            found.partition(_SPELLED)[0] in names for found in _SEALED.findall(value)
        )

    def mask_data(self, value: Any, key: str = "") -> Any:
        """Plain data with secrets masked; under a key that looks secret also short values."""

        def change(one: Any, key: str) -> Any:
            if isinstance(one, str):
                return MASK if key and one and is_secret_key(key) else self.mask(one)
            return one

        def name(name: Any, _above: str) -> tuple[Any, str]:
            return (self.mask(name), name) if isinstance(name, str) else (name, str(name))

        return rebuilt(value, change, name, key)

    def map_struct(self, value: Any, change: Callable[[str], str]) -> Any:
        """A struct or plain data with every text changed, but for the words of our own that structs are made of."""
        if not self._names and not self._passing and change != self.unseal:
            return value
        return _walk(value, change)

    def may_begin(self, text: str) -> int:
        """How many characters at the end of a text may be the beginning of a secret that goes on."""
        if not self._names and not self._passing:
            return 0
        data = text.encode("utf-8", "surrogatepass")
        begun = self.index.begun(data)
        return len(data[len(data) - begun :].decode("utf-8", "surrogatepass")) if begun else 0

    def text(self) -> TextMasker:
        return TextMasker(self)

    def stream(self) -> StreamMasker:
        return StreamMasker(self.index)


def _side_by_side(found: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """From the left, the longest at each place; never one that overlaps the one before."""
    last = 0
    for start, end in sorted(found, key=lambda span: (span[0], -span[1])):
        if start >= last:
            yield start, end
            last = end


class JointMasker(Masker):
    """Masks what any of several others would: for what is shared, such as the log of a process."""

    def __init__(self, maskers: Callable[[], Iterable[Masker]]) -> None:
        super().__init__()
        self._maskers = maskers

    def mask(self, text: str) -> str:
        for masker in self._maskers():
            text = masker.mask(text)
        return text


def _walk(value: Any, change: Callable[[str], str]) -> Any:
    """The same value where nothing changes."""

    def changed(one: Any, _mark: None) -> Any:
        if isinstance(one, str):
            return change(one)
        if isinstance(one, tuple):
            return tuple(_walk(item, change) for item in one)
        if isinstance(one, msgspec.Struct):
            old = {name: getattr(one, name) for name in _changeable(type(one))}
            new = {name: _walk(item, change) for name, item in old.items()}
            return msgspec.structs.replace(
                one, **{name: new[name] for name in new if new[name] is not old[name]}
            )
        return one

    return rebuilt(value, changed, _same_name, None)


def _same_name(name: Any, _mark: None) -> tuple[Any, None]:
    return name, None


# Names that a workflow file gave, by which the parts of a run are told apart.
_OWN_WORDS = {"path", "step", "kind", "workflow", "call_id", "approval_id", "input_id", "code", "state"}


@functools.cache
def _changeable(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """Fields that can hold a secret: neither one of a few fixed words nor a name of our own."""
    hints = get_type_hints(kind)
    return tuple(
        name
        for name in kind.__struct_fields__
        if name not in _OWN_WORDS and get_origin(hints[name]) is not Literal
    )


def secret_values(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables whose names look secret."""
    return {name: value for name, value in variables.items() if value and looks_secret(name)}
