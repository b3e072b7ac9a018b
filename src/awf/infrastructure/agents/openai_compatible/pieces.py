"""From bytes to the JSON pieces of an answer.

More forgiving than the rules for server-sent events, since servers do not keep to them: an event need not end in an empty line,
there may be lines of JSON without `data:`, or one JSON document instead of a stream.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PieceReader", "PieceTooLarge", "Unreadable"]

_MARK = b"\xef\xbb\xbf"
_FIELDS = (b"event", b"id", b"retry")


class PieceTooLarge(Exception):  # noqa: N818  whoever reads decides what becomes of it
    """A piece that is longer than the limit."""


class Unreadable(Exception):  # noqa: N818
    """Something that is no JSON object. `text`: how it begins."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class PieceReader:
    """Feed chunks, get JSON objects. `done`: the stream has said that it is over."""

    def __init__(self, limit: int) -> None:
        self.done = False
        self._limit = limit
        self._line = bytearray()  # has not ended yet
        self._data = bytearray()  # of one event
        self._rest = bytearray()  # what belongs to no stream: a document, or garbage
        self._after_return = False
        self._first = True

    def feed(self, chunk: bytes) -> Iterator[dict[str, Any]]:
        """Pieces before a fault are given before it is raised; what comes after the end is passed over."""
        for line in chunk.splitlines(keepends=True):
            if self.done:
                return
            if self._after_return and line == b"\n":
                self._after_return = False
                continue
            self._line += line
            self._after_return = line.endswith(b"\r")
            if self._after_return or line.endswith(b"\n"):
                whole = bytes(self._line).rstrip(b"\r\n")
                self._line.clear()
                yield from self._take(whole)
            elif len(self._line) > self._limit:
                raise PieceTooLarge

    def end(self) -> Iterator[dict[str, Any]]:
        """Nothing more comes: what is left must be an event without its end, or a document."""
        last = bytes(self._line)
        self._line.clear()
        yield from self._take(last)
        yield from self._take(b"")
        text = bytes(self._rest).strip()
        self._rest.clear()
        if text:
            yield _object(text)

    def _take(self, line: bytes) -> list[dict[str, Any]]:
        if self._first:
            self._first = False
            line = line.removeprefix(_MARK)
        if not line.strip():
            data = bytes(self._data)
            self._data.clear()
            return [_object(data)] if data.strip() else []
        field, colon, value = line.partition(b":")
        if colon and field.strip() == b"data":
            return self._event(value.removeprefix(b" "))
        if not field or field in _FIELDS:  # a comment, or what says nothing to us
            return []
        return self._outside(line)

    def _event(self, data: bytes) -> list[dict[str, Any]]:
        if data.strip() == b"[DONE]":
            self.done = True
            return []
        self._data += (b"\n" if self._data else b"") + data
        self._check(self._data)
        value = _parsed(bytes(self._data))
        if not isinstance(value, dict):
            return []  # the next line may go on with it
        self._data.clear()
        return [value]

    def _outside(self, line: bytes) -> list[dict[str, Any]]:
        value = _parsed(line) if not self._rest else None
        if isinstance(value, dict):
            return [value]
        self._rest += line + b"\n"
        self._check(self._rest)
        return []

    def _check(self, part: bytearray) -> None:
        if len(part) > self._limit:
            raise PieceTooLarge


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _object(data: bytes) -> dict[str, Any]:
    value = _parsed(data)
    if isinstance(value, list) and len(value) == 1:  # some gateways wrap an error in a list
        value = value[0]
    if not isinstance(value, dict):
        raise Unreadable(data[:4000].decode("utf-8", "replace"))
    return value
