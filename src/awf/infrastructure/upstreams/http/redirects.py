"""Where a redirect leads, if it stays at the place that was asked. Pure."""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

__all__ = ["led_to"]

_PORTS = {"http": 80, "https": 443}


def led_to(source: str, location: str) -> str | None:
    """None when it leads elsewhere: there our headers, and with them our credentials, have no business."""
    try:
        target = urljoin(source, location)
        return target if _origin(target) == _origin(source) else None
    except ValueError:
        return None


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)
