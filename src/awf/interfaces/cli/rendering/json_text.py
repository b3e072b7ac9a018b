from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["write_json"]


def write_json(out: TextIO, value: Any, *, indent: int = 0) -> None:
    """One JSON document and a newline, in what the stream can carry."""
    try:
        encoded = msgspec.json.encode(value, enc_hook=str)
        text = (msgspec.json.format(encoded, indent=indent) if indent else encoded).decode()
        out.write(text + "\n")
    except UnicodeEncodeError:  # the stream's encoding, or half a character in a file name
        out.write(json.dumps(value, default=str, indent=indent or None) + "\n")
    out.flush()
