"""From bytes to text and back without losing one.

A byte order mark decides. Without one it is UTF-8; what is not, is read as one of the old Western encodings if nothing
in it looks like UTF-8, and else as UTF-8 with a few stray bytes, which are kept.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

__all__ = ["Encoding", "decoded", "encoding_of", "mark_of"]

# The longer marks come first: that of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UTF8_SEQUENCE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")


class Encoding(NamedTuple):
    name: str
    mark: bytes = b""
    errors: str = "strict"

    def encode(self, text: str) -> bytes:
        """Raises `UnicodeEncodeError` for what the encoding does not have."""
        return self.mark + text.encode(self.name, self.errors)


def mark_of(head: bytes) -> Encoding | None:
    return next((Encoding(name, mark) for mark, name in _MARKS if head.startswith(mark)), None)


def encoding_of(data: bytes) -> Encoding:
    """For data without a mark, of which nothing is missing."""
    for name in ("utf-8", *(() if _UTF8_SEQUENCE.search(data) else ("cp1252", "latin-1"))):
        try:
            data.decode(name)
        except UnicodeDecodeError:
            continue
        return Encoding(name)
    return Encoding("utf-8", errors="surrogateescape")


def decoded(data: bytes) -> tuple[str, Encoding]:
    """Raises `UnicodeDecodeError` when it is not what its mark says."""
    encoding = mark_of(data) or encoding_of(data)
    return data[len(encoding.mark) :].decode(encoding.name, encoding.errors), encoding
