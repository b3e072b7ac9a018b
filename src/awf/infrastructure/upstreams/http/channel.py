"""MCP's streamable HTTP: every message is a POST; answers come as JSON or as a stream of events.

The older era has sessions, cancellation by notification, a GET stream for what the server says by itself, and streams
that may be cut and taken up again. In the newer one every request stands for itself, and closing its stream cancels it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any

from awf.domain.mcp import MODERN_VERSIONS
from awf.domain.mirroring import header_value
from awf.domain.ports.http_client import HttpBroken, HttpFailure
from awf.infrastructure.upstreams import frames
from awf.infrastructure.upstreams.background import Background
from awf.infrastructure.upstreams.channel import MESSAGE_LIMIT
from awf.infrastructure.upstreams.failures import ServerFault, SessionLost, nonsense, unavailable
from awf.infrastructure.upstreams.http.door import Door, explained
from awf.infrastructure.upstreams.http.events import EventReader, EventTooLarge
from awf.infrastructure.upstreams.http.refusals import refusal, says_session_is_gone, wrong_type
from awf.infrastructure.upstreams.noise import told_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from awf.domain.mcp import Era
    from awf.domain.ports.http_client import HttpAnswer, HttpClient, HttpRoute, QuickAnswer
    from awf.infrastructure.upstreams.correlation import Call, Correlation

__all__ = ["HttpChannel"]

LEAVING_SECONDS = 2.0
LISTENING_SECONDS = 0.5
RESUMPTIONS = 5
RESUMPTION_PAUSE = 1.0
LONGEST_PAUSE = 10.0
ROUTES = 256
HELD = 512 * 1024  # of an answer that is not complete; beyond that its connection has to be slowed down
_ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
_JSON = "application/json"
_STREAM = "text/event-stream"
_log = logging.getLogger("awf.upstreams")
_FOR_THE_CALLER = frozenset({401, 403, 429})


class HttpChannel:
    """Connections belong to the client, so that they survive a session."""

    def __init__(
        self,
        name: str,
        http: HttpClient,
        url: str,
        headers: Mapping[str, str],
        correlation: Correlation,
        *,
        authorization: Callable[[bool], Awaitable[str]] | None = None,
    ) -> None:
        self.correlation = correlation
        self._name = name
        self._door = Door(name, http, url, headers, authorization)
        self._era: Era | None = None
        self._session = ""
        self._routes: dict[object, HttpRoute] = {}  # by what the headers depend on
        self._session_is_gone = False
        self._last_heard = ""
        self._background = Background()
        self._retry = RESUMPTION_PAUSE
        self._ended = asyncio.Event()
        self._stream: asyncio.Task[None] | None = None
        self._offers_stream = True

    @property
    def alive(self) -> bool:
        return not self._ended.is_set()

    @property
    def has_session(self) -> bool:
        return bool(self._session)

    @property
    def _is_legacy(self) -> bool:
        return self._era is not None and not self._era.modern

    def agreed(self, era: Era) -> None:
        self._era = era
        self._routes.clear()

    async def exchange(self, call: Call) -> dict[str, Any]:
        try:
            await self._carry(call)
            return await call.answer
        except asyncio.CancelledError:
            if not call.answer.done():
                self._tell_off(call)
            raise

    async def _carry(self, call: Call, sent: QuickAnswer | None = None) -> None:
        last_event = await self._post(call, sent)
        if not call.answer.done():
            if last_event and self._is_legacy:
                self.correlation.paused(call.tag)
            await self._resume(call, last_event)

    def _tell_off(self, call: Call) -> None:
        if self._is_legacy and call.cancellable and self.alive:
            told = {"requestId": call.number, "reason": "The caller no longer waits for it."}
            self._background.start(self.notify("notifications/cancelled", told), "telling of a cancellation")

    # Without waiting

    def begin(self, call: Call) -> bool:
        era = self._era
        if era is None or call.headers or self._ended.is_set():
            return False
        kind = (call.method, call.name) if era.modern else None
        route = self._routes.get(kind) or self._new_route(kind, call)
        if route is not None:
            call.carrier = route.send_now(call.frame, self._came, call)
        return call.carrier is not None

    def _new_route(self, kind: object, call: Call) -> HttpRoute | None:
        route = self._door.route(self._headers(call))
        if route is not None:
            if len(self._routes) >= ROUTES:
                self._routes.clear()
            self._routes[kind] = route
        return route

    def _came(self, answer: QuickAnswer) -> None:
        """Something of an answer is there. What is not a whole result in JSON is read as if it had been waited for."""
        call: Call = answer.tag
        usual = answer.status == 200 and _is_plain(answer.headers)
        if usual and answer.complete:
            plain = frames.plain_answer(answer.whole())
            if plain is not None and plain[0] == call.number:
                answer.finish()
                answer.tag = None
                self.correlation.settle(*plain)
                return
        elif answer.failure is None and (usual or not answer.status) and answer.held < HELD:
            return  # more is to come
        answer.tell = answer.tag = None
        call.carrier = self._background.start(self._read_on(call, answer), f"reading from {self._name}")

    async def _read_on(self, call: Call, answer: QuickAnswer) -> None:
        try:
            await self._carry(call, answer)
        except asyncio.CancelledError:
            closed = f'The connection to MCP server "{self._name}" was closed.'
            self.correlation.fail(call, unavailable(closed))
            raise
        except Exception as reason:  # noqa: BLE001  whoever waits is told
            self.correlation.fail(call, reason)

    def give_up(self, call: Call) -> None:
        if isinstance(call.carrier, asyncio.Task):
            call.carrier.cancel()
        else:
            call.carrier.tell = call.carrier.tag = None
            call.carrier.abort()
        self._tell_off(call)

    # As it comes

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        await self._tell(frames.notification(method, params), method)

    async def reply(self, frame: bytes) -> None:
        await self._tell(frame)

    async def listen(self) -> None:
        """Some servers ask and report on the stream of their session only, and forget what nobody is there to hear."""
        opened = asyncio.Event()
        self._stream = self._background.start(self._overhear(opened), f"hearing MCP server {self._name}")
        with contextlib.suppress(
            TimeoutError
        ):  # others say nothing, not even that it is open, before they have to
            async with asyncio.timeout(LISTENING_SECONDS):
                await opened.wait()

    async def _overhear(self, opened: asyncio.Event) -> None:
        try:
            self._offers_stream = await self._follow(self._last_heard, on_open=opened.set)
        except ServerFault as reason:
            why = told_of(str(reason), self.correlation.masking())
            _log.debug("the stream of MCP server %s broke: %s", self._name, why)
        finally:
            opened.set()

    async def hear(self) -> None:
        if self._stream is not None:
            await asyncio.wait([self._stream])
            self._stream = None
        else:
            self._offers_stream = await self._follow(self._last_heard)
        if not self._offers_stream:
            # No such stream here: there is no use in asking again before the next session.
            await self._ended.wait()

    async def close(self) -> None:
        self._ended.set()
        await self._background.close()
        if self._session and not self._session_is_gone:
            self._session_is_gone = True
            headers = self._headers()
            with contextlib.suppress(ServerFault, TimeoutError):
                async with asyncio.timeout(LEAVING_SECONDS):
                    (await self._door.send("DELETE", headers, repeatable=True)).finish()

    # Sending

    async def _post(self, call: Call, sent: QuickAnswer | None = None) -> str:
        """Send it and take in the answer. When that breaks off: the last event's id, to go on from there."""
        if sent is None:
            repeatable = call.method != "tools/call"
            answer = await self._door.send("POST", self._headers(call), call.frame, repeatable=repeatable)
        else:
            answer = await self._door.sent(sent, self._headers(call), call.frame)
        try:
            async with answer:
                return await self._take(call, answer)
        except (HttpFailure, EventTooLarge) as reason:
            raise explained(self._name, reason) from reason

    async def _tell(self, frame: bytes, method: str = "") -> None:
        (await self._door.send("POST", self._headers(method=method), frame, repeatable=True)).finish()

    def _headers(self, call: Call | None = None, method: str = "") -> dict[str, str]:
        """Those of a message."""
        method = call.method if call else method
        if self._era is None:
            # A server of the newer era that is slow to say so checks this header in everything that comes.
            probe = {"Mcp-Method": method} if method == "initialize" else {}
            if method == "server/discover":
                probe = _modern(MODERN_VERSIONS[-1], method)
            return {**_ACCEPT, **probe}
        if not self._era.modern:
            session = {"Mcp-Session-Id": self._session} if self._session else {}
            return {**_ACCEPT, "MCP-Protocol-Version": self._era.version, **session}
        headers = {**_ACCEPT, **_modern(self._era.version, method)}
        if call is not None and call.name is not None:
            headers["Mcp-Name"] = header_value(str(call.name))
        return {**headers, **call.headers} if call else headers

    # Taking in

    async def _take(self, call: Call, answer: HttpAnswer) -> str:
        ok = answer.status < 300
        if ok and call.method == "initialize":
            self._session = answer.headers.get("mcp-session-id", "")
            self._routes.clear()
        if ok and answer.content_type == _STREAM:
            return await self._events(call, answer)
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise nonsense(f'MCP server "{self._name}" sent a compressed answer that nobody asked for.')
        self._whole(call, answer, await answer.body(MESSAGE_LIMIT))
        return ""

    def _whole(self, call: Call, answer: HttpAnswer, body: bytes) -> None:
        """An answer in one piece, or a refusal."""
        if self._session and says_session_is_gone(answer.status, body):
            self._session_is_gone = True
            raise SessionLost
        if answer.status not in _FOR_THE_CALLER:
            for message in (body and frames.messages_in(body)) or ():
                if message.get("id") is None and "error" in message:
                    message["id"] = call.number  # the server could not tell which, but there is only one
                self._receive(message, call)
        if not call.answer.done():
            say = refusal if answer.status >= 300 else wrong_type
            raise say(self._name, answer, body)

    async def _events(self, call: Call | None, answer: HttpAnswer) -> str:
        """Until the call is answered, or the stream ends; then the id of its last event."""
        reader = EventReader(MESSAGE_LIMIT)
        try:
            while (call is None or not call.answer.done()) and (chunk := await answer.chunk()):
                for event in reader.feed(chunk):
                    for message in (event.kind == "message" and frames.messages_in(event.data)) or ():
                        self._receive(message, call)
        except HttpBroken:
            if not reader.last_id:
                raise
        if reader.retry is not None:
            self._retry = min(reader.retry, LONGEST_PAUSE)
        if call is None:
            self._last_heard = reader.last_id
        return reader.last_id

    def _receive(self, message: dict[str, Any], call: Call | None) -> None:
        answer = self.correlation.receive(message, call and call.tag)
        if answer is not None:
            self._background.start(self.reply(answer), f"answering MCP server {self._name}")

    async def _resume(self, call: Call, last_event: str) -> None:
        """The older era lets a server cut a stream and be asked for the rest of it."""
        for _ in range(RESUMPTIONS if last_event and self._is_legacy else 0):
            await asyncio.sleep(self._retry)
            if not await self._follow(last_event, call) or call.answer.done():
                break
        if not call.answer.done():
            message = f'MCP server "{self._name}" ended its answer before the result.'
            raise unavailable(message, hint="What was asked of it may or may not have been done.")

    async def _follow(
        self, last_event: str, call: Call | None = None, on_open: Callable[[], object] = lambda: None
    ) -> bool:
        """Hear a GET stream to its end. False when the server offers none."""
        headers = {**self._headers(), **({"Last-Event-ID": last_event} if last_event else {})}
        answer = await self._door.send("GET", headers, repeatable=True)
        try:
            if answer.status >= 500:
                raise refusal(self._name, answer, b"")
            if answer.status != 200 or answer.content_type != _STREAM:
                return False
            on_open()
            await self._events(call, answer)
            return True
        except (HttpFailure, EventTooLarge) as reason:
            raise explained(self._name, reason) from reason
        finally:
            answer.abort()


def _is_plain(headers: Mapping[str, str]) -> bool:
    kind = headers.get("content-type", "")
    return (kind == _JSON or kind.startswith(_JSON)) and "content-encoding" not in headers


def _modern(version: str, method: str) -> dict[str, str]:
    return {"MCP-Protocol-Version": version, **({"Mcp-Method": method} if method else {})}
