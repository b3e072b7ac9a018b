"""The target of a request: path and query, decoded."""

from __future__ import annotations

import functools
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote_to_bytes

from awf.infrastructure.http_server.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Target", "target_of"]

TARGETS_KEPT = 256
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ABSOLUTE = re.compile(r"https?://([^/?#@\\]+)([/?].*)?", re.IGNORECASE)
_NOTHING: Mapping[str, str] = MappingProxyType({})


class Target(NamedTuple):
    path: str
    query: Mapping[str, str]
    host: str  # only when the target is a whole address


@functools.lru_cache(maxsize=TARGETS_KEPT)  # a server has few addresses that many ask for
def target_of(raw: bytes) -> Target:
    """Raises `Refusal`."""
    text = raw.decode("latin-1")
    host = ""
    if not text.startswith("/") and text != "*":
        host, text = _split_address(text)
    if "#" in text:
        raise Refusal(400, "a request has no fragment (#)")
    path, _, query = text.partition("?")
    decoded = _decoded(path)
    if _CONTROL.search(decoded):
        raise Refusal(400, "the path has a control character in it")
    return Target(decoded, _query(query) if query else _NOTHING, host)


def _split_address(text: str) -> tuple[str, str]:
    address = _ABSOLUTE.fullmatch(text)
    if address is None:
        raise Refusal(400, "the target is neither a path nor an http address")
    rest = address[2] or "/"
    return address[1], rest if rest.startswith("/") else f"/{rest}"


def _decoded(text: str) -> str:
    if "%" not in text:
        return text
    if _STRAY_PERCENT.search(text):
        raise Refusal(400, "a % in the target is not followed by two hexadecimal digits")
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        raise Refusal(400, "the target is not UTF-8") from None


def _query(text: str) -> Mapping[str, str]:
    pairs = (part.partition("=") for part in text.replace("+", " ").split("&") if part)
    return MappingProxyType({_decoded(name): _decoded(value) for name, _, value in pairs})
