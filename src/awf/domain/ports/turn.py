"""One turn of the event loop: what has come is taken in, then what follows from all of it is done together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Turn"]


class Turn(Protocol):
    @property
    def is_ending(self) -> bool:
        """Whether that is being done now, so that what is asked for is done in a moment."""
        ...

    def at_end(self, work: Callable[[], None]) -> None:
        """Done when everything that has come in this turn was taken in, in the order in which it was asked for."""
        ...
