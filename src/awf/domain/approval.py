"""An approval of one call: for these arguments, in this context, once, and not for ever."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["Approval", "ApprovalStatus", "ApprovalTrouble", "as_of", "is_about", "is_open"]

ApprovalStatus = Literal["pending", "granted", "denied", "used", "expired"]
# Why one cannot be used or answered: there is none, it is about another call, or where it stands.
ApprovalTrouble = Literal["unknown", "foreign", "pending", "granted", "denied", "used", "expired"]


class Approval(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What was asked stays as it is; only the status moves: pending → granted → used, pending → denied, … → expired."""

    approval_id: str
    tool_id: str
    arguments_hash: str
    context: str
    asked_at: float
    expires_at: float
    reason: str = ""  # why it has to be asked
    rule: str = ""
    summary: str = ""  # the arguments as a person sees them: redacted and short
    client: str = ""  # who asks
    status: ApprovalStatus = "pending"
    decided_at: float | None = None
    decided_by: str = ""


def is_open(approval: Approval, now: float) -> bool:
    return approval.status == "pending" and now < approval.expires_at


def is_about(approval: Approval, tool_id: str, arguments_hash: str, context: str) -> bool:
    return (approval.tool_id, approval.arguments_hash, approval.context) == (tool_id, arguments_hash, context)


def as_of(approval: Approval, now: float) -> Approval:
    """As it stands at this time: what nobody answered or used in time is over, whether that was written down or not."""
    if approval.status in {"pending", "granted"} and now >= approval.expires_at:
        return msgspec.structs.replace(approval, status="expired")
    return approval
