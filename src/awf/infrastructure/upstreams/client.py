"""One MCP server as a partner for requests: connected when first needed, and again when the connection is lost."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError
from awf.domain.mcp import CLIENT_INFO, INITIALIZE_VERSION, Era, RpcError, modern_meta
from awf.domain.redaction import Masker
from awf.domain.redaction.publishing import LISTS, Publishing
from awf.infrastructure.upstreams import frames
from awf.infrastructure.upstreams.background import Background
from awf.infrastructure.upstreams.begun import Begun
from awf.infrastructure.upstreams.correlation import Correlation
from awf.infrastructure.upstreams.failures import ServerFault, SessionLost, unavailable
from awf.infrastructure.upstreams.negotiation import PATIENCE, Introduction, negotiate
from awf.infrastructure.upstreams.noise import told_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from awf.domain.ports.upstream import Done
    from awf.infrastructure.upstreams.channel import Channel
    from awf.infrastructure.upstreams.restarts import Restarts

__all__ = ["McpClient"]

_OLD = Era(modern=False, version="")
PROVEN_SECONDS = 1.0  # a server that held out so long did not fail at its start
_NOT_THERE = frozenset({400, 404, 405})


async def _nothing() -> None:
    """There is nothing to let go of."""


class McpClient:
    """`open_channel` starts the program, or prepares the address. What is sent and received are plain values.

    `on_request` answers what the server asks of us: it returns the result, or raises `RpcError`. Without it such
    requests are refused. It and `on_notification` are also given the `tag` of the call in whose answer the message came,
    where that is known. `capabilities` tells the server what it may ask, `client_info` whom. `restarts` bounds how often it is started;
    `release` lets go of what outlives a single connection. `legacy`: it is spoken to in the older
    era only, in `version`. `listening`: what it says by itself is heard from the beginning. `publishing`: what may be seen
    of its lists, its greeting, its errors and what else it says, whoever asks for them.
    """

    def __init__(
        self,
        name: str,
        open_channel: Callable[[Correlation], Channel],
        *,
        timeout: float,
        on_notification: Callable[[dict[str, Any], object], None] = lambda _message, _tag: None,
        on_request: Callable[[dict[str, Any], object], Awaitable[dict[str, Any]]] | None = None,
        on_pause: Callable[[object], None] = lambda _: None,
        capabilities: dict[str, Any] | None = None,
        client_info: dict[str, Any] = CLIENT_INFO,
        restarts: Restarts | None = None,
        release: Callable[[], Awaitable[None]] = _nothing,
        patience: float = PATIENCE,
        legacy: bool = False,
        listening: bool = False,
        version: str = INITIALIZE_VERSION,
        publishing: Publishing | None = None,
    ) -> None:
        self.name = name
        self.era: Era | None = None  # outlives a connection, so that the next one opens without asking
        self.connections = 0
        self._open_channel = open_channel
        self._timeout = timeout
        self._on_notification = on_notification
        self._on_request = on_request
        self._on_pause = on_pause
        self._capabilities = capabilities or {}
        self._client_info = client_info
        self._version = version
        self._restarts = restarts
        self._release = release
        self._patience = patience
        self._legacy = legacy
        self._listening = listening
        self._publishing = publishing or Publishing(Masker())
        self._meta: dict[str, Any] = {}
        self._channel: Channel | None = None
        self._opening: Channel | None = None  # not yet to be used for calls
        self._connecting = asyncio.Lock()
        self._background = Background()
        self._last_fault = ""
        self._connected_at: float | None = None
        self._closed = False

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        on_progress: Callable[[dict[str, Any]], None] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> dict[str, Any]:
        """The result. Raises `RpcError`, `ServerFault`, or TimeoutError after the server was told to stop.

        `headers` are sent along where there are any, that is over HTTP and in the newer era.
        """
        within = timeout or self._timeout
        return await self.exchange(
            method, dict(params or {}), on_progress=on_progress, headers=headers, within=within
        )

    async def exchange(
        self,
        method: str,
        params: dict[str, Any],
        *,
        on_progress: Callable[[dict[str, Any]], None] | None = None,
        headers: Mapping[str, str] | None = None,
        tag: object = None,
        within: float | None = None,
    ) -> dict[str, Any]:
        """The same, as long as it takes. The time to connect is bounded by itself, and not part of `within`."""
        lost: Channel | None = None
        for _ in range(2):
            channel = self._channel
            if channel is None or channel is lost or self.era is None or not channel.alive:
                channel = await self._connected(instead_of=lost)
            try:
                if within is None:
                    return await self._exchange(channel, method, params, on_progress, headers, tag)
                async with asyncio.timeout(within):
                    return await self._exchange(channel, method, params, on_progress, headers, tag)
            except SessionLost:
                lost = (
                    channel  # the server has not looked at the request, so sending it once more does no harm
                )
        raise self._restless()

    def _restless(self) -> ServerFault:
        message = f'MCP server "{self.name}" ends, or forgets its sessions, at once.'
        return unavailable(message, hint="Look at its log.")

    def begin(
        self,
        method: str,
        params: dict[str, Any],
        done: Done,
        *,
        headers: Mapping[str, str] | None = None,
        tag: object = None,
    ) -> Begun | None:
        """Send it at once where there is a connection, and it can be sent. `done` is never called before this returns."""
        channel = self._channel
        if channel is None or self.era is None or not channel.alive:
            return None
        if self._meta:
            self._add_meta(params)
        begun = Begun(self, channel, done)
        try:
            begun.call = call = channel.correlation.begin(method, params, None, headers, tag, begun)
        except RpcError:  # whoever may wait is told
            return None
        if channel.begin(call):
            return begun
        channel.correlation.forget(call)
        return None

    def failed(self, begun: Begun, reason: Exception) -> None:
        if isinstance(reason, ServerFault) and reason.status in _NOT_THERE:
            self._forget_era(begun.channel)

    def send_again(self, begun: Begun) -> asyncio.Task[None]:
        return self._background.start(self._sent_again(begun), f"asking MCP server {self.name} again")

    async def _sent_again(self, begun: Begun) -> None:
        call = begun.call
        assert call is not None
        try:
            channel = await self._connected(instead_of=begun.channel)
            result = await self._exchange(channel, call.method, call.params, None, call.headers, call.tag)
        except SessionLost:
            begun.set_exception(self._restless())
        except (RpcError, AwfError) as reason:
            begun.set_exception(reason)
        except asyncio.CancelledError:
            if not begun.done():  # we are closing
                begun.set_exception(unavailable(f'The connection to MCP server "{self.name}" was closed.'))
            raise
        else:
            begun.set_result(result)

    async def connect(self) -> Era:
        """Make sure that there is a connection."""
        await self._connected()
        assert self.era is not None
        return self.era

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        await (await self._connected()).notify(method, params)

    async def hear(self, wanted: Mapping[str, Any], tag: object = None) -> None:
        """Hear what the server says by itself, until it or the connection ends. `wanted` as `subscriptions/listen` has it."""
        channel, era = self._channel, self.era
        if channel is None or era is None or not channel.alive:
            return
        if era.modern:
            params = {"notifications": dict(wanted)}
            await self._exchange(channel, "subscriptions/listen", params, None, None, tag)
        else:
            await channel.hear()

    def as_logged(self, said: object) -> str:
        """What the server said, for the log."""
        return told_of(str(said), self._publishing.words())

    async def close(self) -> None:
        """Whoever still waits is told. May be called more than once."""
        self._closed = True
        await self._background.close()
        if self._opening is not None:
            await self._opening.close()  # or we would wait for an attempt to connect that is under way
        async with self._connecting:
            await self._disconnect()
        await self._release()

    async def _exchange(
        self,
        channel: Channel,
        method: str,
        params: dict[str, Any],
        on_progress: Callable[[dict[str, Any]], None] | None,
        headers: Mapping[str, str] | None,
        tag: object,
    ) -> dict[str, Any]:
        if self._meta:
            self._add_meta(params)
        call = channel.correlation.begin(method, params, on_progress, headers, tag)
        try:
            result = await channel.exchange(call)
            return self._publishing.page(method, result) if method in LISTS else result
        except ServerFault as reason:
            if reason.status in _NOT_THERE:
                self._forget_era(channel)
            raise
        finally:
            channel.correlation.forget(call)

    def _add_meta(self, params: dict[str, Any]) -> None:
        given = params.get("_meta")  # may say on whose behalf we ask
        params["_meta"] = {**self._meta, **given} if given else self._meta

    def _forget_era(self, channel: Channel) -> None:
        """The server is not what it was: ask anew before the next call."""
        if self._channel is channel:
            self.era = None

    async def _connected(self, instead_of: Channel | None = None) -> Channel:
        channel = self._channel
        if channel is not None and channel.alive and channel is not instead_of and self.era is not None:
            return channel
        async with self._connecting:
            if self._closed:
                raise unavailable(f'The connection to MCP server "{self.name}" was closed.')
            channel = self._channel
            if channel is None or not channel.alive or channel is instead_of or self.era is None:
                channel = await self._connect()
            return channel

    async def _connect(self) -> Channel:
        await self._disconnect()
        await self._permission()
        try:
            async with asyncio.timeout(self._timeout):
                return await self._introduced()
        except BaseException as reason:
            await self._disconnect()
            if isinstance(reason, TimeoutError):
                raise self._failed(self._silent()) from reason
            if isinstance(reason, ServerFault):
                self._failed(reason)
            raise

    async def _permission(self) -> None:
        if self._restarts is None:
            return
        now = asyncio.get_running_loop().time()
        if self._connected_at is not None and now - self._connected_at >= PROVEN_SECONDS:
            self._restarts.forgive()
        self._connected_at = None
        pause = self._restarts.pause(now)
        if pause is None:
            seconds = self._restarts.allowed_in(now)
            message = (
                f'MCP server "{self.name}" fails again and again, and is left alone for {seconds:.0f} s.'
            )
            raise unavailable(f"{message} {self._last_fault}", hint="Mend the server, then try again.")
        if pause:
            await asyncio.sleep(pause)
        self._restarts.note(now + pause)

    async def _introduced(self) -> Channel:
        try:
            return await self._try(self.era or (_OLD if self._legacy else None))
        except ServerFault as reason:
            # Some old servers end themselves when they are asked something before the handshake.
            asked = self.era is None and not self._legacy and not reason.status
            if not asked or self._opening is None or self._opening.alive:
                raise
        await self._disconnect()
        return await self._try(_OLD)

    async def _try(self, known: Era | None) -> Channel:
        if self._closed:
            raise unavailable(f'The connection to MCP server "{self.name}" was closed.')
        asked = self._asked if self._on_request else None
        seen = self._publishing
        correlation = Correlation(self._on_notification, asked, self._on_pause, seen.error, seen.words)
        channel = self._opening = self._open_channel(correlation)
        us = Introduction(
            channel, self.name, self._capabilities, self._patience, self._client_info, self._version
        )
        self.era = era = self._publishing.era(await negotiate(us, known))
        self._meta = modern_meta(era.version, self._capabilities, self._client_info) if era.modern else {}
        if self._listening and not era.modern:
            await channel.listen()
        self.connections += 1
        self._connected_at = asyncio.get_running_loop().time()
        self._channel, self._opening = channel, None
        return channel

    def _silent(self) -> ServerFault:
        message = f'MCP server "{self.name}" did not answer within {self._timeout:g} s of its start.'
        return unavailable(message, hint="Raise its `timeout`, or look at its log.", tool_code="TIMEOUT")

    def _failed(self, reason: ServerFault) -> ServerFault:
        self.era = None
        self._last_fault = reason.message
        return reason

    async def _disconnect(self) -> None:
        channels = (self._channel, self._opening)
        self._channel = self._opening = None
        for channel in filter(None, channels):
            await channel.close()

    def _asked(self, message: dict[str, Any], tag: object) -> None:
        channel = self._channel or self._opening
        if channel is not None:
            self._background.start(self._answer(channel, message, tag), f"answering MCP server {self.name}")

    async def _answer(self, channel: Channel, message: dict[str, Any], tag: object) -> None:
        assert self._on_request is not None
        try:
            frame = frames.reply(message["id"], await self._on_request(message, tag))
        except RpcError as reason:
            frame = frames.error_reply(message["id"], reason.code, reason.message, reason.data)
        await channel.reply(frame)
