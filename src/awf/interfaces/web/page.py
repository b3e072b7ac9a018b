"""One request to the page, its files, or what it asks about the gateway. Who may ask is the door's business."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError
from awf.domain.ports.http_server import HttpReply
from awf.interfaces.web.answering import ANSWERS, OPERATOR, answer_question
from awf.interfaces.web.events import serve_events
from awf.interfaces.web.files import asset, etag_of
from awf.interfaces.web.json_bytes import json_bytes
from awf.interfaces.web.replies import JSON, SAFE, known_or_whole, refusal

if TYPE_CHECKING:
    from awf.domain.ports.http_server import HttpRequest
    from awf.interfaces.web.desk import Desk, Gate

__all__ = ["is_open_to_all", "serve_page"]

_EVENTS = "/api/events"
_APPROVALS = "/api/approvals"
_ASSETS = "/assets/"


def is_open_to_all(path: str) -> bool:
    """Whether the door should let people in without a token: the page itself, which tells nothing and asks for it."""
    return path == "/" or path.startswith(_ASSETS)


async def serve_page(request: HttpRequest, desk: Desk) -> HttpReply | None:
    """The answer, or None when it was a stream."""
    method, path, gate = request.method, request.path, desk.gate
    if gate is not None and path.startswith(ANSWERS):
        return await answer_question(request, gate)
    if not _exists(path, gate):
        return refusal(404, "there is nothing here; the page is at /")
    if method not in {"GET", "HEAD"}:
        return refusal(405, "this can only be read", ("Allow", "GET, HEAD"))
    if path == _EVENTS:
        head = (*SAFE, ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"))
        if method == "HEAD":
            return HttpReply(200, head)
        await serve_events(request, desk, head, operator=_is_operator(request, gate))
        return None
    if path.startswith("/api/"):
        return await _told(request, desk, gate)
    found = asset(_file_name(path))
    assert found is not None
    return known_or_whole(request, found.media_type, found.etag, found.body, "no-cache")


def _exists(path: str, gate: Gate | None) -> bool:
    if path.startswith("/api/"):
        known = {"/api/status", "/api/tools", "/api/calls", _EVENTS}
        return path in known or (path == _APPROVALS and gate is not None)
    return (path == "/" or path.startswith(_ASSETS)) and asset(_file_name(path)) is not None


def _file_name(path: str) -> str:
    return "index.html" if path == "/" else path.removeprefix(_ASSETS)


async def _told(request: HttpRequest, desk: Desk, gate: Gate | None) -> HttpReply:
    try:
        body = json_bytes(await _asked(request, desk, gate))
    except AwfError as error:
        return refusal(503, error.message)
    return known_or_whole(request, JSON, etag_of(body), body, "no-store")


async def _asked(request: HttpRequest, desk: Desk, gate: Gate | None) -> Any:
    path = request.path
    if path == "/api/tools":
        return desk.tools()
    operator = _is_operator(request, gate)
    if path == "/api/calls":
        return desk.calls(operator=operator)
    if gate is None:
        return desk.status()
    if path == _APPROVALS:
        return await gate.approvals(operator=operator)
    return {**desk.status(), "gate": await gate.status(operator=operator)}


def _is_operator(request: HttpRequest, gate: Gate | None) -> bool:
    return gate is not None and gate.is_operator(request.headers.get(OPERATOR, ""))
