from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Command", "CommandOutcome", "CommandRunner", "OutputSink", "Stream"]

Stream = Literal["stdout", "stderr"]
OutputSink = "Callable[[Stream, bytes], None]"


class Command(msgspec.Struct, frozen=True, kw_only=True):
    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    timeout: float | None = None
    stdin: bytes | None = None  # None: an empty standard input


class CommandOutcome(msgspec.Struct, frozen=True, kw_only=True):
    exit_code: int  # as a shell reports it: 128 + signal when ended by one
    signal: int = 0
    timed_out: bool = False
    leftovers: int = 0  # processes it left behind, which were ended


class CommandRunner(Protocol):
    """Starts programs and makes sure that nothing of them is left afterwards."""

    async def run(self, command: Command, on_output: Callable[[Stream, bytes], None]) -> CommandOutcome:
        """Run to the end, handing over output as it comes, in order per stream.

        Raises `AwfError` (EXECUTION.COMMAND.NOT_FOUND) when it cannot be started. When cancelled, ends the whole
        process group before the cancellation goes on.
        """
        ...

    async def close(self) -> None:
        """End whatever still runs."""
        ...
