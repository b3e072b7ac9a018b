"""Running commands so that nothing of them is left afterwards, whatever happens to them or to us."""

from __future__ import annotations

import asyncio
import itertools
import os
import secrets
from typing import TYPE_CHECKING

from awf.infrastructure.processes.child import ChildProcess
from awf.infrastructure.processes.descendants import TOKEN_VARIABLE, Descendants, adopt_orphans, household
from awf.infrastructure.processes.guard import Guard
from awf.infrastructure.processes.kin import ProcessGroup
from awf.infrastructure.processes.launch import launch

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.domain.ports.command_runner import Command, CommandOutcome, Stream

__all__ = ["ProcessRunner"]

# Programs wait for a daemon to be gone by asking for its process id, which a dead orphan keeps until it is reaped.
REAPING_INTERVAL = 0.1


# The path of a Unix socket has room for about a hundred bytes, and its name needs some.
LONGEST_SOCKET_FOLDER = 60


class ProcessRunner:
    """`portable` keeps to what every POSIX system has, also on Linux."""

    def __init__(self, grace: float = 5.0, *, portable: bool = False) -> None:
        self._grace = grace
        self._portable = portable
        # Ours goes after that of an outer awf, which thereby recognises our commands as its own, too.
        self._identity = os.environ.get(TOKEN_VARIABLE, "") + secrets.token_hex(8)
        self._serial = itertools.count()
        self._guard: Guard | None = None
        self._children: set[ChildProcess] = set()
        self._reaping: asyncio.TimerHandle | None = None
        self._scratch: list[str] = []
        self._closed = False

    async def run(self, command: Command, on_output: Callable[[Stream, bytes], None]) -> CommandOutcome:
        child = self.start(command, on_output, with_stdin=command.stdin is not None)
        if command.stdin is not None:
            child.feed(command.stdin)
        if command.timeout is not None:
            child.limit(command.timeout)
        try:
            return await child.wait()
        finally:
            await child.terminate()

    def start(
        self,
        command: Command,
        on_output: Callable[[Stream, bytes], None] | None = None,
        *,
        with_stdin: bool = False,
    ) -> ChildProcess:
        """Start a program to talk to. Its `timeout` and `stdin` are the caller's to apply."""
        if self._closed:
            raise RuntimeError("This runner is closed.")
        loop = asyncio.get_running_loop()
        finds_escaped = not self._portable and adopt_orphans()
        guard = self._guarded(loop, finds_escaped)
        token = f"{self._identity}{next(self._serial):08x}"
        with household.lock:
            launched = launch(command, {**command.env, TOKEN_VARIABLE: token}, with_stdin=with_stdin)
            pid = launched.process.pid
            household.own.add(pid)
        guard.note(pid)
        child = ChildProcess(
            loop,
            launched,
            Descendants(pid, token) if finds_escaped else ProcessGroup(pid),
            grace=self._grace,
            portable=self._portable,
            on_output=on_output,
            on_over=self._ended,
        )
        self._children.add(child)
        if finds_escaped and self._reaping is None:
            self._reaping = loop.call_later(REAPING_INTERVAL, self._reap_orphans, loop)
        return child

    def _guarded(self, loop: asyncio.AbstractEventLoop, finds_escaped: bool) -> Guard:
        if self._guard is None:
            self._guard = Guard(loop, self._identity, self._grace, unhurried=finds_escaped)
        return self._guard

    def scratch(self) -> str:
        import tempfile

        guard = self._guarded(asyncio.get_running_loop(), not self._portable and adopt_orphans())
        usual = tempfile.gettempdir()
        roomy = len(os.fsencode(usual)) <= LONGEST_SOCKET_FOLDER
        folder = tempfile.mkdtemp(prefix="awf-", dir=usual if roomy else "/tmp")
        self._scratch.append(folder)
        guard.note_folder(folder)
        return folder

    async def close(self) -> None:
        self._closed = True
        cancelled: asyncio.CancelledError | None = None
        children = tuple(self._children)
        for child in children:
            child.end()
        for child in children:
            try:
                await child.terminate()
            except asyncio.CancelledError as reason:
                cancelled = reason
                for other in children:
                    other.kill()
        if self._reaping:
            self._reaping.cancel()
        self._remove_scratch()
        if self._guard:
            self._guard.close()
        if cancelled:
            raise cancelled

    def _remove_scratch(self) -> None:
        if self._scratch:
            from awf.infrastructure.folder_removal import remove_folder

            for folder in self._scratch:
                remove_folder(folder)
            self._scratch.clear()

    def _reap_orphans(self, loop: asyncio.AbstractEventLoop) -> None:
        household.orphans()
        again = bool(self._children)
        self._reaping = loop.call_later(REAPING_INTERVAL, self._reap_orphans, loop) if again else None

    def _ended(self, child: ChildProcess) -> None:
        self._children.discard(child)
        household.own.discard(child.pid)
        if self._guard:
            self._guard.forget(child.pid)
