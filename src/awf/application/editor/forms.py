"""Inputs that are still needed, asked for with a form of the editor (`elicitation/create`). Secrets never are."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.editor.slash import is_secret
from awf.domain.inputs import check_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from awf.domain.workflow import Input

__all__ = ["form_for", "form_message", "from_form", "missing_inputs", "needed_inputs"]

_MOST_FIELDS = 8  # a longer form is not read
# What only Python's regular expressions know would make an editor refuse the form, or every answer.
_OWN_SYNTAX = re.compile(r"\(\?(?!:)|\\[AZ1-9]|[*+?}]\+")


def missing_inputs(inputs: Sequence[Input], given: Mapping[str, Any]) -> list[Input]:
    """Required ones without a value, in the sense of `resolve_inputs`."""
    return [item for item in inputs if item.required and given.get(item.name, item.default) in (None, "")]


def needed_inputs(
    inputs: Sequence[Input], given: Mapping[str, Any], *, is_file: Callable[[str], bool] | None = None
) -> list[Input]:
    """The missing ones, and those whose value breaks a rule."""
    missing = missing_inputs(inputs, given)
    return [item for item in inputs if item in missing or _is_wrong(item, given, is_file)]


def _is_wrong(item: Input, given: Mapping[str, Any], is_file: Callable[[str], bool] | None) -> bool:
    value = given.get(item.name)
    return value is not None and bool(check_value(item, value, is_file=is_file)[1])


def form_for(
    inputs: Sequence[Input], given: Mapping[str, Any], *, is_file: Callable[[str], bool] | None = None
) -> dict[str, Any] | None:
    """The `requestedSchema` for what is needed, then what has a default, filled in. None: nothing may be asked.

    Optional inputs without a default are left out: a form would return some value for them.
    """
    needed = needed_inputs(inputs, given, is_file=is_file)
    if not needed or any(is_secret(item) for item in needed):
        return None
    changeable = [item for item in inputs if _is_prefilled(item, given) and item not in needed]
    shown = [*needed, *changeable[: max(0, _MOST_FIELDS - len(needed))]]
    return {
        "type": "object",
        "properties": {item.name: _field(item, given, required=item in needed) for item in shown},
        "required": [item.name for item in needed],
    }


def _is_prefilled(item: Input, given: Mapping[str, Any]) -> bool:
    return item.default not in (None, "") and item.name not in given and not is_secret(item)


def _field(item: Input, given: Mapping[str, Any], *, required: bool) -> dict[str, Any]:
    choices = _choices(item)
    if item.type == "boolean":
        field: dict[str, Any] = {"type": "boolean"}
    elif item.type == "array" and _is_flat(choices):
        field = {"type": "array", "items": {"type": "string", "enum": [_text(one) for one in choices]}}
        field |= {"minItems": 1} if required else {}
    elif choices:
        field = {"type": "string", "enum": [_text(one) for one in choices]}
    elif item.type in {"integer", "number"}:
        field = {"type": item.type, **_range(item)}
    else:
        field = _text_field(item, required=required)
    field = {**field, "title": item.name, "description": _description(item, choices)}
    default = _default(item, given.get(item.name, item.default), field)
    return {name: value for name, value in {**field, "default": default}.items() if value not in (None, "")}


def _choices(item: Input) -> list[Any]:
    rules = item.validation
    return (item.enum if item.enum is not None else rules.enum if rules else None) or []


def _is_flat(choices: Sequence[Any]) -> bool:
    return bool(choices) and not any(isinstance(one, list | dict) for one in choices)


def _range(item: Input) -> dict[str, Any]:
    rules = item.validation
    low, high = (rules.min, rules.max) if rules else (None, None)
    if item.type == "integer":
        low, high = (None if low is None else math.ceil(low)), (None if high is None else math.floor(high))
    return {"minimum": low, "maximum": high}


def _text_field(item: Input, *, required: bool) -> dict[str, Any]:
    pattern = item.validation.pattern if item.validation and item.type == "string" else None
    return {
        "type": "string",
        "minLength": 1 if required else None,
        "pattern": pattern if pattern and not _OWN_SYNTAX.search(pattern) else None,
    }


def _description(item: Input, choices: Sequence[Any]) -> str:
    rules = item.validation
    notes = [item.description.strip()]
    if item.type == "array" and not choices:
        notes.append("Values separated by commas, or a JSON array.")
    if item.type == "object" and not choices:
        notes.append("A JSON object.")
    if rules and rules.pattern and not choices:
        notes.append(f"Must match {rules.pattern}")
    if rules and rules.file_exists:
        notes.append("The path of an existing file.")
    if rules and rules.file_extension:
        notes.append(f"Ends with {' or '.join(rules.file_extension)}.")
    return " ".join(note for note in notes if note)


def _default(item: Input, value: Any, field: Mapping[str, Any]) -> Any:
    """The value to begin with, in the field's type; none where it does not fit."""
    if value in (None, ""):
        return None
    typed, _ = check_value(item, value)
    if field["type"] == "boolean":
        return typed if isinstance(typed, bool) else None
    if field["type"] in {"integer", "number"}:
        fits = isinstance(typed, int | float) and not isinstance(typed, bool) and math.isfinite(typed)
        return typed if fits else None
    if field["type"] == "array":
        allowed = field["items"]["enum"]
        texts = [_text(one) for one in typed] if isinstance(typed, list) else []
        return [one for one in texts if one in allowed] or None
    text = _text(typed)
    return text if "enum" not in field or text in field["enum"] else None


def _text(value: Any) -> str:
    """As `check_value` compares it."""
    return msgspec.json.encode(value).decode() if isinstance(value, list | dict) else str(value)


def from_form(inputs: Sequence[Input], content: Mapping[str, Any]) -> dict[str, Any]:
    """The answers, for `resolve_inputs`. What was left empty is not given; a secret is not taken from a form."""
    return {
        item.name: content[item.name]
        for item in inputs
        if content.get(item.name) not in (None, "") and not is_secret(item)
    }


def form_message(workflow_name: str, missing: Sequence[Input]) -> str:
    names = [item.name for item in missing]
    listed = (
        names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "inputs"
    )
    return f"{workflow_name} needs {listed} to start."
