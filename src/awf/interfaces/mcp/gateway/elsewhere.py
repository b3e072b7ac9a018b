"""Requests about something that lives in another replica of the gateway: handed on whole, answered as that answers.

The owner decides everything once more, who asks included: it gets the client's own token and the name by which the client
spoke of the gateway. What a replica cannot reach is over for the client, who begins again.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode

from awf.application.running.tasks import spawn
from awf.domain.errors import AwfError
from awf.domain.mcp import INTERNAL_ERROR, INVALID_REQUEST, MODERN_VERSIONS, RpcError
from awf.domain.ports.http_client import HttpFailure, HttpUnreachable
from awf.domain.ports.http_server import ClientGone, HttpReply
from awf.domain.ports.replicas import Replica
from awf.interfaces.mcp.gateway.messages import decoded, refusal
from awf.interfaces.mcp.gateway.older_sse import MESSAGES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.application.gateway.replicas import Replicas
    from awf.domain.ports.http_client import HttpAnswer, HttpClient
    from awf.domain.ports.http_server import HttpRequest

__all__ = ["NAMED", "Elsewhere", "Place"]

GUARD = "x-awf-forwarded"  # it was handed on once, and that is enough
NAMED = "X-AWF-Replica"
PATIENCE = 10.0  # seconds for a sign that an address leads somewhere
WHOLE = 1 << 20  # an answer of this length is not worth a stream
_log = logging.getLogger("awf.gateway")
_METHODS = frozenset({"GET", "POST", "DELETE"})
# What concerns one connection only, and what each side writes itself.
_OWN = frozenset(
    {"connection", "content-length", "transfer-encoding", "keep-alive", "te", "trailer", "upgrade", "expect"}
    | {"proxy-connection", "date", GUARD}
)


class Place(NamedTuple):
    """Where a request belongs. `session`: it is about one; else it comes back to what was begun there."""

    owner: str
    session: bool


class Elsewhere:
    def __init__(self, replicas: Replicas, http: HttpClient) -> None:
        self._replicas = replicas
        self._http = http
        self._closed = False
        self._carried: dict[asyncio.Task[object], str] = {}
        self.named = ((NAMED, replicas.id),)
        self.mark, self.unmark = replicas.mark, replicas.unmark
        replicas.on_gone = self._gone
        replicas.on_new = self._new

    # -- whose it is -------------------------------------------------------------------------------------------------

    def place_of(self, request: HttpRequest) -> Place | None:
        """None: it is for us."""
        headers = request.headers
        if GUARD in headers or request.method not in _METHODS:
            return None
        if request.path == MESSAGES:
            return self._session(request.query.get("session_id", ""))
        if request.path != "/mcp" and not request.path.startswith("/mcp/"):
            return None
        if headers.get("mcp-protocol-version") in MODERN_VERSIONS:
            params = _returning(request) if request.method == "POST" else None
            owner = self._replicas.home_of(params) if params else ""
            return Place(owner, session=False) if owner else None
        place = self._session(headers.get("mcp-session-id", ""))
        return None if place is not None and _begins(request) else place

    def _session(self, name: str) -> Place | None:
        owner = self._replicas.elsewhere(name)
        return Place(owner, session=True) if owner else None

    # -- handing on --------------------------------------------------------------------------------------------------

    async def carry(
        self, request: HttpRequest, place: Place, headers: Sequence[tuple[str, str]]
    ) -> HttpReply | None:
        """The owner's answer; None when it was streamed. Raises `LookupError`: it is for us to say that nobody has it."""
        task = asyncio.current_task()
        assert task is not None
        self._carried[task] = place.owner
        if request.method == "GET" or not place.session:
            request.on_leave(task.cancel)  # nobody works for a client of these that has left
        try:
            return await self._carry(request, place, headers)
        except asyncio.CancelledError:
            if task in self._carried:
                raise
            task.uncancel()  # it was we: the owner is dead
            return _broken(place)
        finally:
            self._carried.pop(task, None)

    async def _carry(
        self, request: HttpRequest, place: Place, headers: Sequence[tuple[str, str]]
    ) -> HttpReply | None:
        try:
            owner = await self._replicas.find(place.owner)
        except AwfError as error:
            text = f"It cannot be found out now which gateway this belongs to: {error.message}"
            return _with(refusal(503, RpcError(INTERNAL_ERROR, text)), (("Retry-After", "1"),))
        if owner is None:
            return _over(place)
        try:
            answer = await self._sent(request, owner)
        except UnicodeDecodeError:
            return refusal(400, RpcError(INVALID_REQUEST, "Invalid request: its headers are not UTF-8"))
        except HttpUnreachable as reason:
            _log.warning("gateway %s at %s cannot be reached: %s", owner.id, owner.url, reason)
            return _over(place)
        except (HttpFailure, ValueError) as reason:
            _log.warning("gateway %s at %s gave no answer: %s", owner.id, owner.url, reason)
            return _broken(place)
        return await self._passed_on(request, answer, headers)

    async def _sent(self, request: HttpRequest, owner: Replica) -> HttpAnswer:
        query = f"?{urlencode(dict(request.query))}" if request.query else ""
        fields = {name: _as_sent(value) for name, value in request.headers.items() if name not in _OWN}
        fields[GUARD] = self._replicas.id
        url = f"{owner.url}{quote(request.path)}{query}"
        # Only what changes nothing may be sent twice.
        again = request.method == "GET"
        return await self._http.send(request.method, url, headers=fields, body=request.body, repeatable=again)

    async def _passed_on(
        self, request: HttpRequest, answer: HttpAnswer, headers: Sequence[tuple[str, str]]
    ) -> HttpReply | None:
        """`headers` are those that this door gives to every answer; the owner's own are the same."""
        ours = {name.lower() for name, _ in headers}
        fields = [
            (name, value) for name, value in answer.headers.items() if name not in _OWN and name not in ours
        ]
        fields += headers
        length = answer.headers.get("content-length", "")
        async with answer:
            try:
                if answer.status in {202, 204} or (length.isdecimal() and int(length) <= WHOLE):
                    return HttpReply(answer.status, tuple(fields), await answer.body(WHOLE))
            except HttpFailure:
                return _broken(Place("", session=True))
            task = asyncio.current_task()
            assert task is not None
            stream = request.stream(answer.status, fields)
            request.on_leave(task.cancel)
            try:
                while data := await answer.chunk():
                    stream.write(data)
                    await stream.drained()
            except (HttpFailure, asyncio.CancelledError) as reason:
                if isinstance(reason, asyncio.CancelledError) and task in self._carried:
                    raise
                raise ClientGone from reason  # nobody may take half an answer for a whole one
        return None

    # -- the others --------------------------------------------------------------------------------------------------

    def _gone(self, replica_id: str) -> None:
        """Whoever waits for it waits in vain."""
        for task, owner in list(self._carried.items()):
            if owner == replica_id:
                del self._carried[task]
                task.cancel()

    def _new(self, one: Replica) -> None:
        spawn(self._try(one), "trying to reach a gateway")

    async def _try(self, one: Replica) -> None:
        trouble = await self.trouble_with(one)
        if trouble and not self._closed:
            _log.warning(
                "gateway %s cannot be reached at %s: %s. Sessions that began there end when a request comes here; "
                "start it with --advertise URL",
                one.id, one.url, trouble,
            )  # fmt: skip

    async def trouble_with(self, one: Replica, host: str = "") -> str:
        """Why it cannot be reached; empty when it can. `host`: a name by which it knows itself."""
        try:
            named = {"Host": host} if host else {}
            async with asyncio.timeout(PATIENCE):
                answer = await self._http.send("GET", f"{one.url}/healthz", headers=named, repeatable=True)
                async with answer:
                    await answer.body(WHOLE)
        except TimeoutError:
            return "it does not answer"
        except (HttpFailure, ValueError) as reason:
            return str(reason)
        who = answer.headers.get(NAMED.lower())
        if answer.status == 403 and not host:
            return ""  # it does not know itself by this name, and says so
        return "" if who == one.id else "somebody else answers there"

    async def check_own(self, url: str, host: str) -> None:
        """Others are told that address; so it should lead here."""
        trouble = await self.trouble_with(Replica(self._replicas.id, url), host)
        if trouble and not self._closed:
            _log.warning(
                "this gateway is not reached at %s: %s. Sessions that begin here end when a request of theirs comes to "
                "another gateway; start it with --advertise URL",
                url, trouble,
            )  # fmt: skip

    async def close(self) -> None:
        self._closed = True
        await self._http.close()


def _as_sent(value: str) -> str:
    """The server reads headers byte by byte, and the client writes UTF-8: what comes out must be what came in."""
    return value if value.isascii() else value.encode("latin-1").decode()


def _begins(request: HttpRequest) -> bool:
    """Whether it is an `initialize`, which any replica may answer, whatever session it still names."""
    if request.method != "POST" or b'initialize"' not in request.body:
        return False
    try:
        message = decoded(request.body)
    except RpcError:
        return False
    return isinstance(message, dict) and message.get("method") == "initialize"


def _returning(request: HttpRequest) -> dict[str, Any] | None:
    """The params of a request of the newer era that comes back to something; most begin something."""
    if b'"requestState"' not in request.body and b'"cursor"' not in request.body:
        return None
    try:
        message = decoded(request.body)
    except RpcError:
        return None
    params = message.get("params") if isinstance(message, dict) else None
    return params if isinstance(params, dict) else None


def _over(place: Place) -> HttpReply:
    if not place.session:
        raise LookupError(place.owner)
    text = "Session not found: the gateway that had it is gone. Begin again with initialize."
    return refusal(404, RpcError(-32001, text))


def _broken(place: Place) -> HttpReply:
    what = "that has this session" if place.session else "at which this call waits"
    text = f"The gateway {what} went away in the middle of this request. Whether it was carried out is in the audit."
    return refusal(502, RpcError(INTERNAL_ERROR, text))


def _with(reply: HttpReply, headers: tuple[tuple[str, str], ...]) -> HttpReply:
    return HttpReply(reply.status, (*reply.headers, *headers), reply.body)
