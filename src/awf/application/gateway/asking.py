"""Asking the person behind an MCP client whether a call may happen.

A client of the older era is asked while its call waits. One of the newer era gets the question as the answer to its call, and
calls again with what its person said; the state that goes with it is the approval's id, which is worth nothing with other
arguments, in another context, or twice. Where the call was itself the answer to a question of its server, the state holds that
as well: a client only sends what belongs to the latest question.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.gate.origin import NeedsInput, Said
from awf.domain.mcp import RpcError
from awf.domain.plain_sight import spelled_out

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.application.gate.origin import Origin
    from awf.application.gate.passage import Gated
    from awf.application.gateway.client import Exchange
    from awf.domain.approval import Approval

__all__ = ["ClientAsking", "answer_of", "holds_more", "question_of"]

METHOD = "elicitation/create"
STATE = "awf-approval-"
KEY = "approval"
_ELICITATION = "elicitation"
_OF_QUESTIONS = ("requestState", "inputResponses")


class ClientAsking:
    """An `Asking`."""

    __slots__ = ("_exchange", "_origin")

    patient = False

    def __init__(self, exchange: Exchange, origin: Origin) -> None:
        self._exchange = exchange
        self._origin = origin

    async def ask(self, approval: Approval, arguments: Mapping[str, Any]) -> Said | None:
        del arguments  # the approval has them in a form that may be shown
        client = self._exchange.client
        if not _takes_forms(client.capabilities):
            return None
        if client.modern:
            raise NeedsInput(approval)
        self._exchange.hold()
        try:
            answer = await client.ask(METHOD, _form(approval), self._exchange)
        except RpcError:
            return None
        finally:
            self._exchange.go_on()
        return said_in(answer, self._origin)

    async def settled(self, approval: Approval) -> None:
        """The question is withdrawn when whoever waits for its answer is ended."""


def _takes_forms(capabilities: Mapping[str, Any]) -> bool:
    """Those that say nothing more than that they can be asked mean forms."""
    told = capabilities.get(_ELICITATION)
    return isinstance(told, dict) and (not told or "form" in told)


def _form(approval: Approval) -> dict[str, Any]:
    about = f"{spelled_out(approval.tool_id)} {approval.summary}".strip()
    why = f"\n{approval.reason}" if approval.reason else ""
    return {
        "message": f"Let the agent call {about}?{why}",
        "requestedSchema": {
            "type": "object",
            "properties": {
                "allow": {
                    "type": "boolean",
                    "title": "Allow this call",
                    "description": "Once, with just these arguments.",
                    "default": False,
                }
            },
            "required": ["allow"],
        },
    }


def question_of(approval: Approval, params: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a call of the newer era that has to be approved first."""
    asked = {"method": METHOD, "params": _form(approval)}
    state, kept = f"{STATE}{approval.approval_id}", _of_questions(params)
    if kept:
        state += f".{urlsafe_b64encode(msgspec.json.encode(kept)).decode()}"
    return {"resultType": "input_required", "inputRequests": {KEY: asked}, "requestState": state}


def holds_more(state: str) -> bool:
    """Whether a server's state is in it."""
    return state.startswith(STATE) and "." in state


def _of_questions(params: Mapping[str, Any]) -> dict[str, Any]:
    return {key: params[key] for key in _OF_QUESTIONS if key in params}


def _kept(encoded: str) -> dict[str, Any]:
    """Whatever a client makes of it, the gate goes by what comes out."""
    try:
        return _of_questions(msgspec.json.decode(urlsafe_b64decode(encoded), type=dict[str, Any]))
    except (ValueError, RecursionError):
        return {}


def said_in(answer: Mapping[str, Any], origin: Origin) -> Said:
    """Whatever is not clearly a yes is a no. A client chooses its name, so the record says that it is a client's."""
    content = answer.get("content")
    granted = answer.get("action") == "accept" and isinstance(content, dict) and content.get("allow") is True
    return Said(granted, f"the client {origin.client}".rstrip())


async def answer_of(
    params: dict[str, Any],
    exchange: Exchange,
    gated: Gated,
    judged: Callable[[dict[str, Any]], Mapping[str, Any]],
) -> tuple[dict[str, Any], Gated]:
    """Take up what the client's person said when this call was made before, and give the call without it.

    `judged`: what the gate goes by, of such params.
    """
    state, answers = params.get("requestState"), params.get("inputResponses")
    if not isinstance(state, str) or not state.startswith(STATE):
        return params, gated
    approval_id, _, kept = state.removeprefix(STATE).partition(".")
    if not await gated.gate.asked(approval_id, gated.origin):
        return params, gated  # of a gateway behind this one, or made up
    plain = {key: value for key, value in params.items() if key not in _OF_QUESTIONS} | _kept(kept)
    given = answers.get(KEY) if isinstance(answers, dict) else None
    if isinstance(given, dict) and gated.gate.asks_clients and _takes_forms(exchange.client.capabilities):
        said = said_in(given, gated.origin)
        await gated.gate.answered(approval_id, gated, judged(plain), said)
    return plain, gated._replace(answered=approval_id)
