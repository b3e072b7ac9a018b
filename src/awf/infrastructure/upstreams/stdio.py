"""A server as a child process: one message per line on its standard input and output.

Calls that are begun together, at the end of a turn of the loop, are written together: each write may wake up the server, which
takes longer than the writing.
"""

from __future__ import annotations

import asyncio
import select
from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError
from awf.infrastructure.upstreams import frames
from awf.infrastructure.upstreams.background import Background
from awf.infrastructure.upstreams.channel import MESSAGE_LIMIT
from awf.infrastructure.upstreams.failures import ServerFault, SessionLost, nonsense, stopped, unavailable
from awf.infrastructure.upstreams.last_words import LastWords
from awf.infrastructure.upstreams.line_splitter import LineSplitter
from awf.infrastructure.upstreams.noise import Noise

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.domain.mcp import Era
    from awf.domain.ports.command_runner import Command, CommandOutcome, CommandRunner, RunningCommand, Stream
    from awf.domain.ports.turn import Turn
    from awf.infrastructure.upstreams.correlation import Call, Correlation

__all__ = ["StdioChannel"]

LEAVING_SECONDS = 2.0
DYING_SECONDS = 1.0  # that lie at most between the end of a program's output and its own


class StdioChannel:
    """Starts the program when it is made."""

    def __init__(
        self,
        name: str,
        command: Command,
        runner: CommandRunner,
        correlation: Correlation,
        turn: Turn | None = None,
    ) -> None:
        self.correlation = correlation
        self._turn = turn
        self._gathered: list[Call] = []  # that were begun, and not written yet
        self._name = name
        self._words = LastWords(name, correlation.masking())
        self._noise = Noise(name, correlation.masking())
        self._in_long_line = False
        self._fault: ServerFault | None = None
        self._closing = False
        self._left = False
        self._lines = LineSplitter(self._line, MESSAGE_LIMIT)
        self._process = _started(name, command, runner, self._printed)
        self._outcome: CommandOutcome | None = None
        self._background = Background()
        self._going = self._background.start(self._outlive(), f"the end of MCP server {name}")
        self._reading = self._background.start(self._read(), f"reading from MCP server {name}")

    @property
    def alive(self) -> bool:
        return self._fault is None and not self._closing and not self._left

    @property
    def has_session(self) -> bool:
        return False  # the process itself may remember; only its authors know

    def agreed(self, era: Era) -> None:
        """Both eras look alike here: what differs is in the messages."""

    async def exchange(self, call: Call) -> dict[str, Any]:
        if self._fault is not None:
            self.correlation.fail(call, self._fault)
        try:
            if not await self._process.write(call.frame + b"\n") and not call.answer.done():
                self._left = True
                if call.cancellable:  # else it ended before we were introduced: its last words say why
                    raise SessionLost  # it cannot have read what it did not get
            return await call.answer
        except asyncio.CancelledError:
            if self.correlation.forget(call) and call.cancellable and self.alive:
                self._told_off(call)
            raise

    def begin(self, call: Call) -> bool:
        if not self.alive:
            return False
        turn = self._turn
        if turn is None or not turn.is_ending or len(call.frame) >= select.PIPE_BUF:
            return self._process.write_now(call.frame + b"\n")
        if not self._gathered:
            turn.at_end(self._send_gathered)
        self._gathered.append(call)
        return True

    def _send_gathered(self) -> None:
        """In pieces that a pipe takes as a whole or not at all: then it is known what the server cannot have read."""
        gathered, self._gathered = self._gathered, []
        piece: list[Call] = []
        size = 0
        for call in gathered:
            size += len(call.frame) + 1
            if size > select.PIPE_BUF:
                self._send(piece)
                piece, size = [], len(call.frame) + 1
            piece.append(call)
        self._send(piece)

    def _send(self, piece: list[Call]) -> None:
        if piece and not self._process.write_now(b"".join([call.frame + b"\n" for call in piece])):
            self._background.start(self._send_later(piece), f"writing to MCP server {self._name}")

    async def _send_later(self, piece: list[Call]) -> None:
        """The pipe is full, or nobody reads it any more."""
        for call in piece:
            if call.answer.done():
                continue
            if not await self._process.write(call.frame + b"\n"):
                self._left = True
                self.correlation.fail(call, SessionLost())  # it cannot have read what it did not get

    def give_up(self, call: Call) -> None:
        if call in self._gathered:  # the server has not heard of it
            self._gathered.remove(call)
        elif call.cancellable and self.alive:
            self._told_off(call)

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        await self._process.write(frames.notification(method, params) + b"\n")

    async def reply(self, frame: bytes) -> None:
        await self._process.write(frame + b"\n")

    async def listen(self) -> None:
        """It is heard already."""

    async def hear(self) -> None:
        """Everything comes in by the one pipe that is always read."""
        await asyncio.wait([self._reading])

    async def close(self) -> None:
        """Its input ends, which asks it to leave; what stays is ended."""
        self._closing = True
        self.correlation.fail_all(unavailable(f'The connection to MCP server "{self._name}" was closed.'))
        self._process.close_stdin()
        try:
            await asyncio.wait([self._going], timeout=LEAVING_SECONDS)
        finally:
            await self._process.terminate()
            await self._background.close()

    def _told_off(self, call: Call) -> None:
        # Whoever cancels must not have to wait for a server that does not read.
        told = {"requestId": call.number, "reason": "The caller no longer waits for it."}
        self._background.start(self.notify("notifications/cancelled", told), "telling of a cancellation")

    def _printed(self, stream: Stream, chunk: bytes) -> None:
        if stream == "stdout":
            self._lines.feed(chunk)
        else:
            self._words.add(chunk)

    def _line(self, line: bytes) -> None:
        if len(line) >= MESSAGE_LIMIT:
            self._too_long()
            return
        if line and not line.isspace():
            self._take(line)
        self._in_long_line = False

    async def _outlive(self) -> None:
        self._outcome = await self._process.wait()

    async def _read(self) -> None:
        try:
            await self._process.silent()
            self._left = True  # its last words may take a moment; nothing more is sent to it meanwhile
            self._lines.end()
            await asyncio.wait([self._going], timeout=DYING_SECONDS)
            if self._outcome is not None:
                self._fault = _ended(self._name, self._outcome, self._words.text())
            elif not self._going.done():
                self._fault = _fell_silent(self._name, self._words.text())
        finally:
            # Also when reading itself fails: nobody may wait for an answer that cannot come.
            if self._fault is None:
                self._fault = unavailable(f'MCP server "{self._name}" can no longer be heard.')
            self.correlation.fail_all(self._fault)
        if not self._going.done() and not self._closing:
            self._background.start(self._see_off(), f"ending MCP server {self._name}")

    async def _see_off(self) -> None:
        """It lives on, and nobody can hear it: it has to leave as at a close, also when nobody calls it any more."""
        self._process.close_stdin()
        await asyncio.wait([self._going], timeout=LEAVING_SECONDS)
        await self._process.terminate()

    def _take(self, line: bytes) -> None:
        plain = frames.plain_answer(line)
        if plain is not None:
            self.correlation.settle(*plain)
            return
        messages = frames.messages_in(line)
        if messages is None:
            self._noise.hear("printed a line", line)
            return
        for message in messages:
            answer = self.correlation.receive(message)
            if answer is not None:
                self._background.start(self.reply(answer), f"answering MCP server {self._name}")

    def _too_long(self) -> None:
        # Whose answer it was cannot be said without reading it, so nobody may be left waiting. What else comes of the
        # same line is noise.
        if self._in_long_line:
            return
        self._in_long_line = True
        size = MESSAGE_LIMIT // 1024 // 1024
        self.correlation.fail_all(nonsense(f'MCP server "{self._name}" sent a message of over {size} MiB.'))


def _started(
    name: str, command: Command, runner: CommandRunner, printed: Callable[[Stream, bytes], None]
) -> RunningCommand:
    try:
        return runner.start(command, printed, with_stdin=True)
    except AwfError as reason:
        hint = reason.hint
        if len(command.argv) == 1 and " " in command.argv[0]:
            hint = "Put only the program under `command`, and the rest under `args`."
        raise unavailable(f'MCP server "{name}": {reason.message}', hint=hint) from reason


def _fell_silent(name: str, words: str) -> ServerFault:
    message = f'MCP server "{name}" has closed its standard output, so that nothing more can come from it.'
    hint = "Run its command by hand to see what is wrong."
    return unavailable(f"{message}{_said(words)}", hint=hint)


def _ended(name: str, outcome: CommandOutcome, words: str) -> ServerFault:
    how = f"signal {outcome.signal}" if outcome.signal else f"exit status {outcome.exit_code}"
    said = _said(words)
    if outcome.breach:
        text = (
            f'MCP server "{name}" was stopped by {outcome.breach} in its sandbox “{outcome.profile}”.{said}'
        )
        return stopped(text, hint="Give it another profile under `sandbox`, or raise the limit there.")
    hint = "Run its command by hand to see what is wrong."
    if outcome.profile:
        hint = f"It ran in the sandbox “{outcome.profile}”, which may be why; run its command by hand."
    return unavailable(f'MCP server "{name}" ended with {how}.{said}', hint=hint)


def _said(words: str) -> str:
    return f" It said last:\n{words}" if words else " It said nothing on its standard error."
