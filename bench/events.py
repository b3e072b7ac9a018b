"""What an event costs from the engine to the store and the listeners, and what remembering a step costs."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from typing import TYPE_CHECKING

from bench import workflows
from bench.in_process import new_app, prepared_run
from bench.measuring import Cost, cpu_seconds, interleaved, timed
from bench.rows import compared

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from awf.domain.ports.durability import Finished, OwnedRun
    from bench.rows import Row
    from bench.stage import Stage

__all__ = ["owned_cost", "run", "steps_one_by_one"]

_AT_ONCE = 20
_LISTENERS = 2


def run(stage: Stage) -> list[Row]:
    count = stage.size(5000)
    file = stage.write("journal.yaml", workflows.SMALL.replace(", required: true", ""))
    taken = interleaved(
        stage.rounds(7),
        {
            "rows": lambda: _plain_store(stage, count, per_commit=100),
            "commits": lambda: _plain_store(stage, count, per_commit=1),
            "emit": lambda: owned_cost(stage, file, lambda owned: _emit(owned, count)),
            "flush": lambda: owned_cost(stage, file, lambda owned: _emit_and_flush(owned, count)),
            "steps": lambda: owned_cost(stage, file, lambda owned: steps_one_by_one(owned, range(count))),
            "steps at once": lambda: owned_cost(stage, file, lambda owned: _steps_at_once(owned, count)),
        },
    )
    rows, commits = taken["rows"], taken["commits"]
    return [
        compared("event, emit() alone / plain insert", taken["emit"], rows, per=count),
        compared(f"event, stored and heard by {_LISTENERS} / plain insert", taken["flush"], rows, per=count),
        compared("journal step / plain commit", taken["steps"], commits, per=count),
        compared(
            f"journal step, {_AT_ONCE} at once / plain commit", taken["steps at once"], commits, per=count
        ),
    ]


def owned_cost(stage: Stage, file: str, work: Callable[[OwnedRun], Awaitable[None]]) -> Cost:
    """The cost of some work with a run of its own."""
    from awf.application.running.fan_out import FanOut

    async def measured() -> Cost:
        app = new_app(stage)
        fan_out = FanOut()
        fan_out.add(lambda _stamped: None)
        fan_out.add(lambda _stamped: None, may_block=True)
        try:
            owned = (await prepared_run(app, file)).owned
            owned.listen(fan_out)
            cpu, began = cpu_seconds(), time.perf_counter()
            await work(owned)
            cost = Cost(time.perf_counter() - began, cpu_seconds() - cpu)
            await owned.release()
            return cost
        finally:
            fan_out.close()
            await app.close()

    return asyncio.run(measured())


async def _emit(owned: OwnedRun, count: int) -> None:
    from awf.domain.events import StepStarted

    for number in range(count):
        owned.emit(StepStarted(path=f"loop[{number}]/test", step="test", kind="step", detail="make test"))


async def _emit_and_flush(owned: OwnedRun, count: int) -> None:
    await _emit(owned, count)
    await owned.step("end", _finished)  # its commit comes after everything before it


async def _finished() -> Finished:
    from awf.domain.events import StepCompleted
    from awf.domain.ports.durability import Finished
    from awf.domain.run import StepResult

    event = StepCompleted(path="test", step="test", kind="step", duration_ms=1, exit_code=0, output="ok")
    return Finished(StepResult(status="success", output="ok"), (event,))


async def steps_one_by_one(owned: OwnedRun, numbers: range) -> None:
    for number in numbers:
        await owned.step(f"loop[{number}]/test", _finished)


async def _steps_at_once(owned: OwnedRun, count: int) -> None:
    await asyncio.gather(
        *(steps_one_by_one(owned, range(start, count, _AT_ONCE)) for start in range(_AT_ONCE))
    )


def _plain_store(stage: Stage, count: int, per_commit: int) -> Cost:
    """The least that keeps an event: a row of the same size, in the same kind of table."""
    connection = sqlite3.connect(stage.folder / "plain.db", isolation_level=None)
    connection.executescript(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; DROP TABLE IF EXISTS events;"
        "CREATE TABLE events (run_id TEXT, seq INTEGER, body BLOB, PRIMARY KEY (run_id, seq)) WITHOUT ROWID;"
    )
    try:
        return timed(lambda: _insert(connection, count, per_commit))
    finally:
        connection.close()


def _insert(connection: sqlite3.Connection, count: int, per_commit: int) -> None:
    body = b"x" * 200
    for first in range(0, count, per_commit):
        connection.execute("BEGIN IMMEDIATE")
        rows = [("run", number, body) for number in range(first, min(count, first + per_commit))]
        connection.executemany("INSERT INTO events VALUES (?,?,?)", rows)
        connection.execute("COMMIT")
