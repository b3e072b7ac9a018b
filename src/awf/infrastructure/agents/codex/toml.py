"""Values as TOML writes them: Codex takes its settings on the command line in that form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["encode"]

_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_DELETE = 0x7F


def encode(value: Any) -> str:
    """A text, a number, a truth value, a list or a mapping of such, all on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return f'"{"".join(map(_character, value))}"'
    if isinstance(value, Mapping):
        pairs = (f"{encode(str(key))} = {encode(item)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(encode, value))}]"
    raise TypeError(f"TOML has no {type(value).__name__}")


def _character(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"  # half a character: bytes that were no text
    return f"\\u{code:04x}" if code < ord(" ") or code == _DELETE else character
