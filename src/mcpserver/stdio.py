"""This process's standard streams as the wire.

While they are, fd 1 and sys.stdout lead to stderr, and fd 0 to nothing: a stray print, or a child process that inherits
them, can neither write into the conversation nor eat a part of it.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

    from mcpserver.server import Server

__all__ = ["FINISHING_SECONDS", "StandardStreams", "run_stdio", "serve_stdio"]

FINISHING_SECONDS = 30.0  # that a patient server gives what was asked before its input ended


class StandardStreams:
    """Takes stdin and stdout away from everyone else; gives them back at the end."""

    def __enter__(self) -> tuple[int, int]:
        if sys.stdout is not None:
            sys.stdout.flush()
        self._stdout = sys.stdout
        self._source, self._target = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        try:
            os.dup2(2, 1)
        except OSError:  # stderr is closed
            os.dup2(nothing, 1)
        os.close(nothing)
        sys.stdout = sys.stderr
        return self._source, self._target

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.stdout = self._stdout
        os.dup2(self._source, 0)
        os.dup2(self._target, 1)
        os.close(self._source)
        os.close(self._target)


async def serve_stdio(server: Server, *, drain: float = 1.0) -> None:
    """Serve the client at the other end of stdin and stdout; returns at the end of the input."""
    from mcpserver.descriptors import serve_descriptors

    with StandardStreams() as (source, target):
        await serve_descriptors(server, source, target, drain=drain)


def run_stdio(
    server: Server | Callable[[], Server],
    *,
    drain: float = 1.0,
    finish: Callable[[], Awaitable[object]] | None = None,
) -> int:
    """The same for a whole process, with a quick start; returns the exit status.

    Until a tool is needed nothing but the session runs: no event loop, no toolbox. `finish` is awaited at the end if
    there was a loop, so that a toolbox can let go of what it holds.
    """
    from mcpserver.opening import listen

    with StandardStreams() as (source, target):
        try:
            served = server() if callable(server) else server
            opening = listen(served.session(), source, target)
            if opening is None:
                return 0
            from mcpserver.descriptors import run_descriptors

            return run_descriptors(served, source, target, drain=drain, opening=opening, finish=finish)
        except BrokenPipeError:
            return 0
        except KeyboardInterrupt:
            return 130
