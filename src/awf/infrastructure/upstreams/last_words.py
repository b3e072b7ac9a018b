"""What a server prints beside the protocol: logged line by line, within bounds, and the end of it kept.

Secrets are taken out as it comes, before anything is cut: half of one would not be known any more.
"""

from __future__ import annotations

import codecs
import logging
from typing import TYPE_CHECKING

from awf.infrastructure.upstreams.noise import as_logged

if TYPE_CHECKING:
    from awf.domain.redaction import TextMasker

__all__ = ["TAIL", "LastWords"]

TAIL = 2000
LINE = 500
LINES_LOGGED = 500
_log = logging.getLogger("awf.upstreams")


class LastWords:
    def __init__(self, server: str, masker: TextMasker) -> None:
        self._server = server
        self._masker = masker
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._tail = ""
        self._open = ""  # a line that has not ended yet
        self._logged = 0

    def add(self, chunk: bytes) -> None:
        text = self._masker.feed(self._decode(chunk))
        self._tail = (self._tail + text)[-TAIL:]
        *whole, rest = (self._open + text).split("\n")
        self._open = rest[-LINE:]
        for line in whole:
            self._tell(line)

    def text(self) -> str:
        """When nothing more comes."""
        rest = self._masker.feed(self._decode(b"", final=True)) + self._masker.close()
        self._tail = (self._tail + rest)[-TAIL:]
        return self._tail.strip()

    def _tell(self, line: str) -> None:
        if self._logged > LINES_LOGGED or not line.strip():
            return
        self._logged += 1
        if self._logged > LINES_LOGGED:
            _log.info("MCP server %s says too much; the rest is not logged", self._server)
            return
        _log.info("MCP server %s: %s", self._server, as_logged(line[:LINE], LINE))
