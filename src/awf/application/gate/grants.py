"""Grants as the gate asks for them: remembered for a moment, so that a call does not pay for a look into the store."""

from __future__ import annotations

import asyncio
import secrets
import time
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.gate.coverage import NOTHING_NEEDED, Coverage, coverage, period
from awf.application.gate.freshness import TTL_SECONDS, Freshness
from awf.application.gate.telling import tell_nobody, told
from awf.domain.errors import AwfError
from awf.domain.grant import LAST_MOMENT, CapabilityGrant, GrantScope, is_capability

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from awf.application.gate.telling import Tell
    from awf.domain.grant import Holder
    from awf.domain.ports.grant_store import GrantStore

__all__ = ["Grants"]

_KEPT_SECONDS = 30 * 86400.0  # how long one that is over can still be listed
_MOST_ANSWERS = 4096
_MOMENT_SECONDS = 0.001

_Question = tuple[tuple[str, ...], "Holder", tuple[str, ...] | None]


class Grants:
    """Changes made through it are seen at once; those of other processes within the TTL."""

    def __init__(
        self,
        store: GrantStore,
        clock: Callable[[], float] = time.time,
        *,
        ttl: float = TTL_SECONDS,
        tell: Tell = tell_nobody,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self.version = store.version  # another number as soon as any has changed, in whichever process
        self._clock = clock
        self._tell = tell
        self._fresh = Freshness(store.version, ttl, ticks)
        self._loading = asyncio.Lock()
        self._grants: dict[str, CapabilityGrant] = {}
        self._turns: list[float] = []  # when grants begin and end
        self._since, self._until = inf, -inf  # in between, the answers below hold
        self._answers: dict[_Question, Coverage] = {}

    # -- asked with every call ---------------------------------------------------------------------------------------

    def covering(
        self, required: Sequence[str], holder: Holder, given: Sequence[str] | None = None
    ) -> Coverage | None:
        """Which grants cover what is required. None: what is remembered may be stale; `await refresh()` first.

        `given`: the ids that the caller names, and no others count; None: any live grant in scope does.
        """
        if not required and not given:
            return NOTHING_NEEDED
        fresh = self._fresh
        if fresh.ticks() >= fresh.until and not fresh.holds():
            return None
        now = self._clock()
        if not self._since <= now < self._until:
            self._since, self._until = period(self._turns, now)
            self._answers.clear()
        question = (tuple(required), holder, None if given is None else tuple(given))
        answer = self._answers.get(question)
        return answer if answer is not None else self._worked_out(question, now)

    def covering_at(
        self, version: int, required: Sequence[str], holder: Holder, given: Sequence[str] | None = None
    ) -> Coverage | None:
        """The same where this is the version of the store. None: what is remembered is not as it was then."""
        return self.covering(required, holder, given) if self._fresh.seen == version else None

    def period(self, now: float) -> tuple[float, float]:
        """The time around now in which no grant begins or ends, as far as they are known."""
        return period(self._turns, now)

    def _worked_out(self, question: _Question, now: float) -> Coverage:
        required, holder, given = question
        if len(self._answers) >= _MOST_ANSWERS:  # callers can name any ids
            self._answers.clear()
        answer = self._answers[question] = coverage(required, holder, given, self._grants, now)
        return answer

    async def refresh(self) -> None:
        """Look into the store if anything has changed there. Raises `AwfError` when that is impossible."""
        async with self._loading:
            looked = self._fresh.look()
            if looked[0] != self._fresh.seen:
                self._take(await self._store.grants())
            self._fresh.took(looked)
            # However long the look took, whoever waited for it gets an answer from it.
            self._fresh.until = max(self._fresh.until, self._fresh.ticks() + _MOMENT_SECONDS)

    def _take(self, grants: list[CapabilityGrant]) -> None:
        self._grants = {grant.grant_id: grant for grant in grants}
        ends = [grant.expires_at for grant in grants if grant.expires_at is not None]
        self._turns = sorted({*ends, *(grant.issued_at for grant in grants)})
        self._since, self._until = inf, -inf

    # -- changes -----------------------------------------------------------------------------------------------------

    async def issue(
        self,
        capability: str,
        *,
        by: str,
        expires_in: float | None = None,
        scope: GrantScope | None = None,
        approval_id: str = "",
    ) -> CapabilityGrant:
        """A new one, with an id that we choose."""
        now = self._clock()
        return await self.add(
            CapabilityGrant(
                grant_id=f"grant_{secrets.token_hex(8)}",
                capability=capability,
                issued_at=now,
                expires_at=None if expires_in is None else now + expires_in,
                scope=scope or GrantScope(),
                approval_id=approval_id,
                issued_by=by,
            )
        )

    async def add(self, grant: CapabilityGrant) -> CapabilityGrant:
        """Raises `AwfError`: USER.GRANT.INVALID, USER.GRANT.DUPLICATE."""
        _check(grant)
        await self._store.forget(self._clock() - _KEPT_SECONDS)
        await self._store.add(grant)
        await told(self._tell, "grant_added", _details(grant))
        await self.refresh()
        return grant

    async def revoke(self, grant_id: str, by: str) -> CapabilityGrant:
        """Whoever asks afterwards does not get it any more. Raises `AwfError` (USER.GRANT.UNKNOWN)."""
        now = self._clock()
        grant = await self._store.revoke(grant_id, now)
        if grant is None:
            raise AwfError(
                "USER.GRANT.UNKNOWN", f"There is no grant '{grant_id}'.", hint="`awf grant list` shows them."
            )
        await self.refresh()
        if grant.revoked_at == now:  # not one that was revoked before
            await told(self._tell, "grant_revoked", {"grant_ids": (grant_id,), "by": by})
        return grant

    async def all(self) -> list[CapabilityGrant]:
        """In the order of their issue, also those that no longer count."""
        await self.refresh()
        return list(self._grants.values())


def _check(grant: CapabilityGrant) -> None:
    if not grant.grant_id.isprintable() or not 0 < len(grant.grant_id) <= 256:
        raise _invalid("The id of a grant is a short printable text.", "Leave it out to get one.")
    if not is_capability(grant.capability):
        hint = "Write a scope or an action, such as file.read; file.* covers what begins with `file.`."
        raise _invalid(f"'{grant.capability}' is not a capability.", hint)
    times = (grant.issued_at, grant.expires_at, grant.revoked_at)
    if not all(isfinite(time_) for time_ in times if time_ is not None):
        raise _invalid("A time of the grant is not a number.", "Give seconds since 1970, or leave it out.")
    if grant.expires_at is not None and grant.expires_at > LAST_MOMENT:
        raise _invalid("The grant would count until after the year 9999.", "Leave out when it expires.")


def _invalid(message: str, hint: str) -> AwfError:
    return AwfError("USER.GRANT.INVALID", message, hint=hint)


def _details(grant: CapabilityGrant) -> dict[str, Any]:
    return {
        "grant_ids": (grant.grant_id,),
        "context": grant.scope.session,
        "grant": msgspec.to_builtins(grant),
    }
