"""Jinja, sandboxed and set up for workflows.

Tokens are numbered by their position in the text (plus one) instead of by line. Nodes, syntax errors and the debug
information of compiled templates inherit the number, so that every error can point at a place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from jinja2 import TemplateSyntaxError
from jinja2.lexer import TokenStream
from jinja2.sandbox import ImmutableSandboxedEnvironment

from awf.infrastructure.expressions.templates.absent import Absent, final_text
from awf.infrastructure.expressions.templates.filters import FILTERS
from awf.infrastructure.expressions.values import MISSING, child

if TYPE_CHECKING:
    from jinja2.runtime import Context

__all__ = ["WorkflowEnvironment", "environment"]

_LARGEST_PRODUCT = 10_000_000  # characters or items of a repeated value
_LARGEST_NUMBER = 10_000  # bits


class WorkflowEnvironment(ImmutableSandboxedEnvironment):
    """Dots and subscripts reach keys and indexes of data, never attributes of the objects that hold it."""

    intercepted_binops = frozenset({"*", "**"})

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, Absent):
            return obj.below(attribute)
        if obj is None or isinstance(obj, Mapping | int | float):
            return self._child(obj, attribute)
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(obj, Absent):
            return obj.below(argument)
        if obj is None or isinstance(obj, Mapping | int | float):
            return self._child(obj, argument)
        return super().getitem(obj, argument)

    def _child(self, obj: Any, part: Any) -> Any:
        found = child(obj, part) if isinstance(part, str | int) else MISSING
        return self.undefined(obj=obj, name=part) if found is MISSING else found

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "*" and _product_size(left, right) > _LARGEST_PRODUCT:
            raise OverflowError("the product is too large")
        if operator == "**" and _bits(left) * abs(right) > _LARGEST_NUMBER:
            raise OverflowError("the power is too large")
        return super().call_binop(context, operator, left, right)

    def _tokenize(
        self, source: str, name: str | None, filename: str | None = None, state: str | None = None
    ) -> TokenStream:
        numbered = _numbered(source, self.lexer.tokeniter(source, name, filename, state))
        return TokenStream(self.lexer.wrap(numbered, name, filename), name, filename)


def _product_size(left: Any, right: Any) -> int:
    """What repeating a text or list would take; for two numbers, the same for their bits."""
    if isinstance(left, int) and isinstance(right, int):
        return (_bits(left) + _bits(right)) * (_LARGEST_PRODUCT // _LARGEST_NUMBER)
    sized, times = (right, left) if isinstance(left, int) else (left, right)
    return len(sized) * times if isinstance(times, int) and hasattr(sized, "__len__") else 0


def _bits(number: Any) -> int:
    return number.bit_length() if isinstance(number, int) else 1


def _numbered(source: str, tokens: Iterator[tuple[int, str, str]]) -> Iterator[tuple[int, str, str]]:
    position = 0
    try:
        for _line, kind, text in tokens:
            position = max(position, source.find(text, position))
            yield position + 1, kind, text
            position += len(text)
    except TemplateSyntaxError as error:
        error.lineno = position + 1
        raise


@lru_cache(maxsize=1)
def environment() -> WorkflowEnvironment:
    made = WorkflowEnvironment(
        undefined=Absent,
        autoescape=False,
        keep_trailing_newline=True,
        finalize=final_text,
        cache_size=0,
        optimized=False,  # folding constants takes cubic time on long chains, and saves nothing here
    )
    made.filters.update(FILTERS)
    del made.globals["lipsum"]
    return made
