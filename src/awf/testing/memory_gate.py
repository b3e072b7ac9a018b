"""Grants, approvals and security contexts in memory; implement the ports of the gate's stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from awf.domain.approval import Approval, is_about, is_open
from awf.domain.errors import AwfError
from awf.domain.label import PLAIN, Label, joined
from awf.domain.security_context import SecurityContext

if TYPE_CHECKING:
    from awf.domain.grant import CapabilityGrant

__all__ = ["MemoryApprovals", "MemoryContexts", "MemoryGateStore", "MemoryGrants"]

_changed = msgspec.structs.replace


class _Counted:
    def __init__(self) -> None:
        self._changes = 0

    def version(self) -> int:
        return self._changes


class MemoryGrants(_Counted):
    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[str, CapabilityGrant] = {}

    async def add(self, grant: CapabilityGrant) -> None:
        if grant.grant_id in self._kept:
            raise AwfError("USER.GRANT.DUPLICATE", f"There is a grant '{grant.grant_id}' already.")
        self._kept[grant.grant_id] = grant
        self._changes += 1

    async def revoke(self, grant_id: str, now: float) -> CapabilityGrant | None:
        grant = self._kept.get(grant_id)
        if grant is None or grant.revoked_at is not None:
            return grant
        self._kept[grant_id] = revoked = _changed(grant, revoked_at=now)
        self._changes += 1
        return revoked

    async def grants(self) -> list[CapabilityGrant]:
        return sorted(self._kept.values(), key=lambda grant: grant.issued_at)

    async def forget(self, before: float) -> int:
        over = [
            grant.grant_id
            for grant in self._kept.values()
            if any(end is not None and end < before for end in (grant.expires_at, grant.revoked_at))
        ]
        for grant_id in over:
            del self._kept[grant_id]
        self._changes += len(over)
        return len(over)


class MemoryApprovals(_Counted):
    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[str, Approval] = {}

    async def ask(self, approval: Approval) -> Approval:
        about = (approval.tool_id, approval.arguments_hash, approval.context)
        there = await self.matching(*about, approval.asked_at)
        return there or self._keep(approval)

    async def claim(self, approval: Approval) -> bool:
        if approval.approval_id in self._kept:
            return False
        self._keep(approval)
        return True

    async def find(self, approval_id: str) -> Approval | None:
        return self._kept.get(approval_id)

    async def decide(self, approval_id: str, *, granted: bool, by: str, now: float) -> Approval | None:
        approval = self._kept.get(approval_id)
        if approval is None or not is_open(approval, now):
            return None
        status = "granted" if granted else "denied"
        return self._keep(_changed(approval, status=status, decided_at=now, decided_by=by))

    async def use(self, approval_id: str, now: float) -> bool:
        approval = self._kept.get(approval_id)
        if approval is None or approval.status != "granted" or now >= approval.expires_at:
            return False
        self._keep(_changed(approval, status="used"))
        return True

    async def matching(self, tool_id: str, arguments_hash: str, context: str, now: float) -> Approval | None:
        for approval in reversed(self._kept.values()):
            alive = approval.status in {"pending", "granted"} and now < approval.expires_at
            if alive and is_about(approval, tool_id, arguments_hash, context):
                return approval
        return None

    async def open_ones(self, now: float) -> list[Approval]:
        found = [approval for approval in self._kept.values() if is_open(approval, now)]
        return sorted(found, key=lambda approval: approval.asked_at)

    async def expire(self, now: float) -> list[Approval]:
        over = [one for one in self._kept.values() if one.status == "pending" and not is_open(one, now)]
        return [self._keep(_changed(approval, status="expired")) for approval in over]

    async def forget(self, before: float) -> int:
        over = [approval.approval_id for approval in self._kept.values() if approval.expires_at < before]
        for approval_id in over:
            del self._kept[approval_id]
        self._changes += len(over)
        return len(over)

    def _keep(self, approval: Approval) -> Approval:
        self._kept[approval.approval_id] = approval
        self._changes += 1
        return approval


class MemoryContexts(_Counted):
    at_once = True

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[str, SecurityContext] = {}

    async def find(self, context_id: str) -> SecurityContext | None:
        return self._kept.get(context_id)

    async def add(self, context: SecurityContext) -> SecurityContext:
        parent = self._kept.get(context.parent)
        label = joined(context.label, parent.label) if parent is not None else context.label
        earlier = self._kept.get(context.context_id)
        if earlier is not None:
            return self._mixed(earlier, label, context.raised_by, context.created_at)
        return self._keep(_changed(context, label=label))

    async def raise_label(self, context_id: str, label: Label, by: str, now: float) -> SecurityContext:
        there = self._kept.get(context_id)
        context = there or self._keep(SecurityContext(context_id=context_id, created_at=now))
        return self._mixed(context, label, by, now)

    async def reset(self, context_id: str) -> SecurityContext | None:
        context = self._kept.get(context_id)
        if context is None:
            return None
        fresh = _changed(context, label=PLAIN, raised_at=None, raised_by="", resets=context.resets + 1)
        return self._keep(fresh)

    async def contexts(self) -> list[SecurityContext]:
        return sorted(self._kept.values(), key=lambda context: context.created_at)

    def _mixed(self, context: SecurityContext, label: Label, by: str, now: float) -> SecurityContext:
        if context.label.covers(label):
            return context
        mixed = joined(context.label, label)
        return self._keep(_changed(context, label=mixed, raised_at=now, raised_by=by))

    def _keep(self, context: SecurityContext) -> SecurityContext:
        self._kept[context.context_id] = context
        self._changes += 1
        return context


class MemoryGateStore:
    """The three together, as `SqliteGateStore` has them."""

    def __init__(self) -> None:
        self.grants = MemoryGrants()
        self.approvals = MemoryApprovals()
        self.contexts = MemoryContexts()

    def close(self) -> None:
        """Nothing is open."""
