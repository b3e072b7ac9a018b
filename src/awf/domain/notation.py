"""How durations and sizes are written."""

from __future__ import annotations

import functools
import re

__all__ = ["parse_duration", "parse_size"]

_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|ns|h|m|s|d)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?)(i?)b?$", re.IGNORECASE)


@functools.lru_cache(maxsize=512, typed=True)  # True is not 1
def parse_duration(text: str | float) -> float | None:
    """Seconds from ``500ms``, ``30s``, ``1h30m`` or a number of seconds; None when it is neither."""
    if isinstance(text, bool):
        return None
    if isinstance(text, int | float):
        return float(text) if text >= 0 else None
    compact = text.strip().replace(" ", "")
    if re.fullmatch(r"\d+(\.\d+)?", compact):
        return float(compact)
    parts = list(_DURATION_PART.finditer(compact))
    if not parts or "".join(part.group(0) for part in parts) != compact:
        return None
    return sum(float(part.group(1)) * _SECONDS[part.group(2)] for part in parts)


def parse_size(text: str | float) -> int | None:
    """Bytes from ``64KiB``, ``10MB`` or a number; None when it is neither."""
    if isinstance(text, bool):
        return None
    if isinstance(text, int | float):
        return int(text) if text >= 0 else None
    found = _SIZE.match(text.strip())
    if found is None:
        return None
    base = 1024 if found.group(3) else 1000
    power = {"": 0, "k": 1, "m": 2, "g": 3}[found.group(2).lower()]
    return int(float(found.group(1)) * base**power)
