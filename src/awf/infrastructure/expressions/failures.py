"""Errors that help to find the way: what is missing, and what was probably meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from awf.domain.ports.expressions import ExpressionError
from awf.domain.problem import suggest
from awf.infrastructure.expressions.values import MISSING, Part, child, dotted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["explained", "not_defined"]


def explained(error: BaseException, explain: Callable[[], ExpressionError]) -> ExpressionError:
    """Looking for the reason reads the context again, which may fail as well."""
    try:
        return explain()
    except Exception:  # noqa: BLE001 (an explanation must not hide what it explains)
        return ExpressionError(f"The value cannot be worked out: {str(error) or type(error).__name__}")


def not_defined(parts: Sequence[Part], context: Any, offset: int, *, remedy: str) -> ExpressionError:
    """The error for a path that leads nowhere, with whatever helps to find the right one."""
    value, known = _last_found(context, parts)
    hints = [_near_miss(value, parts, known), _early_end(parts, known), _minus(parts), remedy]
    return ExpressionError(
        f"{dotted(parts)} is not defined", offset=offset, hint=" ".join(filter(None, hints))
    )


def _last_found(context: Any, parts: Sequence[Part]) -> tuple[Any, int]:
    value, known = context, 0
    while known < len(parts) and (below := child(value, parts[known])) is not MISSING:
        value, known = below, known + 1
    return value, known


def _near_miss(value: Any, parts: Sequence[Part], known: int) -> str:
    if known >= len(parts) or not isinstance(value, Mapping):
        return ""
    meant = suggest(str(parts[known]), [key for key in value if isinstance(key, str)])
    return f"Did you mean {dotted((*parts[:known], meant, *parts[known + 1 :]))}?" if meant else ""


def _early_end(parts: Sequence[Part], known: int) -> str:
    return f"There is no {dotted(parts[: known + 1])}." if 0 < known < len(parts) - 1 else ""


def _minus(parts: Sequence[Part]) -> str:
    joined = any(isinstance(part, str) and "-" in part for part in parts)
    return "To subtract, put spaces around the minus." if joined else ""
