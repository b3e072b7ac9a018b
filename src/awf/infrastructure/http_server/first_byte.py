"""Two protocols on one socket: whoever begins with JSON does not speak HTTP."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FirstByte"]


class FirstByte(asyncio.Protocol):
    """Stands in until the client has said something."""

    def __init__(self, http: asyncio.Protocol, lines: Callable[[], object]) -> None:
        self._http = http
        self._lines = lines

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        chosen = cast("asyncio.Protocol", self._lines()) if data[:1] in {b"{", b"["} else self._http
        self._transport.set_protocol(chosen)
        chosen.connection_made(self._transport)
        chosen.data_received(data)
