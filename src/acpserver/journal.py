"""What is told to whoever runs the agent: the log, and the wire as it was."""

from __future__ import annotations

import sys

from acpserver.framing import Oversize
from acpserver.messages import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    import logging
    from collections.abc import Callable
    from typing import Any

__all__ = ["Trace", "described", "ignored", "log"]


def log() -> logging.Logger:
    """Loaded only when there is something to say."""
    import logging

    return logging.getLogger("acpserver")


def ignored(text: str, *values: object) -> list[Any]:
    """No effect, and a word about it for those who listen; who does has loaded the log already."""
    if "logging" in sys.modules:
        log().debug("ignored " + text, *values)
    return []


def described(what: str, error: BaseException) -> str:
    """One readable sentence about a failure, without its traceback."""
    text = one_line(str(error))[:500]
    return f"{what} failed with {type(error).__name__}" + (f": {text}" if text else ".")


class Trace:
    """Shows every line to someone. One who fails is not asked again."""

    __slots__ = ("_show",)

    def __init__(self, show: Callable[[str, bytes], None] | None) -> None:
        self._show = show

    def received(self, line: bytes | Oversize) -> None:
        if self._show is not None:
            self._tell("in", str(line).encode() if isinstance(line, Oversize) else line)

    def sent(self, data: bytes) -> None:
        if self._show is not None:
            self._tell("out", data.removesuffix(b"\n"))

    def _tell(self, direction: str, line: bytes) -> None:
        try:
            if self._show is not None:
                self._show(direction, line)
        except Exception:  # noqa: BLE001  it is logged
            self._show = None
            log().exception("the trace failed, and is switched off")
