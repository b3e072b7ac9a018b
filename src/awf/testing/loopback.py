"""A server on the loopback address that says what a test wants it to."""

from __future__ import annotations

import asyncio
from typing import Any, Self

__all__ = ["Loopback"]


class Loopback:
    """Open as long as it is entered; then all its clients are left. `serve` talks to one of them."""

    def __init__(self) -> None:
        self.port = 0
        self.url = ""
        self._tasks: set[asyncio.Task[Any] | None] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        tasks = [task for task in self._tasks if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise NotImplementedError

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._tasks.add(task)
        try:
            await self.serve(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # it has left, or the test is over
        finally:
            self._tasks.discard(task)
            writer.close()
