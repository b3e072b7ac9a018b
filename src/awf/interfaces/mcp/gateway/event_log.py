"""Server-sent events of one stream, kept for a while: a client that lost the stream may ask for the rest."""

from __future__ import annotations

from collections import deque

__all__ = ["EventLog", "event"]

LONGEST_NUMBER = 18
KEPT_BYTES = 4 * 1024 * 1024


def event(data: bytes, event_id: str = "", name: str = "") -> bytes:
    """JSON has no line ends outside of texts, so a message is one line."""
    head = (f"event: {name}\n" if name else "") + (f"id: {event_id}\n" if event_id else "")
    return b"%bdata: %b\n\n" % (head.encode(), data)


class EventLog:
    def __init__(self, name: str) -> None:
        self.name = name
        self.complete = False
        self.completed_at = 0.0
        self._last = 0
        self._events: deque[tuple[int, bytes]] = deque()
        self._size = 0

    def add(self, data: bytes) -> bytes:
        """Note an event; it is returned as it goes over the wire."""
        self._last += 1
        made = event(data, f"{self.name}-{self._last}")
        self._events.append((self._last, made))
        self._size += len(made)
        while self._size > KEPT_BYTES and len(self._events) > 1:
            self._size -= len(self._events.popleft()[1])
        return made

    @property
    def size(self) -> int:
        return self._size

    def finish(self, now: float, *, written: bool) -> None:
        """There is no more to come. What is very long, and was sent, is not kept for the case that it got lost."""
        self.complete, self.completed_at = True, now
        if written and self._size > KEPT_BYTES:
            self._events.clear()
            self._size = 0

    def primer(self, retry_ms: int | None = None) -> bytes:
        """An event that says nothing but where the client is."""
        wait = f"retry: {retry_ms}\n" if retry_ms is not None else ""
        return f"id: {self.name}-{self._last}\n{wait}data: \n\n".encode()

    def after(self, number: int) -> list[bytes]:
        return [made for at, made in self._events if at > number]

    @staticmethod
    def position(event_id: str) -> tuple[str, int] | None:
        """The stream, and the event in it, that an id means."""
        name, dash, number = event_id.rpartition("-")
        if not dash or not number.isascii() or not number.isdecimal() or len(number) > LONGEST_NUMBER:
            return None
        return name, int(number)
