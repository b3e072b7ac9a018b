"""What other processes raise while calls to others are under way, so that those can be stopped.

A look costs the store's version. Only when that is another one, the contexts of such calls are looked up; whoever listens
to `Contexts` hears what has come of it.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from awf.application.gate.freshness import TTL_SECONDS
from awf.application.running.tasks import spawn
from awf.domain.errors import AwfError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from awf.application.gate.contexts import Contexts

__all__ = ["LevelWatch"]


class LevelWatch:
    def __init__(self, contexts: Contexts, every: float = TTL_SECONDS) -> None:
        self._contexts = contexts
        self._every = every
        self._flying: Callable[[], Iterable[str]] = tuple
        self._seen: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None

    def begin(self, flying: Callable[[], Iterable[str]]) -> None:
        """`flying`: the contexts of the calls that are under way."""
        self._flying = flying
        self._wait()

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._every, self._look)

    def _look(self) -> None:
        self._wait()
        if self._looking is not None and not self._looking.done():
            return
        with contextlib.suppress(AwfError):  # a store that fails is told by the next call
            version = self._contexts.version()
            if version != self._seen:
                self._looking = spawn(self._look_up(version), "levels of calls under way")

    async def _look_up(self, version: int) -> None:
        with contextlib.suppress(AwfError):
            for context_id in list(self._flying()):
                await self._contexts.load(context_id)
            self._seen = version  # only now: what could not be looked at is looked at again
