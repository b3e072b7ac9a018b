"""The signals that ask a process to end, and the exit status they lead to."""

from __future__ import annotations

import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType, TracebackType
    from typing import Any, Final, Self

__all__ = ["EndSignals", "Ended"]

_ASKING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    """We were asked to end. Like KeyboardInterrupt: nobody on the way may take it for a failure."""


class EndSignals:
    """Before there is an event loop a signal raises Ended; with one it calls what ends the service.

    The end is bounded in time, so asking again does not hurry it; only a second interrupt, which is a person's, ends the
    process at once. A signal that our parent had us ignore stays ignored.
    """

    def __enter__(self) -> Self:
        self._before: dict[int, Any] = {}
        self.status = 0
        for number in _ASKING:
            if signal.getsignal(number) not in {signal.SIG_IGN, None}:
                self._before[number] = signal.signal(number, self._raise)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _raise(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002  what signal handlers are given
        self._heard(number)
        raise Ended

    def _heard(self, number: int) -> None:
        if number == signal.SIGINT:
            self.status = 130

    def lead_to(self, end: Callable[[], object]) -> None:
        """From now on, on the running event loop, a signal calls this."""
        import asyncio

        loop = asyncio.get_running_loop()

        def asked(number: int) -> None:
            self._heard(number)
            if number == signal.SIGINT:
                loop.remove_signal_handler(number)
                signal.signal(number, signal.SIG_DFL)
            end()

        for number in self._before:
            loop.add_signal_handler(number, asked, number)
