"""Those who come to the gateway: a session of the older era, or one request of the newer one."""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING, Any, Protocol

from awf.application.gate.discretion import plain_abilities, plain_meta
from awf.domain.mcp import CLIENT_INFO, METHOD_NOT_FOUND, Era, RpcError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.application.gate.origin import Origin
    from awf.application.gate.passage import Passage
    from awf.application.gateway.places import Places

__all__ = ["ABILITIES", "LEVELS", "Client", "Errand", "Exchange", "Reach", "Work"]

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_ABILITIES = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}
ABILITIES = frozenset(_ABILITIES.values())
_GONE = -32603
ANSWER_SECONDS = 600.0  # that a client has for a question


class Reach(Protocol):
    """A way to say something to a client."""

    def send(self, message: dict[str, Any]) -> bool:
        """False when nobody can hear it."""
        ...

    def pause(self) -> None:
        """There is nothing to say for a while; a client that can come back later may be sent away."""
        ...


class Work(Protocol):
    """A task, or something else that can be stopped like one."""

    def cancel(self) -> object: ...


class Client:
    """Whoever asks. What it has told of itself does not change; the rest belongs to sessions."""

    __slots__ = (
        "_answers",
        "_asked",
        "capabilities",
        "context",
        "guarded",
        "id",
        "info",
        "key",
        "latest_meta",
        "level",
        "modern",
        "origin",
        "profile",
        "standing",
        "subscriptions",
        "version",
        "ways",
    )

    def __init__(
        self,
        *,
        version: str,
        modern: bool,
        capabilities: dict[str, Any],
        info: dict[str, Any],
        id: str = "",  # noqa: A002  the session's; empty where there is none
        key: str = "",
        profile: str = "",
        level: str = "",
    ) -> None:
        self.id = id
        self.modern = modern
        self.version = version
        self.capabilities = capabilities
        self.info = info
        self.key = key  # whose credential it came with
        self.profile = profile
        self.level = level  # of log messages it wants to hear; empty: it has not said
        self.context = ""  # the security context of its latest request, where a gate wants to know
        self.guarded = False  # by a gate: servers are told of it only what is nobody's free choice
        self.latest_meta: tuple[Era, str, bool, dict[str, Any]] | None = (
            None  # what servers of an era are told of it
        )
        self.origin: tuple[object, str, Origin] | None = None  # who said who it is, for which name, and what
        self.standing: Reach | None = None  # what is heard outside of any request
        self.subscriptions: set[str] = set()
        self.ways: dict[str, tuple[object, ...]] = {}  # what servers remember of where its requests go
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._asked = 0

    @property
    def interactive(self) -> bool:
        """Whether servers may ask it something."""
        return not ABILITIES.isdisjoint(self.capabilities)

    @property
    def name(self) -> str:
        name = self.info.get("name")
        return name if isinstance(name, str) else ""

    def told_of(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What servers hear of what it can do, and of what it calls itself."""
        if self.guarded:
            return plain_abilities(self.capabilities), CLIENT_INFO
        return self.capabilities, self.info

    def can_answer(self, method: str) -> bool:
        return _ABILITIES.get(method) in self.capabilities

    def wants_to_hear(self, message: Mapping[str, Any]) -> bool:
        """Whether a log message is as grave as it asked for. In the older era silence means all, in the newer none."""
        if not self.level:
            return not self.modern
        params = message.get("params")
        level = params.get("level") if isinstance(params, dict) else None
        return level not in LEVELS or LEVELS.index(level) >= LEVELS.index(self.level)

    async def ask(self, method: str, params: Any, exchange: Exchange | None) -> dict[str, Any]:
        """Put a server's question to it. Raises `RpcError`."""
        if self.modern or not self.can_answer(method):  # the newer era knows no questions of servers
            raise RpcError(METHOD_NOT_FOUND, f"The client cannot answer {method}.")
        self._asked += 1
        number = self._asked
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        message = {"jsonrpc": "2.0", "id": number, "method": method}
        if params is not None:
            message["params"] = params
        try:
            if not self.tell(message, exchange):
                raise RpcError(_GONE, "The client cannot be reached.")
            async with asyncio.timeout(ANSWER_SECONDS):
                return await answer
        except TimeoutError:
            raise RpcError(_GONE, "The client does not answer.") from None
        except asyncio.CancelledError:
            gone = {"requestId": number, "reason": "The server no longer waits for it."}
            told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": gone}
            self.tell(told, exchange)
            raise
        finally:
            self._answers.pop(number, None)

    def answered(self, message: Mapping[str, Any]) -> bool:
        """Take an answer to a question. False when nobody has asked."""
        number = message.get("id")
        if (
            isinstance(number, str) and number.isdecimal() and len(number) < 10
        ):  # some hand numbers back as text
            number = int(number)
        answer = self._answers.get(number) if type(number) is int else None
        if answer is None or answer.done():
            return False
        error, result = message.get("error"), message.get("result")
        if isinstance(error, dict):
            code = error.get("code")
            text = str(error.get("message") or "The client gave no reason.")
            answer.set_exception(RpcError(code if type(code) is int else _GONE, text, error.get("data")))
        elif isinstance(result, dict):
            answer.set_result(result)
        else:
            answer.set_exception(RpcError(_GONE, "The client's answer has neither a result nor an error."))
        return True

    def tell(self, message: dict[str, Any], exchange: Exchange | None = None) -> bool:
        """With the answer to a request where it belongs to one, else by itself."""
        if exchange is not None and exchange.reach.send(message):
            return True
        return self.standing is not None and self.standing.send(message)

    def lost(self) -> None:
        """Nobody will answer any more."""
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(RpcError(_GONE, "The client has left."))


class Exchange:
    """One request of a client, from its arrival to its answer."""

    __slots__ = (
        "_pauses",
        "_place",
        "admitted",
        "client",
        "deadline",
        "headers",
        "id",
        "meta",
        "patience",
        "reach",
        "task",
    )

    def __init__(
        self,
        client: Client,
        request_id: Any,
        reach: Reach,
        *,
        meta: dict[str, Any],
        headers: Mapping[str, str],
    ) -> None:
        self.client = client
        self.id = request_id
        self.reach = reach
        self.meta = meta  # the `_meta` of the request
        self.headers = headers  # by their names in small letters
        self.patience = math.inf  # what its server has, in seconds
        self.deadline = math.inf  # by the monotonic clock; -inf: it was over
        self.task: Work | None = None  # what works on it, where that is known
        self.admitted: Passage | None = None  # by the gate, before it was known how the call is made
        self._place: Places | None = None
        self._pauses = 0

    @property
    def progress_token(self) -> Any:
        return self.meta.get("progressToken")

    def progressed(self, params: dict[str, Any]) -> None:
        """A server reports on the work."""
        self.moved()
        token = self.progress_token
        if token is not None:
            told = {**params, "progressToken": token}
            self.reach.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})

    def made_plain(self, params: dict[str, Any]) -> dict[str, Any]:
        """The params as they may pass a gate: their `_meta` holds nothing that a gate does not look at."""
        client = self.client
        client.guarded = True
        if not self.meta and "_meta" not in params:
            return params
        version = client.version if client.modern else ""
        self.meta = plain_meta(self.meta, version, client.capabilities, client.level)
        made = {**params, "_meta": self.meta}
        if not self.meta:
            del made["_meta"]
        return made

    async def ask(self, method: str, params: Any) -> dict[str, Any]:
        """A server wants to know something before it goes on. Raises `RpcError`."""
        return await self.client.ask(method, params, self)

    # Time: a server has so long from its last sign of life, and none runs while somebody else is to answer.

    def moved(self) -> None:
        if not self._pauses and self.deadline > 0:
            self.deadline = time.monotonic() + self.patience

    def must_end_within(self, seconds: float, since: float) -> None:
        """However patient its server is. `since`: by the monotonic clock."""
        if seconds < self.patience:  # noqa: PLR1730  each call comes by, and `min` takes three times as long
            self.patience = seconds
        if since + seconds < self.deadline:  # noqa: PLR1730  as above
            self.deadline = since + seconds

    def hold(self) -> None:
        """Somebody else is to answer now. Its place at the server is for others from then on."""
        self._pauses += 1
        if self.deadline > 0:
            self.deadline = math.inf
        self.leave_place()

    def go_on(self) -> None:
        """Without a place: whoever has it now may be waiting for this very request."""
        self._pauses -= 1
        self.moved()

    def has_place(self, places: Places) -> None:
        self._place = places

    async def take_place(self, places: Places) -> None:
        """One of those that its server has."""
        await places.take()
        self._place = places

    def leave_place(self) -> None:
        if self._place is not None:
            self._place.give_back()
            self._place = None


class Errand(Exchange):
    """A request that says nothing of its client: no gate has judged it, so no server may ask something in the course of it."""

    __slots__ = ()

    def __init__(self, exchange: Exchange) -> None:
        client = exchange.client
        super().__init__(client, exchange.id, exchange.reach, meta={}, headers=exchange.headers)

    async def ask(self, method: str, params: Any) -> dict[str, Any]:
        del params
        raise RpcError(METHOD_NOT_FOUND, f"Nobody here can answer {method} now.")
