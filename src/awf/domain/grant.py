"""Capability grants: what somebody was allowed, where it counts, and for how long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

__all__ = ["CapabilityGrant", "GrantScope", "Holder", "capability_covers", "counts", "missing_capabilities"]


class Holder(msgspec.Struct, frozen=True):
    """In whose name a call is made."""

    workspace: str = ""
    user: str = ""
    session: str = ""  # the security context


class GrantScope(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True):
    """Where a grant counts. What is left empty does not matter."""

    workspace: str = ""
    user: str = ""
    session: str = ""

    def admits(self, holder: Holder) -> bool:
        return (
            (not self.workspace or self.workspace == holder.workspace)
            and (not self.user or self.user == holder.user)
            and (not self.session or self.session == holder.session)
        )


class CapabilityGrant(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    grant_id: str
    capability: str  # a scope or an action; `*` at its end covers what begins so
    issued_at: float  # seconds since 1970
    expires_at: float | None = None
    scope: GrantScope = GrantScope()
    approval_id: str = ""  # whoever holds it need not be asked again; bound and used up as approvals are
    issued_by: str = ""
    revoked_at: float | None = None


def capability_covers(held: str, wanted: str) -> bool:
    if held in (wanted, "*"):
        return True
    return held.endswith((".*", ":*")) and wanted.startswith(held[:-1])


def counts(grant: CapabilityGrant, holder: Holder, now: float) -> bool:
    """Whether it is alive, and is for this holder."""
    return (
        grant.revoked_at is None
        and grant.issued_at <= now
        and (grant.expires_at is None or now < grant.expires_at)
        and grant.scope.admits(holder)
    )


def missing_capabilities(required: Sequence[str], grants: Iterable[CapabilityGrant]) -> list[str]:
    """What none of these grants covers. They count already."""
    held = [grant.capability for grant in grants]
    return [wanted for wanted in required if not any(capability_covers(one, wanted) for one in held)]
