"""Where the time goes, as a note below the table."""

from __future__ import annotations

import cProfile
import pstats
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["profile_note"]

_SHOWN = 30


def profile_note(what: str, action: Callable[[], object], per: int = 1) -> str:
    """The functions with the most time of their own. The profiler itself makes small functions look dearer."""
    profiler = cProfile.Profile()
    profiler.runcall(action)
    found = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    rows = sorted(
        ((own, below, calls, _name(place)) for place, (_, calls, own, below, _) in found.items()),
        reverse=True,
    )
    unit = 1e6 / per
    lines = [
        f"  {own * unit:10.1f} {below * unit:10.1f} {calls / per:9.1f}  {name}"
        for own, below, calls, name in rows[:_SHOWN]
    ]
    return "\n".join([f"Profile of {what}: own µs, µs with what it calls, calls", *lines])


def _name(place: tuple[str, int, str]) -> str:
    file, line, function = place
    return function if file == "~" else f"{'/'.join(file.rsplit('/', 3)[-3:])}:{line} {function}"
