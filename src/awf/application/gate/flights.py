"""Calls under way that reach others. When their context learns a secret, they are stopped where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.domain.label import PLAIN, joined

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.application.gate.contexts import LabelChange
    from awf.application.gate.level_watch import LevelWatch
    from awf.application.gate.passage import Passage

__all__ = ["Flights"]


class Flights:
    """It listens while there is anything to stop, also when another gate has taken the place of its own."""

    def __init__(
        self,
        listen: Callable[[Callable[[LabelChange], None]], Callable[[], None]],
        watch: LevelWatch | None = None,
    ) -> None:
        """`watch`: sees to it that what other processes raise is heard, too."""
        self._listen = listen
        self._watch = watch
        self._forget: Callable[[], None] | None = None
        self._by_context: dict[str, set[Passage]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_context.values()))

    def begin(self, passage: Passage) -> None:
        if self._forget is None:
            self._forget = self._listen(self.changed)
            if self._watch is not None:
                self._watch.begin(lambda: self._by_context)
        self._by_context.setdefault(passage.origin.context, set()).add(passage)

    def end(self, passage: Passage) -> None:
        flying = self._by_context.get(passage.origin.context)
        if flying is not None:
            flying.discard(passage)
            if not flying:
                del self._by_context[passage.origin.context]
        if not self._by_context and self._forget is not None:
            self._forget()
            self._forget = None
            if self._watch is not None:
                self._watch.end()

    def changed(self, change: LabelChange) -> None:
        """What was sent already cannot be called back; nothing more is sent, and no answer comes in."""
        label = change.after
        if label.confidentiality == "public":
            return
        for passage in list(self._by_context.get(change.context_id, ())):
            if passage.revoked or _brings_it(passage, change):
                continue
            end = "was stopped, and may have happened" if passage.under_way else "was not made"
            passage.revoked = (
                f"{passage.tool.facts.name} reaches others, and this agent has come to know something "
                f"{label.confidentiality} meanwhile. The call {end}."
            )
            if passage.under_way and passage.task is not None:
                passage.task.cancel()


def _brings_it(passage: Passage, change: LabelChange) -> bool:
    """What a call itself is about to tell is no reason to stop it; what its agent learns meanwhile from others is."""
    if not passage.raising or change.by not in ("", passage.tool.facts.id):
        return False
    return joined(passage.label or PLAIN, passage.tool.label).covers(change.after)
