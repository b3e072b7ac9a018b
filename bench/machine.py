"""The machine the figures come from, and how much of it was left for them."""

from __future__ import annotations

import os
import platform
import time
from typing import Any

from bench.measuring import cpu_seconds

__all__ = ["Watch", "describe", "wait_for_calm"]

_CALM = 0.1  # the share of the machine that others may use
_LOOK = 1.0  # seconds over which that is judged


class Watch:
    """How much of all processors other programs took since it was made. Linux only; elsewhere it does not know."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._busy = _busy_seconds()
        self._own = cpu_seconds()

    def others(self) -> float | None:
        busy = _busy_seconds()
        if busy is None or self._busy is None:
            return None
        available = (time.perf_counter() - self._began) * (os.cpu_count() or 1)
        theirs = busy - self._busy - (cpu_seconds() - self._own)
        return min(1.0, max(0.0, theirs / available)) if available else 0.0


def _busy_seconds() -> float | None:
    try:
        with open("/proc/stat", encoding="ascii") as stat:
            user, nice, system, _idle, _waiting, *rest = map(int, stat.readline().split()[1:])
    except OSError:
        return None
    return (user + nice + system + sum(rest[:3])) / os.sysconf("SC_CLK_TCK")


def wait_for_calm(seconds: float) -> float:
    """Wait until others leave the machine alone, at most so long; how long it took."""
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        watch = Watch()
        time.sleep(_LOOK)
        others = watch.others()
        if others is None or others < _CALM:
            break
    return time.monotonic() - began


def describe() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "cores": os.cpu_count(),
        "load": [round(value, 2) for value in os.getloadavg()],
    }
