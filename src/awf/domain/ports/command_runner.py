from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

import msgspec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["Command", "CommandOutcome", "CommandRunner", "OutputSink", "RunningCommand", "Stream"]

Stream = Literal["stdout", "stderr"]
OutputSink = "Callable[[Stream, bytes], None]"


class Command(msgspec.Struct, frozen=True, kw_only=True):
    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    timeout: float | None = None
    stdin: bytes | None = None  # None: an empty standard input
    fds: tuple[int, ...] = ()  # open files of ours that it gets, under the same numbers
    via: Callable[[Callable[[], Any]], Any] | None = (
        None  # calls what starts it, in a thread whose limits it inherits
    )


class CommandOutcome(msgspec.Struct, frozen=True, kw_only=True):
    exit_code: int  # as a shell reports it: 128 + signal when ended by one
    signal: int = 0
    timed_out: bool = False
    leftovers: int = 0  # processes it left behind, which were ended
    profile: str = ""  # the sandbox profile that it ran in
    breach: str = ""  # the limit of the sandbox that stopped it, in words


class RunningCommand(Protocol):
    """A program one talks to."""

    pid: int

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None:
        """Ended at the end of the block."""
        ...

    async def write(self, data: bytes) -> bool:
        """Returns when the program's pipe has taken it all; False when the program no longer reads."""
        ...

    def write_now(self, data: bytes) -> bool:
        """The same without waiting. False when nothing of it was taken: then `write` says why."""
        ...

    def close_stdin(self) -> None: ...

    def lines(self, on_stderr: Callable[[bytes], None], limit: int = 1 << 24) -> AsyncIterator[bytes]:
        """The lines of its standard output, without their ends; a longer one than the limit comes in pieces."""
        ...

    async def silent(self) -> None:
        """Until its standard output has ended: no later than itself, and before if it closes it and lives on."""
        ...

    async def wait(self) -> CommandOutcome:
        """Until nothing of it is left."""
        ...

    async def terminate(self) -> None:
        """End it and everything it started, and wait for that: SIGTERM, 5 s, SIGKILL."""
        ...


class CommandRunner(Protocol):
    """Starts programs and makes sure that nothing of them is left afterwards."""

    def start(
        self,
        command: Command,
        on_output: Callable[[Stream, bytes], None] | None = None,
        *,
        with_stdin: bool = False,
    ) -> RunningCommand:
        """Start a program to talk to. Its `timeout` and `stdin` are the caller's to apply.

        Raises `AwfError` (EXECUTION.COMMAND.NOT_FOUND) when it cannot be started.
        """
        ...

    def scratch(self) -> str:
        """A new private folder, removed when the runner is closed, and also when this process is killed."""
        ...

    async def run(self, command: Command, on_output: Callable[[Stream, bytes], None]) -> CommandOutcome:
        """Run to the end, handing over output as it comes, in order per stream.

        Raises `AwfError` (EXECUTION.COMMAND.NOT_FOUND) when it cannot be started. When cancelled, ends the whole
        process group before the cancellation goes on.
        """
        ...

    async def close(self) -> None:
        """End whatever still runs."""
        ...
