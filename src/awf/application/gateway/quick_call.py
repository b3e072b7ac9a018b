"""One tool call under way that no task waits for: whoever brings its outcome ends it.

Most calls are nothing but a question and an answer. A task for each, and a frame for each layer in between, would cost
more than the call itself.
"""

from __future__ import annotations

import asyncio
import logging
import math
from typing import TYPE_CHECKING, Any, Protocol

from awf.application.gateway.forwarding import asks
from awf.application.running.tasks import spawn
from awf.domain.mcp import INTERNAL_ERROR, RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from awf.application.gate.passage import Passage
    from awf.application.gate.turnstile import Turnstile
    from awf.application.gateway.call_book import CallBook, Entry
    from awf.application.gateway.client import Exchange, Work
    from awf.application.gateway.lane import Lane
    from awf.application.gateway.offers import Offer
    from awf.application.tools.pipeline import Observation
    from awf.domain.mcp import Era
    from awf.domain.ports.upstream import Pending

    Tell = Callable[[dict[str, Any] | RpcError | None], None]

__all__ = ["QuickCall", "Tell"]

_FAILED = "Internal error: the gateway failed on this request."
_TOLD = (dict, RpcError)  # a union would be made anew for each call
_log = logging.getLogger("awf.gateway")


class Host(Protocol):
    def concluded(
        self, quick: QuickCall, raw: dict[str, Any] | None, reason: Exception | None
    ) -> dict[str, Any] | RpcError | Coroutine[Any, Any, dict[str, Any]]:
        """What the client gets for what came of it; or the work that is left to know it."""
        ...

    def put_off(self, quick: QuickCall, raw: dict[str, Any]) -> bool:
        """Whether it is looked at with others, a moment later: `leave` or `end` is called then."""
        ...

    def not_sent(self, quick: QuickCall, decided: Passage | None, code: str) -> None:
        """Nothing came of it: that is recorded where its decision is."""
        ...

    async def answered(self, quick: QuickCall, raw: dict[str, Any]) -> dict[str, Any]:
        """The result, after the questions of the server were put to the client."""
        ...

    def abandoned(self, quick: QuickCall) -> None:
        """Nobody waits for it any more."""
        ...


class _Waiting:
    """In place of what can be cancelled, for a call that has not gone out."""

    def cancel(self) -> None: ...


_WAITING = _Waiting()


class QuickCall:
    """`tell` hears once what the client gets; None when the call was cancelled."""

    __slots__ = (
        "_has_begun",
        "_host",
        "_is_long",
        "_pending",
        "_tell",
        "crossing",
        "entry",
        "exchange",
        "headers",
        "lane",
        "observing",
        "offer",
        "owed",
        "params",
        "passage",
        "passed",
        "turnstile",
    )

    def __init__(
        self,
        host: Host,
        offer: Offer,
        exchange: Exchange,
        lane: Lane,
        params: dict[str, Any],
        passed: dict[str, Any],
        headers: Mapping[str, str] | None,
        crossing: Era | None,
        tell: Tell,
        passage: Passage | None,
        turnstile: Turnstile | None,
    ) -> None:
        self._host = host
        self.offer = offer
        self.exchange = exchange
        self.lane = lane
        self.params = params
        self.passed = passed  # the same as the server gets them
        self.headers = headers
        self.crossing = crossing  # the server's era, if that is not the client's
        self.passage = passage  # through the gate, where there is one
        self.turnstile = turnstile  # of that
        self._tell = tell
        self._pending: Work | None = None
        self._is_long = False  # a task of its own works on it
        self._has_begun = False
        self.entry: Entry
        self.observing: Observation | None = None
        self.owed: CallBook | None = None  # it still has to hear that the call went well

    @property
    def arguments(self) -> dict[str, Any]:
        """As the client gave them."""
        given: dict[str, Any] | None = self.params.get("arguments")
        return {} if given is None else given

    @property
    def sent(self) -> dict[str, Any]:
        """As the server gets them."""
        return self.passed["arguments"]  # type: ignore[no-any-return]

    @property
    def is_waiting(self) -> bool:
        """Whether it has not gone out, and is still wanted."""
        return self._pending is _WAITING

    def waits(self) -> None:
        self._pending = _WAITING

    def goes_on_as(self, work: Coroutine[Any, Any, dict[str, Any]]) -> None:
        """It takes more than a moment: from here on it is a call like any other."""
        self._is_long = True
        self._pending = self.exchange.task = spawn(self._long(work), "a call that was to be short")

    async def _long(self, work: Coroutine[Any, Any, dict[str, Any]]) -> None:
        outcome: dict[str, Any] | RpcError | None = None
        self._has_begun = True
        try:
            if self._pending is None:  # it was cancelled before its first step
                work.close()
                self._host.not_sent(self, self.exchange.admitted, "CANCELLED")
            else:
                outcome = await work
        except RpcError as objection:
            outcome = objection
        except Exception:  # noqa: BLE001  whoever waits must get an answer
            _log.exception("the answer of %s could not be passed on", self.offer.tool.name)
            outcome = RpcError(INTERNAL_ERROR, _FAILED)
        finally:
            self._pending = None
            self.leave(outcome)

    def fail(self) -> None:
        self._pending = None
        self.leave(RpcError(INTERNAL_ERROR, _FAILED))

    def fail_unless_left(self) -> None:
        """Whoever waits must get an answer, and only one."""
        if self.exchange.task is self:
            self.fail()

    def begun(self, pending: Pending, entry: Entry, observing: Observation | None) -> None:
        self._pending = pending
        self.entry = entry
        self.observing = observing

    def came(self, raw: dict[str, Any] | None, reason: Exception | None) -> None:
        """The server has answered, or cannot."""
        self._pending = None
        server, exchange, lane = self.offer.server, self.exchange, self.lane
        if raw is not None and self.crossing is not None and asks(raw, self.crossing):
            server.ended(exchange, lane)
            self._pending = exchange.task = spawn(self._go_on(raw), "a call with questions")
            return
        try:
            if raw is None or not self._host.put_off(self, raw):
                self.end(raw, reason)  # the client first
        finally:
            server.ended(exchange, lane, reason)

    async def _go_on(self, raw: dict[str, Any]) -> None:
        """The server wants to know something first: from here on it is a call like any other."""
        result: dict[str, Any] | None = None
        failure: Exception | None = None
        try:
            result = await self._host.answered(self, raw)
        except asyncio.CancelledError:
            if self._pending is not None:
                self._abandon()
            raise
        except Exception as reason:  # noqa: BLE001  the client is told
            failure = reason
        self._pending = None
        self.end(result, failure)

    def end(self, raw: dict[str, Any] | None, reason: Exception | None) -> None:
        try:
            outcome = self._host.concluded(self, raw, reason)
        except Exception:  # noqa: BLE001  whoever waits must get an answer
            _log.exception("the answer of %s could not be passed on", self.offer.tool.name)
            outcome = RpcError(INTERNAL_ERROR, _FAILED)
        if isinstance(outcome, _TOLD):
            self.leave(outcome)
        else:
            spawn(self._finish(outcome), "the rest of a call")

    async def _finish(self, rest: Coroutine[Any, Any, dict[str, Any]]) -> None:
        """The call itself is over: it can no longer be cancelled, only be told."""
        outcome: dict[str, Any] | RpcError | None = None
        try:
            outcome = await rest
        except Exception:  # noqa: BLE001  whoever waits must get an answer
            _log.exception("the answer of %s could not be passed on", self.offer.tool.name)
            outcome = RpcError(INTERNAL_ERROR, _FAILED)
        finally:
            self.leave(outcome)

    def cancel(self) -> None:
        """As that of a task. The server is told; where it was too slow, the client as well."""
        pending, self._pending = self._pending, None
        if pending is None:
            return
        if self._is_long:
            if self._has_begun:  # else its first step will see it: a task that never began tells nobody
                pending.cancel()
            return
        if pending is _WAITING:
            self.leave(None)
            return
        pending.cancel()
        self.offer.server.ended(self.exchange, self.lane)
        if self.exchange.deadline == -math.inf:
            self.end(None, self.offer.server.too_slow())
        else:
            self._abandon()

    def _abandon(self) -> None:
        self._pending = None
        self._host.abandoned(self)
        self.leave(None)

    def leave(self, outcome: dict[str, Any] | RpcError | None) -> None:
        """Nothing holds it any more but what it holds: then it goes without the garbage collector."""
        self.exchange.task = None
        try:
            self._tell(outcome)
        finally:
            if self.owed is not None:
                self.owed.ended(self.entry, "ok")
            if self.passage is not None and self.passage.answer is not None and self.turnstile is not None:
                self.turnstile.settle(self.passage)
