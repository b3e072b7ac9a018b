"""Names that say that what they name is secret.

Capital letters and separators do not matter: `apiKey`, `API_KEY` and `x-api-key` are one. Only letters of ASCII change
case here, so that a search through bytes comes to the same end.
"""

from __future__ import annotations

import functools
import itertools
import re
import string

__all__ = ["DROPPED", "FOLDED", "folded", "is_secret_key", "looks_secret"]

_WORDS = {
    "SECRET", "TOKEN", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "CREDENTIAL", "CREDENTIALS", "AUTHORIZATION",
    "ACCESSTOKEN", "REFRESHTOKEN", "AUTHTOKEN", "CLIENTSECRET", "SECRETKEY", "PRIVATEKEY", "ACCESSKEY",
}  # fmt: skip
_PAIRS = {
    ("API", "KEY"),
    ("PRIVATE", "KEY"),
    ("ACCESS", "KEY"),
    ("AUTH", "KEY"),
    ("ENCRYPTION", "KEY"),
    ("SIGNING", "KEY"),
    ("CONNECTION", "STRING"),
}
# How the name of a value in JSON may end, beside. Too much for variables, whose values are masked wherever they turn
# up: COOKIE_DOMAIN would black out a host.
_ENDS = (
    b"token", b"secret", b"password", b"passwd", b"passphrase", b"apikey", b"privatekey", b"accesskey", b"authkey",
    b"encryptionkey", b"signingkey", b"secretkey", b"authorization", b"cookie", b"cookies", b"credential",
    b"credentials", b"connectionstring",
)  # fmt: skip
# Not secret: where a list goes on. Whoever reads a long list needs them.
_CURSORS = {
    b"pagetoken", b"nextpagetoken", b"previouspagetoken", b"prevpagetoken", b"nexttoken", b"continuationtoken",
    b"nextcontinuationtoken", b"synctoken", b"nextsynctoken",
}  # fmt: skip

FOLDED = bytes(ord(chr(code).lower()) if code < 128 else code for code in range(256))
# Separators. Quotes and backslashes are none: in JSON they are the borders between texts.
DROPPED = bytes(ord(sign) for sign in string.punctuation + " " if sign not in '"\\')
_UPPER = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)
_SEPARATORS = re.compile(f"[{re.escape(DROPPED.decode())}]")
_HUMP = re.compile(r"([a-z0-9])([A-Z])")


def folded(name: str) -> bytes:
    """Small letters without separators."""
    return name.encode("utf-8", "surrogatepass").translate(FOLDED, DROPPED)


@functools.lru_cache(maxsize=4096)
def looks_secret(name: str) -> bool:
    """Whether a variable's or input's name says that its value is secret: as prefix, suffix or word."""
    parts = _SEPARATORS.split(_HUMP.sub(r"\1_\2", name).translate(_UPPER))
    return not _WORDS.isdisjoint(parts) or any(pair in _PAIRS for pair in itertools.pairwise(parts))


@functools.lru_cache(maxsize=4096)
def is_secret_key(name: str) -> bool:
    """Whether a key in data says so. Wider than the names of variables: also headers, cookies and the like."""
    plain = folded(name)
    return plain not in _CURSORS and (plain.endswith(_ENDS) or looks_secret(name))
