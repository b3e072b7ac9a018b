"""What starting, watching and cleaning up after a command costs, without the engine."""

from __future__ import annotations

import asyncio
from multiprocessing.pool import ThreadPool
from typing import TYPE_CHECKING

from bench.in_process import TRUE, in_loop, spawn_loop, spawn_once
from bench.measuring import Cost, interleaved, timed
from bench.rows import compared

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.rows import Row
    from bench.stage import Stage

__all__ = ["run"]

_AT_ONCE = 20


def run(stage: Stage) -> list[Row]:
    count = stage.size(500)
    taken = interleaved(
        stage.rounds(7),
        {
            "plain": lambda: timed(lambda: spawn_loop(count)),
            "runner": _runner(stage, count, 1),
            "pool": lambda: timed(lambda: _pool(count)),
            "runner at once": _runner(stage, count, _AT_ONCE),
        },
    )
    return [
        compared("ProcessRunner / spawn loop, per command", taken["runner"], taken["plain"], per=count),
        compared(
            f"ProcessRunner, {_AT_ONCE} at once / thread pool, per command",
            taken["runner at once"],
            taken["pool"],
            per=count,
        ),
    ]


def _pool(count: int) -> None:
    with ThreadPool(_AT_ONCE) as pool:
        pool.map(spawn_once, range(count), chunksize=1)


def _runner(stage: Stage, count: int, at_once: int) -> Callable[[], Cost]:
    from awf.domain.ports.command_runner import Command
    from awf.infrastructure.processes import ProcessRunner

    command = Command(argv=TRUE, cwd=str(stage.folder), env=stage.environment)

    async def work() -> None:
        runner = ProcessRunner()
        numbers = iter(range(count))

        async def worker() -> None:
            for _ in numbers:
                await runner.run(command, lambda _stream, _data: None)

        try:
            await asyncio.gather(*(worker() for _ in range(at_once)))
        finally:
            await runner.close()

    return lambda: in_loop(work)
