"""Where requests go."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, urlsplit

__all__ = ["Address", "address_of"]

_PORTS = {"http": 80, "https": 443}
_SAFE = (
    "/%:=&?~#+!$,;'@()*[]|"  # what quoting leaves alone: a written address is already quoted, more or less
)


class Address(NamedTuple):
    secure: bool
    host: str
    port: int
    target: str  # path and query

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS["https" if self.secure else "http"] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{'https' if self.secure else 'http'}://{self.authority}{self.target}"


def address_of(url: str) -> Address:
    """Raises ValueError for what is not an HTTP address."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError(f"{url!r} is not an HTTP address")
    host = parts.hostname if parts.hostname.isascii() else parts.hostname.encode("idna").decode("ascii")
    target = quote(parts.path or "/", safe=_SAFE) + (
        f"?{quote(parts.query, safe=_SAFE)}" if parts.query else ""
    )
    return Address(parts.scheme == "https", host, parts.port or _PORTS[parts.scheme], target)
