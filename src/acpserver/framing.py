"""Bytes to lines, lines to JSON values, and messages back to bytes. No I/O.

A message is one line of UTF-8 JSON. Nothing that a peer sends raises anything but a Complaint here. A line over the
ceiling is dropped while it arrives, so that it never costs its length in memory.
"""

from __future__ import annotations

import json
import sys

from acpserver.errors import Complaint, NotJsonError
from acpserver.messages import CANCEL_REQUEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, NoReturn

__all__ = ["MAX_LINE", "Lines", "Oversize", "decode", "encode"]

MAX_LINE: Final = 10 * 1024 * 1024


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    """A number that overflows would become an infinity, which could not be echoed."""
    number = float(digits)
    if number - number != 0.0:
        raise ValueError("a number is out of range")
    return number


_decode = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite).decode
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def decode(line: bytes) -> Any:
    """The JSON value of one line. Raises a Complaint."""
    try:
        value = _decode(line.decode())
        if b"\\ud" in line or b"\\uD" in line:
            return _without_halves(value)
        return value
    except UnicodeDecodeError:
        raise Complaint("parse", "the line is not UTF-8") from None
    except (ValueError, RecursionError) as error:  # no JSON, or too much of it
        raise Complaint("parse", _too_much(error) or str(error)[:200]) from None


def _without_halves(value: Any) -> Any:
    """Half a surrogate pair can be escaped in JSON, but neither be stored nor shown. Only ids must stay as they are."""
    if not isinstance(value, dict) or value.get("method") == CANCEL_REQUEST:
        return value
    return {_mended(key): item if key == "id" else _mended(item) for key, item in value.items()}


def encode(message: dict[str, Any]) -> bytes:
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


def _escaped(message: dict[str, Any]) -> bytes:
    """What we say is mended; an id goes back as it came, as an escape."""
    clean = {key: item if key == "id" else _mended(item) for key, item in message.items()}
    return json.dumps(clean, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _mended(value: Any) -> Any:
    """The same value with every unpaired surrogate replaced."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mended(item) for item in value]
    return value


class Oversize:
    """Stands for a line that was dropped."""

    __slots__ = ("ceiling",)

    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling

    def __str__(self) -> str:
        return (
            f"a message may have at most {self.ceiling} bytes. "
            "This one was dropped unread; send less at a time."
        )


class Lines:
    """Collects bytes and gives out complete lines without their newline; empty ones mean nothing."""

    __slots__ = ("_buffer", "_ceiling", "_draining", "_searched")

    def __init__(self, ceiling: int = MAX_LINE) -> None:
        self._ceiling = ceiling
        self._buffer = bytearray()
        self._searched = 0  # no newline before this place
        self._draining = False

    def feed(self, data: bytes) -> list[bytes | Oversize]:
        self._buffer += data
        found: list[bytes | Oversize] = []
        start = 0
        while (end := self._buffer.find(b"\n", max(start, self._searched))) >= 0:
            if self._draining:
                self._draining = False
            else:
                found += self._one(bytes(self._buffer[start:end]))
            start = end + 1
        del self._buffer[:start]
        self._searched = len(self._buffer)
        found += self._limit()
        return found

    def end(self) -> list[bytes | Oversize]:
        """The input has ended: a last line may lack its newline."""
        rest, self._buffer, self._searched = bytes(self._buffer), bytearray(), 0
        return [] if self._draining else self._one(rest)

    def _one(self, line: bytes) -> list[bytes | Oversize]:
        line = line.rstrip(b"\r")
        if len(line) > self._ceiling:
            return [Oversize(self._ceiling)]
        return [] if line.isspace() or not line else [line]

    def _limit(self) -> list[bytes | Oversize]:
        """Drop what belongs to a line that is too long already; tell of it once."""
        if not self._draining and len(self._buffer) <= self._ceiling:
            return []
        told: list[bytes | Oversize] = [] if self._draining else [Oversize(self._ceiling)]
        self._buffer.clear()
        self._searched = 0
        self._draining = True
        return told
