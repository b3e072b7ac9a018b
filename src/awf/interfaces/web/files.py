"""The files of the page, read once, with the marks by which a browser knows that it has them already."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import NamedTuple

__all__ = ["Asset", "asset", "etag_of", "is_known"]

_FOLDER = Path(__file__).with_name("assets")
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class Asset(NamedTuple):
    media_type: str
    etag: str
    body: bytes


def asset(name: str) -> Asset | None:
    """One of the files that were there at the first question. A name is never turned into a path."""
    return _assets().get(name)


@functools.cache
def _assets() -> dict[str, Asset]:
    return {file.name: _read(file) for file in _FOLDER.iterdir() if file.suffix in _TYPES}


def _read(file: Path) -> Asset:
    body = file.read_bytes()
    return Asset(_TYPES[file.suffix], etag_of(body), body)


def etag_of(body: bytes) -> str:
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def is_known(if_none_match: str, etag: str) -> bool:
    """Whether the client has this version. Proxies that compress may have made its mark a weak one."""
    marks = {mark.strip().removeprefix("W/") for mark in if_none_match.split(",")}
    return etag in marks or "*" in marks
