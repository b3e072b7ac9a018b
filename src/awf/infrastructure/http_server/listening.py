"""Sockets on which clients are awaited."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["UnixPlace", "listen_on_host"]

BACKLOG = 1024
_NOT_HERE = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})


async def listen_on_host(
    host: str, port: int, protocol: Callable[[], asyncio.Protocol]
) -> tuple[int, list[asyncio.AbstractServer]]:
    """On every address of the host, with the same port for all of them. Raises OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    servers: list[asyncio.AbstractServer] = []
    addresses = list(dict.fromkeys(str(item[4][0]) for item in found))
    try:
        for number, address in enumerate(addresses, 1):
            try:
                server = await loop.create_server(protocol, address, port, backlog=BACKLOG)
            except OSError as reason:
                # A name may stand for an address family that this machine lacks; for one of them it must do.
                if reason.errno not in _NOT_HERE or (number == len(addresses) and not servers):
                    raise
            else:
                servers.append(server)
                port = server.sockets[0].getsockname()[1]
    except BaseException:
        for opened in servers:
            opened.close()
        raise
    return port, servers


class UnixPlace:
    """A socket file that is ours as long as nobody replaces it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._identity: tuple[int, int] | None = None

    def bind(self) -> socket.socket:
        """Raises OSError, also when somebody listens there."""
        self._clear_stale()
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        mask = os.umask(0o177)  # nobody else gets in, not even between bind and chmod
        try:
            sock.bind(self._path)
            found = os.stat(self._path)
        except BaseException:
            sock.close()
            raise
        finally:
            os.umask(mask)
        self._identity = (found.st_dev, found.st_ino)
        sock.setblocking(False)
        return sock

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            found = os.stat(self._path)
            if (found.st_dev, found.st_ino) == self._identity:
                os.unlink(self._path)

    def _clear_stale(self) -> None:
        """Remove what a server that was killed left behind."""
        try:
            if not stat.S_ISSOCK(os.lstat(self._path).st_mode):
                return  # bind will say that the name is taken
        except FileNotFoundError:
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.setblocking(False)
            try:
                probe.connect(self._path)
            except ConnectionRefusedError:
                os.unlink(self._path)
            except BlockingIOError:
                pass  # somebody is there, and busy
