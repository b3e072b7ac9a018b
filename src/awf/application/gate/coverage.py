"""Which grants cover what a tool requires. Pure: grants and a time in, an answer out."""

from __future__ import annotations

from bisect import bisect_right
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from awf.domain.grant import CapabilityGrant, GrantTrouble, Holder, capability_covers, trouble_with

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["NOTHING_NEEDED", "Carried", "Coverage", "coverage", "period"]


class Carried(NamedTuple):
    """An approval that a grant brings with it."""

    approval_id: str
    grant_id: str


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    grant_ids: tuple[str, ...] = ()  # those that cover something, each once
    missing: tuple[str, ...] = ()  # required capabilities that none covers
    unusable: tuple[tuple[str, GrantTrouble], ...] = ()  # of those that the caller named: id and why
    # What the live ones carry: of those named, or of those that cover something. Each once, with the first that does.
    approvals: tuple[Carried, ...] = ()

    @property
    def whole(self) -> bool:
        return not self.missing


NOTHING_NEEDED = Coverage()


def coverage(
    required: Sequence[str],
    holder: Holder,
    given: Sequence[str] | None,
    grants: Mapping[str, CapabilityGrant],
    now: float,
) -> Coverage:
    """`given`: the ids that the caller names, and only those count; None: every live one in scope does."""
    unusable: dict[str, GrantTrouble] = {}
    usable: list[CapabilityGrant] = []
    for id_ in grants if given is None else dict.fromkeys(given):
        grant = grants.get(id_)
        trouble: GrantTrouble | None = "unknown" if grant is None else trouble_with(grant, holder, now)
        if trouble is not None:
            unusable[id_] = trouble
        elif grant is not None:
            usable.append(grant)
    chosen = {wanted: _covering(wanted, usable) for wanted in required}
    used = [grant for grant in chosen.values() if grant is not None]
    carrying = usable if given is not None else [one for one in usable if _covers_any(one, required)]
    approvals: dict[str, Carried] = {}
    for one in carrying:
        if one.approval_id:
            approvals.setdefault(one.approval_id, Carried(one.approval_id, one.grant_id))
    return Coverage(
        grant_ids=tuple(dict.fromkeys(grant.grant_id for grant in used)),
        missing=tuple(wanted for wanted, grant in chosen.items() if grant is None),
        unusable=tuple(unusable.items()) if given is not None else (),
        approvals=tuple(approvals.values()),
    )


def _covering(wanted: str, usable: Iterable[CapabilityGrant]) -> CapabilityGrant | None:
    return next((grant for grant in usable if capability_covers(grant.capability, wanted)), None)


def _covers_any(grant: CapabilityGrant, required: Iterable[str]) -> bool:
    return any(capability_covers(grant.capability, wanted) for wanted in required)


def period(turns: Sequence[float], now: float) -> tuple[float, float]:
    """The time around now in which no grant begins or ends. `turns` is sorted."""
    place = bisect_right(turns, now)
    return (turns[place - 1] if place else -inf), (turns[place] if place < len(turns) else inf)
