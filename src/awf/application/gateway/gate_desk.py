"""What people see of the gate at the gateway's page, and how they answer its questions there.

Reading is for everyone who may look at the page. What an agent could use is only for those who have the operator key:
answers, the arguments of calls (they may be what another agent must not learn), and whole ids of contexts (whoever knows
one can act in it).
"""

from __future__ import annotations

import contextlib
import hmac
import math
import time
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.gateway.short_ids import short_id
from awf.domain.errors import AwfError
from awf.domain.label import PLAIN

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.application.gate.approvals import ApprovalDesk
    from awf.application.gate.contexts import Contexts
    from awf.application.gate.gate import Gate
    from awf.application.gate.passage import GatedTool
    from awf.application.gateway.call_book import CallBook
    from awf.application.gateway.gateway import Gateway
    from awf.domain.approval import Approval
    from awf.domain.security_context import SecurityContext

__all__ = ["GateDesk", "known_of"]

BY = "the gateway's page"
MOST = 200  # that are shown


class GateDesk:
    """For a gateway that has a gate. `operator` gives the key."""

    def __init__(
        self,
        gateway: Gateway,
        book: CallBook,
        operator: Callable[[], str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._gateway = gateway
        self._book = book
        self._operator = operator
        self._clock = clock
        self._heard: ApprovalDesk | None = None
        self._version: int | None = None
        self._next_end = math.inf  # of a question that somebody looks at
        self._raised: tuple[int, list[SecurityContext]] | None = None

    @property
    def _gate(self) -> Gate:
        gate = self._gateway.fleet.gate
        assert gate is not None
        return gate

    # Who asks

    def is_operator(self, key: str) -> bool:
        """Compared in constant time. Without a key to compare with nobody is."""
        if not key or self._operator is None:
            return False
        try:
            wanted = self._operator()
        except AwfError:  # it cannot be read
            return False
        return bool(wanted) and hmac.compare_digest(_bytes(wanted), _bytes(key))

    # What there is

    async def status(self, *, operator: bool) -> dict[str, Any]:
        gate = self._gate
        raised: list[SecurityContext] = []
        trouble = ""
        try:
            raised = await self._raised_ones(gate.contexts)
        except AwfError as error:
            trouble = error.message
        return {
            "shadow": gate.keys.policy is not None and gate.keys.policy.shadow,
            "contexts": [_context(one, operator=operator) for one in raised[:MOST]],
            "more_contexts": max(0, len(raised) - MOST),
            "trouble": trouble,
        }

    async def _raised_ones(self, contexts: Contexts) -> list[SecurityContext]:
        """The latest first. They are looked up again when anything has changed."""
        version = contexts.version()
        if self._raised is None or self._raised[0] != version:
            found = [one for one in await contexts.all() if one.label != PLAIN]
            self._raised = version, sorted(found, key=lambda one: one.raised_at or 0.0, reverse=True)
        return self._raised[1]

    async def approvals(self, *, operator: bool) -> dict[str, Any]:
        """In the order in which they were asked. Raises `AwfError`."""
        found = await self._gate.desk.open_ones()
        self._next_end = min((one.expires_at for one in found), default=math.inf)
        return {
            "operator": operator,
            "waiting": len(found),
            "approvals": [_approval(one, operator=operator) for one in found[:MOST]],
        }

    async def answer(self, approval_id: str, *, granted: bool) -> dict[str, Any]:
        """For operators. Raises `ApprovalRefused` when it is not open."""
        approval = await self._gate.desk.decide(approval_id, granted=granted, by=BY)
        return {**_approval(approval, operator=True), "status": approval.status}

    # What happens

    def tick(self) -> None:
        """Once a second or so: what others have asked or answered, and what time has ended."""
        gate = self._gateway.fleet.gate
        if gate is None:
            return
        self._listen_to(gate)
        with contextlib.suppress(AwfError):  # a store that fails is told to whoever looks
            version = gate.desk.version()
            if version != self._version or self._clock() >= self._next_end:
                self._version, self._next_end = version, math.inf
                self._book.changed("approvals")

    def _listen_to(self, gate: Gate) -> None:
        """They stay the same when another configuration brings another gate."""
        if self._heard is not gate.desk:
            self._heard = gate.desk
            gate.desk.listen(lambda _: self._book.changed("approvals"))
            gate.contexts.listen(lambda _: self._book.changed())


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _approval(approval: Approval, *, operator: bool) -> dict[str, Any]:
    return {
        "id": approval.approval_id,
        "tool": approval.tool_id,
        "arguments": approval.summary if operator else None,
        "reason": approval.reason,
        "rule": approval.rule,
        "client": approval.client if operator or not approval.context.startswith("run:") else "a run",
        "context": _id(approval.context, operator=operator),
        "asked": approval.asked_at,
        "until": approval.expires_at,
    }


def _context(context: SecurityContext, *, operator: bool) -> dict[str, Any]:
    return {
        "id": _id(context.context_id, operator=operator),
        "confidentiality": context.label.confidentiality,
        "integrity": context.label.integrity,
        "raised_by": context.raised_by,
        "raised": context.raised_at,
    }


def _id(context_id: str, *, operator: bool) -> str:
    return context_id if operator else short_id(context_id)


def known_of(tool: GatedTool) -> dict[str, Any]:
    """What the gate knows of a tool before it is called."""
    facts = tool.facts
    return {
        "action": facts.action,
        "judged_as": list(facts.actions),
        "only_reads": not facts.consequential,
        "classification": facts.label.confidentiality,
        "integrity": facts.label.integrity,
        "open_world": facts.open_world,
        "required": list(tool.required),
        "confirmation": facts.requires_confirmation,
        "limits": {
            name: one for name, one in msgspec.structs.asdict(facts.limits).items() if one is not None
        },
        "refusal": facts.refusal,
        "notes": list(facts.notes),
    }
