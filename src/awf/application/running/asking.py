"""Ask the person here, and take the answer from wherever it comes first."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from awf.application.running.tasks import end_task, spawn

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from awf.domain.ports.durability import Durability, Message

__all__ = ["first_answer"]


async def first_answer(
    durable: Durability, topic: str, timeout: float | None, asking: Coroutine[Any, Any, None]
) -> Message | None:
    """The answer on a topic, or None when time ran out. Asking that fails is a failure; that it ends says nothing."""
    waiting = spawn(durable.wait(topic, timeout), f"wait for {topic}", awaited=True)
    asked = spawn(asking, f"ask {topic}", awaited=True)
    try:
        await asyncio.wait({waiting, asked}, return_when=asyncio.FIRST_COMPLETED)
        if asked.done() and not asked.cancelled():
            asked.result()
        return await waiting
    finally:
        await end_task(asked)
        await end_task(waiting)
