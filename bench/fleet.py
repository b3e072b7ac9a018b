"""Short runs per second with 1, 2 and 4 workers, and what a step costs on PostgreSQL against the embedded journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench import workflows
from bench.events import owned_cost, steps_one_by_one
from bench.fleet_yard import Yard, database
from bench.in_process import engine_run
from bench.measuring import interleaved
from bench.rows import Limits, compared, figure

if TYPE_CHECKING:
    from awf.testing.postgres import TestPostgres
    from bench.rows import Row
    from bench.stage import Stage

__all__ = ["run"]

_CONCURRENCY = 4


def run(stage: Stage) -> list[Row]:
    with database() as server:
        return [*_steps(stage, server), *_throughput(stage, server), _lag(stage, server)]


def _steps(stage: Stage, server: TestPostgres) -> list[Row]:
    count, chain = stage.size(1000), stage.size(300)
    small = stage.write("journal.yaml", workflows.SMALL.replace(", required: true", ""))
    long = stage.write("chain.yaml", workflows.chain(chain))
    shared = stage.elsewhere(AWF_DATABASE_URL=server.new_database())
    taken = interleaved(
        stage.rounds(5),
        {
            "embedded": lambda: owned_cost(stage, small, lambda owned: steps_one_by_one(owned, range(count))),
            "shared": lambda: owned_cost(shared, small, lambda owned: steps_one_by_one(owned, range(count))),
            "embedded engine": lambda: engine_run(stage, long),
            "shared engine": lambda: engine_run(shared, long),
        },
    )
    return [
        compared("journal step, PostgreSQL / embedded", taken["shared"], taken["embedded"], per=count),
        compared(
            f"engine, {chain} states `true`, PostgreSQL / embedded, per step",
            taken["shared engine"],
            taken["embedded engine"],
            per=chain,
        ),
    ]


def _throughput(stage: Stage, server: TestPostgres) -> list[Row]:
    rows: list[Row] = []
    count, alone = stage.size(400), 0.0
    file = stage.write("three.yaml", workflows.chain(3))
    for workers in (1, 2, 4):
        yard = Yard(stage, server.new_database())
        try:
            each = yard.submit(file, count)
            for _ in range(workers):
                yard.start_worker(_CONCURRENCY)
            yard.wait_for(count + 1)
            speed = _per_second(yard)
            spread = ", ".join(map(str, yard.spread()))
        finally:
            yard.stop()
        if workers == 1:
            alone = speed
            rows.append(figure("handing over a run", f"{each * 1000:.1f} ms"))
        rows.append(
            figure(
                f"runs of three steps, {workers} workers of {_CONCURRENCY} (ended at each: {spread})",
                f"{speed:.0f}/s",
                f"{alone:.0f}/s",
            )
        )
    return rows


def _lag(stage: Stage, server: TestPostgres) -> Row:
    """How long after it happened at a worker a follower elsewhere has an event."""
    from awf.bootstrap import App
    from awf.interfaces.cli.stored import followed_events

    file = stage.write("slow.yaml", workflows.chain(stage.size(60), "sleep 0.1"))
    yard = Yard(stage, server.new_database())
    app = App(cwd=str(stage.folder), environment=yard.environment)
    try:
        yard.start_worker(_CONCURRENCY)
        yard.submit(file, 1)
        run_id = yard.rows("SELECT id FROM awf.runs ORDER BY started_at DESC LIMIT 1")[0][0]
        clock = app.clock
        lags = sorted(clock() - stamped.time for stamped in followed_events(app.store, run_id))
    finally:
        app.database.close()
        yard.stop()
    late = lags[int(len(lags) * 0.95)]
    what = f"an event at a worker to a follower, 95th of 100 ({len(lags)} events)"
    return figure(what, f"{late * 1000:.0f} ms", "-", Limits(0.2, 0.1, " s"), late)


def _per_second(yard: Yard) -> float:
    """From the first run taken to the last one ended; the start of the processes is not counted."""
    ((count, seconds),) = yard.rows(
        "SELECT count(*), max(finished_at) - (SELECT min((convert_from(body, 'UTF8')::json->>'time')::float8)"
        " FROM awf.events WHERE seq = 1) FROM awf.runs"
    )
    return float(count) / float(seconds)
