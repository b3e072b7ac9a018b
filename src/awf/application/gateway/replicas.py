"""One gateway among several that share a database.

A session of the older era, and a call that waits for its client, live in one process. Their names say in which: any
replica that is handed such a name knows whom to pass the request on to. Names come from clients, so that only
replicas that stand in the register count.
"""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.gateway.asking import STATE as APPROVAL
from awf.application.gateway.asking import holds_more
from awf.application.gateway.parking import MARK as PARKED
from awf.application.gateway.parking import state_name
from awf.application.running.tasks import spawn
from awf.domain.errors import AwfError
from awf.domain.ports.replicas import Replica

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.domain.ports.replicas import ReplicaRegister

__all__ = ["Replicas"]

BEAT_SECONDS = 2.0
MISSED = 8  # looks at which a replica had not moved on; then it is dead
PATIENCE = 5.0  # seconds that a request waits for the register
_AT = "awf-at-"
_MARKED = re.compile(rf"{_AT}(g[0-9a-f]{{12}})\.(.*)", re.DOTALL)
_OWN_STATES = (PARKED, APPROVAL)  # good at any replica, or named already
_RETURNED = ("requestState", "cursor")
_NAME = re.compile(r"(g[0-9a-f]{12})\.[A-Za-z0-9_-]+")
_log = logging.getLogger("awf.gateway")


class Replicas:
    """`on_gone` is told the id of each one that is found dead, or has left; `on_new` of each one that is there first."""

    def __init__(self, register: ReplicaRegister) -> None:
        self.id = f"g{secrets.token_hex(6)}"
        self.on_gone: Callable[[str], None] | None = None
        self.on_new: Callable[[Replica], None] | None = None
        self._register = register
        self._own: Replica | None = None
        self._known: dict[str, Replica] = {}
        self._beats: dict[str, int] = {}  # at the last look that counted
        self._missed: dict[str, int] = {}
        self._looking: asyncio.Task[None] | None = None
        self._quiet = False

    # -- names -------------------------------------------------------------------------------------------------------

    def new_name(self) -> str:
        """Of something that lives in this process."""
        return f"{self.id}.{secrets.token_urlsafe(24)}"

    def elsewhere(self, name: str) -> str:
        """The id of the other replica in which this lives, as its name says; empty: here, or nowhere."""
        found = _NAME.fullmatch(name)
        return found[1] if found is not None and found[1] != self.id else ""

    # -- states of servers -------------------------------------------------------------------------------------------

    def mark(self, result: Any) -> Any:
        """What a server wants to see again may mean something to this very process of it: so it says where it came from."""
        if type(result) is msgspec.Raw:
            return result
        state, cursor = result.get("requestState"), result.get("nextCursor")
        if isinstance(state, str) and (holds_more(state) or not state.startswith(_OWN_STATES)):
            result = {**result, "requestState": f"{_AT}{self.id}.{state}"}
        if isinstance(cursor, str):
            result = {**result, "nextCursor": f"{_AT}{self.id}.{cursor}"}
        return result

    @staticmethod
    def unmark(params: dict[str, Any]) -> dict[str, Any]:
        """The same as the server gave it."""
        for key in _RETURNED:
            if (found := _marked(params.get(key))) is not None:
                params = {**params, key: found[2]}
        return params

    def home_of(self, params: Mapping[str, Any]) -> str:
        """The id of the other replica that a request of the newer era comes back to; mostly none."""
        named = self.elsewhere(state_name(params))
        for key in _RETURNED:
            if (found := _marked(params.get(key))) is not None and found[1] != self.id:
                named = found[1]
        return named

    # -- the others --------------------------------------------------------------------------------------------------

    async def enter(self, url: str) -> None:
        """From now on the others may pass requests on to this address. Raises `AwfError`."""
        self._own = Replica(self.id, url)
        await self._look()

    async def find(self, replica_id: str) -> Replica | None:
        """None: there is no such replica, or it is dead. Raises `AwfError` when nobody can say."""
        if replica_id not in self._known:
            await self._look_together()
        if self._missed.get(replica_id, 0) >= MISSED:
            return None
        return self._known.get(replica_id)

    async def seen_from(self) -> str:
        return await self._register.seen_from()

    async def keep_beating(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            try:
                await self._look()
            except AwfError as error:
                if not self._quiet:
                    _log.warning("other gateways cannot be heard of: %s", error.message)
                self._quiet = True
            else:
                self._quiet = False

    async def leave(self) -> None:
        if self._own is not None:
            self._own = None
            try:
                async with asyncio.timeout(PATIENCE):
                    await self._register.leave(self.id)
            except (AwfError, TimeoutError) as error:
                _log.info("the register does not know that this gateway left: %s", error)
        await self._register.close()

    async def _look_together(self) -> None:
        """One look for all who ask meanwhile; made-up names must not cost more than that."""
        if self._looking is None or self._looking.done():
            self._looking = spawn(self._look(beating=False), "looking for a gateway", awaited=True)
        try:
            async with asyncio.timeout(PATIENCE):
                await asyncio.shield(self._looking)
        except TimeoutError:
            raise AwfError(
                "SYSTEM.STORE.UNAVAILABLE",
                "The database does not say which gateways there are.",
                hint="Check that it is up: awf doctor",
            ) from None

    async def _look(self, *, beating: bool = True) -> None:
        if beating and self._own is not None:
            found = await self._register.beat(self._own)
        else:
            found = await self._register.listed()
        before = self._known
        self._known = {one.id: one for one in found if one.id != self.id}
        for replica_id in before.keys() - self._known.keys():
            self._beats.pop(replica_id, None)
            self._missed.pop(replica_id, None)
            self._tell_gone(replica_id)
        for one in self._known.values():
            if one.id not in before and self.on_new is not None:
                self.on_new(one)
            if beating:
                self._count(one)

    def _count(self, one: Replica) -> None:
        """Looks are counted, not seconds: while the register itself is gone, nobody can move on."""
        stood_still = self._beats.get(one.id) == one.beats
        self._beats[one.id] = one.beats
        missed = self._missed[one.id] = self._missed.get(one.id, 0) + 1 if stood_still else 0
        if missed == MISSED:
            _log.warning("gateway %s at %s gives no sign of life any more", one.id, one.url)
            self._tell_gone(one.id)

    def _tell_gone(self, replica_id: str) -> None:
        if self.on_gone is not None:
            self.on_gone(replica_id)


def _marked(value: Any) -> re.Match[str] | None:
    return _MARKED.fullmatch(value) if isinstance(value, str) else None
