"""The gate. A call comes out of it done, refused, or waiting for a person; each is recorded before anyone is told.

The order: what the context has seen (its label), what the policy says, what was granted, whom to ask. Then the decision
is recorded, the call carried out within its limits, and its result labelled, cut, freed of secrets and recorded. A tool
that returns secrets raises the label of its context *before* it is called: whatever else the same agent has under way
must not carry them out.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.gate.deciding import CallView
from awf.application.gate.flights import Flights
from awf.application.gate.labels import labelled, stated_label
from awf.application.gate.passage import GatedTool, Passage
from awf.application.gate.refusal import ApprovalRefused
from awf.application.gate.tool_facts import tool_facts
from awf.application.running.tasks import end_task, spawn
from awf.application.tools.pipeline import error_code
from awf.domain.audit import AuditEntry, AuditUnavailable
from awf.domain.canonical import canonical
from awf.domain.errors import AwfError
from awf.domain.label import PLAIN, joined
from awf.domain.policy import Decision
from awf.domain.tool import ToolFailure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from awf.application.gate.approvals import ApprovalDesk
    from awf.application.gate.contexts import Contexts
    from awf.application.gate.deciding import Decider
    from awf.application.gate.grants import Grants
    from awf.application.gate.origin import Asking, Origin, Said
    from awf.application.gate.passage import Gated
    from awf.application.gate.recording import Recorder
    from awf.application.gate.spooling import Spooler
    from awf.domain.approval import Approval
    from awf.domain.gate_file import GateKeys
    from awf.domain.label import Label
    from awf.domain.override import ToolOverride
    from awf.domain.redaction import Redactor
    from awf.domain.tool import CallContext, ToolResult

__all__ = ["Gate", "GateParts"]

SHOWN = 600  # characters of arguments that a person is shown


class GateParts(msgspec.Struct, frozen=True, kw_only=True):
    """What a gate is made of."""

    keys: GateKeys
    overrides: Mapping[str, ToolOverride]
    decider: Decider
    contexts: Contexts
    grants: Grants
    desk: ApprovalDesk
    recorder: Recorder
    redactor: Redactor
    spooler: Spooler
    clock: Callable[[], float]
    monotonic: Callable[[], float]


class Gate:
    def __init__(self, parts: GateParts) -> None:
        self._parts = parts
        self._keys = parts.keys
        self._shadow = parts.keys.policy is not None and parts.keys.policy.shadow
        self.contexts = parts.contexts
        self.desk = parts.desk
        self.recorder = parts.recorder
        self._flights = Flights()
        parts.contexts.listen(self._flights.changed)

    def tool(
        self, tool_id: str, name: str, source: str, annotations: Mapping[str, Any], meta: Mapping[str, Any]
    ) -> GatedTool:
        """What there is to know of a tool before anyone calls it."""
        override = self._parts.overrides.get(tool_id)
        facts = tool_facts(tool_id, name, source, annotations, meta, override, self._keys)
        timeout = facts.limits.timeout_ms
        rules = self._parts.decider.prepare(facts)
        return GatedTool(facts, rules, timeout=None if timeout is None else timeout / 1000)

    async def through(
        self,
        gated: Gated,
        arguments: Mapping[str, Any],
        call: CallContext,
        carry_out: Callable[[CallContext], Awaitable[ToolResult]],
    ) -> ToolResult:
        """The result, as the agent may see it. Raises `ToolFailure` for what may not be, `NeedsInput` for what waits."""
        passage = Passage(gated.tool, arguments, gated.origin, call.call_id)
        if not gated.tool.facts.open_world:
            return await self._passed(passage, gated.asking, call, carry_out)
        passage.task = asyncio.current_task()
        self._flights.begin(passage)  # before its context is looked at: from here on nothing is missed
        try:
            return await self._passed(passage, gated.asking, call, carry_out)
        except asyncio.CancelledError:
            if not passage.revoked or passage.task is None:
                raise
            passage.task.uncancel()
            raise ToolFailure("PERMISSION_DENIED", passage.revoked) from None
        finally:
            self._flights.end(passage)

    async def _passed(
        self,
        passage: Passage,
        asking: Asking | None,
        call: CallContext,
        carry_out: Callable[[CallContext], Awaitable[ToolResult]],
    ) -> ToolResult:
        await self._admit(passage, asking)
        passage.began = self._parts.monotonic()
        try:
            timeout = passage.tool.timeout
            if timeout is None:
                result = await carry_out(call)
            else:
                result = await self._in_time(passage, timeout, carry_out(call))
        except asyncio.CancelledError:
            await self._ended(passage, "PERMISSION_DENIED" if passage.revoked else "CANCELLED")
            raise
        except ToolFailure as failure:
            await self._ended(passage, failure.code)
            raise
        except Exception:
            await self._ended(passage, "EXECUTION_FAILED")
            raise
        return await self._released(passage, result)

    async def _in_time(self, passage: Passage, timeout: float, work: Awaitable[ToolResult]) -> ToolResult:
        limit = asyncio.timeout(timeout)
        try:
            async with limit:
                return await work
        except TimeoutError:
            if not limit.expired():
                raise
            text = (
                f"{passage.tool.facts.name} took longer than the {timeout:g} s it may take, and was stopped."
            )
            raise ToolFailure("TIMEOUT", text) from None

    async def label(self, origin: Origin) -> Label:
        """Of a context, as it is now. Raises `AwfError` for one that does not count here."""
        found = self.contexts.label(origin.context)
        if found is not None:
            return found
        try:
            return await self.contexts.load(origin.context)
        except AwfError as error:
            if origin.named or error.code != "USER.CONTEXT.UNKNOWN":
                raise
        await self.contexts.mint(origin.context)  # ours: nobody can choose it
        return await self.contexts.load(origin.context)

    async def answered(self, approval_id: str, origin: Origin, said: Said) -> None:
        """The person behind a client has answered; one of another context does not count."""
        asked = await self.desk.find(approval_id)
        if asked is not None and asked.context == origin.context and asked.status == "pending":
            with contextlib.suppress(ApprovalRefused):  # somebody else was faster
                await self.desk.decide(approval_id, granted=said.granted, by=said.by)

    @property
    def asks_clients(self) -> bool:
        return self._keys.approvals.ask_client

    async def rejected(
        self, gated: Gated, arguments: Mapping[str, Any], call_id: str, code: str, reason: str
    ) -> None:
        """A call that never came as far as a decision is recorded as well."""
        passage = Passage(gated.tool, arguments, gated.origin, call_id)
        passage.input_hash = self._fingerprint(arguments, gated.origin.redact_keys)
        passage.decision = Decision(verdict="deny", reason=reason, code=code.lower())
        await self.recorder.tell(self._decision_entry(passage))

    async def unknown(self, name: str, arguments: Mapping[str, Any], origin: Origin, call_id: str) -> None:
        entry = AuditEntry(
            kind="decision",
            created_at=self._parts.clock(),
            request_id=call_id,
            tool_id=name[:200],
            context=origin.context,
            client=origin.client,
            door=origin.door,
            input_hash=self._fingerprint(arguments, origin.redact_keys),
            decision="deny",
            reason="There is no such tool.",
            rule="",
            error="RESOURCE_NOT_FOUND",
        )
        await self.recorder.tell(entry)

    # Before the call

    async def _admit(self, passage: Passage, asking: Asking | None) -> None:
        passage.input_hash = self._fingerprint(passage.arguments, passage.origin.redact_keys)
        decision = await self._decided(passage)
        if decision.verdict == "allow_with_confirm" and not self._shadow:
            decision = await self._confirmed(passage, decision, asking)
        if self._shadow and decision.verdict != "allow":
            decision = msgspec.structs.replace(decision, verdict="allow", shadowed=decision.verdict)
        passage.decision = decision
        if decision.verdict == "deny":
            await self.recorder.tell(self._decision_entry(passage))
            raise ToolFailure("PERMISSION_DENIED", decision.reason)
        tool = passage.tool
        try:
            await self.recorder.record(self._decision_entry(passage), needed=tool.facts.consequential)
        except AuditUnavailable as reason:
            text = f"{tool.facts.name} was not called: it cannot be recorded now ({reason}), and it may change something."
            raise ToolFailure("PERMISSION_DENIED", text) from reason
        assert passage.label is not None
        if not passage.label.covers(tool.label):
            await self._raise(passage, tool.label)

    async def _decided(self, passage: Passage) -> Decision:
        """Everything but the person."""
        tool, origin = passage.tool, passage.origin
        facts = tool.facts
        try:
            label = self.contexts.label(origin.context) or await self.label(origin)
        except AwfError as error:
            return Decision(
                verdict="deny", reason=f"{error.message} {error.hint}".strip(), code="context:unknown"
            )
        passage.label = label
        if facts.refusal:
            return Decision(verdict="deny", reason=facts.refusal, code="policy:action_missing")
        if facts.open_world and label.confidentiality != "public":
            return _too_secret(facts.name, label)
        decision = tool.rules.decide(CallView(passage.arguments, origin, label))
        if decision.verdict == "deny":
            return decision
        if tool.required:
            denied = await self._granted(passage)
            if denied is not None:
                return denied
        if facts.requires_confirmation and decision.verdict == "allow":
            reason = decision.reason or f"{facts.name} must be approved each time."
            return msgspec.structs.replace(
                decision, verdict="allow_with_confirm", reason=reason, code="confirmation"
            )
        return decision

    async def _granted(self, passage: Passage) -> Decision | None:
        tool, origin = passage.tool, passage.origin
        grants = self._parts.grants
        coverage = grants.covering(tool.required, origin.holder, origin.grant_ids)
        if coverage is None:
            await grants.refresh()
            coverage = grants.covering(tool.required, origin.holder, origin.grant_ids)
            assert coverage is not None
        passage.grants = coverage.grant_ids
        if not coverage.missing:
            return None
        missing = ", ".join(coverage.missing)
        why = "; ".join(f"{grant} is {trouble.replace('_', ' ')}" for grant, trouble in coverage.unusable)
        why = f" ({why})" if why else ""
        reason = (
            f"{tool.facts.name} needs a grant of {missing}{why}. Ask for: awf grant add {coverage.missing[0]}"
        )
        return Decision(verdict="deny", reason=reason, code="grants:missing")

    # A person

    async def _confirmed(self, passage: Passage, decision: Decision, asking: Asking | None) -> Decision:
        """What is decided once somebody has said yes or no. May raise `NeedsInput`."""
        tool, origin, desk = passage.tool, passage.origin, self.desk
        exact = hashlib.sha256(canonical(passage.arguments)).hexdigest()
        approval = await desk.request(
            tool.facts.id,
            exact,
            origin.context,
            reason=decision.reason,
            rule=decision.rule,
            summary=self._summary(passage.arguments, origin.redact_keys),
            client=origin.client,
        )
        if approval.status == "pending":
            approval = await self._asked(passage, approval, asking)
        try:
            await desk.take(approval)
        except ApprovalRefused as refused:
            return _not_approved(tool.facts.name, approval, refused)
        again = await self._decided(passage)  # time has passed
        if again.verdict == "deny":
            return again
        return msgspec.structs.replace(
            decision,
            verdict="allow",
            code=f"approval:{approval.approval_id}",
            reason=f"Approved by {approval.decided_by}.",
        )

    async def _asked(self, passage: Passage, approval: Approval, asking: Asking | None) -> Approval:
        """The answer of whoever is quickest: the person behind the call, or one elsewhere."""
        desk, settings = self.desk, self._keys.approvals
        patience = settings.valid if asking is not None and asking.patient else settings.wait
        if asking is None:
            return await desk.wait(approval.approval_id, patience)
        elsewhere = spawn(
            desk.wait(approval.approval_id, patience), "an approval from elsewhere", awaited=True
        )
        here = spawn(asking.ask(approval, passage.arguments), "an approval of the caller", awaited=True)
        try:
            await asyncio.wait([elsewhere, here], return_when=asyncio.FIRST_COMPLETED)
            if elsewhere.done() and elsewhere.result().status != "pending":
                await asking.settled(elsewhere.result())
            elif here.done():
                said = here.result()
                if said is not None:
                    with contextlib.suppress(ApprovalRefused):  # somebody else was faster
                        await desk.decide(approval.approval_id, granted=said.granted, by=said.by)
            return await elsewhere
        finally:
            for task in (elsewhere, here):
                await end_task(task)

    def _summary(self, arguments: Mapping[str, Any], keys: tuple[str, ...]) -> str:
        """For the eyes of whoever decides."""
        shown = json.dumps(self._parts.redactor.redacted(arguments, keys), ensure_ascii=False, default=str)
        return shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}… ({len(shown)} characters)"

    # After the call

    async def _released(self, passage: Passage, result: ToolResult) -> ToolResult:
        tool = passage.tool
        assert passage.label is not None
        label = joined(tool.label, stated_label(result.meta)) if result.meta else tool.label
        if label is not tool.label and not joined(passage.label, tool.label).covers(label):
            await self._raise(passage, label)
        given = await self._parts.spooler.fitting(result, tool.facts.limits, passage, label)
        given = self._parts.redactor.result(given)
        output = self._fingerprint(_payload(given), passage.origin.redact_keys)
        error = error_code(given)
        try:
            await self._ended(passage, error, output, needed=tool.facts.consequential)
        except AuditUnavailable as reason:
            text = f"{tool.facts.name} was called, but what came of it could not be recorded ({reason}), so it is kept back."
            raise ToolFailure("EXECUTION_FAILED", text) from reason
        return given if label is PLAIN else labelled(given, label)

    async def _raise(self, passage: Passage, label: Label) -> None:
        await self.contexts.raise_(passage.origin.context, label, passage.tool.facts.id)

    async def _ended(self, passage: Passage, error: str, output: str = "", *, needed: bool = False) -> None:
        entry = AuditEntry(
            kind="effect",
            created_at=self._parts.clock(),
            request_id=passage.request_id,
            tool_id=passage.tool.facts.id,
            context=passage.origin.context,
            output_hash=output,
            success=not error,
            error=error,
            duration_ms=int((self._parts.monotonic() - passage.began) * 1000),
        )
        await self.recorder.record(entry, needed=needed)

    # What is recorded

    def _fingerprint(self, value: Any, keys: tuple[str, ...]) -> str:
        """Of what is left when all secrets are taken out."""
        encoded = canonical(value)
        if keys or self._parts.redactor.suspicious(encoded):
            encoded = canonical(self._parts.redactor.redacted(value, keys))
        return hashlib.sha256(encoded).hexdigest()

    def _decision_entry(self, passage: Passage) -> AuditEntry:
        origin, decision = passage.origin, passage.decision
        assert decision is not None
        return AuditEntry(
            kind="decision",
            created_at=self._parts.clock(),
            request_id=passage.request_id,
            tool_id=passage.tool.facts.id,
            context=origin.context,
            client=origin.client,
            door=origin.door,
            grant_ids=passage.grants,
            input_hash=passage.input_hash,
            decision=decision.verdict,
            reason=decision.reason,
            rule=decision.rule,
            code=decision.code,
            risk=decision.risk,
            shadowed=decision.shadowed or "",
            label_before=str(passage.label or ""),
        )


def _payload(result: ToolResult) -> dict[str, Any]:
    payload: dict[str, Any] = {"content": result.content, "isError": result.is_error}
    if result.structured is not msgspec.UNSET:
        payload["structuredContent"] = result.structured
    return payload


def _too_secret(name: str, label: Label) -> Decision:
    reason = (
        f"{name} reaches others, and this agent knows something {label.confidentiality} by now. "
        f"A person can start over with: awf gateway context reset"
    )
    return Decision(verdict="deny", reason=reason, code="level:open_world")


def _not_approved(name: str, approval: Approval, refused: ApprovalRefused) -> Decision:
    code = f"approval:{refused.reason}"
    if refused.reason == "denied":
        by = f" ({approval.decided_by})" if approval.decided_by else ""
        reason = f"{name} needs a person's approval, and the answer was no{by}."
    elif refused.reason == "pending":
        reason = (
            f"{name} needs a person's approval, and nobody has answered yet. Once somebody has said "
            f"`awf gateway approve {approval.approval_id}`, make the same call again."
        )
    else:
        reason = f"{name} needs a person's approval. {refused.message} Make the call again to ask anew."
    return Decision(verdict="deny", reason=reason, rule=approval.rule, code=code)
