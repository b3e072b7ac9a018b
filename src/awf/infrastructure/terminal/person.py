"""The person at the terminal; implements the `Person` port. Without a terminal nobody is asked."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import re
import sys
import termios
import threading
from typing import TYPE_CHECKING

from awf.domain.plain_sight import spelled_out
from awf.domain.ports.person import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from awf.domain.events import ApprovalRequired, InputRequired

__all__ = ["NobodyThere", "TerminalPerson"]

_FOR_ANOTHER = "  That may have been meant for the question before. Please answer y, a or n: "
_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[@-_]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


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
        message = spelled_out(_SEQUENCE.sub("", request.message), keep="\n\t")
        question = f"\n? {request.step}: {message}\n  [y] once  [a] for this run  [n] no: "
        anew = True
        while True:
            line = await self._ask(question, anew=anew)
            anew = False
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

    async def _ask(self, question: str, *, anew: bool = False) -> str | None:
        async with self._one_at_a_time:
            with self._quiet_view():
                return await self._lines.line(question, anew=anew)

    @contextlib.contextmanager
    def _quiet_view(self) -> Iterator[None]:
        self._pause()
        try:
            yield
        finally:
            self._resume()


def _neutral(text: str) -> str:
    """Text of others must not steer the terminal."""
    return _CONTROL.sub("", _SEQUENCE.sub("", text))


class _LineReader:
    """Reads lines in a thread, so that the run goes on and an answer from elsewhere can end the wait.

    A read that nobody waits for any more is taken over by the next question, so that no line is lost. Where a line allows
    something it may have been meant for the question before, which was answered elsewhere: then it does not count.
    """

    def __init__(self) -> None:
        self._outstanding: asyncio.Future[str | None] | None = None

    async def line(self, question: str, *, anew: bool = False) -> str | None:
        """The next line; None when the terminal was closed. `anew`: nothing counts that was typed before the question was seen."""
        if self._outstanding is None or self._outstanding.done():
            self._begin(question, anew=anew)
        else:
            _write(question)
            if anew:
                await self._next()
                self._begin(_FOR_ANOTHER, anew=True)
        return await self._next()

    def _begin(self, question: str, *, anew: bool) -> None:
        self._outstanding = asyncio.get_running_loop().create_future()
        reading = threading.Thread(
            target=self._read, args=(question, self._outstanding, anew), name="awf-terminal", daemon=True
        )
        reading.start()

    async def _next(self) -> str | None:
        assert self._outstanding is not None
        line = await asyncio.shield(self._outstanding)
        self._outstanding = None
        return line

    def _read(self, question: str, done: asyncio.Future[str | None], anew: bool) -> None:
        try:
            if anew:
                _forget_what_was_typed()
            line: str | None = _prompted(question)
        except (EOFError, OSError, ValueError):
            line = None
        with contextlib.suppress(RuntimeError):  # the loop has gone
            done.get_loop().call_soon_threadsafe(_settle, done, line)


def _forget_what_was_typed() -> None:
    with contextlib.suppress(termios.error):  # not a terminal
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def _write(question: str) -> None:
    sys.stderr.write(question)
    sys.stderr.flush()


def _prompted(question: str) -> str:
    if sys.stdout.isatty():
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401  gives input() line editing
        return input(question)
    _write(question)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def _settle(done: asyncio.Future[str | None], line: str | None) -> None:
    if not done.done():
        done.set_result(line)
