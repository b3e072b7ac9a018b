"""Who hears of changes: the audit, and listeners in this process."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from awf.domain.audit import AuditKind
    from awf.domain.label import Label

__all__ = ["Listeners", "Tell", "label_text", "tell_nobody", "told"]

T = TypeVar("T")
# Keys of the details are those of `AuditEntry` where it has such a field; the others belong into its `details`.
Tell = Callable[["AuditKind", dict[str, Any]], Awaitable[None] | None]
_log = logging.getLogger("awf.gate")


def tell_nobody(kind: AuditKind, details: dict[str, Any]) -> None:
    """For services of which nobody keeps a record."""


async def told(tell: Tell, kind: AuditKind, details: dict[str, Any]) -> None:
    """It is recorded when this returns. A failure is the caller's: a change that nobody can prove must show."""
    pending = tell(kind, details)
    if pending is not None:
        await pending


def label_text(label: Label) -> str:
    return f"{label.confidentiality}/{label.integrity}"


class Listeners(Generic[T]):
    """They are told at once, in the order in which they came. One that fails keeps nobody from anything."""

    def __init__(self) -> None:
        self._all: list[Callable[[T], None]] = []

    def add(self, listener: Callable[[T], None]) -> Callable[[], None]:
        """What ends it again."""
        self._all.append(listener)
        return lambda: self._all.remove(listener) if listener in self._all else None

    def tell(self, news: T) -> None:
        for listener in tuple(self._all):
            try:
                listener(news)
            except Exception:  # noqa: BLE001  the change has happened, whoever cannot hear of it
                _log.exception("a listener of the gate failed")
