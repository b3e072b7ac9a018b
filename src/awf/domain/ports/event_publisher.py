from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from awf.domain.events import Stamped

__all__ = ["EventListener"]


class EventListener(Protocol):
    """Hears every event of a run, in order, after secrets have been masked."""

    def __call__(self, stamped: Stamped) -> None: ...
