"""Questions to a person about single calls: asked, waited for, answered, and used up.

The store holds them, so that a question outlives whoever waits for its answer: a client that calls again with the same
arguments, also after a restart, finds the question it has asked, or the answer that was given meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from awf.application.gate.refusal import ApprovalRefused
from awf.application.gate.telling import Listeners, tell_nobody, told
from awf.domain.approval import Approval, as_of, is_about
from awf.domain.gate_file import Approvals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from awf.application.gate.telling import Tell
    from awf.domain.ports.approval_store import ApprovalStore

__all__ = ["ApprovalDesk", "ApprovalNews"]

_POLL_SECONDS = 0.25  # how late an answer that another process was given may be seen
_MANY = 256
_KEPT_SECONDS = 30 * 86400.0
_NEVER = 253402300799.0  # the end of the year 9999


class ApprovalNews(msgspec.Struct, frozen=True):
    kind: Literal["approval_required", "approval_resolved"]
    approval: Approval


class ApprovalDesk:
    def __init__(
        self,
        store: ApprovalStore,
        clock: Callable[[], float] = time.time,
        settings: Approvals | None = None,
        *,
        tell: Tell = tell_nobody,
        poll: float = _POLL_SECONDS,
    ) -> None:
        self.settings = settings or Approvals()  # may be exchanged while calls wait
        self._store = store
        self._clock = clock
        self._tell = tell
        self._poll = poll
        self._bells: dict[str, set[asyncio.Event]] = {}
        self._announced: set[str] = set()  # questions whose end the listeners have not heard of
        self._listeners: Listeners[ApprovalNews] = Listeners()

    def listen(self, listener: Callable[[ApprovalNews], None]) -> Callable[[], None]:
        """Hear of questions that are asked here, and of their end wherever they are answered. Gives what ends it."""
        return self._listeners.add(listener)

    # -- asking ------------------------------------------------------------------------------------------------------

    async def request(
        self,
        tool_id: str,
        arguments_hash: str,
        context: str,
        reason: str = "",
        rule: str = "",
        summary: str = "",
        client: str = "",
    ) -> Approval:
        """The question about just this call: a new one, or the one that is open, or was granted and not used yet."""
        now = self._clock()
        await self._close_overdue(now)
        mine = Approval(
            approval_id=f"approval_{secrets.token_hex(8)}",
            tool_id=tool_id,
            arguments_hash=arguments_hash,
            context=context,
            asked_at=now,
            expires_at=now + self.settings.valid,
            reason=reason,
            rule=rule,
            summary=summary,
            client=client,
        )
        approval = await self._store.ask(mine)
        if approval.approval_id == mine.approval_id:
            await self._store.forget(now - _KEPT_SECONDS)
            await told(self._tell, "approval_required", _details(approval))
        if approval.status == "pending" and approval.approval_id not in self._announced:
            if len(self._announced) >= _MANY:  # clients that did not wait for the end
                await self.open_ones()
            self._announced.add(approval.approval_id)
            self._listeners.tell(ApprovalNews("approval_required", approval))
        return approval

    async def wait(self, approval_id: str, timeout: float | None = None) -> Approval:
        """Until it is decided or over; after the timeout it is still pending. Raises `ApprovalRefused` if there is none."""
        limit = asyncio.get_running_loop().time() + (self.settings.wait if timeout is None else timeout)
        with self._bell(approval_id) as bell:
            version: int | None = None
            approval = None
            while True:
                bell.clear()
                now = self._store.version()
                if approval is None or now != version:
                    approval, version = await self._found(approval_id), now
                approval = await self._ended(approval)
                left = limit - asyncio.get_running_loop().time()
                if approval.status != "pending" or left <= 0:
                    return approval
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(self._poll, left)):
                        await bell.wait()

    async def _ended(self, approval: Approval) -> Approval:
        """As it stands now; whoever listens hears of an end that came from elsewhere, or with time."""
        approval = as_of(approval, self._clock())
        if approval.status == "expired":
            await self._close_overdue(self._clock())
        if approval.status != "pending":
            self._announce_end(approval)
        return approval

    @contextlib.contextmanager
    def _bell(self, approval_id: str) -> Iterator[asyncio.Event]:
        bell = asyncio.Event()
        bells = self._bells.setdefault(approval_id, set())
        bells.add(bell)
        try:
            yield bell
        finally:
            bells.discard(bell)
            if not bells:
                self._bells.pop(approval_id, None)

    # -- answering ---------------------------------------------------------------------------------------------------

    async def decide(self, approval_id: str, *, granted: bool, by: str) -> Approval:
        """Answer an open question, whoever asked it. Raises `ApprovalRefused` when it is not open."""
        now = self._clock()
        approval = await self._store.decide(approval_id, granted=granted, by=by, now=now)
        if approval is None:
            raise ApprovalRefused(approval_id, as_of(await self._found(approval_id), now).status)
        await told(self._tell, "approval_resolved", _details(approval))
        self._announce_end(approval)
        return approval

    async def take(self, approval: Approval) -> Approval:
        """Use it for the call that it was requested for. Raises `ApprovalRefused`; nobody else gets it after this."""
        return await self.take_named(
            approval.approval_id, approval.tool_id, approval.arguments_hash, approval.context
        )

    async def take_named(self, approval_id: str, tool_id: str, arguments_hash: str, context: str) -> Approval:
        """The same for an id that a caller brings. What was asked never changes, so it may be compared before."""
        now = self._clock()
        approval = as_of(await self._found(approval_id), now)
        if not is_about(approval, tool_id, arguments_hash, context):
            raise ApprovalRefused(approval_id, "foreign")
        if approval.status != "granted":
            raise ApprovalRefused(approval_id, approval.status)
        if not await self._store.use(approval_id, now):  # somebody was faster
            raise ApprovalRefused(approval_id, as_of(await self._found(approval_id), now).status)
        return msgspec.structs.replace(approval, status="used")

    async def claim(self, approval_id: str, tool_id: str, arguments_hash: str, context: str) -> Approval:
        """One that was given elsewhere, for the first call that brings it: from now on it is known here, as used.

        It is never forgotten, so that nobody can bring it again. Raises `ApprovalRefused`.
        """
        now = self._clock()
        approval = Approval(
            approval_id=approval_id,
            tool_id=tool_id,
            arguments_hash=arguments_hash,
            context=context,
            asked_at=now,
            expires_at=_NEVER,
            status="used",
            decided_at=now,
            decided_by="whoever granted it",
        )
        if not await self._store.claim(approval):
            raise ApprovalRefused(approval_id, "used")
        await told(self._tell, "approval_resolved", _details(approval))
        return approval

    # -- looking -----------------------------------------------------------------------------------------------------

    def version(self) -> int:
        """Another number as soon as anything was asked or answered, in whichever process. Raises `AwfError`."""
        return self._store.version()

    async def find(self, approval_id: str) -> Approval | None:
        found = await self._store.find(approval_id)
        return as_of(found, self._clock()) if found is not None else None

    async def open_ones(self) -> list[Approval]:
        """In the order in which they were asked, whoever asked them. Listeners hear of those that ended elsewhere."""
        now = self._clock()
        await self._close_overdue(now)
        found = await self._store.open_ones(now)
        for approval_id in self._announced - {approval.approval_id for approval in found}:
            if (ended := await self.find(approval_id)) is not None and ended.status != "pending":
                self._announce_end(ended)
        return found

    async def _found(self, approval_id: str) -> Approval:
        found = await self._store.find(approval_id)
        if found is None:
            raise ApprovalRefused(approval_id, "unknown")
        return found

    async def _close_overdue(self, now: float) -> None:
        for approval in await self._store.expire(now):
            await told(self._tell, "approval_resolved", _details(approval))
            self._announce_end(approval)

    def _announce_end(self, approval: Approval) -> None:
        for bell in self._bells.get(approval.approval_id, ()):
            bell.set()
        if approval.approval_id in self._announced:
            self._announced.discard(approval.approval_id)
            self._listeners.tell(ApprovalNews("approval_resolved", approval))


def _details(approval: Approval) -> dict[str, Any]:
    return {
        "tool_id": approval.tool_id,
        "context": approval.context,
        "client": approval.client,
        "reason": approval.reason,
        "rule": approval.rule,
        "approval_id": approval.approval_id,
        "status": approval.status,
        "decided_by": approval.decided_by,
    }
