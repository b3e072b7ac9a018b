"""Under which names a door may be spoken of, and by which web pages. Pure.

A page anywhere can make a browser send requests to this machine, under a name of its own that leads here (DNS
rebinding). The browser tells that name as the host, and the page as the origin; both must be known ones.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

from awf.domain.gateway_file import is_loopback

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["DoorNames"]

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]@/?#\s]+)(?::([0-9]{1,5}))?")
_USUAL_PORTS = {"http": "80", "https": "443"}


class DoorNames:
    """`addresses`: host:port of everything that is listened on; `hosts` and `origins`: what the file allows besides."""

    def __init__(self, addresses: Iterable[str], hosts: Iterable[str], origins: Iterable[str]) -> None:
        self._own: set[str] = set()
        self._everywhere: set[str] = set()  # ports at which any address of this machine is listened on
        for address in addresses:
            self._add(address.lower())
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(_plain_origin(origin) for origin in origins)

    def knows_host(self, host: str) -> bool:
        found = _AUTHORITY.fullmatch(host.lower())
        if found is None:
            return False
        name, port = found[1], found[2] or "80"
        if f"{name}:{port}" in self._own or not self._hosts.isdisjoint({name, found[0], f"{name}:{port}"}):
            return True
        # No name that leads elsewhere can look like an address, so that an address is as good as our own.
        return port in self._everywhere and _is_address(name)

    def allows_origin(self, origin: str) -> bool:
        """Whether the file names the page: it is a stranger that may come in."""
        return _plain_origin(origin) in self._origins

    def is_own_origin(self, origin: str, host: str) -> bool:
        """Whether the page came from this door. The host is known to be one of its names."""
        scheme, mark, authority = origin.lower().partition("://")
        usual = _USUAL_PORTS.get(scheme)
        if not mark or usual is None:
            return False
        page = _with_port(authority, usual)
        return page in {*self._own, _with_port(host.lower(), usual)}

    def _add(self, address: str) -> None:
        name, _, port = address.rpartition(":")
        self._own.add(address)
        if is_loopback(name):
            self._own.update(f"{known}:{port}" for known in _LOOPBACK)
        elif _is_unspecified(name):
            self._own.update(f"{known}:{port}" for known in _LOOPBACK)
            self._everywhere.add(port)


def _plain_origin(origin: str) -> str:
    """In small letters, and without the port that its scheme has anyway."""
    scheme, _, authority = origin.lower().partition("://")
    usual = _USUAL_PORTS.get(scheme)
    return f"{scheme}://{authority.removesuffix(f':{usual}') if usual else authority}"


def _with_port(authority: str, usual: str) -> str:
    found = _AUTHORITY.fullmatch(authority)
    return "" if found is None else f"{found[1]}:{found[2] or usual}"


def _is_unspecified(name: str) -> bool:
    return not name or (_is_address(name) and ipaddress.ip_address(name.strip("[]")).is_unspecified)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
