"""MCP's first way over HTTP (revision 2024-11-05): one long stream of events brings everything the server says.

The stream is opened by a GET. Its first event, `endpoint`, names the address to which our messages are posted; each POST
is only acknowledged, and answers come as `message` events. When the stream ends the session has ended with it.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from awf.domain.ports.http_client import HttpFailure
from awf.infrastructure.upstreams import frames
from awf.infrastructure.upstreams.background import Background
from awf.infrastructure.upstreams.channel import MESSAGE_LIMIT
from awf.infrastructure.upstreams.failures import ServerFault, SessionLost, nonsense, unavailable
from awf.infrastructure.upstreams.http.door import Door, explained
from awf.infrastructure.upstreams.http.events import EventReader, EventTooLarge
from awf.infrastructure.upstreams.http.redirects import led_to
from awf.infrastructure.upstreams.http.refusals import refusal, says_session_is_gone, wrong_type

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from awf.domain.mcp import Era
    from awf.domain.ports.http_client import HttpAnswer, HttpClient
    from awf.infrastructure.upstreams.correlation import Call, Correlation
    from awf.infrastructure.upstreams.http.events import Event

__all__ = ["ENDPOINT_SECONDS", "SseChannel"]

ENDPOINT_SECONDS = 10.0  # from the beginning of the stream; servers say it at once
POSTING_SECONDS = 2.0  # a cancellation must not overtake its request, but cannot wait for ever either
_STREAM = "text/event-stream"


class SseChannel:
    """Opens the stream when it is made. Connections belong to the client."""

    def __init__(
        self,
        name: str,
        http: HttpClient,
        url: str,
        headers: Mapping[str, str],
        correlation: Correlation,
        *,
        authorization: Callable[[bool], Awaitable[str]] | None = None,
        patience: float = ENDPOINT_SECONDS,
    ) -> None:
        self.correlation = correlation
        self._name = name
        self._url = url
        self._headers = headers
        self._http = http
        self._authorization = authorization
        self._patience = patience
        self._version: dict[str, str] = {}
        self._desk: Door | None = None  # where messages are posted
        self._opened = asyncio.Event()  # there is a desk, or there will be none
        self._fault: ServerFault | None = None
        self._closing = False
        self._background = Background()
        self._reading = self._background.start(self._read(), f"reading from MCP server {name}")

    @property
    def alive(self) -> bool:
        return self._fault is None and not self._closing

    @property
    def has_session(self) -> bool:
        return True

    def agreed(self, era: Era) -> None:
        self._version = {"MCP-Protocol-Version": era.version}

    def begin(self, call: Call) -> bool:
        """Whoever speaks this way waits with the others."""
        del call
        return False

    def give_up(self, call: Call) -> None:
        """Nothing is ever begun here."""

    async def exchange(self, call: Call) -> dict[str, Any]:
        if self._fault is not None:
            self.correlation.fail(call, self._fault)
        # The answer comes by another way than the POST's, and may come before it.
        posting = self._background.start(self._deliver(call), f"posting to MCP server {self._name}")
        try:
            return await call.answer
        except asyncio.CancelledError:
            if self.correlation.forget(call) and call.cancellable and self.alive:
                self._background.start(self._give_up(call, posting), "telling of a cancellation")
            raise

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        await self.reply(frames.notification(method, params))

    async def reply(self, frame: bytes) -> None:
        (await self._post(frame, repeatable=True)).finish()

    async def listen(self) -> None:
        """It is heard already."""

    async def hear(self) -> None:
        """Everything comes in by the one stream that is always read."""
        await asyncio.wait([self._reading])

    async def close(self) -> None:
        """The end of the stream is the end of the session."""
        self._closing = True
        self._ended(unavailable(f'The connection to MCP server "{self._name}" was closed.'))
        await self._background.close()

    def _door_to(self, address: str) -> Door:
        return Door(self._name, self._http, address, self._headers, self._authorization)

    # Sending

    async def _deliver(self, call: Call) -> None:
        try:
            await self._posted(call)
        except (ServerFault, SessionLost) as reason:
            self.correlation.fail(call, reason)
        except HttpFailure as reason:
            self.correlation.fail(call, explained(self._name, reason))

    async def _posted(self, call: Call) -> None:
        async with await self._post(call.frame, repeatable=call.method != "tools/call") as answer:
            if answer.status < 300:
                return
            body = await answer.body(MESSAGE_LIMIT)
            if self._version and says_session_is_gone(answer.status, body):
                raise SessionLost
            raise refusal(self._name, answer, body)

    async def _post(self, frame: bytes, *, repeatable: bool) -> HttpAnswer:
        await self._opened.wait()
        if self._fault is not None:
            raise self._fault
        assert self._desk is not None
        headers = {"Content-Type": "application/json", **self._version}
        return await self._desk.send("POST", headers, frame, repeatable=repeatable)

    async def _give_up(self, call: Call, posting: asyncio.Task[None]) -> None:
        await asyncio.wait([posting], timeout=POSTING_SECONDS)
        told = {"requestId": call.number, "reason": "The caller no longer waits for it."}
        with contextlib.suppress(ServerFault):
            await self.notify("notifications/cancelled", told)

    # Taking in

    async def _read(self) -> None:
        fault = unavailable(f'MCP server "{self._name}" can no longer be heard.')
        try:
            await self._follow()
            said = f'MCP server "{self._name}" ended its stream of events.'
            fault = unavailable(said, hint="What was asked of it may or may not have been done.")
        except ServerFault as reason:
            fault = reason
        except (HttpFailure, EventTooLarge) as reason:
            fault = explained(self._name, reason)
        finally:
            # Also when reading itself fails: nobody may wait for an answer that cannot come.
            self._ended(fault)

    async def _follow(self) -> None:
        headers = {"Accept": _STREAM, "Cache-Control": "no-store"}
        answer = await self._door_to(self._url).send("GET", headers, repeatable=True)
        try:
            if answer.status != 200:
                raise refusal(self._name, answer, await answer.body(MESSAGE_LIMIT))
            if answer.content_type != _STREAM:
                raise wrong_type(self._name, answer, b"")
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise nonsense(f'MCP server "{self._name}" sent a compressed stream that nobody asked for.')
            await self._events(answer)
        finally:
            answer.abort()

    async def _events(self, answer: HttpAnswer) -> None:
        reader = EventReader(MESSAGE_LIMIT)
        try:
            async with asyncio.timeout(self._patience) as patience:
                while chunk := await answer.chunk():
                    for event in reader.feed(chunk):
                        self._heard(event)
                    if self._desk is not None:
                        patience.reschedule(None)
        except TimeoutError as reason:
            message = f'MCP server "{self._name}" did not say where to post within {self._patience:g} s.'
            raise nonsense(
                message, hint="Check its `url`, or remove `transport: sse` if it is newer."
            ) from reason
        if self._desk is None:
            message = f'MCP server "{self._name}" ended its stream before it said where to post.'
            raise nonsense(message, hint="Check its `url`.")

    def _heard(self, event: Event) -> None:
        if event.kind == "endpoint" and self._desk is None:
            self._desk = self._door_to(self._address(event.data.decode("utf-8", "replace").strip()))
            self._opened.set()
        for message in (event.kind == "message" and frames.messages_in(event.data)) or ():
            answer = self.correlation.receive(message)
            if answer is not None:
                self._background.start(self._answer(answer), f"answering MCP server {self._name}")

    def _address(self, told: str) -> str:
        target = led_to(self._url, told) if told else None
        if target is None:
            message = f'MCP server "{self._name}" wants messages posted to another place: {told[:200]}'
            raise nonsense(message, hint="Our credentials have no business there. Correct the server.")
        return target

    async def _answer(self, frame: bytes) -> None:
        with contextlib.suppress(ServerFault):  # whoever asked has gone; calls hear of that by themselves
            await self.reply(frame)

    def _ended(self, fault: ServerFault) -> None:
        self._fault = self._fault or fault
        self._opened.set()
        self.correlation.fail_all(self._fault)
