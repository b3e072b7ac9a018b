"""Requests to any address, over connections that are kept by origin."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

from awf import __version__
from awf.domain.ports.http_client import HttpBroken
from awf.infrastructure.http_client.address import address_of
from awf.infrastructure.http_client.pool import ConnectionPool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.domain.ports.turn import Turn
    from awf.infrastructure.http_client.address import Address
    from awf.infrastructure.http_client.response import Response

__all__ = ["LeanHttpClient"]

ADDRESSES_KEPT = 64
HEADS_KEPT = 256
LONGEST_KEPT = 2048
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_OURS = frozenset({"content-length", "transfer-encoding", "connection"})
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class Route:
    """An `HttpRoute`. All but the length and the body is written already."""

    __slots__ = ("_head", "_pool")

    def __init__(self, head: bytes, pool: ConnectionPool) -> None:
        self._head = head
        self._pool = pool

    def send_now(self, body: bytes, tell: Callable[[Response], None], tag: object) -> Response | None:
        connection = self._pool.take_now()
        if connection is None:
            return None
        return connection.begin(b"%b%d\r\n\r\n%b" % (self._head, len(body), body), tell, tag)


class LeanHttpClient:
    """An `HttpClient`."""

    def __init__(self, turn: Turn | None = None) -> None:
        self._turn = turn
        self._pools: dict[tuple[bool, str, int], ConnectionPool] = {}
        self._addresses: dict[str, Address] = {}
        self._heads: dict[tuple[object, ...], bytes] = {}

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        repeatable: bool = False,
    ) -> Response:
        address = self._address(url)
        data = self._head(method, address, headers or {}, len(body)) + body
        pool = self._pool(address)
        connection = await pool.take()
        was_kept = connection.reused
        try:
            return await connection.exchange(data)
        except HttpBroken:
            if not (repeatable and was_kept):
                raise
        # The server closed a kept connection just when it was used again.
        return await (await pool.take(fresh=True)).exchange(data)

    def route(self, method: str, url: str, headers: Mapping[str, str]) -> Route:
        address = self._address(url)
        head = _head(method, address, headers, 1)
        return Route(head.removesuffix(b"1\r\n\r\n"), self._pool(address))

    async def close(self) -> None:
        await asyncio.gather(*(pool.close() for pool in self._pools.values()))

    def _address(self, url: str) -> Address:
        address = self._addresses.get(url)
        if address is None:
            address = address_of(url)
            if len(self._addresses) >= ADDRESSES_KEPT:
                self._addresses.clear()
            self._addresses[url] = address
        return address

    def _head(self, method: str, address: Address, headers: Mapping[str, str], length: int) -> bytes:
        """Requests to one place differ in little but their bodies."""
        key = (method, address, length, *headers.items())
        head = self._heads.get(key)
        if head is None:
            head = _head(method, address, headers, length)
            if len(self._heads) >= HEADS_KEPT:
                self._heads.clear()
            if len(head) <= LONGEST_KEPT:
                self._heads[key] = head
        return head

    def _pool(self, address: Address) -> ConnectionPool:
        origin = address[:3]
        pool = self._pools.get(origin)
        if pool is None:
            pool = self._pools[origin] = ConnectionPool(address, self._turn)
        return pool


def _head(method: str, address: Address, headers: Mapping[str, str], length: int) -> bytes:
    fields = {"host": f"Host: {address.authority}", "user-agent": f"User-Agent: awf/{__version__}"}
    fields.update(_field(key, value) for key, value in headers.items())
    if length or method in _WITH_BODY:
        fields["content-length"] = f"Content-Length: {length}"
    lines = "\r\n".join(fields.values())
    return f"{method} {address.target} HTTP/1.1\r\n{lines}\r\n\r\n".encode()


def _field(key: str, value: str) -> tuple[str, str]:
    """By its name in small letters, as it is sent."""
    # A line end would begin a header, or a whole request, of somebody else's making.
    if key.lower() in _OURS or not _NAME.fullmatch(key) or _CONTROL.search(value):
        raise ValueError(f"the header {key!r} cannot be sent")
    return key.lower(), f"{key}: {value}"
