"""One way to one server, and who hears what the server says on it.

A server speaks of its own accord: it logs, asks, announces. Over HTTP it shows to which request that belongs. Over a
pipe it does not; then it is for the one client that has something under way there, or for the one the way belongs to.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from awf.application.gateway.client import ABILITIES, LEVELS, Exchange
from awf.application.running.tasks import end_task, spawn
from awf.domain.errors import AwfError
from awf.domain.mcp import METHOD_NOT_FOUND, RpcError
from awf.domain.ports.upstream import Guise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.application.gateway.client import Client
    from awf.domain.mcp import Era
    from awf.domain.ports.upstream import Done, Pending, Upstreams

__all__ = ["Lane", "LaneKey", "News", "announcements", "guise_of", "lane_key", "least_grave"]

_CHANGES = {
    "notifications/tools/list_changed": "tools",
    "notifications/prompts/list_changed": "prompts",
    "notifications/resources/list_changed": "resources",
}
_FOR_US = frozenset({"notifications/subscriptions/acknowledged"})
PAUSES = (0.2, 1.0, 5.0, 30.0)
_OVER = -32603
_UPDATED = "notifications/resources/updated"


class LaneKey(NamedTuple):
    legacy: bool
    owner: str  # whose way it is; empty: everyone's


def lane_key(client: Client, era: Era, *, session: str, over_pipe: bool, only_modern: bool) -> LaneKey:
    """Which way to a server a client's requests take. `era` is what the server speaks by choice.

    A client is served in its own era where the server knows both, so that what it asks and hears is what it would ask
    and hear without us. It gets a way of its own where the server might ask it something or keeps something for it. A
    process is not started a second time for a client that cannot be asked anything.
    """
    alone = session == "client" or (session == "auto" and client.interactive)
    if client.modern:
        if era.modern:
            return LaneKey(legacy=False, owner="")
        return LaneKey(legacy=True, owner=f"{client.key} {_abilities(client)}" if alone else "")
    if era.modern and (only_modern or (over_pipe and not alone)):
        return LaneKey(legacy=False, owner="")
    kept = session == "auto" and not over_pipe and (era.modern or era.stateful)
    return LaneKey(legacy=True, owner=client.id if alone or kept else "")


def _abilities(client: Client) -> str:
    """Only those that matter: names are the client's free choice, and each set of them is a way of its own."""
    return ",".join(sorted(client.capabilities.keys() & ABILITIES))


class News(Protocol):
    """Who is told what a server says to no one in particular."""

    @property
    def guarded(self) -> bool:
        """Whether there is a gate."""
        ...

    def changed(self, kind: str) -> None:
        """`tools`, `prompts` or `resources` are no longer what they were."""
        ...

    def updated(self, message: dict[str, Any]) -> None:
        """A resource has changed."""
        ...

    def overheard(self, message: dict[str, Any]) -> None: ...

    def cleaned(self, said: Any) -> Any:
        """What clients may see of it."""
        ...

    async def question(self, client: Client, method: str, params: Any) -> dict[str, Any]:
        """What a client answers to a question that belongs to no request of it. Raises `RpcError`."""
        ...


class _Question:
    """Of the server, which somebody is working on."""

    __slots__ = ("about", "moot", "task")

    def __init__(self, task: asyncio.Task[Any], about: Exchange | None) -> None:
        self.task = task
        self.about = about  # the request in the course of which it was asked
        self.moot = False


class Lane:
    """A `Hearer`."""

    def __init__(self, news: News, ways: Upstreams, guise: Guise, owner: Client | None = None) -> None:
        self.owner = owner
        self.level = ""  # what the server was told
        self.subscribed: dict[str, int] = {}  # resource → how many want to hear of it
        self._news = news
        self._busy: dict[Exchange, None] = {}
        self.promised: Client | None = None  # to the one whose request is on its way
        self._questions: dict[Any, _Question] = {}
        self.used = 0.0  # when it was last free again, in the loop's time
        self._hearing: asyncio.Task[None] | None = None
        self._told_in = 0  # the connection in which level and subscriptions were told
        self.upstream = ways.open(guise, self)

    @property
    def in_flight(self) -> int:
        return len(self._busy)

    @property
    def is_free(self) -> bool:
        """Nobody uses it, or is about to."""
        return not self._busy and self.promised is None

    def give_back(self, client: Client) -> None:
        if self.promised is client:
            self.promised = None

    async def exchange(
        self,
        exchange: Exchange,
        method: str,
        params: dict[str, Any],
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        upstream = self.upstream
        if self._told_in != upstream.connections and (self.level or self.subscribed):
            await self.repeat_if_new()
        self._busy[exchange] = None
        try:
            return await upstream.exchange(
                method,
                params,
                on_progress=None if exchange.progress_token is None else self._progressed(exchange),
                headers=headers,
                tag=exchange,
            )
        finally:
            self.ended(exchange)

    def begin(
        self,
        exchange: Exchange,
        method: str,
        params: dict[str, Any],
        headers: Mapping[str, str] | None,
        done: Done,
    ) -> Pending | None:
        """The same without waiting, where that can be done."""
        upstream = self.upstream
        if self._told_in != upstream.connections and (self.level or self.subscribed):
            return None
        pending = upstream.begin(method, params, done, headers=headers, tag=exchange)
        if pending is not None:
            self._busy[exchange] = None
        return pending

    def ended(self, exchange: Exchange) -> None:
        """What was begun is over."""
        self._busy.pop(exchange, None)
        self.used = asyncio.get_running_loop().time()
        if self._questions and self._news.guarded:
            self._drop_questions(exchange)

    def _drop_questions(self, exchange: Exchange) -> None:
        """What a gate lets into a call it lets in for as long as the call lasts: no answer goes to its server after that."""
        for question in self._questions.values():
            if question.about is exchange:
                question.moot = True
                question.task.cancel()

    async def repeat(self) -> None:
        """A new connection knows nothing of what was agreed on the last one."""
        era = await self.upstream.connect()
        self._told_in = self.upstream.connections
        if era.modern:
            return
        told: list[tuple[str, dict[str, Any]]] = [
            ("resources/subscribe", {"uri": uri}) for uri in self.subscribed
        ]
        if self.level and "logging" in era.capabilities:
            told.insert(0, ("logging/setLevel", {"level": self.level}))
        for method, params in told:
            with contextlib.suppress(RpcError):  # one that is refused must not keep back the others
                await self.upstream.exchange(method, params)

    async def repeat_if_new(self) -> None:
        if self._told_in != self.upstream.connections and (self.level or self.subscribed):
            await self.repeat()

    async def set_level(self, level: str) -> None:
        """Of what the server logs. One that cannot be reached now hears of it later."""
        if level != self.level:
            self.level = level
            if self.upstream.era is not None:
                with contextlib.suppress(AwfError):
                    await self.repeat()

    def keep_hearing(self) -> None:
        """Also when the stream of its session ends now and then."""
        self._hearing = spawn(self._hear(), "hearing a server on the way of a client")

    async def _hear(self) -> None:
        failures = 0
        while True:
            began = asyncio.get_running_loop().time()
            with contextlib.suppress(AwfError, RpcError):
                await self.upstream.hear({})
            lived = asyncio.get_running_loop().time() - began
            failures = 0 if lived > PAUSES[-1] else min(failures + 1, len(PAUSES) - 1)
            await asyncio.sleep(PAUSES[failures])

    async def close(self) -> None:
        if self._hearing is not None:
            await end_task(self._hearing)
        await self.upstream.close()

    # What the server says

    def notified(self, message: dict[str, Any], tag: object) -> None:
        method = message["method"]
        if method in _CHANGES:
            self._news.changed(_CHANGES[method])
        elif method == _UPDATED:
            self._updated(message)
        elif method == "notifications/cancelled":
            self._withdrawn(message)
        elif method not in _FOR_US:
            self._pass_on(message, tag)

    async def asked(self, message: dict[str, Any], tag: object) -> dict[str, Any]:
        exchange = self._meant(tag)
        method, params = message["method"], self._news.cleaned(message.get("params"))
        if exchange is None and self.owner is None:
            raise RpcError(METHOD_NOT_FOUND, f"Nobody here can answer {method}.")
        task, key = asyncio.current_task(), _key(message["id"])
        assert task is not None
        question = self._questions[key] = _Question(task, exchange)
        try:
            return await self._answer(exchange, method, params)
        except asyncio.CancelledError:
            if not question.moot or task.uncancel():
                raise
            raise RpcError(_OVER, f"The call in which {method} was asked is over.") from None
        finally:
            if self._questions.get(key) is question:
                del self._questions[key]

    async def _answer(self, exchange: Exchange | None, method: str, params: Any) -> dict[str, Any]:
        if exchange is None:
            assert self.owner is not None
            return await self._news.question(self.owner, method, params)
        exchange.hold()
        try:
            return await exchange.ask(method, params)
        finally:
            exchange.go_on()

    def paused(self, tag: object) -> None:
        if isinstance(tag, Exchange):
            tag.reach.pause()

    def _withdrawn(self, message: dict[str, Any]) -> None:
        """The server no longer wants to know."""
        params = message.get("params")
        question = self._questions.get(_key(params.get("requestId"))) if isinstance(params, dict) else None
        if question is not None:
            question.task.cancel()

    def _progressed(self, exchange: Exchange) -> Callable[[dict[str, Any]], None]:
        return lambda params: exchange.progressed(self._news.cleaned(params))

    def _updated(self, message: dict[str, Any]) -> None:
        """Who hears of it named the address, and knows it by that."""
        clean, params = self._clean(message), message.get("params")
        told = clean.get("params") if clean is not None else None
        if isinstance(params, dict) and "uri" in params and isinstance(told, dict):
            self._news.updated({**message, "params": {**told, "uri": params["uri"]}})

    def _clean(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """None: its very name holds something that must not be told."""
        clean = self._news.cleaned(message)
        known = isinstance(clean, dict) and clean.get("method") == message["method"]
        return clean if known else None

    def _pass_on(self, said: dict[str, Any], tag: object) -> None:
        message = self._clean(said)
        if message is None:
            return
        exchange = self._meant(tag)
        client = exchange.client if exchange is not None else self.owner
        if client is None:
            self._news.overheard(message)
        elif message["method"] != "notifications/message" or client.wants_to_hear(message):
            client.tell({"jsonrpc": "2.0", **message}, exchange)
        if exchange is not None:
            exchange.moved()

    def _meant(self, tag: object) -> Exchange | None:
        """The request to which a message belongs; the latest one, where all under way are of one client."""
        if isinstance(tag, Exchange):
            return tag
        latest: Exchange | None = None
        for exchange in self._busy:
            if latest is not None and exchange.client is not latest.client:
                return None
            latest = exchange
        return latest


def _key(request_id: Any) -> Any:
    return request_id if isinstance(request_id, str | int) else None


def least_grave(levels: list[str]) -> str:
    """The level at which a server must log so that everyone hears what they asked for."""
    return min(levels, key=LEVELS.index) if levels else ""


def guise_of(key: LaneKey, client: Client, era: Era) -> Guise:
    """As whom to speak: on a way of its own as the client, else as ourselves, who can answer nothing."""
    known = None if key.legacy else era
    if not key.owner:
        return Guise(legacy=key.legacy, era=known)
    version = Guise().version if client.modern else client.version
    abilities, info = client.told_of()
    return Guise(
        capabilities=abilities,
        client_info=info or Guise().client_info,
        legacy=key.legacy,
        version=version,
        era=known,
    )


def announcements(era: Era) -> dict[str, bool]:
    """Which lists it says it will tell of."""
    found = {}
    for kind in ("tools", "prompts", "resources"):
        offered = era.capabilities.get(kind)
        if isinstance(offered, dict) and offered.get("listChanged") is True:
            found[f"{kind}ListChanged"] = True
    return found
