"""WebSocket frames out of bytes that may be cut anywhere, and our own as bytes. No input or output happens here."""

from __future__ import annotations

import os
from typing import NamedTuple

__all__ = [
    "BINARY",
    "CLOSE",
    "PING",
    "PONG",
    "TEXT",
    "Breach",
    "Message",
    "MessageReader",
    "closing",
    "frame",
]

CONTINUATION, TEXT, BINARY = 0, 1, 2
CLOSE, PING, PONG = 8, 9, 10
_KNOWN = frozenset({CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG})
_CONTROL_LIMIT = 125

TOO_LARGE = 1009
NOT_TEXT = 1007
WRONG = 1002


class Breach(Exception):  # noqa: N818  the other side's, and it is told so
    """What came is no WebSocket, or more than we take. `code` is what to close with."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Message(NamedTuple):
    """A text, something binary, or a control frame."""

    kind: int
    data: bytes


class _Head(NamedTuple):
    final: bool
    kind: int
    size: int
    length: int  # of the head itself


class MessageReader:
    """Feed chunks, get messages; those that came in several frames are put together."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._head: _Head | None = None
        self._kind = 0  # of the message whose frames are coming in
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[Message]:
        self._buffer += chunk
        found: list[Message] = []
        while (message := self._next()) is not None:
            found += message
        return found

    def _next(self) -> list[Message] | None:
        """What one more frame has brought, perhaps nothing; None when it is not there as a whole."""
        if self._head is None:
            self._head = _head(self._buffer)
            if self._head is None:
                return None
            self._check(self._head)
        head = self._head
        end = head.length + head.size
        if len(self._buffer) < end:
            return None
        data = bytes(memoryview(self._buffer)[head.length : end])
        del self._buffer[:end]
        self._head = None
        return self._framed(head, data)

    def _check(self, head: _Head) -> None:
        """Before the first byte of its content is waited for."""
        if head.kind not in _KNOWN:
            raise Breach(WRONG, f"a frame of the unknown kind {head.kind}")
        if head.kind >= CLOSE:
            if not head.final or head.size > _CONTROL_LIMIT:
                raise Breach(WRONG, "a control frame that is too long or in pieces")
        elif (head.kind == CONTINUATION) != bool(self._kind):
            raise Breach(WRONG, "the frames of two messages among each other")
        elif self._size + head.size > self._limit:
            raise Breach(TOO_LARGE, "a message that is too long")

    def _framed(self, head: _Head, data: bytes) -> list[Message]:
        if head.kind >= CLOSE:
            return [Message(head.kind, data)]
        self._kind = head.kind or self._kind
        self._parts.append(data)
        self._size += len(data)
        if not head.final:
            return []
        whole = Message(self._kind, data if len(self._parts) == 1 else b"".join(self._parts))
        self._kind, self._parts, self._size = 0, [], 0
        if whole.kind == TEXT and not _is_text(whole.data):
            raise Breach(NOT_TEXT, "a text that is not UTF-8")
        return [whole]


def frame(kind: int, data: bytes, mask: bytes | None = None) -> bytes:
    """One of ours: whole, and masked, as those of clients are."""
    mask = os.urandom(4) if mask is None else mask
    size = len(data)
    if size < 126:
        head = bytes((0x80 | kind, 0x80 | size))
    elif size < 65536:
        head = bytes((0x80 | kind, 0x80 | 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((0x80 | kind, 0x80 | 127)) + size.to_bytes(8, "big")
    return head + mask + _masked(data, mask)


def closing(code: int, reason: str = "") -> bytes:
    return frame(CLOSE, code.to_bytes(2, "big") + reason.encode()[:100])


def _masked(data: bytes, mask: bytes) -> bytes:
    # As one large number: some hundred times faster than byte by byte.
    size = len(data)
    key = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(data, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")


def _head(buffer: bytearray) -> _Head | None:
    if len(buffer) < 2:
        return None
    first, second = buffer[0], buffer[1]
    if first & 0x70:
        raise Breach(WRONG, "a frame with an extension that nobody asked for")
    if second & 0x80:
        raise Breach(WRONG, "a masked frame, which only clients send")
    size, length = second & 0x7F, 2
    if size >= 126:
        length = 4 if size == 126 else 10
        if len(buffer) < length:
            return None
        size = int.from_bytes(buffer[2:length], "big")
    return _Head(bool(first & 0x80), first & 0x0F, size, length)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
