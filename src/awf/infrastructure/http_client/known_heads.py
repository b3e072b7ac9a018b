"""Servers repeat themselves: an answer whose head was read before, and that came in one piece, needs no parser."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.infrastructure.http_client.response import Response

__all__ = ["KnownHeads"]

MOST = 64
LONGEST = 2048
_END = b"\r\n\r\n"


class KnownHeads:
    """Of one origin. The headers of a known answer are those of the first one, and nobody changes them."""

    __slots__ = ("_heads",)

    def __init__(self) -> None:
        self._heads: dict[bytes, tuple[int, Mapping[str, str], int]] = {}

    def recognise(self, data: bytes, response: Response) -> bool:
        """Whether `data` is a whole answer with a known head; then it is in the response."""
        end = data.find(_END) + 4
        known = self._heads.get(data[:end])
        if known is None or known[2] != len(data) - end:
            return False
        response.status, response.headers, length = known
        if length:
            response.put(data[end:])
        response.complete = True
        return True

    def remember(self, data: bytes, response: Response) -> None:
        """The parser has taken `data` for this one whole answer, after which the connection can be kept."""
        end = data.find(_END) + 4
        headers = response.headers
        length = headers.get("content-length", "")
        if not 4 < end <= LONGEST or not length.isdecimal() or "transfer-encoding" in headers:
            return
        if int(length) == len(data) - end:
            if len(self._heads) >= MOST:
                self._heads.clear()
            self._heads[data[:end]] = (response.status, headers, int(length))
