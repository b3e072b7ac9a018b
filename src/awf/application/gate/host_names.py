"""The hosts and files that an address leads to, written in one way only, so that a rule cannot be passed by in disguise.

Programs do not agree on what a strange address means. Where they are known to differ, all that they take it for is told.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

__all__ = ["files_of", "hosts_of", "is_address"]

# Browsers pass over tabs and ends of lines wherever they are, and need no slashes where they know the scheme.
_ANY = re.compile(r"[\x00-\x20]*([A-Za-z][A-Za-z0-9+.\-\t\r\n]*):[\t\r\n]*([/\\]?)[\t\r\n]*([/\\]?)")
_HOSTED = frozenset({"http", "https", "ws", "wss", "ftp", "ftps"})
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_AUTHORITY, _LOOSE_AUTHORITY = re.compile(r"[^/\\?#]*"), re.compile(r"[^/?#]*")
_PORT = re.compile(r":[0-9]*$")
_IGNORED = re.compile(r"[\t\r\n]")
_NUMBER = re.compile(r"0[xX][0-9A-Fa-f]*|[0-9]+")
_EDGES = "".join(map(chr, range(0x21)))
_NEWER = re.compile("[\u00df\u03c2\u200c\u200d]")  # which older rules for names replace, and newer ones keep
_LONGEST = 2048  # of a host with user and port


def is_address(text: str) -> bool:
    """Whether it begins like a URL with a host in it."""
    begins = _ANY.match(text)
    if begins is None:
        return False
    if begins[2] and begins[3]:
        return True
    if _scheme(begins) not in _HOSTED:
        return False
    rest = text[begins.end() : begins.end() + 1]
    return bool(rest) and rest > " "  # "http: …" is prose


def files_of(text: str) -> tuple[str, ...]:
    """The paths that a file: URL may mean, whoever's host it names. Empty: it is no such URL."""
    begins = _ANY.match(text)
    if begins is None or _scheme(begins) != "file":
        return ()
    rest = re.split(r"[?#]", _plain(text).partition(":")[2], maxsplit=1)[0]
    found: dict[str, None] = {}
    for form in (rest, rest.replace("\\", "/")):
        path = form
        if form.startswith("//"):
            slash = form.find("/", 2)
            path = form[slash:] if slash >= 0 else f"/{form[2:]}"
        path = unquote(path, errors="replace")
        found[path] = found[f"/{path.lstrip('/')}"] = None
    return tuple(found)


def hosts_of(text: str) -> tuple[str, ...]:
    """Lower case, no user, no port, names of other scripts as they are on the wire, numbers as dotted addresses. Empty: nobody can tell."""
    plain = _plain(text)
    scheme = _SCHEME.match(plain) if is_address(text) else None
    plain = plain[scheme.end() :] if scheme else plain.removeprefix("//")
    if scheme:
        plain = plain.lstrip("/\\")
    found: dict[str, None] = {}
    for authority in (_AUTHORITY, _LOOSE_AUTHORITY):  # not all take a backslash for a slash
        named = authority.match(plain)
        assert named is not None
        if len(named.group()) > _LONGEST:
            return ()
        found.update(dict.fromkeys(_named(named.group().rpartition("@")[2])))
    return tuple(found)


def _scheme(begins: re.Match[str]) -> str:
    return _IGNORED.sub("", begins[1]).lower()


def _plain(text: str) -> str:
    return _IGNORED.sub("", text).strip(_EDGES)


def _named(name: str) -> tuple[str, ...]:
    if name.startswith("[") or name.count(":") > 1:
        return (_six(name),)
    name = unquote(_PORT.sub("", name), errors="replace")
    return tuple(_four(one.rstrip(".").lower()) for one in _ascii(name))


def _six(name: str) -> str:
    import ipaddress  # late: few addresses are of this kind

    inner = name[1:].partition("]")[0] if name.startswith("[") else name
    try:
        address = ipaddress.IPv6Address(inner.partition("%")[0])
    except ValueError:
        return name.lower()
    return str(address.ipv4_mapped or address)


def _ascii(name: str) -> tuple[str, ...]:
    if name.isascii():
        return (name,)
    import unicodedata  # late: as above

    folded = unicodedata.normalize("NFKC", name).replace("\u3002", ".").lower()
    try:
        older = folded.encode("idna").decode("ascii")
    except UnicodeError:
        return (folded,)
    if not _NEWER.search(folded):
        return (older,)
    return older, ".".join(map(_on_the_wire, folded.split(".")))


def _on_the_wire(label: str) -> str:
    return label if label.isascii() else f"xn--{label.encode('punycode').decode('ascii')}"


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
