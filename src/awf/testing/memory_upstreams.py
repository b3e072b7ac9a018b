"""MCP servers in memory: scripted, of either era or both. A `MemoryServer` is an `Upstreams`, its ways are `Upstream`s.

A server does what its script says: it answers, fails, asks, reports, announces, waits at a gate, or dies. What reached it
is in `received`.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError
from awf.domain.mcp import LEGACY_VERSIONS, METHOD_NOT_FOUND, MODERN_VERSIONS, Era, RpcError, modern_meta

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from awf.domain.ports.upstream import Done, Guise, Hearer

__all__ = ["Asked", "Gate", "MemoryServer", "MemoryWay", "text"]

_LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
_QUIETLY_DONE = frozenset({"logging/setLevel", "resources/subscribe", "resources/unsubscribe"})
_ANNOUNCED = {
    f"notifications/{kind}/list_changed": f"{kind}ListChanged" for kind in ("tools", "prompts", "resources")
}


def text(said: str, *, is_error: bool = False) -> dict[str, Any]:
    """The result of a tool."""
    return {"content": [{"type": "text", "text": said}], **({"isError": True} if is_error else {})}


class Gate:
    """Holds back whatever comes, until it is opened."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._arrived = asyncio.Condition()
        self.waiting = 0

    async def __call__(self) -> None:
        async with self._arrived:
            self.waiting += 1
            self._arrived.notify_all()
        try:
            await self._open.wait()
        finally:
            self.waiting -= 1

    async def reached(self, count: int = 1) -> None:
        """Until so many wait here."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: self.waiting >= count)

    def open(self) -> None:
        self._open.set()


class Asked:
    """A request or a notification as the server gets it, and what can be done while it is worked on."""

    def __init__(
        self, way: MemoryWay, method: str, params: dict[str, Any], headers: Mapping[str, str], tag: object
    ) -> None:
        self.way = way
        self.method = method
        self.params = params
        self.headers = headers
        self.on_progress: Callable[[dict[str, Any]], None] | None = None
        self._tag = tag

    @property
    def meta(self) -> dict[str, Any]:
        meta: dict[str, Any] = self.params.get("_meta") or {}
        return meta

    @property
    def arguments(self) -> dict[str, Any]:
        arguments: dict[str, Any] = self.params.get("arguments") or {}
        return arguments

    def progress(self, done: float, **more: Any) -> None:
        if self.on_progress is not None:
            self.on_progress({"progressToken": self.meta["progressToken"], "progress": done, **more})

    def say(self, method: str, params: dict[str, Any] | None = None) -> None:
        self.way.say(method, params, self._shown)

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """What the client answers. Raises `RpcError`."""
        return await self.way.ask(method, params, self._shown)

    def over(self) -> None:
        """It is answered. What stays in the server's memory keeps nothing of the other side alive."""
        self._tag = self.on_progress = None

    def pause(self) -> None:
        """End the answer for now, as servers do over HTTP."""
        self.way.hearer.paused(self._shown)

    @property
    def _shown(self) -> object:
        """Over a pipe nothing shows to which request a message belongs."""
        return self._tag if self.way.server.shows_requests else None


class MemoryServer:
    """Set its attributes at any time; what is asked next is answered from them."""

    def __init__(
        self,
        *,
        modern: bool = False,
        legacy: bool | None = None,
        version: str = "",
        capabilities: dict[str, Any] | None = None,
        instructions: str = "",
        info: dict[str, Any] | None = None,
        stateful: bool = False,
        shows_requests: bool = False,
    ) -> None:
        self.modern = modern
        self.legacy = not modern if legacy is None else legacy
        self.version = version or LEGACY_VERSIONS[-1]
        self.capabilities = {"tools": {}} if capabilities is None else capabilities
        self.instructions = instructions
        self.info = info or {"name": "memory", "version": "1"}
        self.stateful = stateful
        self.shows_requests = shows_requests  # as over HTTP
        self.lists: dict[str, list[dict[str, Any]]] = {kind: [] for kind in _LISTS.values()}
        self.page = 0  # items; 0: all in one
        self.list_more: dict[str, Any] = {}  # goes with each page, such as ttlMs
        self.refusal: AwfError | None = None  # set it, and nobody can connect
        self.deaf: RpcError | None = None  # what it says to those who want to listen
        self.received: list[Asked] = []
        self.ways: list[MemoryWay] = []
        self.closed = 0
        self._tools: dict[str, Any] = {}
        self._answers: dict[str, Any] = {}
        self._gates: dict[str, Gate] = {}

    # Its script

    def tool(self, name: str, answer: Any = "done", **more: Any) -> MemoryServer:
        """`answer`: a text, a result, an exception, or a function of `Asked` that gives or awaits one of these."""
        self.lists["tools"].append({"name": name, "inputSchema": {"type": "object"}, **more})
        self._tools[name] = answer
        return self

    def on(self, method: str, answer: Any) -> MemoryServer:
        """The same for any method."""
        self._answers[method] = answer
        return self

    def hold(self, method: str) -> Gate:
        """Requests with this method wait; `connect` and the name of a tool can be held too."""
        gate = self._gates[method] = Gate()
        return gate

    def release(self, method: str) -> None:
        self._gates.pop(method).open()

    # Its life

    def die(self) -> None:
        """All connections end at once."""
        for way in self.ways:
            way.lose()

    def say(self, method: str, params: dict[str, Any] | None = None) -> None:
        """To everyone who is connected, and in the newer era only to those who listen for it."""
        for way in list(self.ways):
            if way.connected and way.wants(method, params):
                way.say(method, params)

    def seen(self, method: str) -> list[dict[str, Any]]:
        """The params of what came with this method."""
        return [one.params for one in self.received if one.method == method]

    @property
    def connected(self) -> list[MemoryWay]:
        return [way for way in self.ways if way.connected]

    # Upstreams

    def open(self, guise: Guise, hearer: Hearer) -> MemoryWay:
        way = MemoryWay(self, guise, hearer)
        self.ways.append(way)
        return way

    async def close(self) -> None:
        self.closed += 1

    # What its ways need

    async def accept(self, guise: Guise) -> Era:
        await self._pass("connect")
        if self.refusal is not None:
            raise self.refusal
        if guise.era is not None and guise.era.modern and not guise.legacy:
            return guise.era
        if self.modern and not guise.legacy:
            return self._era(modern=True, version=MODERN_VERSIONS[-1])
        if not self.legacy:
            raise AwfError("EXECUTION.MCP_SERVER.PROTOCOL", "It refused to start a session.")
        return self._era(modern=False, version=min(guise.version, self.version))

    def _era(self, *, modern: bool, version: str) -> Era:
        return Era(
            modern=modern,
            version=version,
            capabilities=self.capabilities,
            instructions=self.instructions,
            server_info=self.info,
            stateful=self.stateful and not modern,
        )

    async def answer(self, asked: Asked) -> dict[str, Any]:
        await self._pass(asked.method)
        if asked.method == "tools/call" and asked.method not in self._answers:
            name = asked.params.get("name")
            await self._pass(str(name))
            unknown = RpcError(-32602, f"Unknown tool: {name}")
            result = await _outcome(self._tools.get(str(name), unknown), asked)
        elif asked.method in self._answers:
            result = await _outcome(self._answers[asked.method], asked)
        else:
            result = self._usual(asked)
        era = asked.way.era
        return {"resultType": "complete", **result} if era is not None and era.modern else result

    def _usual(self, asked: Asked) -> dict[str, Any]:
        if asked.method in _LISTS:
            return self._listed(_LISTS[asked.method], asked.params.get("cursor"))
        if asked.method in _QUIETLY_DONE:
            return {}
        raise RpcError(METHOD_NOT_FOUND, f"Method not found: {asked.method}")

    def _listed(self, kind: str, cursor: Any) -> dict[str, Any]:
        items, start = self.lists[kind], int(cursor or 0)
        end = start + self.page if self.page else len(items)
        more = {"nextCursor": str(end)} if end < len(items) else {}
        return {kind: copy.deepcopy(items[start:end]), **self.list_more, **more}

    async def _pass(self, name: str) -> None:
        gate = self._gates.get(name)
        if gate is not None:
            await gate()


class MemoryWay:
    """One connection, made when it is first needed and again when it was lost."""

    def __init__(self, server: MemoryServer, guise: Guise, hearer: Hearer) -> None:
        self.server = server
        self.guise = guise
        self.hearer = hearer
        self.era: Era | None = guise.era
        self.connections = 0
        self.closed = False
        self.listening: list[Mapping[str, Any]] = []
        self._ended: asyncio.Event | None = None
        self._connecting = asyncio.Lock()
        self._asked = 0

    @property
    def connected(self) -> bool:
        return self._ended is not None and not self._ended.is_set()

    async def connect(self) -> Era:
        async with self._connecting:
            if self.closed:
                raise _unavailable("The connection was closed.")
            if not self.connected or self.era is None:
                try:
                    self.era = await self.server.accept(self.guise)
                except AwfError:
                    self.era = None
                    raise
                self._ended = asyncio.Event()
                self.connections += 1
            return self.era

    async def exchange(
        self,
        method: str,
        params: dict[str, Any],
        *,
        on_progress: Callable[[dict[str, Any]], None] | None = None,
        headers: Mapping[str, str] | None = None,
        tag: object = None,
    ) -> dict[str, Any]:
        asked = Asked(self, method, await self._introduced(params), headers or {}, tag)
        if on_progress is not None:
            self._asked += 1
            asked.params["_meta"] = {**asked.meta, "progressToken": self._asked}
            asked.on_progress = on_progress
        self.server.received.append(asked)
        return await self._race(asked)

    async def _introduced(self, params: dict[str, Any]) -> dict[str, Any]:
        """In the newer era every request says who asks."""
        era = await self.connect()
        if not era.modern:
            return dict(params)
        own = modern_meta(era.version, self.guise.capabilities, self.guise.client_info)
        return {**params, "_meta": {**own, **(params.get("_meta") or {})}}

    async def _race(self, asked: Asked) -> dict[str, Any]:
        """The answer, unless the connection ends before."""
        assert self._ended is not None
        loop = asyncio.get_running_loop()
        work = loop.create_task(self.server.answer(asked), name=f"answering {asked.method}")
        ended = loop.create_task(self._ended.wait(), name="the end of the connection")
        try:
            await asyncio.wait([work, ended], return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise _unavailable("The server died.")
            return work.result()
        except asyncio.CancelledError:
            if not work.done():
                about = {"requestId": id(asked), "method": asked.method}
                self.server.received.append(Asked(self, "notifications/cancelled", about, {}, None))
            raise
        finally:
            work.cancel()
            ended.cancel()
            await asyncio.wait([work, ended])
            if not work.cancelled():
                work.exception()  # nobody may be left to fetch it
            asked.over()

    def begin(
        self,
        method: str,
        params: dict[str, Any],
        done: Done,
        *,
        headers: Mapping[str, str] | None = None,
        tag: object = None,
    ) -> asyncio.Task[None] | None:
        if not self.connected or self.era is None or self.closed:
            return None
        work = self._told(self.exchange(method, params, headers=headers, tag=tag), done)
        return asyncio.get_running_loop().create_task(work, name=f"{method}, begun")

    async def _told(self, work: Coroutine[Any, Any, dict[str, Any]], done: Done) -> None:
        try:
            result = await work
        except (AwfError, RpcError) as reason:
            done(None, reason)
        else:
            done(result, None)

    async def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        await self.connect()
        self.server.received.append(Asked(self, method, params or {}, {}, None))

    async def hear(self, wanted: Mapping[str, Any], tag: object = None) -> None:
        del tag
        ended, era = self._ended, self.era
        if ended is None or era is None or ended.is_set():
            return
        if era.modern and self.server.deaf is not None:
            raise self.server.deaf
        self.listening.append(wanted)
        try:
            await ended.wait()
        finally:
            self.listening.remove(wanted)

    async def close(self) -> None:
        self.closed = True
        self.lose()

    def lose(self) -> None:
        """The connection ends; whoever waits is told."""
        if self._ended is not None:
            self._ended.set()

    def wants(self, method: str, params: dict[str, Any] | None) -> bool:
        if self.era is None or not self.era.modern:
            return True
        if method in _ANNOUNCED:
            return any(wanted.get(_ANNOUNCED[method]) for wanted in self.listening)
        uris = [uri for wanted in self.listening for uri in wanted.get("resourceSubscriptions", ())]
        return method != "notifications/resources/updated" or (params or {}).get("uri") in uris

    def say(self, method: str, params: dict[str, Any] | None = None, tag: object = None) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self.hearer.notified(message, tag)

    async def ask(
        self, method: str, params: dict[str, Any] | None = None, tag: object = None, *, number: Any = None
    ) -> dict[str, Any]:
        """Ask the other side. When it is cancelled, the other side is not told: that is for `say`."""
        self._asked += 1
        message: dict[str, Any] = {
            "jsonrpc": "2.0",
            "id": self._asked if number is None else number,
            "method": method,
        }
        if params is not None:
            message["params"] = params
        return await self.hearer.asked(message, tag)


async def _outcome(answer: Any, asked: Asked) -> dict[str, Any]:
    made = answer(asked) if callable(answer) else answer
    if inspect.isawaitable(made):
        made = await made
    if isinstance(made, BaseException):
        raise made
    return text(made) if isinstance(made, str) else dict(made)


def _unavailable(message: str) -> AwfError:
    return AwfError("EXECUTION.MCP_SERVER.UNAVAILABLE", message)
