"""A turn of the event loop, or two: what has come is taken in, then what follows from all of it is done together."""

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

    @property
    def looks(self) -> int:
        """Another number as soon as something may have come in this turn that was not there when it began."""
        ...

    def at_end(self, work: Callable[[], None], *, patient: bool = False) -> None:
        """Done when everything that has come in this turn was taken in, in the order in which it was asked for.

        `patient`, where nothing was asked for yet: the loop looks once more for what has come meanwhile, which belongs to it, too.
        """
        ...
