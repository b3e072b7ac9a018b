"""Server-sent events out of bytes that may be cut anywhere."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Event", "EventReader", "EventTooLarge"]

_MARK = b"\xef\xbb\xbf"


class EventTooLarge(Exception):  # noqa: N818  how bad that is decides whoever reads
    """An event that is longer than the limit."""


class Event(NamedTuple):
    kind: str
    data: bytes


class EventReader:
    """Feed chunks, get events. `last_id` and `retry` (seconds) are what the stream said of itself so far."""

    def __init__(self, limit: int) -> None:
        self.last_id = ""
        self.retry: float | None = None
        self._limit = limit
        self._open: list[bytes] = []  # parts of a line that has not ended yet
        self._size = 0
        self._after_return = False  # a line feed now would belong to the line end before
        self._first = True
        self._kind = ""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[Event]:
        if not chunk:
            return []
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_return = chunk.endswith(b"\r") if chunk else False
        found: list[Event] = []
        for line in chunk.splitlines(keepends=True):
            self._size += len(line)
            if self._size > self._limit:
                raise EventTooLarge
            self._open.append(line)
            if line.endswith((b"\n", b"\r")):
                whole = line if len(self._open) == 1 else b"".join(self._open)
                self._open.clear()
                event = self._line(whole.rstrip(b"\r\n"))
                if event is not None:
                    found.append(event)
        return found

    def _line(self, line: bytes) -> Event | None:
        if self._first:
            self._first = False
            line = line.removeprefix(_MARK)
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._kind = value.decode("utf-8", "replace")
        elif field == b"id" and b"\0" not in value:
            self.last_id = value.decode("utf-8", "replace")
        elif field == b"retry" and value.isdigit():
            self.retry = int(value) / 1000
        return None

    def _dispatch(self) -> Event | None:
        kind, data = self._kind or "message", self._data
        self._kind, self._data, self._size = "", [], 0
        return Event(kind, b"\n".join(data)) if data else None
