"""One start of one contestant, with the server behind it, until it shows its tools."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from bench.gateway import processes
from bench.gateway.http_wire import HttpPeer
from bench.gateway.stdio_wire import StdioPeer
from bench.gateway.targets import Access, Setting
from bench.gateway.wire import NoAnswer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    import psutil

    from bench.gateway.targets import Bench, Target
    from bench.gateway.wire import Peer

__all__ = ["Running", "started"]

_LOOK = 0.002  # seconds between two tries to reach a contestant that is starting


class Running(NamedTuple):
    """A contestant that answers. `pid` is 0 where nothing stands between."""

    peer: Peer
    pid: int
    access: Access
    hello: float
    listed: float
    is_upstream: bool
    upstream: int  # its process, where it is no child of the contestant

    def processes(self) -> list[psutil.Process]:
        return processes.own(self.pid, with_upstream=self.is_upstream) if self.pid else []

    def everybody(self) -> list[psutil.Process]:
        roots = [pid for pid in (self.pid, self.upstream, os.getpid()) if pid]
        found = {one.pid: one for pid in roots for one in processes.own(pid, with_upstream=True)}
        return list(found.values())


@contextlib.asynccontextmanager
async def started(bench: Bench, target: Target, tools: int = 200, *options: str) -> AsyncIterator[Running]:
    """With the server behind it, which gets these options."""
    behind = ("--tools", str(tools), *options)
    with (
        tempfile.TemporaryDirectory(dir=bench.stage.folder, prefix="trial-") as place,
        _upstream(bench, target, behind) as (url, upstream),
        tempfile.TemporaryFile(dir=place) as errors,
    ):
        setting = Setting(Path(place), _free_port(), url, bench.upstream("--stdio", *behind))
        start = _Start(target, setting)
        try:
            yield (await start.reached(errors))._replace(upstream=upstream)
        except (NoAnswer, OSError, TimeoutError) as error:
            errors.seek(0)
            said = errors.read().decode("utf-8", "replace").strip()[-600:]
            raise NoAnswer(f"{str(error) or type(error).__name__}; it said: {said or 'nothing'}") from error
        finally:
            await start.end()


@contextlib.contextmanager
def _upstream(bench: Bench, target: Target, options: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    if target.back != "http":
        yield "", 0
        return
    process = subprocess.Popen(bench.upstream(*options), stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        with process.stdout:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp", process.pid
    finally:
        process.terminate()
        process.wait()


def _free_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])


class _Start:
    def __init__(self, target: Target, setting: Setting) -> None:
        self._target, self._setting = target, setting
        self._process: subprocess.Popen[bytes] | None = None
        self._peer: Peer | None = None
        self._pid = 0

    async def reached(self, errors: IO[bytes]) -> Running:
        target, setting = self._target, self._setting
        access = Access(setting.url if target.is_direct else f"http://127.0.0.1:{setting.port}/mcp")
        command = target.command(setting) if target.command else []
        began = time.perf_counter()
        self._peer = await self._spoken_to(command, access, errors)
        hello = await self._until(began, lambda: self._speaking().hello(20))
        if target.prepare is not None:
            access = await asyncio.to_thread(target.prepare, setting)
            await self._speaking().close()
            self._peer = HttpPeer(access.url, target.protocol, access.headers)
            await self._until(began, lambda: self._speaking().hello(20))
        listed = await self._until(began, lambda: self._shows(access.tool))
        is_upstream = target.is_direct and bool(command)
        return Running(self._speaking(), self._pid, access, hello, listed, is_upstream, 0)

    async def _spoken_to(self, command: list[str], access: Access, errors: IO[bytes]) -> Peer:
        target, folder = self._target, str(self._setting.folder)
        if target.front == "stdio":
            peer = StdioPeer(target.protocol)
            self._pid = await peer.start(command, target.environment, folder, errors)
            return peer
        if command:
            self._process = subprocess.Popen(  # noqa: ASYNC220  it takes no time, and ends with `end`
                command,
                env=target.environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
            )
            self._pid = self._process.pid
        return HttpPeer(access.url, target.protocol, access.headers)

    def _speaking(self) -> Peer:
        assert self._peer is not None
        return self._peer

    async def _until(self, began: float, attempt: Callable[[], Awaitable[None]]) -> float:
        """Tried until it works; the seconds since the start of the program."""
        while True:
            try:
                await attempt()
                return time.perf_counter() - began
            except (NoAnswer, OSError, TimeoutError) as error:
                if self._over() or time.perf_counter() - began > self._target.patience:
                    raise NoAnswer(f"it {'ended' if self._over() else 'does not answer'}: {error}") from error
                await asyncio.sleep(_LOOK)

    def _over(self) -> bool:
        return self._speaking().gone or (self._process is not None and self._process.poll() is not None)

    async def _shows(self, tool: str) -> None:
        names = [one["name"] for one in (await self._speaking().ask("tools/list", {}))["tools"]]
        if tool not in names:
            raise NoAnswer(f"no tool {tool} among {len(names)}: {names[:5]}")

    async def end(self) -> None:
        if self._peer is not None:
            await self._peer.close()
        if self._pid:
            await asyncio.to_thread(processes.end, self._pid)
        if self._process is not None:
            self._process.wait()
