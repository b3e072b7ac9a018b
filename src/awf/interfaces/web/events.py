"""The live stream of one page. Calls come by the thousand; the page is told ten times a second."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from awf.application.running.tasks import end_task, spawn
from awf.domain.ports.http_server import ClientGone
from awf.interfaces.web.backlog import Backlog

if TYPE_CHECKING:
    from awf.domain.ports.http_server import HeaderFields, HttpRequest, HttpStream
    from awf.interfaces.web.desk import Desk, Watch

__all__ = ["serve_events"]

KEEP_ALIVE_SECONDS = 15.0  # proxies close what is silent for longer, and the page takes it for broken
GAP_SECONDS = 0.1
_STILL_HERE = b": still here\n\n"


async def serve_events(request: HttpRequest, desk: Desk, head: HeaderFields, *, operator: bool) -> None:
    """First what is known, then what happens, until the client leaves or the gateway ends."""
    watch = desk.watch(operator=operator)  # before the list is read, so that nothing falls in between
    try:
        stream = request.stream(200, head)
        backlog = Backlog()
        for call in reversed(desk.calls(operator=operator)):
            backlog.add({"type": "call", "call": call})
        backlog.add({"type": "status"})
        await _until_somebody_leaves(request, stream, watch, backlog)
    except ClientGone:
        pass
    finally:
        watch.close()


async def _until_somebody_leaves(
    request: HttpRequest, stream: HttpStream, watch: Watch, backlog: Backlog
) -> None:
    fresh = asyncio.Event()
    fresh.set()
    tasks = [
        spawn(_gather(watch, backlog, fresh), "page events", awaited=True),
        spawn(_tell(stream, backlog, fresh), "page stream", awaited=True),
        spawn(_leave(request), "page reader", awaited=True),
    ]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            await end_task(task)


async def _gather(watch: Watch, backlog: Backlog, fresh: asyncio.Event) -> None:
    async for event in watch:
        backlog.add(event)
        fresh.set()


async def _tell(stream: HttpStream, backlog: Backlog, fresh: asyncio.Event) -> None:
    while True:
        try:
            async with asyncio.timeout(KEEP_ALIVE_SECONDS):
                await fresh.wait()
        except TimeoutError:
            stream.write(_STILL_HERE)
        else:
            fresh.clear()
            stream.write(b"data: %b\n\n" % backlog.take())
        await stream.drained()
        await asyncio.sleep(GAP_SECONDS)


async def _leave(request: HttpRequest) -> None:
    await request.gone.wait()
