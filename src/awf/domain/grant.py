"""Capability grants: what somebody was allowed, where it counts, and for how long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from awf.domain.problem import Problem

if TYPE_CHECKING:
    from awf.domain.problem import NodePath

__all__ = [
    "LAST_MOMENT",
    "CapabilityGrant",
    "GrantScope",
    "GrantTrouble",
    "Holder",
    "capability_covers",
    "counts",
    "is_capability",
    "missing_capabilities",
    "problems_of_scopes",
    "trouble_with",
]

GrantTrouble = Literal["unknown", "revoked", "expired", "foreign", "not_yet"]
LAST_MOMENT = 253402300800.0  # in seconds since 1970: the calendar ends with the year 9999
_LONGEST = 256


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


def is_capability(text: str) -> bool:
    """Whether it can be granted. A `*` that would cover nothing is a mistake that nobody should be left with."""
    if text == "*":
        return True
    body = text.removesuffix("*")
    ending = body == text or body.endswith((".", ":"))
    return ending and 0 < len(text) <= _LONGEST and text.isprintable() and not {"*", " "} & set(body)


def problems_of_scopes(scopes: Sequence[Any], path: NodePath, code: str) -> Iterator[Problem]:
    """Of those that are required: who wrote one that nobody can grant has shut the tool without wanting to."""
    for at, scope in enumerate(scopes):
        if isinstance(scope, str) and not is_capability(scope):
            message = f"“{scope[:80]}” is no scope that could be granted."
            hint = "Write it without blanks, such as mail.send; a `*` stands alone, or at the end behind a dot or a colon."
            yield Problem(code=code, message=message, path=(*path, at), hint=hint)


def trouble_with(grant: CapabilityGrant, holder: Holder, now: float) -> GrantTrouble | None:
    """Why it does not count; None when it does: it is alive, and is for this holder."""
    if grant.revoked_at is not None:
        return "revoked"
    if grant.expires_at is not None and now >= grant.expires_at:
        return "expired"
    if now < grant.issued_at:
        return "not_yet"
    return None if grant.scope.admits(holder) else "foreign"


def counts(grant: CapabilityGrant, holder: Holder, now: float) -> bool:
    return trouble_with(grant, holder, now) is None


def missing_capabilities(required: Sequence[str], grants: Iterable[CapabilityGrant]) -> list[str]:
    """What none of these grants covers. They count already."""
    held = [grant.capability for grant in grants]
    return [wanted for wanted in required if not any(capability_covers(one, wanted) for one in held)]
