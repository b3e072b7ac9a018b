"""One server behind the gateway: started, watched, started again, and asked on behalf of clients."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

import msgspec

from awf.application.gateway.clockwork import Clockwork
from awf.application.gateway.lane import Lane, LaneKey, announcements, guise_of, lane_key
from awf.application.gateway.listing import fetch_all
from awf.application.gateway.places import Places
from awf.application.gateway.voice import Voice
from awf.application.running.tasks import end_task, spawn
from awf.domain.errors import AwfError
from awf.domain.mcp import Era, RpcError
from awf.domain.ports.upstream import Guise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.application.gateway.client import Client, Exchange
    from awf.domain.gateway_file import GatewayServer
    from awf.domain.ports.upstream import Done, Pending, Upstreams

__all__ = ["Server", "ServerState", "Watcher"]

ServerState = Literal["idle", "starting", "ready", "failed"]
PAUSES = (0.0, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)  # seconds before a server that failed is tried again
WAYS = 8  # for calls at the same time of clients that may be asked and have no session
IDLE_SECONDS = 600.0  # after which a way that nobody has a session on is closed
STALE_SECONDS = 1.0  # a list that its server calls short-lived is looked at again at most so often
LEAVING_SECONDS = 60.0  # what a server that is no longer configured still has for its calls
_UNKNOWN = Era(modern=False, version="")
_PROTOCOL = "EXECUTION.MCP_SERVER.PROTOCOL"
_UNAVAILABLE = "EXECUTION.MCP_SERVER.UNAVAILABLE"
_log = logging.getLogger("awf.gateway")


class Watcher(Protocol):
    """Who hears of a server's fate and of what it announces."""

    def server_moved(self, server: Server) -> None:
        """Its state is another, or what it offers is."""
        ...

    def announced(self, server: Server, kind: str) -> None: ...

    def masked(self, text: str) -> str:
        """Without what must stay secret."""
        ...

    @property
    def guarded(self) -> bool:
        """Whether there is a gate."""
        ...

    def cleaned(self, params: Any) -> Any: ...
    async def question(self, server: Server, client: Client, method: str, params: Any) -> dict[str, Any]: ...
    def resource_updated(self, server: Server, message: dict[str, Any]) -> None: ...
    def overheard(self, server: Server, message: dict[str, Any]) -> None: ...


class Server:
    """The anchor is the lane that all share; what is offered is asked on it."""

    def __init__(
        self,
        name: str,
        config: GatewayServer,
        open_server: Callable[[str, GatewayServer], Upstreams],
        watcher: Watcher,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.name = name
        self.config = config
        self.state: ServerState = "idle"
        self.detail = ""
        self.since = clock()
        self.tools: tuple[dict[str, Any], ...] = ()
        self.prompts: tuple[dict[str, Any], ...] = ()
        self.lifetime: float | None = (
            None  # for how many seconds its tool list holds; None: until it says otherwise
        )
        self.last_era: Era | None = None  # of the last time it could be reached
        self.settled = asyncio.Event()  # it has been reached, or has failed, once
        self._clock = clock
        self._watcher = watcher
        patient = msgspec.structs.replace(config, timeout=config.patience, timeout_ms=None)
        self._ways = open_server(name, patient)
        self._voice = Voice(self, watcher)
        self._anchor = Lane(self._voice, self._ways, Guise())
        self._lanes: dict[LaneKey, Lane] = {}
        self._opening: dict[LaneKey, asyncio.Task[Lane | None]] = {}
        self._shape = 0  # counts the changes of which client takes which way
        self._only_modern = False
        self._adopted: Client | None = None
        self._places = Places(config.concurrency)
        self._clockwork = Clockwork(config.patience)
        self._nudged = asyncio.Event()
        self._supervising: asyncio.Task[None] | None = None
        self._fetched = 0.0
        self._retry_at = 0.0
        self._begun = 0  # how often its lists were asked for
        self._ended = 0
        self._turn = asyncio.Event()
        self.closed = False

    @property
    def era(self) -> Era | None:
        return self._anchor.upstream.era

    @property
    def capabilities(self) -> dict[str, Any]:
        return self.last_era.capabilities if self.last_era is not None else {}

    @property
    def in_flight(self) -> int:
        return self._anchor.in_flight + sum(lane.in_flight for lane in self._lanes.values())

    @property
    def restarts(self) -> int:
        return max(0, self._anchor.upstream.connections - 1)

    # Its life

    def start(self) -> None:
        if self._supervising is None and not self.closed:
            self._moved("starting")
            self._supervising = spawn(self._supervise(), f"watching MCP server {self.name}")

    def adopt(self, client: Client) -> None:
        """There is only this client: the way that all share is its own, in its era where the server knows it."""
        if self._adopted is not None:  # it has begun anew on the same connection
            self._adopted = self._anchor.owner = client
        elif not client.modern and self.state == "idle":
            self._adopted = client
            self._shape += 1
            key = LaneKey(legacy=True, owner=client.id)
            self._anchor = Lane(self._voice, self._ways, guise_of(key, client, _UNKNOWN), client)

    async def started(self) -> None:
        """Until it has been reached, or has failed. Starts it where it waits for its first use."""
        self.start()
        if not self.settled.is_set():
            await self.settled.wait()

    async def close(self) -> None:
        self.closed = True
        if self._supervising is not None:
            await end_task(self._supervising)
            self._turned()
        for opening in list(self._opening.values()):
            await end_task(opening)
        lanes, self._lanes = [*self._lanes.values(), self._anchor], {}
        self._shape += 1
        await asyncio.gather(*(lane.close() for lane in lanes), return_exceptions=True)
        await self._ways.close()
        self.settled.set()

    async def retire(self) -> None:
        """It is no longer configured: what it is working on is still finished."""
        deadline = asyncio.get_running_loop().time() + LEAVING_SECONDS
        try:
            while self.in_flight and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110  once in its life
                await asyncio.sleep(0.05)
        finally:
            await self.close()

    async def _supervise(self) -> None:
        failures = 0
        while True:
            self._nudged.clear()
            self._begun += 1
            try:
                async with asyncio.timeout(self.config.patience * 2):
                    await self._refresh()
            except (AwfError, RpcError, TimeoutError) as reason:
                pause = PAUSES[min(failures, len(PAUSES) - 1)]
                failures += 1
                self._failed(reason, pause)
                self._turned()
                await asyncio.sleep(pause)
                continue
            failures = 0
            self._moved("ready")
            self._turned()
            await self._until_news()

    def _turned(self) -> None:
        self._ended = self._begun
        self._turn.set()
        self._turn = asyncio.Event()

    async def refreshed(self) -> None:
        """Until its lists have been asked for once more, from now on."""
        self.nudge()
        wanted = self._begun + 1
        while self._ended < wanted and self._supervising is not None and not self._supervising.done():
            await self._turn.wait()

    async def _refresh(self) -> None:
        era = await self._connected()
        self.last_era = era
        await self._anchor.repeat_if_new()
        self.tools, ttl = await fetch_all(self._anchor.upstream, "tools", era)
        self.prompts, _ = await fetch_all(self._anchor.upstream, "prompts", era)
        self.lifetime = ttl if era.modern and not era.announces_tool_changes else None
        self._fetched = asyncio.get_running_loop().time()

    async def _connected(self) -> Era:
        try:
            return await self._anchor.upstream.connect()
        except AwfError as reason:
            if self._adopted is None or self._only_modern or reason.code != _PROTOCOL:
                raise
        self._only_modern = True  # it does not speak the older era; requests cross
        self._shape += 1
        await self._anchor.close()
        self._anchor = Lane(self._voice, self._ways, Guise(), self._adopted)
        return await self._anchor.upstream.connect()

    async def _until_news(self) -> None:
        """Until there is a reason to look at the server again."""
        hearing = spawn(self._hear(), f"listening to MCP server {self.name}", awaited=True)
        nudged = spawn(self._nudged.wait(), "waiting for a nudge", awaited=True)
        try:
            await asyncio.wait([hearing, nudged], return_when=asyncio.FIRST_COMPLETED)
        finally:
            await end_task(hearing)
            await end_task(nudged)

    async def _hear(self) -> None:
        era = self.era
        if era is None:
            return
        wanted = announcements(era)
        if era.modern and not wanted and self.config.command is None:
            await asyncio.Event().wait()  # there is nothing to hear of
        try:
            await self._anchor.upstream.hear(wanted)
        except (AwfError, RpcError) as reason:
            _log.debug("MCP server %s cannot be listened to: %s", self.name, reason)
            if isinstance(reason, RpcError):
                await asyncio.Event().wait()
        await asyncio.sleep(0.2 if self.config.command is None else 0.0)

    def _failed(self, reason: Exception, pause: float) -> None:
        said = getattr(reason, "message", "") or f"it did not answer within {self.config.patience:g} s"
        way, between = getattr(reason, "hint", ""), "\n" if "\n" in said else " "
        detail = self._watcher.masked(f"{said}{between}{way}".strip())
        self._retry_at = asyncio.get_running_loop().time() + pause
        if self.settled.is_set() and (self.state != "failed" or self.detail != detail):
            _log.warning("MCP server %s is not available: %s", self.name, detail)
        self._moved("failed", detail)

    def _moved(self, state: ServerState, detail: str = "") -> None:
        if (state, detail) != (self.state, self.detail):
            self.state, self.detail, self.since = state, detail, self._clock()
        if state in {"ready", "failed"}:
            self.settled.set()
        self._watcher.server_moved(self)

    # Requests

    async def request(
        self,
        exchange: Exchange,
        method: str,
        params: dict[str, Any],
        *,
        headers: Mapping[str, str] | None = None,
        lane: Lane,
    ) -> dict[str, Any]:
        """Raises `RpcError` for what the server says, `AwfError` where it cannot be asked."""
        self._clockwork.start(exchange)
        try:
            await exchange.take_place(self._places)
            exchange.moved()  # how long others took is not held against it
            return await lane.exchange(exchange, method, params, headers)
        except asyncio.CancelledError as reason:
            if not self._clockwork.ended(exchange):
                raise
            raise self.too_slow() from reason
        except AwfError as reason:
            if reason.code in {_UNAVAILABLE, "EXECUTION.SANDBOX.STOPPED"}:
                self.nudge()
            raise
        finally:
            self._clockwork.stop(exchange)
            exchange.leave_place()

    def begin(
        self,
        exchange: Exchange,
        method: str,
        params: dict[str, Any],
        headers: Mapping[str, str] | None,
        lane: Lane,
        done: Done,
    ) -> Pending | None:
        """The same without waiting, where that can be done. Whoever hears the outcome says so with `ended`."""
        if not self._places.take_now():
            return None
        pending: Pending | None = None
        try:
            pending = lane.begin(exchange, method, params, headers, done)
        finally:
            if pending is None:
                self._places.give_back()
        if pending is None:
            return None
        exchange.has_place(self._places)
        self._clockwork.start(exchange)
        return pending

    def ended(self, exchange: Exchange, lane: Lane, reason: Exception | None = None) -> None:
        self._clockwork.stop(exchange)
        exchange.leave_place()
        lane.ended(exchange)
        if isinstance(reason, AwfError) and reason.code == _UNAVAILABLE:
            self.nudge()

    def too_slow(self) -> AwfError:
        message = f'MCP server "{self.name}" did not answer within {self.config.patience:g} s.'
        return AwfError("EXECUTION.MCP_SERVER.TIMEOUT", message, hint="Raise its `timeout`, or ask for less.")

    def check_alive(self) -> None:
        """Raises `AwfError` for a server that has failed and is left alone for a while."""
        if self.state == "failed":
            raise self._still_failed()

    def _still_failed(self) -> AwfError:
        seconds = max(0.0, self._retry_at - asyncio.get_running_loop().time())
        message = f'MCP server "{self.name}" is not available: {self.detail}'
        return AwfError(_UNAVAILABLE, message, hint=f"It is tried again in {seconds:.0f} s.")

    def nudge(self) -> None:
        """Look at it again."""
        self._nudged.set()

    def nudge_if_stale(self) -> None:
        """Its list is short-lived, and it does not say when it changes."""
        if self.lifetime is None or self.state != "ready":
            return
        age = asyncio.get_running_loop().time() - self._fetched
        if age >= max(self.lifetime, STALE_SECONDS):
            self.nudge()

    def lane_now(self, client: Client) -> Lane | None:
        """The way its requests take, where it is open."""
        era = self._anchor.upstream.era
        if self.state == "failed" or era is None:
            return None
        known = client.ways.get(self.name)
        if known is None or known[0] is not self or known[1] is not era or known[2] != self._shape:
            lane = self._open_lane_of(client, era)
            known = client.ways[self.name] = (self, era, self._shape, lane)
        return cast("Lane | None", known[3])

    def _open_lane_of(self, client: Client, era: Era) -> Lane | None:
        if self._adopted is not None:
            return self._anchor
        key = self._key(client, era)
        if not key.owner and key.legacy is not era.modern:
            return self._anchor
        return None if key.owner and client.modern else self._lanes.get(key)

    def _key(self, client: Client, era: Era) -> LaneKey:
        return lane_key(
            client,
            era,
            session=self.config.session,
            over_pipe=self.config.command is not None,
            only_modern=self._only_modern,
        )

    async def lane_for(self, client: Client) -> Lane:
        """The way that this client's requests take. Raises `AwfError`."""
        era = self._anchor.upstream.era or self.last_era
        if era is None:
            await self.started()
            era = self.last_era
            if era is None:
                raise self._still_failed()
        if self._adopted is not None:
            return self._anchor
        key = self._key(client, era)
        if not key.owner and key.legacy is not era.modern:
            return self._anchor
        if key.owner and client.modern and self.config.command is not None:
            key = self._undisturbed(key)
        lane = self._lanes.get(key) or await self._opened(key, client, era)
        if lane is None:
            return await self.lane_for(client)
        if key.owner and client.modern:
            lane.promised = client
        return lane

    async def _opened(self, key: LaneKey, client: Client, era: Era) -> Lane | None:
        """Several requests may want it at the same time."""
        opening = self._opening.get(key)
        if opening is None:
            opening = self._opening[key] = spawn(
                self._open_lane(key, client, era), f"a way to MCP server {self.name}", awaited=True
            )
            opening.add_done_callback(lambda _: self._opening.pop(key, None))
        await asyncio.wait([opening])
        if opening.cancelled():
            raise AwfError(_UNAVAILABLE, f'The connection to MCP server "{self.name}" was closed.')
        return opening.result()

    def _undisturbed(self, key: LaneKey) -> LaneKey:
        """A pipe does not show whom a question is for. So a client that has no session gets one for each call."""
        for number in range(WAYS):
            one = key._replace(owner=f"{key.owner} {number}")
            lane = self._lanes.get(one)
            if one not in self._opening and (lane is None or lane.is_free):
                break
        return one

    async def _open_lane(self, key: LaneKey, client: Client, era: Era) -> Lane | None:
        """None: the server does not speak the older era after all."""
        owner = client if key.owner and not client.modern else None
        lane = Lane(self._voice, self._ways, guise_of(key, client, era), owner)
        lane.level = client.level if owner is not None else ""
        if key.legacy and era.modern:
            try:
                await lane.upstream.connect()
            except BaseException as reason:
                await lane.close()
                if not isinstance(reason, AwfError) or reason.code != _PROTOCOL:
                    raise
                self._only_modern = True
                self._shape += 1
                return None
        if self.closed:
            await lane.close()
            raise self._still_failed()
        self._lanes[key] = lane
        self._shape += 1
        if key.owner and key.legacy and self.config.command is None:
            lane.keep_hearing()
        if key.owner and owner is None:
            self._close_when_idle(key, lane)
        return lane

    def _close_when_idle(self, key: LaneKey, lane: Lane) -> None:
        """Clients without a session never say that they leave."""
        loop = asyncio.get_running_loop()

        def look() -> None:
            if self.closed or self._lanes.get(key) is not lane:
                return
            if not lane.is_free or lane.subscribed or loop.time() - lane.used < IDLE_SECONDS:
                loop.call_later(IDLE_SECONDS, look)
                return
            del self._lanes[key]
            self._shape += 1
            spawn(lane.close(), f"an unused way to MCP server {self.name} closes")

        loop.call_later(IDLE_SECONDS, look)

    def lane_of(self, client: Client) -> Lane | None:
        """Its own way, if it has one already."""
        return next((lane for lane in self._lanes.values() if lane.owner is client), None)

    async def lane_for_news(self, client: Client) -> Lane:
        """Where a client hears of what happens: its own way, or the one that all share."""
        if not client.modern:
            return await self.lane_for(client)
        await self.started()
        return self._anchor

    def shared_lanes(self) -> list[Lane]:
        return [self._anchor, *(lane for lane in self._lanes.values() if lane.owner is None)]

    async def forget(self, client: Client) -> None:
        """A session has ended, and its way with it."""
        for key, opening in list(self._opening.items()):
            if key.owner == client.id:
                await end_task(opening)
        for key, lane in list(self._lanes.items()):
            if lane.owner is client:
                del self._lanes[key]
                self._shape += 1
                with contextlib.suppress(AwfError):
                    await lane.close()

    def cleaned(self, params: Any) -> Any:
        return self._watcher.cleaned(params)
