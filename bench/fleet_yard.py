"""A database, workers and submitted runs, for the benchmarks of fleets."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from awf.testing.postgres import TestPostgres
    from bench.stage import Stage

__all__ = ["Yard", "database"]

_PATIENCE = 600.0


@contextlib.contextmanager
def database() -> Iterator[TestPostgres]:
    """A server that waits for its disk, as one in earnest does."""
    from awf.testing.postgres import TestPostgres

    server = TestPostgres(durable=True)
    try:
        yield server.start()
    finally:
        server.stop()


class Yard:
    """One empty database, and the workers that serve it."""

    def __init__(self, stage: Stage, url: str) -> None:
        self.stage = stage
        self.environment = {**stage.environment, "AWF_DATABASE_URL": url}
        self._workers: list[tuple[subprocess.Popen[bytes], Path]] = []
        self._started = 0
        self._url = url

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        import psycopg

        with psycopg.connect(self._url, autocommit=True) as connection:
            return connection.execute(sql.encode()).fetchall()

    def submit(self, file: str, count: int) -> float:
        """Hand over so many runs; seconds for each."""
        from awf.bootstrap import App
        from awf.bootstrap.workers import hand_over, open_queue
        from awf.domain.run_queue import QueueName

        async def all_of_them() -> float:
            app = App(cwd=str(self.stage.folder), environment=self.environment)
            queue = open_queue(app)
            try:
                program = await app.execution.program(file)
                services = app.run_services(app.nobody())
                began = 0.0
                for number in range(count + 1):
                    began = began if number != 1 else time.perf_counter()  # the first one opens the queue
                    prepared = await app.execution.start(program, {}, services)
                    await hand_over(prepared, queue, QueueName("default"), {})
                return (time.perf_counter() - began) / count
            finally:
                queue.close()
                await app.close()

        return asyncio.run(all_of_them())

    def start_worker(self, concurrency: int) -> int:
        """The process id of a new worker."""
        self._started += 1
        log = self.stage.folder / f"worker-{self._started}.log"
        with log.open("wb") as stream:
            process = subprocess.Popen(
                self.stage.awf_argv(
                    "worker", "--concurrency", str(concurrency), "--name", f"w{self._started}"
                ),
                env=self.environment,
                cwd=self.stage.folder,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
            )
        self._workers.append((process, log))
        return process.pid

    def kill_oldest(self) -> None:
        process, _ = self._workers.pop(0)
        process.kill()
        process.wait()

    def wait_for(self, count: int) -> None:
        """Until so many runs have ended."""
        deadline = time.monotonic() + _PATIENCE
        while self.ended() < count:
            if time.monotonic() > deadline:
                raise RuntimeError(f"only {self.ended()} of {count} runs ended")
            time.sleep(0.05)

    def ended(self) -> int:
        sql = "SELECT count(*) FROM awf.runs WHERE status IN ('completed', 'failed', 'cancelled')"
        return int(self.rows(sql)[0][0])

    def spread(self) -> list[int]:
        """How many runs ended at each worker that has been started."""
        logs = sorted(self.stage.folder.glob("worker-*.log"), key=lambda log: int(log.stem.split("-")[1]))
        return [log.read_text(errors="replace").count(" completed") for log in logs]

    def stop(self) -> None:
        for process, _ in self._workers:
            process.terminate()
        for process, _ in self._workers:
            process.wait(60)
        self._workers.clear()
        for log in self.stage.folder.glob("worker-*.log"):
            log.unlink()
