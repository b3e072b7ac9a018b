"""What a server says that is no message: a little of it is logged, whatever way it came.

Whose log it is and what its handlers know is not known here, so that secrets are taken out before, and what a terminal would
obey is spelled out.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from awf.domain.plain_sight import spelled_out

if TYPE_CHECKING:
    from awf.domain.redaction import TextMasker

__all__ = ["LOGGED", "Noise", "as_logged", "told_of"]

LOGGED = 5
LONGEST = 500
SHOWN = 200
_LOOKED_AT = 4096  # of one; the beginning of a secret that is cut there is held back
_log = logging.getLogger("awf.upstreams")


def as_logged(text: str, most: int) -> str:
    return spelled_out(text.rstrip(), keep="\t")[:most]


def told_of(text: str, masker: TextMasker) -> str:
    """Of what is there as a whole."""
    return as_logged(masker.feed(text) + masker.close(), LONGEST)


class Noise:
    """Secrets of several lines come in pieces, so that it is one `masker` for all."""

    def __init__(self, server: str, masker: TextMasker) -> None:
        self._server = server
        self._masker = masker
        self._heard = 0

    def hear(self, how: str, data: bytes) -> None:
        self._heard += 1
        if self._heard > LOGGED:
            return
        text = data[:_LOOKED_AT].decode("utf-8", "replace")
        shown = self._masker.feed(text if len(data) > _LOOKED_AT else f"{text}\n")
        _log.warning("MCP server %s %s that is not a message: %s", self._server, how, as_logged(shown, SHOWN))
        if self._heard == LOGGED:
            _log.warning("further ones of this kind from %s are ignored in silence", self._server)
