"""The language of templates and conditions, with a memory for what was compiled before."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from awf.infrastructure.expressions.templates.plain import plain_template

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.domain.ports.expressions import CompiledCondition, CompiledTemplate, FirstMatch

__all__ = ["ExpressionLanguage"]

_LONG = 16_384  # characters; a few long texts may be remembered, not thousands


class ExpressionLanguage:
    """Implements the `Expressions` and `Conditions` ports."""

    def __init__(self, *, remembered: int = 4096) -> None:
        self._templates = lru_cache(maxsize=remembered)(_compile_template)
        self._long_templates = lru_cache(maxsize=max(1, remembered // 128))(_compile_template)
        self._conditions = lru_cache(maxsize=remembered)(_compile_condition)
        self._matches = lru_cache(maxsize=remembered)(_compile_matches)

    def template(self, text: str) -> CompiledTemplate:
        return self._templates(text) if len(text) < _LONG else self._long_templates(text)

    def condition(self, text: str) -> CompiledCondition:
        return self._conditions(text)

    def first_match(self, lists: Sequence[Sequence[str]]) -> FirstMatch:
        return self._matches(tuple(tuple(texts) for texts in lists))


def _compile_template(text: str) -> CompiledTemplate:
    plain = plain_template(text)
    if plain is not None:
        return plain
    from awf.infrastructure.expressions.templates.filtered import filtered_template

    filtered = filtered_template(text)
    if filtered is not None:
        return filtered
    from awf.infrastructure.expressions.templates.jinja import compile_jinja

    return compile_jinja(text)


def _compile_condition(text: str) -> CompiledCondition:
    from awf.infrastructure.expressions.conditions.condition import compile_condition

    return compile_condition(text)


def _compile_matches(lists: tuple[tuple[str, ...], ...]) -> FirstMatch:
    from awf.infrastructure.expressions.conditions.first_match import CelFirstMatch

    return CelFirstMatch(lists)
