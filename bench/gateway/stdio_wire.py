"""The lean client over pipes: it starts the program, and all its slots write into one stdin."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

import msgspec

from bench.gateway.wire import Peer, Slot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO

    from bench.gateway.wire import Done

__all__ = ["StdioPeer"]

_ID = re.compile(rb'"id":\s*(\d+)')
_LOOKED_AT = 4096  # bytes of a line in which its kind shows


class StdioPeer(Peer, asyncio.SubprocessProtocol):
    def __init__(self, protocol: str) -> None:
        Peer.__init__(self, protocol)
        self._pending: dict[int, Done] = {}
        self._rest = b""
        self._exited = asyncio.Event()

    async def start(self, argv: Sequence[str], env: Mapping[str, str], cwd: str, errors: IO[bytes]) -> int:
        """The process id of the program."""
        loop = asyncio.get_running_loop()
        self._process, _ = await loop.subprocess_exec(lambda: self, *argv, env=env, cwd=cwd, stderr=errors)
        pipe = self._process.get_pipe_transport(0)
        self._stdin: asyncio.WriteTransport = pipe  # type: ignore[assignment]
        return self._process.get_pid()

    @property
    def gone(self) -> bool:
        return self._exited.is_set()

    async def slots(self, count: int) -> list[Slot]:
        return [self] * count

    def send(self, number: int, body: bytes, method: str, name: str, done: Done) -> None:  # noqa: ARG002
        if self.gone:
            done(0, b"the program has ended")
            return
        self._pending[number] = done
        self._stdin.write(body + b"\n")

    async def notify(self, method: str) -> None:
        self._stdin.write(b'{"jsonrpc":"2.0","method":"%b"}\n' % method.encode())

    async def close(self) -> None:
        """A server on pipes ends when its stdin does."""
        if not self.gone:
            self._stdin.close()

    # -- what the event loop calls -----------------------------------------------------------------------------------

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd != 1:
            return
        *lines, self._rest = (self._rest + data if self._rest else data).split(b"\n")
        for line in lines:
            self._line(line)

    def _line(self, line: bytes) -> None:
        found = _ID.search(line)
        if found is None:
            return
        if b'"method"' in line[:_LOOKED_AT] and b'"result"' not in line[:_LOOKED_AT]:
            self._asked(line)
            return
        done = self._pending.pop(int(found[1]), None)
        if done is not None:
            done(200, line)

    def _asked(self, line: bytes) -> None:
        """What a server asks of a client that offers nothing."""
        message = msgspec.json.decode(line)
        answer = {"jsonrpc": "2.0", "id": message["id"]}
        if message["method"] == "ping":
            answer["result"] = {}
        else:
            answer["error"] = {"code": -32601, "message": "not offered"}
        self._stdin.write(msgspec.json.encode(answer) + b"\n")

    def process_exited(self) -> None:
        self._exited.set()
        waiting, self._pending = self._pending, {}
        for done in waiting.values():
            done(0, b"the program has ended")
