"""Waiting for something in another process, which nobody here can announce."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["until"]


async def until(condition: Callable[[], bool], seconds: float = float("inf"), look: float = 0.01) -> bool:
    """Whether it came true within that time."""
    deadline = time.perf_counter() + seconds
    while not condition():
        if time.perf_counter() > deadline:
            return False
        await asyncio.sleep(look)
    return True
