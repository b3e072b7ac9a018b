"""MCP's streamable HTTP, both eras on one address.

A request of the newer era stands for itself; when its client leaves, it is cancelled. One of the older era belongs to a
session, and goes on without its client: that may come back for the answer.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from awf.application.gateway.client import Exchange
from awf.domain.mcp import INVALID_REQUEST, LEGACY_VERSIONS, MODERN_VERSIONS, RpcError
from awf.domain.ports.http_server import HttpReply
from awf.interfaces.mcp.gateway.event_log import EventLog
from awf.interfaces.mcp.gateway.messages import (
    UnreadableError,
    checked_id,
    checked_object,
    decoded,
    encode,
    error_of,
    failure,
    refusal,
    request_parts,
    success,
)
from awf.interfaces.mcp.gateway.newer_era import check_headers, is_newer, modern_client, status_of
from awf.interfaces.mcp.gateway.reach import STREAM_HEADERS, AnswerReach, StandingReach

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.application.gateway.gateway import Gateway
    from awf.domain.ports.http_server import HttpRequest
    from awf.interfaces.mcp.gateway.elsewhere import Elsewhere
    from awf.interfaces.mcp.gateway.sessions import Session, Sessions

__all__ = ["Streamable", "takes_streams"]

PATIENCE = 2.0  # seconds after which a client is shown that its request is being worked on
PULSE_SECONDS = 15.0
_ACCEPTED = HttpReply(202)
_METHODS = (("Allow", "GET, POST, DELETE"),)


class Streamable:
    def __init__(
        self,
        gateway: Gateway,
        sessions: Sessions,
        *,
        quiet: float | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self._gateway = gateway
        self._sessions = sessions
        self._quiet = quiet
        self._elsewhere = elsewhere
        self.pending: dict[AnswerReach, float] = {}  # since when
        self._pulsed = 0.0

    @property
    def in_flight(self) -> int:
        return len(self.pending)

    async def handle(
        self, request: HttpRequest, key: str, profile: str, headers: Sequence[tuple[str, str]] = ()
    ) -> HttpReply | None:
        """`key`: who asks; `headers` go with every answer."""
        if request.method == "POST":
            return await self.post(request, key, profile, headers)
        if request.method == "GET":
            return await self._get(request, key, headers)
        if request.method == "DELETE":
            return await self._delete(request, key)
        return HttpReply(405, _METHODS)

    # One message, or several

    async def post(
        self, request: HttpRequest, key: str, profile: str, headers: Sequence[tuple[str, str]]
    ) -> HttpReply | None:
        try:
            message = decoded(request.body)
        except UnreadableError as error:
            return refusal(400, error, error.request_id)
        if type(message) is list:
            return await self._batch(request, key, message, headers)
        if type(message) is not dict:
            return refusal(400, RpcError(INVALID_REQUEST, "Invalid request: not an object"))
        version = request.headers.get("mcp-protocol-version")
        if version is not None and version not in MODERN_VERSIONS and version not in LEGACY_VERSIONS:
            return await self._newer(request, key, profile, message, headers)
        if version in MODERN_VERSIONS or _says_newer(message):
            return await self._newer(request, key, profile, message, headers)
        return await self._older(request, key, profile, message, headers)

    # The newer era

    async def _newer(
        self,
        request: HttpRequest,
        key: str,
        profile: str,
        message: dict[str, Any],
        headers: Sequence[tuple[str, str]],
    ) -> HttpReply | None:
        request_id = message.get("id")
        try:
            method, params, meta = request_parts(message)
            check_headers(request.headers, method, params, meta)
            if "id" not in message:
                return _ACCEPTED
            request_id = checked_id(message)
            client = modern_client(meta, key, profile)
        except RpcError as error:
            return refusal(max(400, status_of(error)), error, request_id)
        if self._elsewhere is not None:
            params = self._elsewhere.unmark(params)
        reach = AnswerReach(request, headers, streams=takes_streams(request))
        exchange = Exchange(client, request_id, reach, meta=meta, headers=request.headers)
        exchange.admitted = request.handed
        task = asyncio.current_task()
        assert task is not None
        request.on_leave(task.cancel)
        exchange.task = task
        return await self._answer(exchange, reach, method, params)

    async def _answer(
        self, exchange: Exchange, reach: AnswerReach, method: str, params: dict[str, Any]
    ) -> HttpReply | None:
        self.pending[reach] = asyncio.get_running_loop().time()
        try:
            result = await self._gateway.answer(exchange, method, params)
        except RpcError as error:
            status = status_of(error) if exchange.client.modern else 200
            return reach.finish(failure(exchange.id, error), status)
        finally:
            self.pending.pop(reach, None)
        if self._elsewhere is not None and exchange.client.modern:
            result = self._elsewhere.mark(result)
        return reach.finish(success(exchange.id, result))

    # The older era

    async def _older(
        self,
        request: HttpRequest,
        key: str,
        profile: str,
        message: dict[str, Any],
        headers: Sequence[tuple[str, str]],
    ) -> HttpReply | None:
        if message.get("method") == "initialize" and "id" in message:
            return await self._initialize(message, key, profile, headers)
        session = self._session(request, key)
        if isinstance(session, HttpReply):
            return session
        if "method" not in message:
            session.client.answered(message)
            return _ACCEPTED
        try:
            method, params, meta = request_parts(message)
            if "id" not in message:
                self._notified(session, message, params)
                return _ACCEPTED
            request_id = checked_id(message, session.tasks)
        except RpcError as error:
            return refusal(400, error, message.get("id"))
        primed = session.client.version >= "2025-11-25"
        streams = takes_streams(request)
        reach = AnswerReach(request, headers, streams=streams, new_log=session.new_log, primed=primed)
        exchange = Exchange(session.client, request_id, reach, meta=meta, headers=request.headers)
        exchange.admitted = request.handed
        task = asyncio.current_task()
        assert task is not None
        session.tasks[request_id] = exchange.task = task
        try:
            return await self._answer(exchange, reach, method, params)
        except asyncio.CancelledError:
            if session.tasks.get(request_id) is task and not session.ended:
                raise
            task.uncancel()  # it was the client, who waits for nothing
            return reach.abandon()
        finally:
            if session.tasks.get(request_id) is task:
                del session.tasks[request_id]

    async def _initialize(
        self, message: dict[str, Any], key: str, profile: str, headers: Sequence[tuple[str, str]]
    ) -> HttpReply:
        try:
            request_id = checked_id(message)
            _, params, _ = request_parts(message)
            client = self._sessions.new_client(params, key, profile)
            result = await self._gateway.greet(client)
        except RpcError as error:
            return refusal(400, error, message.get("id"))
        self._sessions.open(client)
        fields = (("Content-Type", "application/json"), ("Mcp-Session-Id", client.id), *headers)
        return HttpReply(200, fields, success(request_id, result))

    def _session(self, request: HttpRequest, key: str) -> Session | HttpReply:
        session_id = request.headers.get("mcp-session-id")
        if session_id is None:
            text = "Invalid request: Mcp-Session-Id is missing. Begin with initialize."
            return refusal(400, RpcError(INVALID_REQUEST, text))
        session = self._sessions.find(session_id, key)
        if session is None:
            return refusal(
                404, RpcError(-32001, "Session not found: it has ended. Begin again with initialize.")
            )
        return session

    def _notified(self, session: Session, message: dict[str, Any], params: dict[str, Any]) -> None:
        if message["method"] == "notifications/cancelled":
            cancelled = params.get("requestId")
            task = session.tasks.pop(cancelled, None) if isinstance(cancelled, str | int) else None
            if task is not None:
                task.cancel()
        else:
            self._gateway.heard(session.client, message)

    async def _batch(
        self, request: HttpRequest, key: str, messages: list[Any], headers: Sequence[tuple[str, str]]
    ) -> HttpReply | None:
        session = self._session(request, key)
        if isinstance(session, HttpReply):
            return session
        if session.client.version != "2025-03-26":
            text = f"Invalid request: there are no batches in {session.client.version}"
            return refusal(400, RpcError(INVALID_REQUEST, text))
        if not messages:
            return refusal(400, RpcError(INVALID_REQUEST, "Invalid request: an empty batch"))
        answers = await asyncio.gather(*(self._one_of_many(session, request, one) for one in messages))
        told = [answer for answer in answers if answer is not None]
        if not told:
            return _ACCEPTED
        return HttpReply(200, (("Content-Type", "application/json"), *headers), encode(told))

    async def _one_of_many(
        self, session: Session, request: HttpRequest, message: Any
    ) -> dict[str, Any] | None:
        request_id = message.get("id") if isinstance(message, dict) else None
        try:
            message = checked_object(message)
            if "method" not in message:
                session.client.answered(message)
                return None
            method, params, meta = request_parts(message)
            if "id" not in message:
                self._notified(session, message, params)
                return None
            request_id = checked_id(message)
            reach = AnswerReach(request, (), streams=False)
            exchange = Exchange(session.client, request_id, reach, meta=meta, headers=request.headers)
            result = await self._gateway.answer(exchange, method, params)
        except RpcError as error:
            return {"jsonrpc": "2.0", "id": request_id, "error": error_of(error)}
        return {"jsonrpc": "2.0", "id": request_id, "result": result}

    # Streams of a session

    async def _get(
        self, request: HttpRequest, key: str, headers: Sequence[tuple[str, str]]
    ) -> HttpReply | None:
        if request.headers.get("mcp-protocol-version") in MODERN_VERSIONS:
            return HttpReply(405, (("Allow", "POST"),))
        if "text/event-stream" not in request.headers.get("accept", ""):
            text = "Not acceptable: the client must accept text/event-stream"
            return refusal(406, RpcError(INVALID_REQUEST, text))
        session = self._session(request, key)
        if isinstance(session, HttpReply):
            return session
        last = request.headers.get("last-event-id")
        position = EventLog.position(last) if last else None
        if position is not None and position[0] in session.logs:
            await self._resume(session, request, *position, headers)
        else:
            await self._stand(session, request, headers)
        return None

    async def _stand(
        self, session: Session, request: HttpRequest, headers: Sequence[tuple[str, str]]
    ) -> None:
        """What is said between requests, until the client or the session leaves. The latest such stream counts."""
        if session.standing is not None:
            session.standing.close()
        reach = StandingReach(request.stream(200, (*STREAM_HEADERS, *headers)))
        reach.pulse()
        session.standing = session.client.standing = reach
        over = asyncio.Event()
        reach.on_close(over.set)
        request.on_leave(over.set)
        await over.wait()
        reach.close()
        if session.standing is reach:
            session.standing = session.client.standing = None

    async def _resume(
        self,
        session: Session,
        request: HttpRequest,
        name: str,
        position: int,
        headers: Sequence[tuple[str, str]],
    ) -> None:
        log = session.logs[name]
        stream = request.stream(200, (*STREAM_HEADERS, *headers))
        reach = next((one for one in self.pending if one.log is log), None)
        if reach is None:
            for made in log.after(position):
                stream.write(made)
            return
        over = asyncio.Event()
        reach.attach(stream, position, over.set)
        request.on_leave(over.set)
        await over.wait()

    async def _delete(self, request: HttpRequest, key: str) -> HttpReply:
        if request.headers.get("mcp-protocol-version") in MODERN_VERSIONS:
            return HttpReply(405, (("Allow", "POST"),))
        session = self._session(request, key)
        if isinstance(session, HttpReply):
            return session
        await self._sessions.end(session)
        return HttpReply(204)

    # Time

    def tick(self, now: float) -> None:
        """Now and then: show that work goes on, and end what is quiet where that is wanted."""
        pulse = now - self._pulsed >= PULSE_SECONDS
        if pulse:
            self._pulsed = now
        for reach, since in list(self.pending.items()):
            if not reach.streams or now - since < PATIENCE:
                continue
            if not reach.streaming:
                reach.quiet_since = now
                reach.open()
            elif pulse:
                reach.pulse()
            if self._quiet is not None and now - max(since, reach.quiet_since) >= self._quiet:
                reach.pause()


def _says_newer(message: dict[str, Any]) -> bool:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and is_newer(meta) and message.get("method") != "initialize"


def takes_streams(request: HttpRequest) -> bool:
    accepted = request.headers.get("accept", "")
    return "text/event-stream" in accepted or "*/*" in accepted
