"""Answers of the page: each forbids the browser what the page does not need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.domain.ports.http_server import HttpReply
from awf.interfaces.web.files import is_known

if TYPE_CHECKING:
    from awf.domain.ports.http_server import HeaderFields, HttpRequest

__all__ = ["JSON", "SAFE", "known_or_whole", "refusal"]

# Nothing but our own files, and no way to turn text into markup: what the page shows was written by strangers.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
SAFE: HeaderFields = (
    ("Content-Security-Policy", _POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)
JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"


def known_or_whole(request: HttpRequest, media_type: str, etag: str, body: bytes, caching: str) -> HttpReply:
    head = (*SAFE, ("Content-Type", media_type), ("Cache-Control", caching), ("ETag", etag))
    if is_known(request.headers.get("if-none-match", ""), etag):
        return HttpReply(304, head)
    return HttpReply(200, head, body)


def refusal(status: int, text: str, *more: tuple[str, str]) -> HttpReply:
    head = (*SAFE, ("Content-Type", _TEXT), ("Cache-Control", "no-store"), *more)
    return HttpReply(status, head, f"{text}\n".encode())
