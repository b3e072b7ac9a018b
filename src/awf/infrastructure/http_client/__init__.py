"""A lean HTTP/1.1 client: TLS, kept connections, answers as streams. No redirects, no cookies, no compression."""

from __future__ import annotations

from awf.infrastructure.http_client.client import LeanHttpClient

__all__ = ["LeanHttpClient"]
