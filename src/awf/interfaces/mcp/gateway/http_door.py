"""Everything that the gateway answers over HTTP, by address."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import msgspec

from awf.application.gateway.metrics import CONTENT_TYPE, exposition
from awf.domain.mcp import INVALID_REQUEST, MODERN_VERSIONS, RpcError
from awf.domain.ports.http_server import HttpReply
from awf.interfaces.mcp.gateway.messages import JSON, refusal
from awf.interfaces.mcp.gateway.older_sse import MESSAGES, OlderSse
from awf.interfaces.mcp.gateway.quick import QuickDoor
from awf.interfaces.mcp.gateway.sessions import Sessions
from awf.interfaces.mcp.gateway.streamable import PULSE_SECONDS, Streamable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.application.gateway.admission import Admission
    from awf.application.gateway.call_book import CallBook
    from awf.application.gateway.desk import GatewayDesk
    from awf.application.gateway.gateway import Gateway
    from awf.domain.ports.http_server import HttpRequest
    from awf.interfaces.mcp.gateway.elsewhere import Elsewhere, Place

__all__ = ["HttpDoor"]

SWEEP_SECONDS = 60.0
_GET_ONLY = HttpReply(405, (("Allow", "GET, HEAD"),))


class HttpDoor:
    """`admission` is set once it is known where clients come in."""

    def __init__(
        self,
        gateway: Gateway,
        book: CallBook,
        desk: GatewayDesk,
        *,
        quiet: float | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """`elsewhere`: other gateways, where there are any."""
        self._admission: Admission | None = None
        self.sessions = Sessions(gateway, time.monotonic)
        self.streamable = Streamable(gateway, self.sessions, quiet=quiet, elsewhere=elsewhere)
        self.older = OlderSse(gateway)
        self.quick = QuickDoor(gateway, self.sessions, self.streamable, book)
        self.quick.mark = elsewhere.mark if elsewhere is not None else None
        self._gateway = gateway
        self._book = book
        self._desk = desk
        self._elsewhere = elsewhere
        self._swept = self._pulsed = 0.0

    @property
    def streams(self) -> int:
        return self.sessions.streams + len(self.older) + len(self._gateway.hub.listeners)

    @property
    def admission(self) -> Admission | None:
        return self._admission

    @admission.setter
    def admission(self, admission: Admission) -> None:
        self._admission = self.quick.admission = admission

    async def handle(self, request: HttpRequest) -> HttpReply | None:
        admission = self._admission
        assert admission is not None
        caller = await admission.admit(request)
        if isinstance(caller, HttpReply):
            self._book.requested(request.method, caller.status)
            return caller
        if caller.subject:
            self._gateway.origins.remember(caller.key, caller.subject)
        headers = admission.headers_for(request) if "origin" in request.headers else ()
        place = self._elsewhere.place_of(request) if self._elsewhere is not None else None
        if place is not None:
            reply = await self._carried(request, caller.key, headers, admission, place)
        else:
            reply = await self._here(request, caller.key, headers, admission)
        self._book.requested(request.method, 200 if reply is None else reply.status)
        if headers and reply is not None and reply.headers[-len(headers) :] != tuple(headers):
            reply = HttpReply(reply.status, (*reply.headers, *headers), reply.body)
        return reply

    async def _carried(
        self,
        request: HttpRequest,
        key: str,
        headers: Sequence[tuple[str, str]],
        admission: Admission,
        place: Place,
    ) -> HttpReply | None:
        """What lives in another gateway is answered there."""
        assert self._elsewhere is not None
        try:
            return await self._elsewhere.carry(request, place, headers)
        except LookupError:
            return await self._here(request, key, headers, admission)

    async def _here(
        self, request: HttpRequest, key: str, headers: Sequence[tuple[str, str]], admission: Admission
    ) -> HttpReply | None:
        path = request.path
        if path == "/mcp":
            return await self._mcp(request, key, "", headers, admission)
        if path.startswith("/mcp/"):
            return await self._profile(request, key, path[5:], headers, admission)
        return await self._other(request, key, path, headers)

    async def _mcp(
        self,
        request: HttpRequest,
        key: str,
        profile: str,
        headers: Sequence[tuple[str, str]],
        admission: Admission,
    ) -> HttpReply | None:
        """Only what is worked on takes a place; a stream that waits for news does not."""
        if request.method != "POST" or _waits(request):
            return await self.streamable.handle(request, key, profile, headers)
        busy = admission.acquire()
        if busy is not None:
            return busy
        try:
            return await self.streamable.post(request, key, profile, headers)
        finally:
            admission.release()

    async def _profile(
        self,
        request: HttpRequest,
        key: str,
        profile: str,
        headers: Sequence[tuple[str, str]],
        admission: Admission,
    ) -> HttpReply | None:
        known = self._gateway.fleet.file.profiles
        if profile not in known:
            names = ", ".join(f"/mcp/{name}" for name in sorted(known)) or "none"
            text = f"There is no profile {profile[:100]!r} here. There are: {names}."
            return refusal(404, RpcError(INVALID_REQUEST, text))
        return await self._mcp(request, key, profile, headers, admission)

    async def _other(
        self, request: HttpRequest, key: str, path: str, headers: Sequence[tuple[str, str]]
    ) -> HttpReply | None:
        if path == "/sse" or path.startswith("/sse/"):
            profile = path[5:]
            if profile and profile not in self._gateway.fleet.file.profiles:
                return HttpReply(404)
            return await self.older.stream(request, key, profile, headers)
        if path == MESSAGES:
            return await self.older.message(request, key)
        if path in {"/healthz", "/readyz", "/metrics"}:
            return self._told(request, path)
        from awf.interfaces.web import serve_page  # late: most gateways are never looked at

        return await serve_page(request, self._desk)

    def _told(self, request: HttpRequest, path: str) -> HttpReply:
        if request.method not in {"GET", "HEAD"}:
            return _GET_ONLY
        if path == "/healthz":
            named = self._elsewhere.named if self._elsewhere is not None else ()
            return HttpReply(200, (("Content-Type", "text/plain; charset=utf-8"), *named), b"ok\n")
        if path == "/readyz":
            return self._readiness()
        gauges = self._desk.gauges()
        gauges["sessions"] = len(self.sessions) + len(self.older)
        gauges["streams"] = self.streams
        return HttpReply(200, (("Content-Type", CONTENT_TYPE),), exposition(self._book, gauges))

    def _readiness(self) -> HttpReply:
        """Ready when every server has been tried, and not all have failed."""
        states = {name: server.state for name, server in self._gateway.fleet.servers.items()}
        tried = all(state in {"ready", "failed", "idle"} for state in states.values())
        ready = tried and (not states or any(state != "failed" for state in states.values()))
        body = msgspec.json.encode({"ready": ready, "servers": states}) + b"\n"
        return HttpReply(200 if ready else 503, (JSON,), body)

    def tick(self) -> None:
        """Once a second or so."""
        now = asyncio.get_running_loop().time()
        self.streamable.tick(now)
        self._desk.tick()
        if now - self._pulsed >= PULSE_SECONDS:
            self._pulsed = now
            self.sessions.pulse()
            self.older.pulse()
        if now - self._swept >= SWEEP_SECONDS:
            self._swept = now
            self.sessions.sweep()

    async def close(self) -> None:
        self.older.close()
        self._book.close()
        await self.sessions.close()


def _waits(request: HttpRequest) -> bool:
    """It waits for news and takes no place. The header is held against the body later, in this era."""
    fields = request.headers
    return (
        fields.get("mcp-method") == "subscriptions/listen"
        and fields.get("mcp-protocol-version") in MODERN_VERSIONS
    )
