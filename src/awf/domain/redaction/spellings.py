"""The ways in which a secret is written down: plain, and as encoders of every day leave it.

Base64 of a longer text that has the secret in it depends on where in the text it stands. There are three cases; of
each, the characters that depend on the secret alone are looked for, and what ends with the secret is taken whole.
"""

from __future__ import annotations

import functools

__all__ = ["SHORTEST", "spellings"]

SHORTEST = 4  # characters; shorter values would black out ordinary text
_ENCODED = 8  # bytes; the encodings of shorter ones are words that occur
_LONGEST = 4096  # bytes; of longer ones only the plain and the JSON spelling are looked for
_UNRESERVED = ("", "/", "!~*'()", "!#$&'()*+,/:;=?@")  # what different encoders of addresses leave alone


# What careful writers of JSON write as numbers beside what they must, lest a page takes it for its own: which signs and how, and
# how they write all that is not ASCII. In turn: Go and Rails, Gson, PHP when asked to, those that keep to ASCII, .NET.
_CAREFUL = (
    ("<>&", "04x", ""),
    ("<>&='", "04x", ""),
    ("<>&'\"", "04X", "04x"),
    ("", "", "04X"),
    ("<>&'\"+`", "04X", "04X"),
)
_CARED_FOR = frozenset("<>&='\"+`")


def spellings(value: str) -> tuple[str, ...]:
    """Always the same ones in the same order, the plain one first. New ones come last: what was sealed has their numbers."""
    found = dict.fromkeys([value])
    bare = value.strip()
    if len(bare) >= SHORTEST:
        found[bare] = None
    for text in tuple(found):
        found |= dict.fromkeys(_in_json(text))
    raw = bare.encode("utf-8", "surrogatepass")
    if len(bare) >= SHORTEST and _ENCODED <= len(raw) <= _LONGEST:
        found |= dict.fromkeys([*_in_addresses(raw), *_in_base64(raw), raw.hex(), raw.hex().upper()])
    for text in (value, bare) if len(bare) >= SHORTEST else (value,):
        found |= dict.fromkeys(_in_careful_json(text))
    return tuple(found)


def _in_json(text: str) -> list[str]:
    """Once and twice: JSON is often carried as text in JSON."""
    import json

    once = [json.dumps(text, ensure_ascii=plain)[1:-1] for plain in (False, True)]
    once += [one.replace("/", "\\/") for one in once]
    return [*once, *(json.dumps(one, ensure_ascii=False)[1:-1] for one in once)]


def _in_careful_json(text: str) -> list[str]:
    """The same. Most secrets have nothing that anyone would write otherwise."""
    import json

    if text.isascii() and _CARED_FOR.isdisjoint(text):
        return []
    once = [_carefully(text, *way) for way in _CAREFUL]
    once += [one.replace("/", "\\/") for one in once]
    return [*once, *(json.dumps(one, ensure_ascii=False)[1:-1] for one in once)]


def _carefully(text: str, signs: str, form: str, others: str) -> str:
    written = text.translate(_as_numbers(signs, form))
    if others and not written.isascii():
        written = "".join(sign if sign.isascii() else _number(sign, others) for sign in written)
    return written


@functools.cache
def _as_numbers(signs: str, form: str) -> dict[int, str]:
    import json

    musts = {code: json.dumps(chr(code))[1:-1] for code in (*range(32), ord('"'), ord("\\"))}
    return musts | {ord(sign): _number(sign, form) for sign in signs}


def _number(sign: str, form: str) -> str:
    """As JSON has it: two of them for a sign beyond the first plane."""
    data = sign.encode("utf-16-be", "surrogatepass")
    halves = (int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2))
    return "".join(f"\\u{half:{form}}" for half in halves)


def _in_addresses(raw: bytes) -> list[str]:
    from urllib.parse import quote, quote_plus

    upper = [quote(raw, safe=left) for left in _UNRESERVED] + [quote_plus(raw)]
    return [*upper, *map(_small_escapes, upper)]


def _small_escapes(text: str) -> str:
    first, *rest = text.split("%")
    return "%".join([first, *(part[:2].lower() + part[2:] for part in rest)])


def _in_base64(raw: bytes) -> list[str]:
    from base64 import b64encode

    found = []
    for before in range(3):  # bytes that share the first group of three with it
        first = (0, 2, 3)[before]
        padded = b64encode(bytes(before) + raw).decode()
        certain = (before + len(raw)) * 8 // 6
        ends = (padded[first:certain], padded[first:].rstrip("="), padded[first:])
        found += [text for end in ends for text in (end, end.replace("+", "-").replace("/", "_"))]
    return found
