"""What the work of an agent has read so far, as labels. They rise before a result is handed out, and never fall by themselves.

Of each context the process remembers the worst it has seen since the last reset (`later`). Looks into the store may come back in
any order: an old one changes nothing. Whether what is remembered may be used without a look is another matter (`Freshness`).
"""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

import msgspec

from awf.application.gate.freshness import TTL_SECONDS, Freshness
from awf.application.gate.telling import Listeners, label_text, tell_nobody, told
from awf.domain.errors import AwfError
from awf.domain.gate_file import Levels
from awf.domain.label import PLAIN, Label, joined
from awf.domain.security_context import SecurityContext, is_context_id, later

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.application.gate.telling import Tell
    from awf.domain.ports.context_store import ContextStore

__all__ = ["Contexts", "LabelChange"]

_MOST_PLAIN = 10_000  # clients can name any context; those that have read nothing need not be remembered


class LabelChange(msgspec.Struct, frozen=True):
    context_id: str
    before: Label
    after: Label
    by: str  # the tool; empty where another process saw it, and for a reset

    @property
    def rose(self) -> bool:
        return not self.before.covers(self.after)


class Contexts:
    def __init__(
        self,
        store: ContextStore,
        clock: Callable[[], float] = time.time,
        levels: Levels | None = None,
        *,
        ttl: float = TTL_SECONDS,
        tell: Tell = tell_nobody,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self.version = store.version  # another number as soon as any has changed, in whichever process
        self._clock = clock
        self._minted_only = (levels or Levels()).contexts == "minted"
        self._tell = tell
        self._fresh = Freshness(store.version, ttl, ticks)
        self._refreshed: int | None = None  # the version at the last look at all of them
        self._known: dict[str, SecurityContext] = {}
        self._labels: dict[str, Label] = {}  # of those that may be used as long as the version is the same
        self.turns = 0  # another number as soon as one of them may be another one
        self._owed: dict[str, Label] = {}  # what is known here, and may not be in the store yet
        self._listeners: Listeners[LabelChange] = Listeners()

    def listen(self, listener: Callable[[LabelChange], None]) -> Callable[[], None]:
        """Hear of every label that changes, as far as this process sees it. Gives what ends it."""
        return self._listeners.add(listener)

    def apply(self, levels: Levels) -> None:
        """The file says something else now."""
        self._minted_only = levels.contexts == "minted"
        self._forget()

    # -- asked with every call ---------------------------------------------------------------------------------------

    def label(self, context_id: str) -> Label | None:
        """None: not known, or it may be stale; `await load()` gives it."""
        fresh = self._fresh
        if fresh.ticks() >= fresh.until and not fresh.holds():
            return None
        return self._labels.get(context_id)

    def label_at(self, context_id: str, version: int) -> Label | None:
        """The same where this is the version of the store. None: not known, or not as it was then."""
        if context_id in self._owed or self._fresh.seen != version:
            return None
        return self._labels.get(context_id)

    def label_now(self, context_id: str) -> Label | None:
        """The same without any moment's delay: a secret that went to this agent through another process counts.

        None: `await load()` gives it. Raises `AwfError` when nobody can say.
        """
        if not self._store.at_once:
            return None
        self._look()
        return self._labels.get(context_id)

    def has(self, context_id: str, label: Label) -> bool:
        """Whether mixing it in would change nothing. Saves a call the await of `raise_` once it was told True.

        It asks the store for its version each time: a label that another process has reset just now must be written again.
        Raises `AwfError` when that is impossible.
        """
        known = self.label_now(context_id)
        return known is not None and known.covers(label) and context_id not in self._owed

    async def load(self, context_id: str) -> Label:
        """Raises `AwfError`: USER.CONTEXT.INVALID, and USER.CONTEXT.UNKNOWN where only minted ones count."""
        _check(context_id)
        looked = self._look()
        context = self._remember(await self._admitted(context_id))
        if looked[0] == self._fresh.seen:
            self._labels[context_id] = context.label
        return context.label

    async def _admitted(self, context_id: str) -> SecurityContext:
        found = await self._store.find(context_id)
        if self._minted_only and (found is None or not found.minted):
            raise _unknown(context_id, "that was made by a person")
        return found or SecurityContext(context_id=context_id)

    async def refresh(self) -> None:
        """Look at the known ones again if anything has changed in the store, so that listeners hear of it without a call."""
        version = self._look()[0]
        if version == self._refreshed:
            return
        for context in await self._store.contexts():
            if context.context_id in self._known:
                self._remember(context)
        self._refreshed = version  # only now: what could not be looked at is looked at the next time

    # -- changes -----------------------------------------------------------------------------------------------------

    async def raise_(self, context_id: str, label: Label, by: str) -> Label:
        """Mix a label in; the label from now on. It is safe in the store when this returns; only then hand the result out.

        Calls in this process see it from the first moment. Raises `AwfError` as `load` does, and when it cannot be kept.
        """
        before = self.label_now(context_id)
        if before is None:
            before = await self.load(context_id)
        owed = self._owed.get(context_id)
        if owed is None and before.covers(label):
            return before
        wanted = self._owed[context_id] = label if owed is None else joined(owed, label)
        self._mix_in(context_id, label, by)
        kept = await self._store.raise_label(context_id, wanted, by, self._clock())
        if kept.label.covers(self._owed.get(context_id, PLAIN)):
            self._owed.pop(context_id, None)  # else it stays owed, and is written by the next one
        context = self._remember(kept, by)
        details = {"context": context_id, "tool_id": by, **_both(before, context.label)}
        await told(self._tell, "level_raised", details)
        return context.label

    async def mint(self, context_id: str = "", *, parent: str = "", by: str = "") -> SecurityContext:
        """One that counts also where only minted ones do. Without a name it gets one that nobody can guess.

        It begins with the label of its parent. One that is there keeps what it was, and its label takes the parent's in.
        """
        chosen = context_id or f"ctx_{secrets.token_hex(16)}"
        _check(chosen)
        if parent:
            await self.load(parent)
        made = SecurityContext(context_id=chosen, parent=parent, minted=True, created_at=self._clock())
        context = self._remember(await self._store.add(made))
        if self._minted_only and not context.minted:  # somebody used the name before
            raise _unknown(chosen, "that was made by a person")
        details = {"context": chosen, "parent": parent, "by": by, "label_after": label_text(context.label)}
        await told(self._tell, "context_minted", details)
        return context

    async def child_of(self, parent: str, child: str = "", *, by: str = "") -> SecurityContext:
        """For a sub-agent: whoever starts it may have told it everything it has read itself."""
        return await self.mint(child, parent=parent, by=by)

    async def reset(self, context_id: str, by: str) -> SecurityContext:
        """For a person only: whatever the agent has read, it may go anywhere again. Raises USER.CONTEXT.UNKNOWN."""
        before = await self._store.find(context_id)
        context = await self._store.reset(context_id)
        if before is None or context is None:
            raise _unknown(context_id)
        self._owed.pop(context_id, None)
        self._forget()
        self._remember(context)
        details = {"context": context_id, "by": by, **_both(before.label, context.label)}
        await told(self._tell, "context_reset", details)
        return context

    async def find(self, context_id: str) -> SecurityContext:
        """Raises `AwfError` (USER.CONTEXT.UNKNOWN)."""
        found = await self._store.find(context_id)
        if found is None:
            raise _unknown(context_id)
        return self._remember(found)

    async def seen(self, context_id: str) -> Label:
        """As `load` tells it, also of one that nobody has used yet. For those who only look: nothing is remembered."""
        _check(context_id)
        return (await self._admitted(context_id)).label

    async def all(self) -> list[SecurityContext]:
        return await self._store.contexts()

    # -- what is remembered ------------------------------------------------------------------------------------------

    def _look(self) -> tuple[int, float]:
        looked = self._fresh.look()
        if looked[0] != self._fresh.seen:
            self._forget()
        self._fresh.took(looked)
        return looked

    def _forget(self) -> None:
        self._labels.clear()
        self.turns += 1

    def _mix_in(self, context_id: str, label: Label, by: str) -> None:
        known = self._known.get(context_id) or SecurityContext(context_id=context_id)
        self._remember(msgspec.structs.replace(known, label=joined(known.label, label)), by)

    def _remember(self, seen: SecurityContext, by: str = "") -> SecurityContext:
        known = self._known.get(seen.context_id)
        context = later(known, seen) if known is not None else seen
        if known is None and len(self._known) >= _MOST_PLAIN:
            self._known = {name: one for name, one in self._known.items() if one.label != PLAIN}
            self._forget()
        self._known[seen.context_id] = context
        if seen.context_id in self._labels:  # what is used without a look is never better than what is known
            self._labels[seen.context_id] = context.label
        before = known.label if known is not None else PLAIN
        if context.label != before:
            self.turns += 1
            self._listeners.tell(LabelChange(seen.context_id, before, context.label, by))
        return context


def _check(context_id: str) -> None:
    if not is_context_id(context_id):
        raise AwfError(
            "USER.CONTEXT.INVALID",
            "The id of a security context is a printable text of at most 256 characters.",
            hint="`awf gateway context new` prints one that nobody can guess.",
        )


def _unknown(context_id: str, kind: str = "") -> AwfError:
    return AwfError(
        "USER.CONTEXT.UNKNOWN",
        f"There is no security context '{context_id}' {kind}".rstrip() + ".",
        hint="Make one with `awf gateway context new`, and name it (X-AWF-Context, AWF_CONTEXT); `awf gateway context list` shows those there are.",
    )


def _both(before: Label, after: Label) -> dict[str, str]:
    return {"label_before": label_text(before), "label_after": label_text(after)}
