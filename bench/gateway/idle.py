"""What a client costs that does nothing: a session, and a session with an open stream."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import time
from typing import TYPE_CHECKING, NamedTuple

import uvloop

from bench.gateway import processes
from bench.gateway.http_wire import HttpPeer
from bench.gateway.listening import listen, open_stream
from bench.gateway.starting import started
from bench.gateway.wire import LEGACY, MODERN, NoAnswer
from bench.rows import Limits, Row, figure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bench.gateway.listening import Stream
    from bench.gateway.starting import Running
    from bench.gateway.targets import Bench

__all__ = ["idle_sessions"]

_EACH = Limits(60, 20, " kB")
_BUSY = Limits(0.05, 0.01, "")
_FIRST = 50  # that are not counted: what is made once is made for them
_FILES = 4096
_SETTLING = 0.3


class _Idle(NamedTuple):
    """Kilobytes for each, and the share of a processor that all of them take."""

    session: float
    stream: float
    subscription: float
    busy: float


def idle_sessions(bench: Bench) -> list[Row]:
    count = 50 if bench.stage.quick else 1000
    _allow_files()
    try:
        idle = uvloop.run(_measured(bench, count))
    except (NoAnswer, OSError, TimeoutError) as error:
        return [figure(f"{count} idle sessions", f"not measured: {' '.join(str(error).split())[:160]}")]
    both = idle.session + idle.stream
    return [
        _kilobytes(f"memory of an idle session, {count} of them", idle.session),
        _kilobytes("  with an open GET stream and its connection", both),
        _kilobytes("  of a subscriptions/listen and its connection", idle.subscription),
        figure("  processor while all are idle", f"{idle.busy:.1%}", limits=_BUSY, judged=idle.busy),
    ]


def _kilobytes(what: str, value: float) -> Row:
    return figure(what, f"{value:.1f} kB", limits=_EACH, judged=value)


def _allow_files() -> None:
    """Each stream is a file on both sides; a program inherits what is set here."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


async def _measured(bench: Bench, count: int) -> _Idle:
    async with (
        started(bench, bench.ours("http", "stdio"), 10) as running,
        contextlib.AsyncExitStack() as stack,
    ):
        sessions: list[HttpPeer] = []
        streams: list[Stream] = []
        stack.callback(_close, streams)

        async def session(_: int) -> None:
            peer = HttpPeer(running.access.url, LEGACY)
            stack.push_async_callback(peer.close)
            await peer.hello()
            await peer.close()  # the session stays; its connection is not what is measured
            sessions.append(peer)

        async def stream(number: int) -> None:
            streams.append(await open_stream(sessions[number]))

        async def subscription(number: int) -> None:
            streams.append(await listen(HttpPeer(running.access.url, MODERN), number + 1))

        each_session = await _grown(running, session, count)
        each_stream = await _grown(running, stream, count)
        each_subscription = await _grown(running, subscription, count)
        busy = await _busy(running, 1.0 if bench.stage.quick else 4.0)
        closed = sum(one.closed for one in streams)
        if closed:
            raise NoAnswer(f"{closed} of {len(streams)} streams were closed")
    return _Idle(each_session, each_stream, each_subscription, busy)


def _close(streams: list[Stream]) -> None:
    for stream in streams:
        stream.close()


async def _grown(running: Running, make: Callable[[int], Awaitable[None]], count: int) -> float:
    for number in range(_FIRST):
        await make(number)
    await asyncio.sleep(_SETTLING)
    before = processes.megabytes(running.processes())
    for number in range(_FIRST, _FIRST + count):
        await make(number)
    await asyncio.sleep(_SETTLING)
    return (processes.megabytes(running.processes()) - before) * 1024 / count


async def _busy(running: Running, seconds: float) -> float:
    members = running.processes()
    cpu, began = processes.processor_seconds(members), time.perf_counter()
    await asyncio.sleep(seconds)
    return (processes.processor_seconds(members) - cpu) / (time.perf_counter() - began)
