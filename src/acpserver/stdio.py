"""This process's standard streams as the wire.

While they are, fd 1 and sys.stdout lead to stderr, and fd 0 to nothing: a stray print, or a child process that inherits
them, can neither write into the conversation nor eat a part of it.
"""

from __future__ import annotations

import os
import sys

from acpserver.signals import Ended, EndSignals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from acpserver.server import Server

__all__ = ["StandardStreams", "run_stdio", "serve_stdio"]


class StandardStreams:
    """Takes stdin and stdout away from everyone else; gives them back at the end."""

    def __enter__(self) -> tuple[int, int]:
        self._stdout = sys.stdout
        nothing = os.open(os.devnull, os.O_RDWR)
        self._source, self._target = _copy(0, nothing), _copy(1, nothing)
        os.dup2(nothing, 0)
        os.dup2(_or(2, nothing), 1)
        if nothing > 2:
            os.close(nothing)
        if sys.stdout is not None:
            sys.stdout.flush()  # only now: what was printed before us is not for the wire either
        sys.stdout = sys.stderr
        return self._source, self._target

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if (
            self._stdout is not None and not self._stdout.closed
        ):  # what someone wrote into it is not for the wire
            self._stdout.flush()
        sys.stdout = self._stdout
        os.dup2(self._source, 0)
        os.dup2(self._target, 1)
        os.close(self._source)
        os.close(self._target)


def _or(descriptor: int, nothing: int) -> int:
    """The descriptor, unless whoever started us closed it."""
    try:
        os.fstat(descriptor)
    except OSError:
        return nothing
    return descriptor


def _copy(descriptor: int, nothing: int) -> int:
    """Out of the way of the standard numbers, some of which may be free."""
    import fcntl

    return fcntl.fcntl(_or(descriptor, nothing), fcntl.F_DUPFD_CLOEXEC, 3)


async def serve_stdio(server: Server, *, patience: float = 8.0) -> None:
    """Serve the editor at the other end of stdin and stdout; returns at the end of the input."""
    from acpserver.descriptors import serve_descriptors

    with StandardStreams() as (source, target):
        await serve_descriptors(server, source, target, patience=patience)


def run_stdio(server: Server | Callable[[], Server], *, patience: float = 8.0) -> int:
    """The same for a whole process, with a quick start; returns the exit status.

    Until the agent is needed nothing but the conversation runs: no event loop, no agent. The end of the input, an
    editor that no longer reads, SIGTERM, SIGHUP and SIGINT all end everything in good order.
    """
    from acpserver.opening import listen

    with EndSignals() as signals, StandardStreams() as (source, target):
        try:
            served = server() if callable(server) else server
            opening = listen(served.conversation(), source, target, served.trace)
            if opening is not None:
                from acpserver.descriptors import run_descriptors

                run_descriptors(
                    served, source, target, patience=patience, opening=opening, on_ready=signals.lead_to
                )
        except (BrokenPipeError, Ended, KeyboardInterrupt):
            pass
        return signals.status
