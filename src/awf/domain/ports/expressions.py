"""Templates and conditions: what they refer to, and what they come to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "CompiledCondition",
    "CompiledTemplate",
    "Conditions",
    "ExpressionError",
    "Expressions",
    "FirstMatch",
    "Reference",
]


class ExpressionError(Exception):
    """A template or condition that cannot be parsed or evaluated. `offset` is a position in its text."""

    def __init__(self, message: str, *, offset: int = 0, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.hint = hint


class Reference(msgspec.Struct, frozen=True):
    """A name that is used: ``states.build.output`` is ``("states", "build", "output")``.

    Only the statically known beginning is given; `guarded` means that it may be undefined (`default`, `is defined`, has()).
    """

    parts: tuple[str, ...]
    offset: int = 0
    guarded: bool = False


class CompiledTemplate(Protocol):
    @property
    def references(self) -> tuple[Reference, ...]: ...
    def render(self, context: Mapping[str, Any]) -> str: ...
    def value(self, context: Mapping[str, Any]) -> Any:
        """Like render, but a template that is one placeholder and nothing else keeps the type of its value."""
        ...


class CompiledCondition(Protocol):
    @property
    def references(self) -> tuple[Reference, ...]: ...
    def holds(self, context: Mapping[str, Any]) -> bool: ...


class Expressions(Protocol):
    def template(self, text: str) -> CompiledTemplate:
        """Compile (or take from the cache). Raises `ExpressionError`."""
        ...

    def condition(self, text: str) -> CompiledCondition: ...


class FirstMatch(Protocol):
    """Lists of conditions over one document."""

    @property
    def references(self) -> tuple[Reference, ...]: ...
    def facts(self, document: Mapping[str, Any]) -> Any:
        """What the conditions need of it, converted once. Raises `ExpressionError`."""
        ...

    def put(self, facts: Any, name: str, value: str) -> None:
        """Give one name another value."""
        ...

    def first_in(self, document: Mapping[str, Any]) -> int:
        """The place of the first one that holds in the only list; -1: none. Raises `ExpressionError`."""
        ...

    def glance(self) -> Callable[[Any], int | None] | None:
        """The same for arguments alone, where only texts among them have a say. None: there is more to it.

        What it gives is None where one of them is no text: then `first_in` knows.
        """
        ...

    def first(self, facts: Any, which: int = 0, document: Mapping[str, Any] | None = None) -> int:
        """The place of the first one that holds in this list; -1: none. Raises `ExpressionError`, which says more when
        it is given the document.
        """
        ...


class Conditions(Protocol):
    """The part of the language that rules are made of."""

    def condition(self, text: str) -> CompiledCondition: ...

    def first_match(self, lists: Sequence[Sequence[str]]) -> FirstMatch:
        """Raises `ExpressionError` for a condition that cannot be parsed."""
        ...
