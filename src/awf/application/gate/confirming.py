"""Calls that a person has to allow: asked where the call comes from and elsewhere, and the first answer counts."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.gate.refusal import ApprovalRefused
from awf.application.running.tasks import end_task, spawn
from awf.domain.approval import is_about
from awf.domain.plain_sight import as_json, shown_arguments
from awf.domain.redaction import MASK

if TYPE_CHECKING:
    from awf.application.gate.approvals import ApprovalDesk
    from awf.application.gate.origin import Asking, Origin, Said
    from awf.application.gate.passage import Passage
    from awf.domain.approval import Approval
    from awf.domain.policy import Decision
    from awf.domain.redaction.redactor import Redactor

__all__ = ["Confirming"]


class Confirming:
    def __init__(self, desk: ApprovalDesk, redactor: Redactor) -> None:
        self.desk = desk
        self._redactor = redactor

    async def confirmed(self, passage: Passage, decision: Decision, asking: Asking | None) -> Decision:
        """What is decided once somebody has said yes or no. May raise `NeedsInput`."""
        origin = passage.origin
        refusals: list[ApprovalRefused] = []
        for approval_id, grant_id in passage.approvals:
            try:
                approval = await self._brought(passage, approval_id)
            except ApprovalRefused as refused:
                refusals.append(refused)
            else:
                passage.carrier = grant_id
                return _approved(decision, approval)
        approval = await self._denied(passage) or await self._requested(passage, decision)
        if approval.status == "pending" and origin.waits:
            approval = await self._answer(approval, passage, asking)
        must_bring = approval.status == "pending" or passage.tool.facts.requires_confirmation
        if not origin.waits and must_bring:
            return _not_brought(passage.tool.facts.name, decision, approval, refusals)
        try:
            await self.desk.take(approval)
        except ApprovalRefused as refused:
            return _not_approved(passage.tool.facts.name, decision, approval, refused)
        return _approved(decision, approval)

    async def _brought(self, passage: Passage, approval_id: str) -> Approval:
        """An approval that a grant carries, used up by this call. Raises `ApprovalRefused`.

        Programs may also bring one that was given elsewhere; who grants through them answers for it.
        """
        hashed, context = _hash(passage), passage.origin.context
        try:
            return await self.desk.take_named(approval_id, passage.tool.facts.id, hashed, context)
        except ApprovalRefused as refused:
            if refused.reason != "unknown" or passage.origin.door != "api":
                raise
        return await self.desk.claim(approval_id, passage.tool.facts.id, hashed, context)

    async def _requested(self, passage: Passage, decision: Decision) -> Approval:
        return await self.desk.request(
            passage.tool.facts.id,
            _hash(passage),
            passage.origin.context,
            reason=decision.reason,
            rule=decision.rule,
            summary=self._summary(passage),
            client=passage.origin.client,
        )

    async def _denied(self, passage: Passage) -> Approval | None:
        """The question that the caller brings back, if the answer was no: who has said so is not asked again and again."""
        asked = await self.desk.find(passage.answered) if passage.answered else None
        if asked is None or asked.status != "denied":
            return None
        about = passage.tool.facts.id, _hash(passage), passage.origin.context
        return asked if is_about(asked, *about) else None

    async def _answer(self, approval: Approval, passage: Passage, asking: Asking | None) -> Approval:
        settings = self.desk.settings
        patience = settings.valid if asking is not None and asking.patient else settings.wait
        elsewhere = self.desk.wait(approval.approval_id, patience)
        if asking is None:
            return await elsewhere
        waiting = spawn(elsewhere, "an approval from elsewhere", awaited=True)
        here = spawn(asking.ask(approval, passage.arguments), "an approval of the caller", awaited=True)
        try:
            await asyncio.wait([waiting, here], return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                await self._said(approval, here.result())
            elif waiting.result().status != "pending":
                await asking.settled(waiting.result())
            return await waiting
        finally:
            for task in (waiting, here):
                await end_task(task)

    async def _said(self, approval: Approval, said: Said | None) -> None:
        if said is not None:
            with contextlib.suppress(ApprovalRefused):  # somebody else was faster
                await self.desk.decide(approval.approval_id, granted=said.granted, by=said.by)

    async def answered(self, approval_id: str, passage: Passage, said: Said) -> None:
        """The person behind a client has answered the question about this very call. Questions of others are not its to answer."""
        asked = await self.asked(approval_id, passage.origin)
        about = passage.tool.facts.id, _hash(passage), passage.origin.context
        if asked is not None and asked.status == "pending" and is_about(asked, *about):
            await self._said(asked, said)

    async def asked(self, approval_id: str, origin: Origin) -> Approval | None:
        found = await self.desk.find(approval_id)
        return found if found is not None and found.context == origin.context else None

    def _summary(self, passage: Passage) -> str:
        """For the eyes of whoever decides. What agents choose to give the look of a secret does not go unnoticed."""
        known = self._redactor.without_values(passage.arguments)
        shown = self._redactor.redacted(known, passage.origin.redact_keys)
        return shown_arguments(shown) + _hidden_note(known, shown)


def _hidden_note(known: Any, shown: Any) -> str:
    if shown is known:
        return ""
    before, after = as_json(known), as_json(shown)
    masks = max(after.count(MASK) - before.count(MASK), 1)
    hidden = max(len(before) - len(after) + len(MASK) * masks, 1)
    return f" ({MASK} hides some {hidden:,} characters that look like a secret)"


def _approved(decision: Decision, approval: Approval) -> Decision:
    by = f"Approved by {approval.decided_by or 'a person'}."
    return msgspec.structs.replace(
        decision, verdict="allow", code=f"approval:{approval.approval_id}", reason=by
    )


def _not_brought(
    name: str, decision: Decision, approval: Approval, refusals: list[ApprovalRefused]
) -> Decision:
    """For those who cannot wait: which approval a grant has to carry."""
    why = "".join(f" {one.message}" for one in refusals)
    reason = f"{name} needs a person's approval.{why} Make the same call with a grant that carries one as `approvalId`"
    details = {"approvalId": approval.approval_id, "status": approval.status}
    refused = _refused(
        decision,
        f"{reason}, such as {approval.approval_id} once it is granted.",
        refusals[0].reason if refusals else "pending",
    )
    return msgspec.structs.replace(refused, details=details)


def _refused(decision: Decision, reason: str, why: str) -> Decision:
    """By the rule that asked, and with what was at stake: whoever reads the record wants to know it all the more."""
    return msgspec.structs.replace(decision, verdict="deny", reason=reason, code=f"approval:{why}")


def _hash(passage: Passage) -> str:
    """Of what the agent sent, with its secrets: two of them are two calls."""
    return hashlib.sha256(passage.exact).hexdigest()


def _not_approved(name: str, decision: Decision, approval: Approval, refused: ApprovalRefused) -> Decision:
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
    return _refused(decision, reason, refused.reason)
