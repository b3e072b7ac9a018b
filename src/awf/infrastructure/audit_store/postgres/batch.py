"""What goes into the chain together."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, NamedTuple

from awf.domain.audit import AuditEntry, AuditUnavailable
from awf.domain.audit_chain import decoded_entry
from awf.infrastructure.audit_store.joining import join

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Batch", "OpenCall", "Promise", "keep"]

_UNASKED_SECONDS = 5.0  # how long is tried what nobody waits for


class Promise:
    """That an entry will be in the chain, or that somebody hears that it may not be. It belongs to an event loop."""

    __slots__ = ("data", "deadline", "future", "is_late", "timer")

    def __init__(self, data: bytes, patience: float, late: Callable[[Promise], None]) -> None:
        loop = asyncio.get_running_loop()
        self.data = data  # empty: nothing is to be recorded, only everything before it
        self.deadline = time.monotonic() + patience
        self.is_late = False  # its owner was told that it failed
        self.future: asyncio.Future[None] = loop.create_future()
        # Whatever the thread that writes hangs in, nobody waits longer than this.
        self.timer: asyncio.TimerHandle = loop.call_later(patience * 1.2, late, self)

    def fail(self, reason: str) -> None:
        """In its event loop."""
        self.is_late = True
        self.timer.cancel()
        if not self.future.done():
            self.future.set_exception(AuditUnavailable(reason))


def keep(promises: Sequence[Promise], reason: str = "") -> None:
    """From any thread. With a reason they are not kept."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Promise]] = {}
    for one in promises:
        if reason:
            one.is_late = True
        by_loop.setdefault(one.future.get_loop(), []).append(one)
    for loop, some in by_loop.items():
        try:
            loop.call_soon_threadsafe(_settle, some, reason)
        except RuntimeError:  # it is closed, and nobody waits any more
            continue


def _settle(promises: Sequence[Promise], reason: str) -> None:
    for one in promises:
        if reason:
            one.fail(reason)
            continue
        one.timer.cancel()
        if not one.future.done():
            one.future.set_result(None)


class OpenCall(NamedTuple):
    """A decision in the chain of which nobody will say what came of it."""

    sequence: int
    request_id: str


class Batch:
    """Tried until it is in the chain, or given up. What is in it does not change from one try to the next."""

    def __init__(
        self, promises: Sequence[Promise] = (), first: int = 1, dropped: Sequence[OpenCall] = ()
    ) -> None:
        """`first`: the number of its first record among those of its writer. `dropped`: of whose effects nobody knows."""
        self.promises = promises
        joined = join([decoded_entry(one.data) for one in promises if one.data])
        self.entries = [entry for entry in joined if isinstance(entry, AuditEntry)]
        self.dropped = dropped
        self.numbers = range(first, first + len(self.entries) + len(dropped))
        self.deadline = min((one.deadline for one in promises), default=time.monotonic() + _UNASKED_SECONDS)
        self.was_tried = False

    def __bool__(self) -> bool:
        return bool(self.numbers)

    @property
    def missed(self) -> set[str]:
        """The calls whose owners were told that nothing could be recorded."""
        return {decoded_entry(one.data).request_id for one in self.promises if one.data and one.is_late}
