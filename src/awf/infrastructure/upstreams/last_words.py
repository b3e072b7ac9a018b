"""What a server prints beside the protocol: logged line by line, within bounds, and the end of it kept."""

from __future__ import annotations

import logging

__all__ = ["LastWords"]

TAIL = 2000
LINE = 500
LINES_LOGGED = 500
_log = logging.getLogger("awf.upstreams")


class LastWords:
    def __init__(self, server: str) -> None:
        self._server = server
        self._tail = b""
        self._open = b""  # a line that has not ended yet
        self._logged = 0

    def add(self, chunk: bytes) -> None:
        self._tail = (self._tail + chunk)[-TAIL:]
        *whole, rest = (self._open + chunk).split(b"\n")
        self._open = rest[-LINE:]
        for line in whole:
            self._tell(line)

    def text(self) -> str:
        return self._tail.decode("utf-8", "replace").strip()

    def _tell(self, line: bytes) -> None:
        if self._logged > LINES_LOGGED or not line.strip():
            return
        self._logged += 1
        if self._logged > LINES_LOGGED:
            _log.info("MCP server %s says too much; the rest is not logged", self._server)
            return
        _log.info("MCP server %s: %s", self._server, line[:LINE].decode("utf-8", "replace").rstrip())
