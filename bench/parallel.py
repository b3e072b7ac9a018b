"""Many branches at once, against a pool of threads."""

from __future__ import annotations

from multiprocessing.pool import ThreadPool
from typing import TYPE_CHECKING

from bench import workflows
from bench.in_process import engine_run, spawn_once
from bench.measuring import interleaved, timed
from bench.rows import compared

if TYPE_CHECKING:
    from bench.rows import Row
    from bench.stage import Stage

__all__ = ["run"]

_AT_ONCE = 20


def _pool(count: int) -> None:
    with ThreadPool(_AT_ONCE) as pool:
        pool.map(spawn_once, range(count), chunksize=1)


def run(stage: Stage) -> list[Row]:
    count = stage.size(200)
    file = stage.write("branches.yaml", workflows.branches(count, _AT_ONCE))
    taken = interleaved(
        stage.rounds(9),
        {"pool": lambda: timed(lambda: _pool(count)), "branches": lambda: engine_run(stage, file)},
    )
    what = f"parallel, {count} branches, {_AT_ONCE} at once / thread pool, per branch"
    return [compared(what, taken["branches"], taken["pool"], per=count)]
