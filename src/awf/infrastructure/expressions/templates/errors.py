"""Jinja's exceptions, put for the person who wrote the template."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2.exceptions import SecurityError

from awf.domain.ports.expressions import ExpressionError
from awf.infrastructure.expressions.failures import not_defined
from awf.infrastructure.expressions.templates.absent import MissingValueError
from awf.infrastructure.expressions.templates.plain import template_remedy
from awf.infrastructure.expressions.templates.tree import RefusedError
from awf.infrastructure.expressions.values import MISSING, Part, follow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jinja2 import Template, TemplateSyntaxError

    from awf.infrastructure.expressions.templates.references import Use
    from awf.infrastructure.expressions.templates.source_map import Rewritten

__all__ = ["Diagnosis", "syntax_error"]

_SYNTAX_HINT = "Templates are Jinja: {{ inputs.name }}, {{ value | filter }}, {% if a == b %}…{% endif %}."
_DICT_METHODS = {"items": "items", "keys": "list", "values": "items", "get": "default"}
_EXPECTED = re.compile(r"expected token '(?P<expected>[^']*)', got '(?P<got>.*)'$", re.DOTALL)
_UNCLOSED = re.compile(r"innermost block that needs to be closed is '(?P<tag>\w+)'")
_QUOTES = {repr("'"), repr('"')}
_STRANGE = re.compile(r"unexpected char (?P<char>.+) at \d+$", re.DOTALL)


def syntax_error(error: TemplateSyntaxError, rewritten: Rewritten) -> ExpressionError:
    offset = rewritten.origin(min(error.lineno - 1, len(rewritten.text)))
    if isinstance(error, RefusedError):
        return ExpressionError(error.message or "", offset=offset, hint=error.hint)
    if unclosed := _UNCLOSED.search(error.message or ""):
        tag = unclosed["tag"]
        opened = rewritten.origin(_last_open(rewritten.text, tag))
        return ExpressionError(
            f"{{% {tag} %}} is not closed", offset=opened, hint=f"End it with {{% end{tag} %}}."
        )
    return ExpressionError(_readable(error.message or ""), offset=offset, hint=_SYNTAX_HINT)


def _last_open(text: str, tag: str) -> int:
    opened = [0]
    for found in re.finditer(rf"\{{%[-+]?\s*(end)?{tag}\b", text):
        if found[1] is None:
            opened.append(found.start())
        elif len(opened) > 1:
            opened.pop()
    return opened[-1]


def _readable(message: str) -> str:
    if strange := _STRANGE.match(message):
        character = strange["char"]
        return "A quote is not closed" if character in _QUOTES else f"{character} was not expected here"
    if expected := _EXPECTED.match(message):
        wanted, got = expected["expected"], expected["got"]
        if got.startswith("end of"):
            return f"Something is missing at the end: {wanted!r} was expected"
        return f"{got!r} was not expected here"
    return message[:1].upper() + message[1:].removesuffix(".")


class Diagnosis(NamedTuple):
    """What is needed to say where and why a template failed."""

    template: Template | None
    rewritten: Rewritten
    uses: tuple[Use, ...]
    start: int

    def of(self, error: Exception, context: Mapping[str, Any]) -> ExpressionError:
        at = self._place(error)
        offset = self.rewritten.origin(at)
        if isinstance(error, MissingValueError):
            return self._missing(error, context, at)
        if isinstance(error, SecurityError):
            return ExpressionError(
                f"The template reaches for something it may not use: {error}",
                offset=offset,
                hint="Templates can use values and filters, not the objects behind them.",
            )
        if isinstance(error, RecursionError | SyntaxError | MemoryError):
            return ExpressionError("The template is nested too deeply or too large", offset=offset)
        reason = str(error) or type(error).__name__
        return ExpressionError(f"The template cannot be filled in: {reason}", offset=offset)

    def _place(self, error: Exception) -> int:
        """The position of the block that was being rendered, from the line of the generated code."""
        trace, place = error.__traceback__, self.start
        known = self.template.root_render_func.__globals__ if self.template else None
        while trace is not None:
            if trace.tb_frame.f_globals is known and self.template is not None:
                place = self.template.get_corresponding_lineno(trace.tb_lineno) - 1
            trace = trace.tb_next
        return place

    def _missing(self, error: MissingValueError, context: Mapping[str, Any], at: int) -> ExpressionError:
        candidates = list(self._candidates(error.tail, context))
        use = min(
            candidates, key=lambda use: (not use.free, use.offset > at, abs(use.offset - at)), default=None
        )
        path = error.tail if use is None else use.reached
        place = at if use is None else use.offset
        return not_defined(path, context, self.rewritten.origin(place), remedy=_remedy(path))

    def _candidates(self, tail: tuple[Part, ...], context: Mapping[str, Any]) -> Iterator[Use]:
        """The paths in the template that end in this missing tail."""
        for use in self.uses:
            if use.reached[-len(tail) :] == tail and _leads_nowhere(use, context):
                yield use


def _leads_nowhere(use: Use, context: Mapping[str, Any]) -> bool:
    return not use.free or follow(context, use.reached) is MISSING


def _remedy(path: tuple[Part, ...]) -> str:
    if path[-1] in _DICT_METHODS:
        return f"Keys are looked up here, not methods; there is a filter for it: | {_DICT_METHODS[str(path[-1])]}."
    return template_remedy(path)
