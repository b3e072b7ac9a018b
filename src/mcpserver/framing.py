"""Bytes to JSON messages and back. No I/O.

A message is one line of UTF-8 JSON. Whatever arrives becomes either a message or a coded error; nothing that a peer
sends raises here. A line over the ceiling is dropped while it arrives, so that it never costs its length in memory.
"""

from __future__ import annotations

import json
import sys

from mcpserver.errors import NotJsonError, PeerError
from mcpserver.messages import INVALID_REQUEST, PARSE_ERROR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, NoReturn

__all__ = ["MAX_LINE", "Frames", "decode", "encode", "mended"]

MAX_LINE: Final = 10 * 1024 * 1024


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_decode = json.JSONDecoder(parse_constant=_refuse_constant).decode
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def decode(line: bytes | bytearray) -> Any:
    """The JSON value of one line, or the PeerError that answers it."""
    try:
        return _decode(line.decode())
    except UnicodeDecodeError:
        return PeerError(PARSE_ERROR, "Parse error: the line is not UTF-8")
    except (ValueError, RecursionError) as error:  # no JSON, or too much of it
        return PeerError(PARSE_ERROR, f"Parse error: {_too_much(error) or str(error)[:200]}")


def encode(message: dict[str, Any] | list[dict[str, Any]]) -> bytes:
    """One line. Raises NotJsonError when a value in it has no JSON form."""
    try:
        text = _encode(message)
        try:
            return text.encode() + b"\n"
        except UnicodeEncodeError:
            return _escaped(message)
    except (TypeError, ValueError, RecursionError) as error:
        raise NotJsonError(_too_much(error) or f"{type(error).__name__}: {str(error)[:200]}") from error


def _too_much(error: Exception) -> str:
    """Python's own words for it are advice for whoever writes Python."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if "set_int_max_str_digits" in str(error):
        return f"an integer has more than {sys.get_int_max_str_digits()} digits"
    return ""


def _escaped(message: dict[str, Any] | list[dict[str, Any]]) -> bytes:
    """Half a surrogate pair has no UTF-8 form. In what we say it is replaced; an id goes back as it came, as an escape."""
    parts = message if isinstance(message, list) else [message]
    clean = [{key: mended(value) if key != "id" else value for key, value in part.items()} for part in parts]
    text = json.dumps(
        clean if isinstance(message, list) else clean[0], allow_nan=False, separators=(",", ":")
    )
    return text.encode() + b"\n"


def mended(value: Any) -> Any:
    """The same value with every unpaired surrogate replaced."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {mended(key): mended(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [mended(item) for item in value]
    return value


class Frames:
    """Collects bytes and gives out what each complete line says."""

    __slots__ = ("_buffer", "_ceiling", "_draining", "_searched")

    def __init__(self, ceiling: int = MAX_LINE) -> None:
        self._ceiling = ceiling
        self._buffer = bytearray()
        self._searched = 0  # no newline before this place
        self._draining = False

    def feed(self, data: bytes) -> list[Any]:
        """Messages, and PeerErrors for what is none, in order."""
        if not self._buffer and not self._draining and data.find(b"\n") == len(data) - 1 and data:
            return self._one(data)  # by far the usual case: exactly one line
        self._buffer += data
        found: list[Any] = []
        start = 0
        while (end := self._buffer.find(b"\n", max(start, self._searched))) >= 0:
            if self._draining:
                self._draining = False
            else:
                found += self._one(self._buffer[start:end])
            start = end + 1
        del self._buffer[:start]
        self._searched = len(self._buffer)
        found += self._limit()
        return found

    def end(self) -> list[Any]:
        """The input has ended: a last line may lack its newline."""
        rest, self._buffer, self._searched = self._buffer, bytearray(), 0
        return [] if self._draining else self._one(rest)

    def _one(self, line: bytes | bytearray) -> list[Any]:
        if len(line) > self._ceiling and len(line.rstrip(b"\r\n")) > self._ceiling:
            return [self._too_long()]
        return [] if line.isspace() or not line else [decode(line)]

    def _limit(self) -> list[Any]:
        """Drop what belongs to a line that is too long already; answer it once."""
        if self._draining:
            self._forget()
            return []
        if len(self._buffer) <= self._ceiling:
            return []
        self._forget()
        self._draining = True
        return [self._too_long()]

    def _forget(self) -> None:
        self._buffer.clear()
        self._searched = 0

    def _too_long(self) -> PeerError:
        return PeerError(
            INVALID_REQUEST,
            f"Invalid request: a message may have at most {self._ceiling} bytes. "
            "This one was dropped unread; send less at a time.",
        )
