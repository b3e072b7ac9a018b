"""Secrets: which values they are, and how they are kept out of everything that is shown or stored.

Masking is by value: wherever a secret's text turns up, it is replaced. What must survive a restart is *sealed*
instead: the value is replaced by a mark that names it, and unsealed with the value held elsewhere.
"""

from __future__ import annotations

import functools
import itertools
import re
from typing import TYPE_CHECKING, Any, Literal, get_origin, get_type_hints

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["MASK", "JointMasker", "Masker", "StreamMasker", "TextMasker", "looks_secret"]

MASK = "***"
_SHORTEST = 4  # shorter values would black out ordinary text
_WORDS = ("SECRET", "TOKEN", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "CREDENTIAL", "CREDENTIALS")
_PAIRS = (
    ("API", "KEY"),
    ("PRIVATE", "KEY"),
    ("ACCESS", "KEY"),
    ("AUTH", "KEY"),
    ("ENCRYPTION", "KEY"),
    ("SIGNING", "KEY"),
)
_OPEN, _CLOSE = "\ue000", "\ue001"
_SEALED = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")


def looks_secret(name: str) -> bool:
    """Whether a variable's or input's name says that its value is secret: as prefix, suffix or word."""
    parts = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).upper().replace("-", "_").split("_")
    if any(part in _WORDS for part in parts):
        return True
    return any(pair in _PAIRS for pair in itertools.pairwise(parts))


class Masker:
    """Knows the secret values of one run."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}  # value → name
        self._pattern: re.Pattern[str] | None = None

    def add(self, name: str, value: str) -> None:
        if len(value) >= _SHORTEST and value not in self._names:
            self._names[value] = name
            ordered = sorted(self._names, key=len, reverse=True)
            self._pattern = re.compile("|".join(re.escape(text) for text in ordered))

    @property
    def values(self) -> dict[str, str]:
        return {name: value for value, name in self._names.items()}

    def mask(self, text: str) -> str:
        masked = self._pattern.sub(MASK, text) if self._pattern else text
        return _SEALED.sub(MASK, masked) if _OPEN in masked else masked

    def seal(self, text: str) -> str:
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda found: f"{_OPEN}{self._names[found.group(0)]}{_CLOSE}", text)

    def unseal(self, text: str) -> str:
        if _OPEN not in text:
            return text
        values = self.values
        return _SEALED.sub(lambda found: values.get(found.group(1), MASK), text)

    def is_readable(self, value: Any) -> bool:
        """Whether every sealed mark in the value can still be unsealed."""
        if isinstance(value, dict | list):
            return all(
                self.is_readable(item) for item in (value.values() if isinstance(value, dict) else value)
            )
        names = self.values
        return not isinstance(value, str) or all(found in names for found in _SEALED.findall(value))

    def mask_data(self, value: Any, key: str = "") -> Any:
        """Plain data with secrets masked; under a key that looks secret also short values."""
        if isinstance(value, str):
            return MASK if key and value and looks_secret(key) else self.mask(value)
        if isinstance(value, dict):
            return {name: self.mask_data(item, str(name)) for name, item in value.items()}
        if isinstance(value, list):
            return [self.mask_data(item, key) for item in value]
        return value

    def map_struct(self, value: Any, change: Callable[[str], str]) -> Any:
        """A struct or plain data with every text changed, but for the words of our own that structs are made of."""
        if self._pattern is None and change != self.unseal:
            return value
        return _walk(value, change)

    def may_begin(self, text: str) -> int:
        """How many characters at the end of a text may be the beginning of a secret that goes on."""
        if self._pattern is None:
            return 0
        start = max((found.end() for found in self._pattern.finditer(text)), default=0)
        start = max(start, len(text) - max(map(len, self._names)) + 1)
        for place in range(start, len(text)):
            if any(value.startswith(text[place:]) for value in self._names):
                return len(text) - place
        return 0

    def text(self) -> TextMasker:
        return TextMasker(self)

    def stream(self) -> StreamMasker:
        return StreamMasker([value.encode() for value in self._names])


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
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _walk(item, change) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([_walk(item, change) for item in value])
    if isinstance(value, msgspec.Struct):
        old = {name: getattr(value, name) for name in _changeable(type(value))}
        new = {name: _walk(item, change) for name, item in old.items()}
        return msgspec.structs.replace(
            value, **{name: new[name] for name in new if new[name] is not old[name]}
        )
    return value


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


class TextMasker:
    """Masks text that comes in pieces. Held back is only what may be the first part of a secret."""

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._held = ""

    def feed(self, piece: str) -> str:
        text = self._held + piece
        cut = len(text) - self._masker.may_begin(text)
        self._held = text[cut:]
        return self._masker.mask(text[:cut])

    def close(self) -> str:
        held, self._held = self._held, ""
        return held


class StreamMasker:
    """Masks a stream of bytes in which a secret may be cut in two by chunk borders."""

    def __init__(self, values: list[bytes]) -> None:
        ordered = sorted(values, key=len, reverse=True)
        self._pattern = re.compile(b"|".join(re.escape(value) for value in ordered)) if ordered else None
        self._keep = max((len(value) for value in ordered), default=1) - 1
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        if self._pattern is None:
            return data
        text = self._pattern.sub(MASK.encode(), self._held + data)
        cut = max(0, len(text) - self._keep)
        self._held = text[cut:]
        return text[:cut]

    def close(self) -> bytes:
        held, self._held = self._held, b""
        return held


def secret_values(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables whose names look secret."""
    return {name: value for name, value in variables.items() if value and looks_secret(name)}
