"""What a plugin prints: into the log, never more than the log can bear, and never so that the plugin has to wait."""

from __future__ import annotations

import logging
import time
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.domain.ports.command_runner import Stream

__all__ = ["LOG", "PluginOutput"]

LOG = logging.getLogger("awf.plugins")
LONGEST_LINE = 4096
LINES_PER_SECOND = 200
TAIL_LINES = 12


class _Lines:
    """Chunks → lines. What is longer than a line may be is cut, and its rest forgotten."""

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take
        self._rest = b""

    def feed(self, chunk: bytes) -> None:
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            self._take((self._rest + line)[:LONGEST_LINE])
            self._rest = b""
        self._rest = (self._rest + rest)[:LONGEST_LINE]

    def finish(self) -> None:
        if self._rest:
            self._take(self._rest)
            self._rest = b""


class PluginOutput:
    """The sink of one plugin process. `on_line` sees each line of standard output until it says that it is done."""

    def __init__(self, name: str, on_line: Callable[[bytes], bool]) -> None:
        self._name = name
        self._on_line: Callable[[bytes], bool] | None = on_line
        self._streams = {"stdout": _Lines(self._stdout), "stderr": _Lines(self._stderr)}
        self._tails: dict[str, deque[bytes]] = {name: deque(maxlen=TAIL_LINES) for name in self._streams}
        self._second = 0
        self._logged = 0
        self._dropped = 0

    def __call__(self, stream: Stream, chunk: bytes) -> None:
        self._streams[stream].feed(chunk)

    def finish(self) -> None:
        """The plugin is gone: its last line may lack an end."""
        for lines in self._streams.values():
            lines.finish()
        self._tell_dropped()

    def tail(self, stream: Stream) -> str:
        return "\n".join(line.decode("utf-8", "replace").rstrip() for line in self._tails[stream])

    def _stdout(self, line: bytes) -> None:
        if self._on_line is not None and self._on_line(line):
            self._on_line = None
        else:
            self._keep("stdout", line)

    def _stderr(self, line: bytes) -> None:
        self._keep("stderr", line)

    def _keep(self, stream: str, line: bytes) -> None:
        if line.strip():
            self._tails[stream].append(line)
            self._log(stream, line)

    def _log(self, stream: str, line: bytes) -> None:
        second = int(time.monotonic())
        if second != self._second:
            self._tell_dropped()
            self._second, self._logged = second, 0
        if self._logged >= LINES_PER_SECOND:
            self._dropped += 1
            return
        self._logged += 1
        LOG.info("%s %s: %s", self._name, stream, line.decode("utf-8", "replace").rstrip())

    def _tell_dropped(self) -> None:
        if self._dropped:
            LOG.warning("%s: %d more lines of its output were not logged.", self._name, self._dropped)
            self._dropped = 0
