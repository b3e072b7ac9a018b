"""The host that an address leads to, written in one way only, so that a rule cannot be passed by in disguise."""

from __future__ import annotations

import re
from urllib.parse import unquote

__all__ = ["file_of", "host_of", "is_address"]

_SCHEME = re.compile(r"\s*[A-Za-z][A-Za-z0-9+.\-]*:[/\\]{2}")
_AUTHORITY = re.compile(r"[^/\\?#]*")
_PORT = re.compile(r":[0-9]*$")
_IGNORED = re.compile(r"[\t\r\n]")
_NUMBER = re.compile(r"0[xX][0-9A-Fa-f]*|[0-9]+")
_EDGES = "".join(map(chr, range(0x21)))
_LONGEST = 2048


def is_address(text: str) -> bool:
    """Whether it begins like a URL with a host in it."""
    return "://" in text[:64] and _SCHEME.match(text) is not None


def file_of(text: str) -> str | None:
    """The path of a file: URL, whoever's host it names."""
    start = text[:64].lstrip(_EDGES)
    if start[:5].lower() != "file:":
        return None
    rest = _IGNORED.sub("", text.lstrip(_EDGES)[5:])
    if rest.startswith("//"):
        rest = rest[2:]
        slash = rest.find("/")
        rest = rest[slash:] if slash >= 0 else f"/{rest}"
    return unquote(re.split(r"[?#]", rest, maxsplit=1)[0], errors="replace")


def host_of(text: str) -> str:
    """Lower case, no user, no port, names of other scripts as they are on the wire, numbers as dotted addresses."""
    plain = _IGNORED.sub("", text[:_LONGEST]).strip(_EDGES)
    scheme = _SCHEME.match(plain)
    plain = plain[scheme.end() :] if scheme else plain.removeprefix("//")
    if scheme and not plain.startswith("["):
        plain = plain.lstrip("/\\")
    found = _AUTHORITY.match(plain)
    name = (found.group() if found else "").rpartition("@")[2]
    if name.startswith("[") or name.count(":") > 1:
        return _six(name)
    name = unquote(_PORT.sub("", name), errors="replace")
    return _four(_ascii(name).rstrip(".").lower())


def _six(name: str) -> str:
    import ipaddress  # late: few addresses are of this kind

    inner = name[1:].partition("]")[0] if name.startswith("[") else name
    try:
        return str(ipaddress.IPv6Address(inner.partition("%")[0]))
    except ValueError:
        return name.lower()


def _ascii(name: str) -> str:
    if name.isascii():
        return name
    import unicodedata  # late: as above

    folded = unicodedata.normalize("NFKC", name).replace("\u3002", ".").lower()
    try:
        return folded.encode("idna").decode("ascii")
    except UnicodeError:
        return folded


def _four(name: str) -> str:
    """`0x7f.1`, `017700000001` and `2130706433` are 127.0.0.1 for most programs."""
    parts = name.split(".")
    if len(parts) > 4 or not _NUMBER.fullmatch(parts[-1]) or not all(map(_NUMBER.fullmatch, parts)):
        return name
    try:
        numbers = [_number(part) for part in parts]
    except ValueError:
        return name
    last = 256 ** (5 - len(parts))
    if any(one > 255 for one in numbers[:-1]) or numbers[-1] >= last:
        return name
    whole = sum(one * 256 ** (3 - at) for at, one in enumerate(numbers[:-1])) + numbers[-1]
    return ".".join(str(whole >> shift & 255) for shift in (24, 16, 8, 0))


def _number(text: str) -> int:
    if len(text) > 40:
        raise ValueError(text)
    if text[:2].lower() == "0x":
        return int(text[2:] or "0", 16)
    return int(text, 8) if len(text) > 1 and text[0] == "0" else int(text)
