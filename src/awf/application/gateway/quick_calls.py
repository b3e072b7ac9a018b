"""Plain tool calls: sent to their server at once, and answered when that answers, with no task in between.

While several are on their way, those that come in the same turn of the loop depart through the gate together at its end,
and so do their answers arrive: what has to be done for each then costs a fraction.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from awf.application.gateway.calling import KNOWN, filled, outcome_of, passed_params
from awf.application.gateway.eras import upstream_meta
from awf.application.gateway.forwarding import crossed
from awf.application.gateway.quick_call import QuickCall
from awf.application.tools.pipeline import NO_SPAN, failed, result_of
from awf.domain.errors import AwfError
from awf.domain.mcp import RpcError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from awf.application.gate.gate import Gate
    from awf.application.gate.passage import Passage
    from awf.application.gate.turnstile import Turnstile
    from awf.application.gateway.call_book import CallBook
    from awf.application.gateway.calling import ToolCalls
    from awf.application.gateway.client import Exchange
    from awf.application.gateway.forwarding import Forwarding
    from awf.application.gateway.offers import Offer
    from awf.application.gateway.origins import Origins
    from awf.application.gateway.quick_call import Tell
    from awf.application.gateway.vigil import Vigil
    from awf.application.tools.pipeline import CallPipeline
    from awf.domain.ports.turn import Turn
    from awf.domain.tool import ToolResult

__all__ = ["QuickCalls"]

_MANY = 16  # calls on their way: then others come a moment later, and cost less together
_COARSE = 20.0  # seconds; for so long the server's clockwork, which looks now and then, is exact enough
_log = logging.getLogger("awf.gateway")


class QuickCalls:
    """The `Host` of quick calls."""

    def __init__(
        self,
        calls: ToolCalls,
        pipeline: CallPipeline,
        forwarding: Forwarding,
        book: CallBook,
        origins: Origins,
        vigil: Vigil,
        turn: Turn | None,
    ) -> None:
        self._calls = calls
        self._pipeline = pipeline
        self._forwarding = forwarding
        self._book = book
        self._origins = origins
        self._vigil = vigil
        self._turn = turn
        # Those that wait for the end of the turn: of one turnstile, whatever happens meanwhile to the configuration.
        self._departing: list[QuickCall] = []
        # Who last asked whether anything has changed, and how often the loop had looked then.
        self._asked_by: Turnstile | None = None
        self._asked_at = 0
        self._arriving: list[QuickCall] = []
        self._answers: list[dict[str, Any]] = []  # what came for them

    # Out

    def begin(
        self, offer: Offer, exchange: Exchange, params: dict[str, Any], arguments: dict[str, Any], tell: Tell
    ) -> QuickCall | None:
        """Send it at once, checked and recorded. None where there is more to do, or somebody to ask: nothing has happened then."""
        if not self._pipeline.in_two_steps or "requestState" in params or "progressToken" in exchange.meta:
            return None
        client, published, server = exchange.client, offer.published, offer.server
        lane = server.lane_now(client)
        era = lane.upstream.era if lane is not None else None
        if lane is None or era is None or (offer.mirrored and client.modern) or offer.check(arguments):
            return None
        crossing = None if era.modern is client.modern else era
        if crossing is not None and client.modern and client.interactive:
            return None
        passage: Passage | None = None
        turnstile: Turnstile | None = None
        if offer.gated is not None:
            gate, tool = offer.gated
            timeout = tool.timeout
            is_coarse = timeout is None or timeout >= _COARSE or timeout >= max(0.4, server.config.patience)
            is_bare = len(params) == 2 and "arguments" in params and not exchange.meta and client.guarded
            if not is_coarse or offer.by_headers or not (is_bare or params.keys() <= KNOWN):
                return None
            if not is_bare:
                params = exchange.made_plain(params)
            origin = self._origins.of(client, exchange.headers)
            turnstile = gate.turnstile
            departing, looks = self._departing, 0 if self._turn is None else self._turn.looks
            joins = bool(departing) and departing[0].turnstile is turnstile
            again = joins and self._asked_at == looks and self._asked_by is turnstile
            passage = turnstile.admit(tool, arguments, origin, self._pipeline.new_id(), again)
            if passage is None:
                return None
            self._asked_by, self._asked_at = turnstile, looks
        plan = published.plan
        try:
            sent = arguments if plan.changes_nothing else filled(plan, arguments, exchange)
            headers = plan.mirrored(sent) or None
        except Exception:  # noqa: BLE001  the other way tells
            return None
        meta = exchange.meta if crossing is None else upstream_meta(exchange.meta, client, crossing)
        passed = passed_params(params, published.tool, sent, meta)
        quick = exchange.task = QuickCall(
            self, offer, exchange, lane, params, passed, headers, crossing, tell, passage, turnstile
        )
        if passage is not None and turnstile is not None:
            if self._turn is not None and (joins or (self._book.running and not self._departing)):
                self._wait(quick, self._turn)
                return quick
            if not turnstile.depart_alone(passage):
                exchange.task = None
                return None
        if not self._sent(quick):
            exchange.task, exchange.admitted = None, passage  # recorded; the other way only carries it out
            return None
        if passage is not None and turnstile is not None:
            turnstile.foresee(passage)
        return quick

    def _wait(self, quick: QuickCall, turn: Turn) -> None:
        """Others may come in the same turn."""
        if not self._departing:
            turn.at_end(self._depart, patient=len(self._book.running) >= _MANY)
        self._departing.append(quick)
        quick.waits()

    def _depart(self) -> None:
        departing, self._departing = self._departing, []
        together = [quick for quick in departing if quick.is_waiting]
        if not together:
            return
        passages = [quick.passage for quick in together if quick.passage is not None]
        turnstile = departing[0].turnstile
        assert turnstile is not None
        may_go = False
        try:
            may_go = turnstile.depart(passages)
        except Exception:  # noqa: BLE001  each for itself, then
            _log.exception("%d calls could not be recorded together", len(together))
        for quick in together:
            try:
                if not (may_go and self._sent(quick)):
                    self._take_the_long_way(quick, quick.passage if may_go else None)
            except Exception:  # noqa: BLE001  whoever waits must get an answer
                _log.exception("a call of %s could not be sent", quick.offer.tool.name)
                quick.fail()

    def _sent(self, quick: QuickCall) -> bool:
        offer, exchange, passage = quick.offer, quick.exchange, quick.passage
        try:
            pending = offer.server.begin(
                exchange, "tools/call", quick.passed, quick.headers, quick.lane, quick.came
            )
        except Exception:
            self.not_sent(quick, passage, "EXECUTION_FAILED")
            raise
        if pending is None:
            return False
        known_as = ""
        if passage is not None:
            known_as = passage.request_id
            if passage.tool.timeout is not None:
                exchange.must_end_within(passage.tool.timeout, passage.began)
        published = offer.published
        entry = self._book.begun(published.server, published.tool, offer.tool.name, exchange.client.name)
        quick.begun(pending, entry, self._pipeline.begun(offer.tool, quick.arguments, known_as))
        self._vigil.keep()
        return True

    def _take_the_long_way(self, quick: QuickCall, admitted: Passage | None) -> None:
        """`admitted`: where it is recorded already, and only has to be carried out."""
        exchange = quick.exchange
        exchange.admitted = admitted
        quick.goes_on_as(self._calls.call(quick.offer, exchange, quick.params, quick.arguments))

    def not_sent(self, quick: QuickCall, decided: Passage | None, code: str) -> None:
        if decided is not None and quick.offer.gated is not None:
            quick.offer.gated.gate.lost(decided, code)

    # Back

    def put_off(self, quick: QuickCall, raw: dict[str, Any]) -> bool:
        """Whether it arrives with others, at the end of the turn."""
        if self._turn is None or quick.passage is None or quick.observing is not None:
            return False
        arriving = self._arriving
        if arriving:
            if arriving[0].turnstile is not quick.turnstile:
                return False
        elif len(self._book.running) == 1:
            return False
        if not quick.offer.published.plan.keeps(raw):
            return False
        if not arriving:
            self._turn.at_end(self._arrive, patient=len(self._book.running) >= _MANY)
        arriving.append(quick)
        self._answers.append(raw)
        return True

    def _arrive(self) -> None:
        arriving, answers = self._arriving, self._answers
        self._arriving, self._answers = [], []
        turnstile = arriving[0].turnstile
        assert turnstile is not None
        plain: Sequence[dict[str, Any] | None] = [None] * len(arriving)
        try:
            passages = [quick.passage for quick in arriving if quick.passage is not None]
            came = [
                raw if quick.crossing is None else _crossed(quick, raw)
                for quick, raw in zip(arriving, answers, strict=True)
            ]
            plain = turnstile.arrive_plainly(passages, came)
        except Exception:  # noqa: BLE001  each for itself, then
            _log.exception("%d answers could not be looked at together", len(arriving))
        for quick, raw, shown in zip(arriving, answers, plain, strict=True):
            try:
                if shown is None:
                    quick.end(raw, None)
                else:
                    quick.leave(self._plain(quick, shown))
            except Exception:  # noqa: BLE001  the others wait, too
                _log.exception("an answer of %s could not be passed on", quick.offer.tool.name)
                quick.fail_unless_left()
        self._vigil.keep()

    def _plain(self, quick: QuickCall, plain: dict[str, Any]) -> dict[str, Any]:
        """What the client gets for an answer that nobody has to look into any more."""
        quick.owed = self._book  # the client first
        return self._calls.lowered(quick.exchange.client, plain)

    def concluded(
        self, quick: QuickCall, raw: dict[str, Any] | None, reason: Exception | None
    ) -> dict[str, Any] | RpcError | Coroutine[Any, Any, dict[str, Any]]:
        """What the client gets: the result, or the objection of the server."""
        offer, passage, calls = quick.offer, quick.passage, self._calls
        gate = offer.gated.gate if passage is not None and offer.gated is not None else None
        objection: RpcError | None = None
        if raw is not None:
            raw = _crossed(quick, raw)
            if quick.observing is None and offer.published.plan.keeps(
                raw
            ):  # nobody else wants to look into it
                plain: dict[str, Any] | None = raw
                if gate is not None and passage is not None:
                    plain = gate.turnstile.arrive_alone(passage, raw)
                self._vigil.keep()
                if plain is not None:
                    return self._plain(quick, plain)
            result = calls.received(offer.published.plan, quick.sent, raw)
        elif isinstance(reason, RpcError):
            objection = calls.objection(offer.published.plan, quick.sent, reason)
            result = failed("EXECUTION_FAILED", objection.message)
        else:
            assert reason is not None
            error = calls.failure(reason) if isinstance(reason, AwfError) else reason
            result = result_of(offer.tool, error)
        if gate is not None and passage is not None:
            if raw is None:
                gate.lost(passage, outcome_of(result)[1])
            else:
                released = gate.turnstile.arrive(passage, result)
                if released is None:
                    return self._released(quick, passage, gate, result)
                result = released
        told = self._told(quick, result)
        return objection or told

    async def _released(
        self, quick: QuickCall, passage: Passage, gate: Gate, result: ToolResult
    ) -> dict[str, Any]:
        """The gate has more to do with it than a glance."""
        try:
            result = await gate.arrived(passage, result)
        except Exception as error:  # noqa: BLE001  whatever it is, the agent gets an answer
            result = result_of(quick.offer.tool, error)
        return self._told(quick, result)

    def _told(self, quick: QuickCall, result: ToolResult) -> dict[str, Any]:
        if quick.observing is not None:
            quick.observing.ended(NO_SPAN, result)
        self._book.ended(quick.entry, *outcome_of(result))
        return self._calls.for_client(quick.exchange.client, result)

    async def answered(self, quick: QuickCall, raw: dict[str, Any]) -> dict[str, Any]:
        return await self._forwarding.answering(
            quick.offer.server, quick.exchange, "tools/call", quick.passed, quick.headers, quick.lane, raw
        )

    def abandoned(self, quick: QuickCall) -> None:
        if quick.passage is not None and quick.offer.gated is not None:
            quick.offer.gated.gate.lost(quick.passage, "CANCELLED")
        if quick.observing is not None:
            quick.observing.ended(NO_SPAN, cancelled=True)
        self._book.ended(quick.entry, "cancelled", "CANCELLED")


def _crossed(quick: QuickCall, raw: dict[str, Any]) -> dict[str, Any]:
    """As the era of its client has it."""
    crossing = quick.crossing
    return raw if crossing is None else crossed("tools/call", raw, quick.exchange.client, crossing)
