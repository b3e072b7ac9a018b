"""A small load balancer for tests: each request goes to the next server, whatever session it belongs to.

It only reads the head of a request, asks for the connection to be closed after the answer, and carries bytes from then on.
So clients come with a new connection each time, and none sticks to a server.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, NamedTuple, Self

from awf.application.running.tasks import end_task, spawn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

__all__ = ["Passed", "RoundRobin"]

_END = b"\r\n\r\n"
_PIECE = 65536
_LONGEST_HEAD = 256 * 1024


class Passed(NamedTuple):
    """One request, and which server it went to."""

    server: int
    method: str
    path: str


class RoundRobin:
    """Servers by their ports on the loopback interface. One that nobody listens at is left out."""

    def __init__(self, ports: Sequence[int]) -> None:
        self.ports = list(ports)
        self.port = 0
        self.passed: list[Passed] = []
        self._next = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="round robin", daemon=True)

    def aim(self, server: int) -> None:
        """The next request goes to this one."""
        self._next = server

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_LONGEST_HEAD)
        )
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        self._loop.run_until_complete(self._end())
        self._loop.close()

    async def _end(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        spawn(self._serve(reader, writer), "a request on its way", awaited=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with _closing(writer):
            try:
                head = await reader.readuntil(_END)
                number, back_reader, back_writer = await self._connected()
            except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                writer.transport.abort()
                return
            method, path = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")[:2]
            self.passed.append(Passed(number, method, path))
            async with _closing(back_writer):
                back_writer.write(_last(head))
                sending = spawn(_pump(reader, back_writer), "what a client sends", awaited=True)
                try:
                    await _pump(back_reader, writer)
                finally:
                    await end_task(sending)

    async def _connected(self) -> tuple[int, asyncio.StreamReader, asyncio.StreamWriter]:
        trouble: OSError = ConnectionError("there is no server")
        count, first = len(self.ports), self._next
        self._next = (first + 1) % count
        for number in ((first + more) % count for more in range(count)):
            try:
                return number, *await asyncio.open_connection("127.0.0.1", self.ports[number])
            except OSError as reason:
                trouble = reason
        raise trouble


@contextlib.asynccontextmanager
async def _closing(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    try:
        yield
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


def _last(head: bytes) -> bytes:
    """The same, on a connection that carries nothing else."""
    first, *fields = head[: -len(_END)].split(b"\r\n")
    kept = [field for field in fields if not field.lower().startswith(b"connection:")]
    return b"\r\n".join((first, *kept, b"Connection: close")) + _END


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """What one side sends, until it ends; a break is passed on as one."""
    try:
        while data := await source.read(_PIECE):
            target.write(data)
            await target.drain()
    except OSError:
        target.transport.abort()
    else:
        with contextlib.suppress(OSError):
            target.close()
