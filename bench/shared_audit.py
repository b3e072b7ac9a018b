"""Entries per second and how long one takes, in the audit that several processes share over PostgreSQL."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from bench.fleet_yard import database
from bench.rows import figure

if TYPE_CHECKING:
    from awf.testing.postgres import TestPostgres
    from bench.rows import Row
    from bench.stage import Stage

__all__ = ["run"]


def run(stage: Stage) -> list[Row]:
    rows: list[Row] = []
    with database() as server:
        for processes in (1, 2):
            rows += [_measured(stage, server, processes, recorders) for recorders in (1, 32)]
    return rows


def _measured(stage: Stage, server: TestPostgres, processes: int, recorders: int) -> Row:
    """Everyone begins at the same moment, and goes on for the same time."""
    folder = stage.folder / f"audit-{processes}-{recorders}"
    folder.mkdir()
    url, begin = server.new_database(), time.time() + 3
    words = [url, str(folder), str(recorders), str(begin), "0.3" if stage.quick else "5"]
    command = [sys.executable, "-m", "bench.shared_audit", *words]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(processes)]
    told = [json.loads(one.communicate(timeout=120)[0]) for one in running]
    speed = sum(one["each_second"] for one in told)
    p50, p99 = (max(one[name] for one in told) * 1e3 for name in ("p50", "p99"))
    what = f"shared audit, {processes} processes with {recorders} recorders each"
    return figure(what, f"{speed:,.0f} entries/s", f"p50 {p50:.1f} ms, p99 {p99:.1f} ms")


async def _record(url: str, folder: str, recorders: str, begin: str, seconds: str) -> dict[str, float]:
    from awf.bootstrap.audits import AuditServer
    from awf.domain.audit import AuditEntry
    from awf.infrastructure.audit_store.postgres import PostgresAudit

    log = PostgresAudit(AuditServer(url), folder, key_file=f"{folder}/signing.key")
    taken: list[float] = []
    end = float(begin) + float(seconds)

    async def one(name: int) -> None:
        number = 0
        while (now := time.time()) < end:
            number += 1
            fields = {"request_id": f"{name}-{number}", "tool_id": "kb:get_page", "context": "agent-1"}
            await log.record(
                AuditEntry(kind="decision", created_at=now, decision="allow", input_hash="ab" * 32, **fields)
            )
            middle = time.time()
            await log.record(
                AuditEntry(kind="effect", created_at=middle, success=True, output_hash="cd" * 32, **fields)
            )
            taken.extend((middle - now, time.time() - middle))

    await log.record(AuditEntry(kind="configuration", created_at=time.time()))
    await asyncio.sleep(max(0.0, float(begin) - time.time()))
    await asyncio.gather(*(one(name) for name in range(int(recorders))))
    await log.close()
    taken.sort()
    return {
        "each_second": len(taken) / float(seconds),
        "p50": taken[len(taken) // 2],
        "p99": taken[len(taken) * 99 // 100],
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_record(*sys.argv[1:]))))
