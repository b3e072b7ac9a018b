"""One plugin over the time of a run: started when first needed, shared by all, started again when it has died."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from awf.domain.errors import AwfError
from awf.infrastructure.plugins.starting import start_plugin

if TYPE_CHECKING:
    from awf.infrastructure.plugins.declaration import Declaration
    from awf.infrastructure.plugins.restarts import RestartBudget
    from awf.infrastructure.plugins.running import RunningPlugin
    from awf.infrastructure.plugins.surroundings import Surroundings

__all__ = ["Lifecycle"]


class Lifecycle:
    def __init__(self, declaration: Declaration, surroundings: Surroundings, budget: RestartBudget) -> None:
        self.declaration = declaration
        self._surroundings = surroundings
        self._budget = budget
        self._running: RunningPlugin | None = None
        self._starting: asyncio.Task[RunningPlugin] | None = None
        self._last_failure = ""
        self._closed = False

    async def ready(self) -> RunningPlugin:
        """The running plugin. All who ask meanwhile wait for the same start; it goes on when one of them leaves."""
        if self._closed:
            raise self._unavailable("is not started any more: this run is at its end", "")
        if self._running is not None and self._running.alive:
            return self._running
        if self._starting is None:
            self._starting = asyncio.get_running_loop().create_task(self._start())
            self._starting.add_done_callback(self._started)
        return await asyncio.shield(self._starting)

    async def close(self) -> None:
        self._closed = True
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait({self._starting})
        running, self._running = self._running, None
        if running is not None:
            await running.close()

    async def _start(self) -> RunningPlugin:
        dead, self._running = self._running, None
        if dead is not None:
            await dead.close()
        now = asyncio.get_running_loop().time
        blocked = self._budget.blocked_for(now())
        if blocked:
            raise self._unavailable(
                f"keeps failing and is left alone for {blocked:.0f} s. {self._last_failure}".rstrip(),
                f"`awf plugin check {self.declaration.name}` tries it alone.",
            )
        await asyncio.sleep(self._budget.pause(now()))
        try:
            self._running = await start_plugin(self.declaration, self._surroundings)
        except AwfError as error:
            self._last_failure = f"Last: {error.message}"
            if not error.code.startswith("EXECUTION."):
                raise  # it was not even started
            self._budget = self._budget.started(now())
            raise
        self._budget = self._budget.started(now())
        return self._running

    def _started(self, task: asyncio.Task[RunningPlugin]) -> None:
        self._starting = None
        if not task.cancelled():
            task.exception()  # told to whoever waits; nobody may be left

    def _unavailable(self, what: str, hint: str) -> AwfError:
        return AwfError(
            "EXECUTION.PLUGIN.UNAVAILABLE", f"The plugin '{self.declaration.name}' {what}.", hint=hint
        )
