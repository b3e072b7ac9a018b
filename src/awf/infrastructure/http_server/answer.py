"""Answers as bytes."""

from __future__ import annotations

import functools
import re
import time
from http import HTTPStatus
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["has_body", "head_of", "refusal_bytes", "stream_head", "whole"]

HEADS_KEPT = 256
_WITHOUT_BODY = frozenset({204, 304})
_OURS = frozenset({"content-length", "transfer-encoding", "connection", "date"})
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

Kind = tuple[int, tuple[tuple[str, str], ...]]  # status and headers
_ready: dict[Kind, tuple[int, bytes]] = {}


def whole(
    status: int, headers: Iterable[tuple[str, str]], body: bytes, last: bytes, *, head_only: bool
) -> bytes:
    """Raises ValueError for what cannot be sent. `last`: the line about the connection, or nothing."""
    head = head_of(status, headers, len(body), last)
    return head if head_only or not has_body(status) else head + body


def head_of(status: int, headers: Iterable[tuple[str, str]], length: int, last: bytes) -> bytes:
    """The same without the body."""
    kind = status, tuple(headers)
    second = int(time.time())
    ready = _ready.get(kind)
    if ready is None or ready[0] != second:
        ready = _made_ready(kind, second)
    if status in _WITHOUT_BODY:
        return b"%b%b\r\n" % (ready[1], last)
    return b"%bContent-Length: %d\r\n%b\r\n" % (ready[1], length, last)


def _made_ready(kind: Kind, second: int) -> tuple[int, bytes]:
    """Within one second, answers of one kind differ in their length only."""
    if len(_ready) >= HEADS_KEPT:
        _ready.clear()
    made = _ready[kind] = (second, _head(*kind) + _date_line(second))
    return made


def stream_head(status: int, headers: Iterable[tuple[str, str]], *more: bytes) -> bytes:
    head = _head(status, tuple(headers))
    return b"".join((head, _date_line(int(time.time())), *more, b"\r\n"))


def refusal_bytes(status: int, text: str) -> bytes:
    fields = [("Content-Type", "text/plain; charset=utf-8")]
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        fields.append(("Retry-After", "1"))
    return whole(status, fields, f"{text}\n".encode(), b"Connection: close\r\n", head_only=False)


def has_body(status: int) -> bool:
    return status not in _WITHOUT_BODY


@functools.lru_cache(maxsize=HEADS_KEPT)  # most answers have the same head
def _head(status: int, headers: tuple[tuple[str, str], ...]) -> bytes:
    if not 200 <= status <= 599:
        raise ValueError(f"{status} is not the status of an answer")
    lines = [f"HTTP/1.1 {status} {_reason(status)}\r\n", *(_line(name, value) for name, value in headers)]
    return "".join(lines).encode("latin-1")


def _line(name: str, value: str) -> str:
    # A line end would begin a header, or a whole answer, of somebody else's making.
    if name.lower() in _OURS or not _NAME.fullmatch(name) or _CONTROL.search(value):
        raise ValueError(f"the header {name!r} cannot be sent")
    return f"{name}: {value}\r\n"


def _reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"


@functools.lru_cache(maxsize=2)
def _date_line(second: int) -> bytes:
    at = time.gmtime(second)
    day, month = _DAYS[at.tm_wday], _MONTHS[at.tm_mon - 1]
    return (
        f"Date: {day}, {at.tm_mday:02} {month} {at.tm_year} "
        f"{at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02} GMT\r\n"
    ).encode()
