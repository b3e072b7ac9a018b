"""What commands about the gate share: its services for the time of one command, and how times are told."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from awf.interfaces.cli.options import make_app

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from awf.bootstrap import App

__all__ = ["columns", "moment", "with_gate"]

T = TypeVar("T")


def with_gate(storage: str | None, work: Callable[[App], Awaitable[T]]) -> T:
    import asyncio

    async def run() -> T:
        app = make_app(storage=storage)
        try:
            return await work(app)
        finally:
            await app.close()

    return asyncio.run(run())


def moment(seconds: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):  # programs may grant for longer than the calendar goes
        return f"{seconds:.0f}"


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines, with everything below everything else."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
