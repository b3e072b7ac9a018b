"""The CEL library's exceptions, put for the person who wrote the condition."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from awf.domain.ports.expressions import ExpressionError, Reference
from awf.infrastructure.expressions.conditions.functions import ARITIES
from awf.infrastructure.expressions.failures import not_defined
from awf.infrastructure.expressions.values import MISSING, dotted, follow, steps

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["explain", "not_boolean"]

_SHOWN = 40
_KINDS = {bool: "true or false", int: "a number", float: "a number", str: "text", type(None): "null"}
_UNDEFINED = re.compile(r"Undefined variable or function: '(?P<name>\w+)'")
_FUNCTION = re.compile(r"Function '(?P<name>\w+)' error: (?P<reason>.*?)(?:\. Check function|$)", re.DOTALL)


def explain(
    error: BaseException, references: Sequence[Reference], context: Mapping[str, Any]
) -> ExpressionError:
    """Most failures come from a path that leads nowhere, or from values of the wrong kind."""
    message = str(error)
    undefined = _UNDEFINED.match(message)
    if isinstance(error, KeyError | IndexError | TypeError) or undefined:
        absent = [r for r in references if follow(context, steps(r.parts)) is MISSING]
        if absent:
            return _missing(absent, str(error.args[0] if error.args else ""), context)
    if isinstance(error, TypeError) or (undefined and undefined["name"] in ARITIES):
        return _mismatch(references, context)
    if isinstance(error, KeyError):
        return ExpressionError(
            f"There is no key {message}", hint="Ask first: 'name' in states.build.json && …"
        )
    if failed := _FUNCTION.match(message):
        return _function_failed(failed["name"], failed["reason"].splitlines()[0], references)
    reason = message.splitlines()[0] if message else type(error).__name__
    return ExpressionError(f"The condition cannot be evaluated: {reason}")


def _missing(absent: Sequence[Reference], key: str, context: Mapping[str, Any]) -> ExpressionError:
    """`key` is what the library looked for; of several absent paths, the one that has it is meant."""
    found = next((r for r in absent if key in r.parts), absent[0])
    path = dotted(found.parts)
    return not_defined(
        found.parts, context, found.offset, remedy=f"If it may be missing, ask first: has({path}) && …"
    )


def _mismatch(references: Sequence[Reference], context: Mapping[str, Any]) -> ExpressionError:
    kinds = {dotted(r.parts): _kind(follow(context, steps(r.parts))) for r in references}
    listed = ", ".join(f"{path} is {kind}" for path, kind in kinds.items())
    text = next((path for path, kind in kinds.items() if kind == "text"), "")
    null = next((path for path, kind in kinds.items() if kind == "null"), "")
    if null:
        hint = f"Ask first: {null} != null && …"
    elif text:
        hint = f"Text has no order with numbers, and is not true or false. Convert it: int({text})."
    else:
        hint = "Convert with int(…), double(…) or string(…)."
    message = "The values do not fit the operators" + (f": {listed}" if listed else "")
    return ExpressionError(message, offset=references[0].offset if references else 0, hint=hint)


def _kind(value: Any) -> str:
    if isinstance(value, Mapping):
        return "an object"
    return "missing" if value is MISSING else _KINDS.get(type(value), "a list")


def _function_failed(name: str, reason: str, references: Sequence[Reference]) -> ExpressionError:
    hint = ""
    if name in {"int", "double", "uint"} and references:
        hint = f"Is there a line break at its end? {name}(trim({dotted(references[0].parts)})) takes it off."
    return ExpressionError(f"{name}(…) failed: {reason}", hint=hint)


def not_boolean(result: Any) -> ExpressionError:
    seen = "" if result is None else f" ({_short(result)})"
    return ExpressionError(
        f"The condition came to {_kind(result)}{seen}, not to true or false",
        hint="Compare it with something: … == 'yes'.",
    )


def _short(result: Any) -> str:
    text = repr(result) if isinstance(result, str) else str(result)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
