"""The hosts and files that an address leads to, written in one way only, so that a rule cannot be passed by in disguise.

Programs do not agree on what a strange address means. Where they are known to differ, all that they take it for is told.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["files_of", "hosts_of", "is_address"]

# Browsers pass over tabs and ends of lines wherever they are, and need no slashes where they know the scheme.
_ANY = re.compile(r"([A-Za-z][A-Za-z0-9+.\-\t\r\n]*):[\t\r\n]*([/\\]?)[\t\r\n]*([/\\]?)")
_HOSTED = frozenset({"http", "https", "ws", "wss", "ftp", "ftps"})
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
# Written as nearly all are, so that there is only one thing it can mean.
_USUAL = re.compile(r"(?:https?|wss?)://((?:[a-z0-9_-]+\.)*[a-z][a-z0-9_-]*)(?::[0-9]*)?(?:[/?#]|\Z)")
_AUTHORITY, _LOOSE_AUTHORITY = re.compile(r"[^/\\?#]*"), re.compile(r"[^/?#]*")
_IGNORED = re.compile(r"[\t\r\n]")
_NUMBER = re.compile(r"0[xX][0-9A-Fa-f]*|[0-9]+")
# White space of all scripts, marks that nobody sees, and brackets around an address.
_EDGES = "".join(map(chr, range(0x21))) + "<>\x7f\x85\xa0\u1680\u180e\u2028\u2029\u202f\u205f\u3000\ufeff"
_EDGES += "".join(map(chr, range(0x2000, 0x2010)))
_REMOTE = re.compile(r"[^\s@:/\\]+@(\[[^\s\]]+\]|[^\s@:/\\]+):\S+\Z")
_BETWEEN = re.compile(r"[\s;&'()+!$=\"`<>]+")  # words
_BETWEEN_ADDRESSES = re.compile(r"[\s,;|]+")
_END = re.compile(r"[:\\]")  # of a name
# In a host; of ASCII that leaves letters, digits, `-`, `.`, `_` and `*`.
_IMPOSSIBLE = re.compile(r"[\x00-)+,/:-@\[-^`{-\x7f\ufffd]")
_NEWER = re.compile("[\u00df\u03c2\u200c\u200d]")  # which older rules for names replace, and newer ones keep
_MOST_DIGITS = 40
_MOST_BEGINNINGS = 8  # of addresses in one another
_LONGEST = 2048  # of a host with user and port


def is_address(text: str) -> bool:
    """Whether it begins like a URL with a host in it, or is one as git and ssh write it: user@host:path."""
    text = _unwrapped(text)
    begun = False
    for begins in _beginnings(text):
        if _has_host(begins):
            return True
        begun = True
    return not begun and _is_remote(text)


def files_of(text: str) -> tuple[str, ...]:
    """The paths that a file: URL may mean, whoever's host it names. Empty: it is no such URL."""
    text = _unwrapped(text)
    for begins in _beginnings(text):
        if _scheme(begins) in _HOSTED:
            return ()
        if _scheme(begins) == "file":
            break
    else:
        return ()
    rest = re.split(r"[?#]", _IGNORED.sub("", text[begins.start() :]).partition(":")[2], maxsplit=1)[0]
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
    usual = _USUAL.match(text)
    if usual is not None and len(usual[1]) <= _LONGEST and text.find(":", usual.end()) < 0:
        return (usual[1],)
    found: dict[str, None] = {}
    for one in (text, *_others_in(text)):
        hosts = _looked_into(one)
        if not hosts:
            return ()
        found.update(dict.fromkeys(hosts))
    return tuple(found)


def _others_in(text: str) -> list[str]:
    """Addresses behind the first, for programs that take a list."""
    return [one for one in _BETWEEN_ADDRESSES.split(_unwrapped(text))[1:] if is_address(one)]


def _looked_into(text: str) -> tuple[str, ...]:
    plain = _IGNORED.sub("", _unwrapped(text))
    places = [begins.start() for begins in _beginnings(plain) if _has_host(begins)]
    if len(places) > _MOST_BEGINNINGS:
        return ()
    found: dict[str, None] = {}
    for place in places or [0]:
        hosts = _hosts_in(plain[place:], is_url=bool(places))
        if not hosts:
            return ()
        found.update(dict.fromkeys(hosts))
    return tuple(found)


def _hosts_in(plain: str, *, is_url: bool) -> tuple[str, ...]:
    scheme = _SCHEME.match(plain) if is_url else None
    plain = plain[scheme.end() :].lstrip("/\\") if scheme else plain.removeprefix("//")
    found: dict[str, None] = {}
    for authority in (_AUTHORITY, _LOOSE_AUTHORITY):  # not all take a backslash for a slash
        named = authority.match(plain)
        assert named is not None
        if len(named.group()) > _LONGEST:
            return ()
        names = _after_scheme(named.group()) if scheme else _bare(named.group())
        for name in names or [""]:
            hosts = _named(name)
            if not hosts:
                return ()
            found.update(dict.fromkeys(hosts))
    return tuple(found)


def _beginnings(text: str) -> Iterator[re.Match[str]]:
    """Of an address, and of one in it: `view-source:http://…`, `jdbc:postgresql://…`, `git::https://…`."""
    at = 0
    while (begins := _ANY.match(text, at)) is not None:
        yield begins
        if begins[2]:
            return
        at = begins.end()
        while text.startswith(":", at):
            at += 1


def _has_host(begins: re.Match[str]) -> bool:
    if begins[2] and begins[3]:
        return True
    rest = begins.string[begins.end() : begins.end() + 1]
    return _scheme(begins) in _HOSTED and rest > " "  # "http: …" is prose


def _scheme(begins: re.Match[str]) -> str:
    return _IGNORED.sub("", begins[1]).lower()


def _unwrapped(text: str) -> str:
    """Without what programs take away before they read an address: `<URL:http://…>` is one for some."""
    inner = text.strip(_EDGES)
    return inner[4:].lstrip(_EDGES) if inner[:4].upper() == "URL:" else inner


def _is_remote(text: str) -> bool:
    """Images and packages look similar (`name@sha256:…`), but have no dot there."""
    remote = _REMOTE.match(text)
    return remote is not None and ("." in remote[1] or remote[1].startswith("[") or remote[1] == "localhost")


def _after_scheme(authority: str) -> list[str]:
    """Other words may follow, in which there is an @ as well. Some schemes take a list of hosts."""
    listed = []
    for form in dict.fromkeys((authority, _words(authority)[0])):
        listed += _words(form.rpartition("@")[2])[0].split(",")
    return [name for name in listed if name]


def _bare(authority: str) -> list[str]:
    """Nothing says that it is one address: it may be a list of them. Some look for the @ only before the colon."""
    found = []
    for word in _words(authority.replace(",", " ")):
        found.append(word.rpartition("@")[2])
        if "@[" not in word and _is_remote(word):
            found.append(word.partition(":")[0].rpartition("@")[2])
    return [name for name in found if name]


def _words(text: str) -> list[str]:
    return _BETWEEN.split(text.strip(_EDGES))


def _named(name: str) -> tuple[str, ...]:
    """All that programs take it for. Empty: what is left can be no name, so that nobody knows what they make of it."""
    plain = unquote(name, errors="replace")
    if plain.startswith("[") or plain.count(":") > 1:
        six = _six(name) or _six(plain)
        if six or plain.startswith("["):
            return (six,) if six else ()
    # What comes after a colon, be it a number or not, is no part of a name. Some look for it after they have unquoted.
    before = _words(_END.split(plain, maxsplit=1)[0])[0]
    found: dict[str, None] = {}
    for one in _ascii(before):
        host = one.rstrip(".").lower()
        if _IMPOSSIBLE.search(host):
            return ()
        found.update(dict.fromkeys(_four(host)))
    return tuple(found)


def _six(name: str) -> str:
    """Empty: it is none."""
    import ipaddress  # late: few addresses are of this kind

    inner = name[1:].partition("]")[0] if name.startswith("[") else name
    try:
        address = ipaddress.IPv6Address(inner.partition("%")[0])
    except ValueError:
        return ""
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


def _four(name: str) -> tuple[str, ...]:
    """`0x7f.1`, `017700000001` and `2130706433` are 127.0.0.1 for most programs. Some see no octal numbers in leading zeros."""
    parts = name.split(".")
    if len(parts) > 4 or not _NUMBER.fullmatch(parts[-1]) or not all(map(_NUMBER.fullmatch, parts)):
        return (name,)
    found = [_dotted([_number(part) for part in parts])]
    if any(part[0] == "0" and part.isdigit() for part in parts):
        found.append(_dotted([_number(part.lstrip("0") or "0") for part in parts]))
    return tuple(dict.fromkeys(one for one in found if one)) or (name,)


def _dotted(numbers: list[int]) -> str:
    """Empty: it is no address."""
    last = 256 ** (5 - len(numbers))
    if any(not 0 <= one <= 255 for one in numbers[:-1]) or not 0 <= numbers[-1] < last:
        return ""
    whole = sum(one * 256 ** (3 - at) for at, one in enumerate(numbers[:-1])) + numbers[-1]
    return ".".join(str(whole >> shift & 255) for shift in (24, 16, 8, 0))


def _number(text: str) -> int:
    """-1: it is none, or larger than any address."""
    base = 16 if text[:2].lower() == "0x" else 8 if text[0] == "0" else 10
    digits = text[2 if base == 16 else 0 :].lstrip("0")
    try:
        return int(digits or "0", base) if len(digits) <= _MOST_DIGITS else -1
    except ValueError:
        return -1
