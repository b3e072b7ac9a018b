"""The body of a request, however it was sent."""

from __future__ import annotations

import gzip
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from email.message import Message
    from io import BufferedIOBase

__all__ = ["request_body"]


def request_body(headers: Message, stream: BufferedIOBase) -> bytes:
    if "chunked" in headers.get("Transfer-Encoding", "").lower():
        raw = _chunks(stream)
    else:
        raw = stream.read(int(headers.get("Content-Length") or 0))
    coding = headers.get("Content-Encoding", "").lower()
    if coding == "gzip":
        return gzip.decompress(raw)
    return zlib.decompress(raw) if coding == "deflate" else raw


def _chunks(stream: BufferedIOBase) -> bytes:
    parts = []
    while size := int(stream.readline().split(b";")[0].strip() or b"0", 16):
        parts.append(stream.read(size))
        stream.readline()
    while stream.readline().strip():
        pass
    return b"".join(parts)
