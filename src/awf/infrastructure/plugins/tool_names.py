"""Names that every model API takes: `[A-Za-z_][A-Za-z0-9_-]{0,63}`."""

from __future__ import annotations

import hashlib
import re

__all__ = ["tool_name"]

LONGEST = 64
_HASH = 8


def tool_name(plugin: str, operation: str) -> str:
    """`<plugin>_<operation>`. Cut names end in a short hash of the whole, so that two of them stay two."""
    whole = f"{plugin}_{operation}"
    name = re.sub(r"[^A-Za-z0-9_-]", "_", whole)
    if not re.match(r"[A-Za-z_]", name):
        name = f"_{name}"
    if len(name) <= LONGEST:
        return name
    mark = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return f"{name[: LONGEST - _HASH - 1]}_{mark}"
