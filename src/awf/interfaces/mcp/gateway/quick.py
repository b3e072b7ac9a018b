"""The short way of a plain `tools/call` over HTTP: it is sent to its server at once, and answered when that answers.

Whatever is not plain, or not yet known, takes the usual way (`HttpDoor.handle`), which does the same with more care. What
follows from the head of a request is found out once for each head that a connection repeats.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from awf.application.gateway.client import Client, Exchange
from awf.domain.mcp import LEGACY_VERSIONS, RpcError
from awf.domain.ports.http_server import ClientGone
from awf.interfaces.mcp.gateway.messages import failure, success
from awf.interfaces.mcp.gateway.newer_era import check_headers, is_newer, modern_client, status_of
from awf.interfaces.mcp.gateway.reach import AnswerReach
from awf.interfaces.mcp.gateway.streamable import takes_streams

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.application.gateway.admission import Admission
    from awf.application.gateway.call_book import CallBook
    from awf.application.gateway.gateway import Gateway
    from awf.application.gateway.quick_call import QuickCall
    from awf.domain.ports.http_server import HttpReply, HttpRequest
    from awf.interfaces.mcp.gateway.sessions import Session, Sessions
    from awf.interfaces.mcp.gateway.streamable import Streamable

__all__ = ["QuickDoor"]


class _Call(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    jsonrpc: Literal["2.0"]
    id: int | str
    method: Literal["tools/call"]
    params: dict[str, Any]


_log = logging.getLogger("awf.gateway")
_decode = msgspec.json.Decoder(_Call).decode


class _Way:
    """What follows from a head."""

    __slots__ = ("_client", "_meta", "admission", "key", "profile", "session", "streams")

    def __init__(
        self, admission: Admission, key: str, profile: str, session: Session | None, *, streams: bool
    ) -> None:
        self.admission = admission
        self.key = key
        self.profile = profile
        self.session = session  # of the older era
        self.streams = streams
        self._meta: dict[str, Any] | None = None
        self._client: Client | None = None

    def modern_client(self, meta: dict[str, Any]) -> Client:
        """Whoever says the same of itself, on the same connection, is the same. Raises `RpcError`."""
        if self._client is None or self._meta != meta:
            self._client, self._meta = modern_client(meta, self.key, self.profile), meta
        return self._client


class QuickDoor:
    def __init__(self, gateway: Gateway, sessions: Sessions, streamable: Streamable, book: CallBook) -> None:
        self.admission: Admission | None = None
        self.sessions = sessions
        self.pending = streamable.pending
        self.book = book
        self.mark: Callable[[Any], Any] | None = None  # where there are other gateways
        self._gateway = gateway
        self._loop = asyncio.get_running_loop()

    def begin(self, request: HttpRequest) -> bool:
        """A `QuickHandler`."""
        way: _Way | None = request.memo.value
        if way is None or way.admission is not self.admission:
            way = self._found(request)
            if way is None:
                return False
            request.memo.value = way
        try:
            call = _decode(request.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        params = call.params
        meta = params.get("_meta")
        if meta is None:
            meta = {}
        elif type(meta) is not dict:
            return False
        session = way.session
        if session is None:
            client = _modern(request, way, call, meta)
        else:
            client = None if session.ended or call.id in session.tasks or is_newer(meta) else session.client
        if client is None or not way.admission.take_place():
            return False
        sent = False
        try:
            sent = self._sent(request, way, client, call, meta)
        finally:
            if not sent:
                way.admission.release()
        return sent

    def _sent(
        self, request: HttpRequest, way: _Way, client: Client, call: _Call, meta: dict[str, Any]
    ) -> bool:
        session = way.session
        if session is None:
            reach = AnswerReach(request, (), streams=way.streams)
        else:
            primed = client.version >= "2025-11-25"
            reach = AnswerReach(request, (), streams=way.streams, new_log=session.new_log, primed=primed)
        exchange = Exchange(client, call.id, reach, meta=meta, headers=request.headers)
        answering = _Answering(self, request, way, exchange, reach)
        quick = self._gateway.begin_call(exchange, call.params, answering.tell)
        if quick is None:
            request.handed = exchange.admitted  # the usual way must not ask the gate again
            return False
        answering.call = quick
        request.on_stop(answering.stop)
        self.pending[reach] = self._loop.time()
        if session is None:
            request.on_leave(quick.cancel)
        else:
            session.tasks[call.id] = quick
            self.sessions.touch(session)
        return True

    def _found(self, request: HttpRequest) -> _Way | None:
        """None for whoever has to be looked at more closely."""
        admission, headers, path = self.admission, request.headers, request.path
        if admission is None or request.method != "POST" or "origin" in headers:
            return None
        caller = admission.known(request)
        profile = path[5:] if path.startswith("/mcp/") else ""
        if caller is None or (path != "/mcp" and profile not in self._gateway.fleet.file.profiles):
            return None
        key = caller.key
        version, session_id = headers.get("mcp-protocol-version"), headers.get("mcp-session-id")
        session: Session | None = None
        if version is None or version in LEGACY_VERSIONS:
            session = self.sessions.find(session_id, key) if session_id is not None else None
            if session is None:
                return None
        if caller.subject:
            self._gateway.origins.remember(key, caller.subject, lasting=True)
        return _Way(admission, key, profile, session, streams=takes_streams(request))


class _Answering:
    """Who takes the outcome of one call to its client."""

    __slots__ = ("_door", "_exchange", "_reach", "_request", "_stopped", "_way", "call")

    def __init__(
        self, door: QuickDoor, request: HttpRequest, way: _Way, exchange: Exchange, reach: AnswerReach
    ) -> None:
        self._door = door
        self._request = request
        self._way = way
        self._exchange = exchange
        self._reach = reach
        self._stopped = False
        self.call: QuickCall

    def tell(self, outcome: dict[str, Any] | RpcError | None) -> None:
        reach, exchange, session = self._reach, self._exchange, self._way.session
        if session is not None and session.tasks.get(exchange.id) is self.call:
            del session.tasks[exchange.id]  # before the answer: with it a client may use the id again
        reply: HttpReply | None = None
        try:
            reply = self._reply(outcome)
        except Exception as error:  # noqa: BLE001  whoever waits must get an answer
            if outcome is not None:
                _log.error("an answer could not be written", exc_info=error)
            if not self._stopped:
                self._request.fail()
        else:
            if not self._stopped:
                self._request.answer(reply)
        del self.call, self._door.pending[reach]
        self._way.admission.release()
        self._door.book.requested("POST", 200 if reply is None else reply.status)

    def _reply(self, outcome: dict[str, Any] | RpcError | None) -> HttpReply | None:
        reach, exchange = self._reach, self._exchange
        if outcome is None:
            if self._way.session is None:
                raise ClientGone
            return reach.abandon()
        if isinstance(outcome, RpcError):
            status = status_of(outcome) if exchange.client.modern else 200
            return reach.finish(failure(exchange.id, outcome), status)
        if self._door.mark is not None and exchange.client.modern:
            outcome = self._door.mark(outcome)
        return reach.finish(success(exchange.id, outcome))

    def stop(self) -> None:
        """The server answers in its place."""
        self._stopped = True
        self.call.cancel()


def _modern(request: HttpRequest, way: _Way, call: _Call, meta: dict[str, Any]) -> Client | None:
    try:
        check_headers(request.headers, call.method, call.params, meta)
        return way.modern_client(meta)
    except RpcError:
        return None  # the usual way says why
