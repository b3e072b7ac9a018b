"""Runs inside this process, through the same wiring as the command line, and what they are compared with."""

from __future__ import annotations

import asyncio
import subprocess
import time
from typing import TYPE_CHECKING, Any

from bench.measuring import Cost, cpu_seconds

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from awf.application.running.service import Prepared
    from awf.bootstrap import App
    from bench.stage import Stage

__all__ = ["TRUE", "engine_run", "in_loop", "new_app", "prepared_run", "spawn_loop", "spawn_once"]

TRUE = ("/bin/sh", "-c", "true")


def spawn_once(_number: int = 0) -> None:
    """The least anybody can do to run a shell command and have its output."""
    subprocess.run(TRUE, stdin=subprocess.DEVNULL, capture_output=True, check=False)


def spawn_loop(count: int) -> None:
    for number in range(count):
        spawn_once(number)


def new_app(stage: Stage) -> App:
    from awf.bootstrap import App

    return App(cwd=str(stage.folder), environment=stage.environment)


async def prepared_run(app: App, file: str) -> Prepared:
    program = await app.execution.program(file)
    return await app.execution.start(program, {}, app.run_services(app.nobody()))


def in_loop(work: Callable[[], Awaitable[Any]]) -> Cost:
    """The cost of awaiting something, without that of setting up an event loop."""

    async def timed() -> Cost:
        cpu, began = cpu_seconds(), time.perf_counter()
        await work()
        return Cost(time.perf_counter() - began, cpu_seconds() - cpu)

    return asyncio.run(timed())


def engine_run(stage: Stage, file: str) -> Cost:
    """One run from its first event to its last; reading and checking the file are not counted."""

    async def timed() -> Cost:
        app = new_app(stage)
        try:
            prepared = await prepared_run(app, file)
            cpu, began = cpu_seconds(), time.perf_counter()
            outcome = await prepared.execute(lambda _stamped: None)
            cost = Cost(time.perf_counter() - began, cpu_seconds() - cpu)
        finally:
            await app.close()
        if outcome.status != "completed":
            raise RuntimeError(f"The run of {file} ended as {outcome.status}: {outcome.error}")
        return cost

    return asyncio.run(timed())
