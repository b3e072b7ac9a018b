"""A lean HTTP/1.1 server: kept connections, streamed answers, limits against abuse. No TLS, no routes, no files."""

from __future__ import annotations

from awf.infrastructure.http_server.server import LeanHttpServer

__all__ = ["LeanHttpServer"]
