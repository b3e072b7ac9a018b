from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from awf.domain.events import Stamped

__all__ = ["View"]


class View(Protocol):
    """Shows a run to somebody: hears every event in order, secrets already masked."""

    def on_event(self, stamped: Stamped) -> None: ...

    def close(self) -> None:
        """No more events will come. May be called twice."""
        ...
