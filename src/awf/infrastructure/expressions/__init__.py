"""Templates and conditions: plain paths read directly, the rest through Jinja and CEL."""

from awf.infrastructure.expressions.language import ExpressionLanguage

__all__ = ["ExpressionLanguage"]
