"""The person at the terminal; implements the `Person` port. Without a terminal nobody is asked."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import re
import sys
import threading
from typing import TYPE_CHECKING

from awf.domain.ports.person import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from awf.domain.events import ApprovalRequired, InputRequired

__all__ = ["NobodyThere", "TerminalPerson"]


def _name() -> str:
    """Containers run programs for users that have no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


class NobodyThere:
    """Answers come from elsewhere, for example from `awf approve`."""

    async def approve(self, request: ApprovalRequired) -> Answer | None:
        del request
        return None

    async def read(self, request: InputRequired) -> str | None:
        del request
        return None


class TerminalPerson:
    """Asks on standard error and reads from the terminal, one question at a time. `pause` and `resume` belong to the live view."""

    def __init__(self, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        self._pause = pause
        self._resume = resume
        self._one_at_a_time = asyncio.Lock()
        self._lines = _LineReader()

    async def approve(self, request: ApprovalRequired) -> Answer | None:
        question = f"\n? {request.step}: {_neutral(request.message)}\n  [y] once  [a] for this run  [n] no: "
        while True:
            line = await self._ask(question)
            if line is None:
                return None
            word = line.strip().lower()
            if word in {"y", "yes"}:
                return Answer("once", _name())
            if word in {"a", "always"}:
                return Answer("run", _name())
            if word in {"n", "no"}:
                return Answer("reject", _name())
            question = "  Please answer y, a or n: "

    async def read(self, request: InputRequired) -> str | None:
        said = f"\n{_neutral(request.said.strip())}\n" if request.said.strip() else ""
        return await self._ask(f"{said}\n{request.step}> ")

    async def _ask(self, question: str) -> str | None:
        async with self._one_at_a_time:
            with self._quiet_view():
                return await self._lines.line(question)

    @contextlib.contextmanager
    def _quiet_view(self) -> Iterator[None]:
        self._pause()
        try:
            yield
        finally:
            self._resume()


def _neutral(text: str) -> str:
    """Text of others must not steer the terminal."""
    return re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[@-_]|[\x00-\x08\x0b-\x1f\x7f-\x9f]", "", text)


class _LineReader:
    """Reads lines in a thread, so that the run goes on and an answer from elsewhere can end the wait.

    A read that nobody waits for any more is taken over by the next question, so that no line is lost.
    """

    def __init__(self) -> None:
        self._outstanding: asyncio.Future[str | None] | None = None

    async def line(self, question: str) -> str | None:
        """The next line; None when the terminal was closed."""
        if self._outstanding is None or self._outstanding.done():
            self._outstanding = asyncio.get_running_loop().create_future()
            reading = threading.Thread(
                target=self._read, args=(question, self._outstanding), name="awf-terminal", daemon=True
            )
            reading.start()
        else:
            sys.stderr.write(question)
            sys.stderr.flush()
        outstanding = self._outstanding
        line = await asyncio.shield(outstanding)
        self._outstanding = None
        return line

    def _read(self, question: str, done: asyncio.Future[str | None]) -> None:
        try:
            line: str | None = _prompted(question)
        except (EOFError, OSError, ValueError):
            line = None
        with contextlib.suppress(RuntimeError):  # the loop has gone
            done.get_loop().call_soon_threadsafe(_settle, done, line)


def _prompted(question: str) -> str:
    if sys.stdout.isatty():
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401  gives input() line editing
        return input(question)
    sys.stderr.write(question)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def _settle(done: asyncio.Future[str | None], line: str | None) -> None:
    if not done.done():
        done.set_result(line)
