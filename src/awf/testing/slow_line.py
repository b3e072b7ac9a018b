"""A line between a client and a server on the loopback address that is slow, or says nothing for a while."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Self

__all__ = ["SlowLine"]


class SlowLine:
    def __init__(self, port: int, *, delay: float = 0.0) -> None:
        """`delay`: by how many seconds everything that is said comes later, in either direction."""
        self._target = port
        self._delay = delay
        self._open = asyncio.Event()  # set: what is said passes
        self._open.set()
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="slow line", daemon=True)
        self.port = 0
        self.carried = 0  # pieces that were said

    def start(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.port}"

    def hush(self) -> None:
        """Connections stay, and new ones are taken; nothing that is said arrives."""
        self._loop.call_soon_threadsafe(self._open.clear)

    def speak(self) -> None:
        """What was said meanwhile arrives now."""
        self._loop.call_soon_threadsafe(self._open.set)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    # -- its thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._carry, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(_all_done(self._loop))
        self._loop.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(
            self._one_way(reader, back), self._one_way(there, writer), return_exceptions=True
        )

    async def _one_way(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        said: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        saying = self._loop.create_task(self._say(said, target))
        try:
            while piece := await source.read(65536):
                self.carried += 1
                said.put_nowait((self._loop.time() + self._delay, piece))
        except OSError:
            pass
        finally:
            said.put_nowait((self._loop.time() + self._delay, b""))
            await saying

    async def _say(self, said: asyncio.Queue[tuple[float, bytes]], target: asyncio.StreamWriter) -> None:
        """In order, each piece when its time has come."""
        try:
            while piece := await self._next(said):
                target.write(piece)
                await target.drain()
        except OSError:
            pass
        finally:
            with contextlib.suppress(OSError, RuntimeError):
                target.close()

    async def _next(self, said: asyncio.Queue[tuple[float, bytes]]) -> bytes:
        due, piece = await said.get()
        await asyncio.sleep(max(0.0, due - self._loop.time()))
        await self._open.wait()
        return piece


async def _all_done(loop: asyncio.AbstractEventLoop) -> None:
    own = asyncio.current_task()
    await asyncio.gather(
        *(task for task in asyncio.all_tasks(loop) if task is not own), return_exceptions=True
    )
