"""A private Unix socket in the process that owns a step; `awf mcp-serve` carries an agent's bytes to it.

The socket lies in a folder that only this user can enter, under a name nobody can guess, and whoever connects must
first say the token that is written in the file given to the agent.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
import os
from typing import TYPE_CHECKING

from awf.domain.ports.tools import ToolEndpoint

if TYPE_CHECKING:
    from awf.domain.ports.command_runner import CommandRunner
    from awf.domain.ports.tools import Toolbox

__all__ = ["SocketDoor", "SocketDoors"]

TOKEN_WAIT = 10.0  # seconds a visitor has to say the token
_log = logging.getLogger("awf.tools")


class SocketDoors:
    """Opens doors. `relay` is the program that an agent is told to start; the name of the file is added to it."""

    def __init__(self, runner: CommandRunner, version: str, relay: tuple[str, ...]) -> None:
        self._runner = runner
        self._version = version
        self._relay = relay
        self._folder = ""

    async def open(self, toolbox: Toolbox) -> SocketDoor:
        if not self._folder:
            self._folder = self._runner.scratch()
        door = SocketDoor(self._folder, toolbox, self._version, self._relay)
        await door.listen()
        return door


class SocketDoor:
    def __init__(self, folder: str, toolbox: Toolbox, version: str, relay: tuple[str, ...]) -> None:
        from awf.infrastructure.tool_doors.bridge import McpToolbox
        from mcpserver import Server

        name = os.path.join(folder, os.urandom(4).hex())
        self._socket, self._file = f"{name}.sock", f"{name}.json"
        self._token = os.urandom(16).hex()
        self._relay = relay
        self._server = Server(name="awf", version=version, toolbox=McpToolbox(toolbox, self._note_use))
        self._listening: asyncio.AbstractServer | None = None
        self._visitors: set[asyncio.Task[None]] = set()
        self.used = False

    @property
    def endpoint(self) -> ToolEndpoint:
        return ToolEndpoint(command=(*self._relay, f"--config={self._file}"))

    def _note_use(self) -> None:
        self.used = True

    async def listen(self) -> None:
        self._listening = await asyncio.start_unix_server(self._come_in, self._socket)
        os.chmod(self._socket, 0o600)
        handle = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump({"socket": self._socket, "token": self._token}, stream)

    async def close(self) -> None:
        for path in (self._socket, self._file):
            with contextlib.suppress(OSError):
                os.unlink(path)
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        for task in self._visitors:
            task.cancel()
        if self._visitors:
            await asyncio.wait(self._visitors)

    async def _come_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._visitors.add(task)
        try:
            if await self._knows_the_token(reader):
                await self._server.serve(reader, writer)
        except asyncio.CancelledError:
            if self._listening is not None:  # not the door being closed: whoever cancels wants to know
                raise
        except OSError:
            _log.debug("an agent left its tools without a word")
        finally:
            self._visitors.discard(task)
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _knows_the_token(self, reader: asyncio.StreamReader) -> bool:
        try:
            said = await asyncio.wait_for(reader.readline(), TOKEN_WAIT)
        except (TimeoutError, ValueError, OSError):
            said = b""
        known = hmac.compare_digest(said.strip(), self._token.encode())
        if not known:
            _log.warning("somebody without the token tried to use a step's tools")
        return known
