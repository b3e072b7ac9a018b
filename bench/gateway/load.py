"""A load: so many requests, of which so many are always on their way."""

from __future__ import annotations

import asyncio
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.gateway.wire import Peer, Slot

__all__ = ["Load", "Taken", "echo", "listing", "put_on"]

_SHOWN = 3  # wrong answers that are kept to be shown
_HOPELESS = 50  # wrong answers after which a load is given up


class Load(NamedTuple):
    method: str
    params: Callable[[int], tuple[dict[str, Any], bytes]]  # and the token that only the right answer holds
    total: int
    width: int = 1


class Taken(NamedTuple):
    """Nanoseconds for each request, seconds for all of them."""

    each: list[int]
    seconds: float
    wrong: list[str]

    def quantile(self, share: float) -> float:
        """In seconds."""
        ranked = sorted(self.each)
        return ranked[min(len(ranked) - 1, int(share * len(ranked)))] / 1e9


def echo(count: int, width: int = 1, *, tool: str = "echo", size: int = 100) -> Load:
    """Calls of a tool that gives its text back; each text is another."""

    def params(number: int) -> tuple[dict[str, Any], bytes]:
        token = f"tok{number:08d}x"
        return {"name": tool, "arguments": {"text": token.ljust(size, ".")}}, token.encode()

    return Load("tools/call", params, count, width)


def listing(count: int) -> Load:
    return Load("tools/list", lambda _: ({}, b"description"), count)


async def put_on(peer: Peer, load: Load, limit: float = 120.0) -> Taken:
    """All requests are written out before the clock starts."""
    slots = await peer.slots(load.width)
    run = _Run(peer, load)
    began = perf_counter_ns()
    for slot in slots:
        run.next(slot)
    try:
        await asyncio.wait_for(run.finished, limit)
    except TimeoutError:
        run.wrong.append(f"given up after {limit:g} s with {len(run.each)} of {load.total} answered")
    return Taken(run.each, (perf_counter_ns() - began) / 1e9, run.wrong)


class _Run:
    def __init__(self, peer: Peer, load: Load) -> None:
        self.each: list[int] = []
        self.wrong: list[str] = []
        self.finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._count, self._method = load.total, load.method
        self._name = str(load.params(0)[0].get("name", ""))
        written = []
        for number in range(load.total):
            params, token = load.params(number)
            written.append((*peer.body(load.method, params), token))
        self._waiting = iter(written)

    def next(self, slot: Slot) -> None:
        following = next(self._waiting, None)
        if following is None:
            return
        number, body, token = following
        began = perf_counter_ns()

        def done(status: int, raw: bytes) -> None:
            self.each.append(perf_counter_ns() - began)
            if status != 200 or token not in raw or b'"isError":true' in raw:
                self._not_wanted(status, raw)
            if len(self.each) == self._count:
                self._finish()
            elif not self.finished.done():
                self.next(slot)

        slot.send(number, body, self._method, self._name, done)

    def _not_wanted(self, status: int, raw: bytes) -> None:
        self.wrong.append(f"status {status}: {raw[:200]!r}" if len(self.wrong) < _SHOWN else "")
        if len(self.wrong) > _HOPELESS:
            self._finish()

    def _finish(self) -> None:
        if not self.finished.done():
            self.finished.set_result(None)
