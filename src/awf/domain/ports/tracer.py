from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

__all__ = ["Attribute", "Span", "Tracer"]

Attribute = str | int | float | bool


class Span(Protocol):
    def set(self, name: str, value: Attribute) -> None: ...
    def fail(self, message: str) -> None: ...


class Tracer(Protocol):
    @property
    def idle(self) -> bool:
        """Whether nobody is told of spans; then they need not be described."""
        ...

    def span(
        self, name: str, attributes: Mapping[str, Attribute] | None = None, *, below: object = None
    ) -> AbstractContextManager[Span]:
        """A span below the current one, or below another place; it ends when the block does."""
        ...

    def place(self, carrier: Mapping[str, str] | None = None) -> object:
        """Where we are in the trace, or where a W3C carrier says: for spans of work that comes in from elsewhere."""
        ...

    def carrier(self) -> dict[str, str]:
        """Environment variables that hand the current span to a child process."""
        ...

    def close(self) -> None: ...
