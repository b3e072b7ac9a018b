"""Inputs: text from a command line becomes typed values, and rules are kept."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any

from awf.domain.problem import suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from awf.domain.workflow import Input

__all__ = ["check_value", "resolve_inputs"]

_TRUE, _FALSE = {"true", "yes", "1", "on"}, {"false", "no", "0", "off"}
_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def _coerce(kind: str, value: Any) -> Any:
    """The value in its type; raises ValueError with what was wanted."""
    if isinstance(value, bool) and kind != "boolean":
        if kind == "string":
            return "true" if value else "false"
        raise ValueError
    if isinstance(value, _PYTHON_TYPES[kind]):
        return value
    if kind == "string" and isinstance(value, int | float):
        return str(value)
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, str):
        raise ValueError  # noqa: TRY004  one exception for every misfit
    return _from_text(kind, value.strip())


def _from_text(kind: str, text: str) -> Any:
    if kind == "integer":
        return int(text, 10)
    if kind == "number":
        number = float(text)
        return int(number) if number.is_integer() and re.fullmatch(r"[-+]?\d+", text) else number
    if kind == "boolean" and text.lower() in _TRUE | _FALSE:
        return text.lower() in _TRUE
    if kind == "array" and not text.startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    if kind in {"array", "object"}:
        import json

        parsed = json.loads(text)
        if isinstance(parsed, _PYTHON_TYPES[kind]):
            return parsed
    raise ValueError


_WANTED = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list (JSON, or values separated by commas)",
    "object": "a JSON object",
}


def check_value(
    item: Input, value: Any, *, is_file: Callable[[str], bool] | None = None
) -> tuple[Any, list[str]]:
    """The typed value, and what is wrong with it."""
    try:
        typed = _coerce(item.type, value)
    except ValueError:
        return value, [f"'{item.name}' must be {_WANTED[item.type]}, not {value!r}."]
    wrong: list[str] = []
    allowed = item.enum if item.enum is not None else item.validation.enum if item.validation else None
    if allowed is not None and typed not in allowed:
        wrong += _not_among(item.name, typed if isinstance(typed, list) else [typed], allowed)
    if item.validation:
        wrong += _rules(item, typed, is_file=is_file)
    return typed, wrong


def _not_among(name: str, chosen: list[Any], allowed: list[Any]) -> list[str]:
    """Of a list, every item is to be one of those allowed."""
    choices = [str(choice) for choice in allowed]
    for one in chosen:
        if str(one) not in choices:
            close = suggest(str(one), choices)
            hint = f" (did you mean {close}?)" if close else ""
            return [f"'{name}' must be one of {', '.join(choices)}{hint}."]
    return []


def _rules(item: Input, value: Any, *, is_file: Callable[[str], bool] | None) -> list[str]:
    rules = item.validation
    assert rules is not None
    wrong = []
    if rules.pattern is not None and isinstance(value, str) and not re.search(rules.pattern, value):
        wrong.append(f"'{item.name}' must match {rules.pattern}.")
    if rules.min is not None and isinstance(value, int | float) and value < rules.min:
        wrong.append(f"'{item.name}' must be at least {rules.min:g}.")
    if rules.max is not None and isinstance(value, int | float) and value > rules.max:
        wrong.append(f"'{item.name}' must be at most {rules.max:g}.")
    if is_file and rules.file_exists and not is_file(str(value)):
        wrong.append(f"'{item.name}' must be an existing file; there is no {value}.")
    if rules.file_extension and posixpath.splitext(str(value))[1] not in rules.file_extension:
        wrong.append(f"'{item.name}' must end with {' or '.join(rules.file_extension)}.")
    return wrong


def resolve_inputs(
    declared: Sequence[Input], given: Mapping[str, Any], *, is_file: Callable[[str], bool] | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Typed values for every declared input (absent optional ones are None), and all that is wrong."""
    values: dict[str, Any] = {}
    wrong: list[str] = []
    names = [item.name for item in declared]
    for name in given:
        if name not in names:
            close = suggest(name, names)
            wrong.append(
                f"'{name}' is not an input of this workflow{f' (did you mean {close}?)' if close else ''}."
            )
    for item in declared:
        value = given.get(item.name, item.default)
        if value is None or (item.required and value == ""):
            values[item.name] = None if item.type != "string" or value is None else value
            if item.required:
                wrong.append(
                    f"'{item.name}' is required{f': {item.description}' if item.description else ''}."
                )
            continue
        values[item.name], problems = check_value(item, value, is_file=is_file)
        wrong += problems
    return values, wrong
