"""One text for one JSON value: RFC 8785 (JCS), made total.

Equal values have equal bytes, and different ones different bytes; so hashes can be compared in place of values. Numbers are
compared by what they are worth: 1 and 1.0 are one value. JCS has no form for integers that no double can hold, for NaN and the
infinities, for half characters, and for what is no JSON at all. Such values are written as an object with the one key
``$awf`` (`["integer", "0x…"]`, `["number", "NaN"]`, `["text", …]`, …), and an object that has this key by itself is written so,
too. Everything that comes out is plain JCS: any other implementation reads it and writes the same bytes.

There are two ways. msgspec writes JCS already where keys and numbers are of the usual kinds, at a fraction of the cost;
`encoded_alike` says when. Everything else takes the exact way, which needs no recursion, so that depth is no matter.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any

import msgspec

__all__ = ["canonical", "canonical_line", "canonical_lines", "encoded_alike", "plainly", "sha256_hex"]

_TAG = "$awf"
_TAG_BYTES = b'"$awf"'
_DOLLAR = ord("$")
_EXACT = 2**53 - 1  # up to here every integer is a double of its own
_BEYOND_BMP = re.compile(rb"[\xf0-\xff]")  # there UTF-8 and UTF-16 sort differently
# What begins like a number, behind what stands before a value; in a text that means nothing.
_KINDS = bytes(
    ord("0") if chr(code) in "0123456789-" else ord(":") if chr(code) in ":[," else ord("x")
    for code in range(256)
)
_MAYBE_NUMBER = b":0"
_encoder = msgspec.json.Encoder(order="sorted")
_encode, _encode_lines = _encoder.encode, _encoder.encode_lines
plainly = _encode  # as msgspec writes it, with sorted keys; most often that is the canonical form. Raises whatever it does


def canonical(value: Any) -> bytes:
    """The canonical bytes of any value. Never raises."""
    try:
        encoded = _encode(value)
    except Exception:  # noqa: BLE001  whatever msgspec refuses, the exact way has a form for
        return _exact(value)
    return encoded if encoded_alike((value,), encoded) else _exact(value)


def canonical_line(value: Mapping[str, Any]) -> bytes:
    """The same for an object that was read from JSON, at a lower price."""
    try:
        encoded = _encode(value)
    except Exception:  # noqa: BLE001  as above
        return _exact(value)
    for one in value.values():
        if type(one) is not str:
            return encoded if _needs_no_look(encoded) else canonical(value)
    # Only texts, as most arguments are.
    return encoded if encoded.isascii() and _DOLLAR not in encoded else canonical(value)


def canonical_lines(values: Sequence[Mapping[str, Any]]) -> tuple[bytes, list[bytes]]:
    """The same for many: in one text, with line ends between them, and one by one."""
    if not values:
        return b"", []
    try:
        joined = _encode_lines(values)
    except Exception:  # noqa: BLE001  as above
        return _one_by_one(values)
    if _needs_no_look(joined):
        return joined, joined[:-1].split(b"\n")
    return _one_by_one(values)


def _needs_no_look(encoded: bytes) -> bool:
    """Whether what msgspec wrote of something that was read from JSON is JCS, whatever the values are: no number is in it."""
    # `find`, since `in` tries bytes as a number first, which takes longer than looking for them.
    return (
        encoded.isascii()
        and encoded.translate(_KINDS).find(_MAYBE_NUMBER) < 0
        and (_DOLLAR not in encoded or _TAG_BYTES not in encoded)
    )


def _one_by_one(values: Sequence[Mapping[str, Any]]) -> tuple[bytes, list[bytes]]:
    lines = [canonical(value) for value in values]
    return b"\n".join(lines), lines


def sha256_hex(value: Any) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()


def encoded_alike(values: tuple[Any, ...], encoded: bytes) -> bool:
    """Whether what msgspec wrote for something with these values in it, with sorted keys, is JCS."""
    if _TAG_BYTES in encoded or not (encoded.isascii() or _BEYOND_BMP.search(encoded) is None):
        return False
    waiting: list[Any] = [values]
    for inner in waiting:  # grows meanwhile; ends, since msgspec could write it
        for one in inner:
            kind = type(one)
            if kind is str or kind is bool or one is None:
                continue
            if kind is dict:
                waiting.append(one.values())
            elif kind is list or kind is tuple:
                waiting.append(one)
            elif isinstance(one, dict):  # a kind of our own
                waiting.append(one.values())
            elif not ((kind is int and -_EXACT <= one <= _EXACT) or (kind is float and _usual(one))):
                return False
    return True


def _usual(value: float) -> bool:
    """Whether msgspec writes it as ECMAScript does."""
    return 1e-3 <= abs(value) < 1e15 and value % 1 != 0


# -- the exact way ---------------------------------------------------------------------------------------------------


class _Written(str):
    """Text of the result, among values that are still to be written."""

    __slots__ = ()


class _Left(msgspec.Struct, frozen=True):
    """The end of a container that nothing inside it may hold again. Keeps it, lest another one gets its address."""

    container: Any


def _exact(value: Any) -> bytes:
    out: list[str] = []
    inside: set[int] = set()
    waiting: list[Any] = [value]
    while waiting:
        one = waiting.pop()
        if type(one) is _Written:
            out.append(one)
        elif type(one) is _Left:
            inside.discard(id(one.container))
        elif isinstance(one, dict | list | tuple | set | frozenset):
            if id(one) in inside:
                out.append(_tagged("cycle"))
                continue
            inside.add(id(one))
            waiting.append(_Left(one))
            waiting += reversed(list(_parts(one)))
        else:
            out.append(_scalar(one))
    return "".join(out).encode()


def _parts(container: Any) -> Iterator[Any]:
    if isinstance(container, dict):
        yield from _object(container)
    elif isinstance(container, list | tuple):
        yield from _array(container)
    else:
        yield _Written(f'{{"{_TAG}":["set",')
        yield from _array([_Written(text) for text in sorted(map(_text, container))])
        yield _Written("]}")


def _array(items: Any) -> Iterator[Any]:
    yield _Written("[")
    for number, item in enumerate(items):
        if number:
            yield _Written(",")
        yield item
    yield _Written("]")


def _object(mapping: dict[Any, Any]) -> Iterator[Any]:
    if not all(isinstance(key, str) and _has_form(key) for key in mapping) or _TAG in mapping:
        pairs = sorted((_text(key), number) for number, key in enumerate(mapping))
        values = list(mapping.values())
        yield _Written(f'{{"{_TAG}":["object",')
        yield from _array([(_Written(text), values[number]) for text, number in pairs])
        yield _Written("]}")
        return
    yield _Written("{")
    for number, key in enumerate(sorted(mapping, key=_in_utf16)):
        yield _Written(f"{',' if number else ''}{encode_basestring(key)}:")
        yield mapping[key]
    yield _Written("}")


def _text(value: Any) -> str:
    try:
        return canonical(value).decode()
    except RecursionError:  # sets in sets in sets, as keys
        return _tagged("deep", type(value).__qualname__)


def _in_utf16(key: str) -> bytes:
    return key.encode("utf-16-be")


def _has_form(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = str.__str__(value)
        if _has_form(text):
            return encode_basestring(text)
        return _tagged("text", text.encode("utf-8", "surrogatepass").hex())
    if isinstance(value, int):
        return _integer(int(value))
    if isinstance(value, float):
        return _number(float(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return _tagged("bytes", bytes(value).hex())
    return _tagged("other", f"{type(value).__module__}.{type(value).__qualname__}", _shown(value))


def _tagged(*parts: str) -> str:
    return f'{{"{_TAG}":[{",".join(map(encode_basestring, parts))}]}}'


def _shown(value: Any) -> str:
    try:
        return repr(value).encode("utf-8", "backslashreplace").decode()
    except Exception:  # noqa: BLE001  what cannot even say what it is
        return ""


def _integer(value: int) -> str:
    """As the double that it is, if there is one; in base 16 otherwise, which has no limit of length."""
    if -_EXACT <= value <= _EXACT:
        return str(value)
    try:
        double = float(value)
    except OverflowError:
        return _tagged("integer", hex(value))
    return _number(double) if double == value else _tagged("integer", hex(value))


def _number(value: float) -> str:
    """As ECMAScript writes it: the digits are those of `repr`, the rest is not."""
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124  NaN is what differs from itself
        return _tagged("number", "NaN" if value != value else "Infinity" if value > 0 else "-Infinity")  # noqa: PLR0124
    if value == 0:
        return "0"
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    written = whole + fraction
    digits = written.lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(written) - len(digits))
    return ("-" if value < 0 else "") + _placed(digits.rstrip("0"), point)


def _placed(digits: str, point: int) -> str:
    """Digits, and how many of them stand before the point."""
    if len(digits) <= point <= 21:
        return digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{rest}e{'+' if point > 0 else '-'}{abs(point - 1)}"
