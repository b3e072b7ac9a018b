"""One request to the page, its files, or what it asks about the gateway. Who may ask is the door's business."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.domain.ports.http_server import HttpReply
from awf.interfaces.web.events import serve_events
from awf.interfaces.web.files import asset, etag_of, is_known
from awf.interfaces.web.json_bytes import json_bytes

if TYPE_CHECKING:
    from awf.domain.ports.http_server import HeaderFields, HttpRequest
    from awf.interfaces.web.desk import Desk

__all__ = ["is_open_to_all", "serve_page"]

# Nothing but our own files, and no way to turn text into markup: what the page shows was written by strangers.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_SAFE: HeaderFields = (
    ("Content-Security-Policy", _POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)
_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"
_EVENTS = "/api/events"
_ASSETS = "/assets/"


def is_open_to_all(path: str) -> bool:
    """Whether the door should let people in without a token: the page itself, which tells nothing and asks for it."""
    return path == "/" or path.startswith(_ASSETS)


async def serve_page(request: HttpRequest, desk: Desk) -> HttpReply | None:
    """The answer, or None when it was a stream."""
    method, path = request.method, request.path
    if not _exists(path):
        return _refusal(404, "there is nothing here; the page is at /")
    if method not in {"GET", "HEAD"}:
        return _refusal(405, "this can only be read", ("Allow", "GET, HEAD"))
    if path == _EVENTS:
        head = (*_SAFE, ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"))
        if method == "HEAD":
            return HttpReply(200, head)
        await serve_events(request, desk, head)
        return None
    if path.startswith("/api/"):
        body = json_bytes(_asked(path, desk))
        return _known_or_whole(request, _JSON, etag_of(body), body, "no-store")
    found = asset(_file_name(path))
    assert found is not None
    return _known_or_whole(request, found.media_type, found.etag, found.body, "no-cache")


def _exists(path: str) -> bool:
    if path.startswith("/api/"):
        return path in {"/api/status", "/api/tools", "/api/calls", _EVENTS}
    return (path == "/" or path.startswith(_ASSETS)) and asset(_file_name(path)) is not None


def _file_name(path: str) -> str:
    return "index.html" if path == "/" else path.removeprefix(_ASSETS)


def _asked(path: str, desk: Desk) -> Any:
    if path == "/api/status":
        return desk.status()
    return desk.tools() if path == "/api/tools" else desk.calls()


def _known_or_whole(request: HttpRequest, media_type: str, etag: str, body: bytes, caching: str) -> HttpReply:
    head = (*_SAFE, ("Content-Type", media_type), ("Cache-Control", caching), ("ETag", etag))
    if is_known(request.headers.get("if-none-match", ""), etag):
        return HttpReply(304, head)
    return HttpReply(200, head, body)


def _refusal(status: int, text: str, *more: tuple[str, str]) -> HttpReply:
    head = (*_SAFE, ("Content-Type", _TEXT), ("Cache-Control", "no-store"), *more)
    return HttpReply(status, head, f"{text}\n".encode())
