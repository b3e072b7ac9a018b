"""Texts written for the first AWF, put the way this one reads them. Modern texts keep their meaning."""

from __future__ import annotations

__all__ = ["normalise_condition", "normalise_template"]


def normalise_template(text: str) -> str:
    """The template in Jinja. Raises `ExpressionError` for Go forms that have no translation."""
    from awf.infrastructure.expressions.templates.rewriting import rewrite_template

    return rewrite_template(text).text


def normalise_condition(text: str) -> str:
    """The condition in CEL. Raises `ExpressionError` if it cannot be read."""
    from awf.infrastructure.expressions.conditions.parser import parse
    from awf.infrastructure.expressions.conditions.writer import written

    return written(parse(text))
