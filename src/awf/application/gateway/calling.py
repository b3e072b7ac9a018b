"""One call of a published tool: checked against what was published, completed, sent, and its answer cut to shape."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any

from awf.application.gate.origin import NeedsInput
from awf.application.gate.passage import Gated
from awf.application.gate.releasing import as_raw, received
from awf.application.gateway.asking import ClientAsking, answer_of, question_of
from awf.application.gateway.eras import crossed_result
from awf.domain.errors import AwfError
from awf.domain.mcp import HEADER_MISMATCH, INVALID_PARAMS, RpcError
from awf.domain.mirroring import mirrored_headers
from awf.domain.redaction.rebuilding import rebuilt
from awf.domain.tool import ERROR_KEY, ToolFailure, ToolResult
from awf.domain.value_source import CallFacts, chosen, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.application.gate.passage import GatedTool
    from awf.application.gateway.call_book import CallBook, Outcome
    from awf.application.gateway.client import Client, Exchange
    from awf.application.gateway.composition import CallPlan
    from awf.application.gateway.eras import Lowering
    from awf.application.gateway.forwarding import Forwarding
    from awf.application.gateway.offers import KnownToGate, Offer, Offers
    from awf.application.gateway.origins import Origins
    from awf.application.tools.pipeline import CallPipeline
    from awf.domain.tool import CallContext, ToolErrorCode

__all__ = [
    "KNOWN",
    "ToolCalls",
    "arguments_of",
    "chosen_by",
    "cleaned_error",
    "filled",
    "judged",
    "outcome_of",
    "passed_params",
]

KNOWN = frozenset({"name", "arguments", "_meta"})  # of the params of a call
_BESIDE = ("task", "inputResponses", "requestState")  # the same; with these it is another call
_NAME_OF_THESE = "beside the arguments"
_TOOL_CODES: dict[str, ToolErrorCode] = {
    "EXECUTION.MCP_SERVER.TIMEOUT": "TIMEOUT",
    "EXECUTION.MCP_SERVER.DENIED": "PERMISSION_DENIED",
    "EXECUTION.SANDBOX.STOPPED": "SANDBOX_VIOLATION",
}


class ToolCalls:
    def __init__(
        self,
        pipeline: CallPipeline,
        forwarding: Forwarding,
        book: CallBook,
        info: dict[str, Any],
        lowering: Lowering,
        origins: Origins,
        offers: Callable[[], Offers],
    ) -> None:
        self._origins = origins
        self._offers = offers
        self._pipeline = pipeline
        self._info = info
        self._lowering = lowering
        self._forwarding = forwarding
        self._book = book

    async def call(
        self, offer: Offer, exchange: Exchange, params: dict[str, Any], arguments: dict[str, Any]
    ) -> dict[str, Any]:
        """The result as the client gets it. Raises `RpcError` for what the server, or the protocol, objects to."""
        published, client = offer.published, exchange.client
        if offer.mirrored and client.modern and exchange.headers:
            _match_headers(offer, exchange.headers, arguments)
        objection: RpcError | None = None
        answered = False
        gated: Gated | None = None
        if offer.gated is not None:
            given = chosen_by(published.plan, arguments, exchange) if offer.by_headers else arguments
            gated = self._gated(offer, offer.gated, exchange, arguments)
            if client.modern and "requestState" in params:
                params, gated = await answer_of(params, exchange, gated, lambda left: judged(given, left))
            gated = gated._replace(judged=judged(given, params))
            params = _known_of(params)

        async def carry_out(context: CallContext) -> ToolResult:
            nonlocal answered, objection
            try:
                result = await self.carry_out(offer, exchange, params, arguments, context)
            except RpcError as error:
                objection = error
                answered = True
                raise ToolFailure("EXECUTION_FAILED", error.message) from error
            answered = True
            return result

        entry = self._book.begun(published.server, published.tool, offer.tool.name, client.name)
        outcome: Outcome = "cancelled"
        code, reason = "CANCELLED", ""
        try:
            result = await self._pipeline.call(
                offer.tool,
                arguments,
                carry_out,
                check=offer.check,
                meta=exchange.meta,
                facts=_facts(client),
                gated=gated,
            )
            outcome, code = outcome_of(result)
            if code == "PERMISSION_DENIED" and not answered:  # so it is our own word, and no stranger's
                reason = self._pipeline.observers.masker.mask(result.text)
        except NeedsInput as question:
            outcome, code, reason = "refused", "INPUT_REQUIRED", "A person is asked first."
            return question_of(question.approval, params)
        finally:
            self._book.ended(entry, outcome, code, reason, "" if gated is None else gated.origin.context)
        if objection is not None:
            raise objection
        return self.for_client(client, result)

    def for_client(self, client: Client, result: ToolResult) -> dict[str, Any]:
        raw = result.raw
        if raw is None:
            raw = as_raw(result)
            if client.modern:
                return crossed_result("tools/call", raw, to_modern=True, server_info=self._info)
        return self.lowered(client, raw)

    def lowered(self, client: Client, raw: dict[str, Any]) -> dict[str, Any]:
        """As its revision has it."""
        return raw if client.version >= "2025-11-25" else self._lowering.result(client.version, raw)

    def _gated(
        self, offer: Offer, known: KnownToGate, exchange: Exchange, arguments: dict[str, Any]
    ) -> Gated:
        origin = self._origins.of(exchange.client, exchange.headers)
        asking = ClientAsking(exchange, origin) if known.gate.asks_clients else None

        def latest() -> GatedTool | None:
            """What is judged then has to be what is sent."""
            now = self._offers().of_id(offer.published.id)
            return None if now is None or not now.sends_like(offer, arguments) else now.known_to_gate

        return Gated(known.gate, known.tool, origin, asking, admitted=exchange.admitted, latest=latest)

    async def carry_out(
        self,
        offer: Offer,
        exchange: Exchange,
        params: dict[str, Any],
        arguments: dict[str, Any],
        context: CallContext,
    ) -> ToolResult:
        """Only the call itself. The arguments fit. Raises `RpcError` and `ToolFailure`."""
        published = offer.published
        plan = published.plan
        sent = arguments if plan.changes_nothing else filled(plan, arguments, exchange)
        meta = {**exchange.meta, **context.trace} if context.trace else exchange.meta
        passed = passed_params(params, published.tool, sent, meta)
        # Who comes back to a call that waits has to come with the headers that it was judged by, too.
        given = chosen_by(plan, arguments, exchange) if offer.by_headers else arguments
        headers, asked = plan.mirrored(sent) or None, (published.tool, given)
        try:
            raw = await self._forwarding.send(
                offer.server, exchange, "tools/call", passed, headers, asked=asked
            )
        except RpcError as error:
            raise self.objection(plan, sent, error) from error
        except AwfError as error:
            raise self.failure(error) from error
        return self.received(plan, sent, raw)

    def objection(self, plan: CallPlan, sent: Mapping[str, Any], error: RpcError) -> RpcError:
        return cleaned_error(error, self._cleaner(plan, sent))

    def failure(self, error: AwfError) -> ToolFailure:
        code = _TOOL_CODES.get(error.code, "EXECUTION_FAILED")
        return ToolFailure(
            code, self._pipeline.observers.masker.mask(f"{error.message} {error.hint}".strip())
        )

    def received(self, plan: CallPlan, sent: Mapping[str, Any], raw: dict[str, Any]) -> ToolResult:
        if raw.get("isError") is True:
            raw = _cleaned(raw, self._cleaner(plan, sent))
        return received(plan.result(raw))

    def _cleaner(self, plan: CallPlan, sent: Mapping[str, Any]) -> Callable[[str], str]:
        """Error texts must tell neither what the agent does not know of nor what is secret."""
        mask = self._pipeline.observers.masker.mask
        return lambda text: mask(plan.cleaned(text, sent))


def passed_params(
    params: dict[str, Any], tool: str, arguments: dict[str, Any], meta: dict[str, Any]
) -> dict[str, Any]:
    """The params as the server gets them."""
    passed = {**params, "name": tool, "arguments": arguments}
    if meta:
        passed["_meta"] = meta
    return passed


def judged(arguments: dict[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """What a gate goes by, asks people about and records: the arguments, and whatever else of a call changes what it does.

    Two calls that are not the same never look the same: there is always a name that the arguments do not have.
    """
    beside = {key: params[key] for key in _BESIDE if key in params}
    name = _NAME_OF_THESE
    if not beside and name not in arguments:
        return arguments
    while name in arguments:
        name += "_"
    return {**arguments, name: beside}


def _known_of(params: dict[str, Any]) -> dict[str, Any]:
    """Of what nobody knows nobody could say whether it may be."""
    return {key: value for key, value in params.items() if key in KNOWN or key in _BESIDE}


def _facts(client: Client) -> dict[str, str]:
    facts = {"mcp.protocol.version": client.version}
    if client.id:
        facts["mcp.session.id"] = client.id
    return facts


def outcome_of(result: ToolResult) -> tuple[Outcome, str]:
    if not result.is_error:
        return "ok", ""
    said = result.meta.get(ERROR_KEY)
    code = str(said.get("code", "")) if isinstance(said, dict) else "EXECUTION_FAILED"
    return ("refused" if code in {"INVALID_ARGUMENTS", "PERMISSION_DENIED"} else "error"), code


def filled(plan: CallPlan, arguments: dict[str, Any], exchange: Exchange) -> dict[str, Any]:
    facts = CallFacts(exchange.client.id, exchange.headers, time.time, _new_uuid)
    return plan.upstream(arguments, lambda value: resolve(value, facts))


def chosen_by(plan: CallPlan, arguments: dict[str, Any], exchange: Exchange) -> dict[str, Any]:
    """All that the client chose of what the server gets: its arguments, and the headers that defaults ask for."""
    return plan.chosen(arguments, lambda value: chosen(value, exchange.headers))


def _cleaned(raw: dict[str, Any], clean: Callable[[str], str]) -> dict[str, Any]:
    """An error text may speak of arguments that the agent knows nothing of."""
    content = raw.get("content")
    if not isinstance(content, list):
        return raw
    made = []
    for block in content:
        text = block.get("text") if isinstance(block, dict) else None
        if isinstance(text, str) and (cleaned := clean(text)) != text:
            block = {**block, "text": cleaned}  # noqa: PLW2901
        made.append(block)
    return {**raw, "content": made}


def cleaned_error(error: RpcError, clean: Callable[[str], str]) -> RpcError:
    return RpcError(error.code, clean(error.message), _cleaned_data(error.data, clean))


def _cleaned_data(data: Any, clean: Callable[[str], str]) -> Any:
    def text(one: Any, _mark: None) -> Any:
        return clean(one) if isinstance(one, str) else one

    return rebuilt(data, text, lambda key, mark: (text(key, mark), mark), None)


def _match_headers(offer: Offer, headers: Mapping[str, str], arguments: Mapping[str, Any]) -> None:
    """What is repeated in headers has to be what the body says: others on the way have decided by them."""
    wanted = {name.lower(): value for name, value in mirrored_headers(offer.mirrored, arguments).items()}
    for name in offer.mirrored.values():
        key = f"mcp-param-{name.lower()}"
        if not _same(headers.get(key), wanted.get(key)):
            raise RpcError(HEADER_MISMATCH, f"Header mismatch: Mcp-Param-{name} and the arguments differ.")


def _same(given: str | None, wanted: str | None) -> bool:
    if given is None or wanted is None or given == wanted:
        return given == wanted
    from awf.domain.mirroring import plain_value

    return plain_value(given) == plain_value(wanted)


def _new_uuid() -> str:
    return str(uuid.uuid4())


def arguments_of(params: Mapping[str, Any]) -> dict[str, Any]:
    given = params.get("arguments")
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise RpcError(INVALID_PARAMS, "Invalid params: arguments must be an object")
    return given
