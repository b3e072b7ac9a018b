"""Secrets are masked also where they come in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.domain.redaction.spans import MASK, covered

if TYPE_CHECKING:
    from awf.domain.redaction.masker import Masker
    from awf.domain.redaction.value_index import ValueIndex

__all__ = ["StreamMasker", "TextMasker"]


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
        return self._masker.mask(held)


class StreamMasker:
    """Masks a stream of bytes in which a secret may be cut in two by chunk borders."""

    def __init__(self, index: ValueIndex) -> None:
        self._index = index
        self._keep = max(index.longest - 1, 0)
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        if not self._keep:
            return data
        whole = self._held + data
        cut = max(0, len(whole) - self._keep)
        spans = [span for span in self._index.spans(whole) if span[0] < cut]
        if spans and spans[-1][1] > cut:
            cut = spans[-1][1]
        self._held = whole[cut:]
        return covered(whole[:cut], spans, MASK.encode())

    def close(self) -> bytes:
        held, self._held = self._held, b""
        return covered(held, self._index.spans(held), MASK.encode())
