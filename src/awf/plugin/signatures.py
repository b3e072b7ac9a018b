"""An author's function as an operation: its parameters, its description, what it gives back."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from awf.plugin.docstrings import read_docstring
from awf.plugin.forms import Anything, Nullable
from awf.plugin.hints import form_of, note_of, plain_json, type_hints
from awf.plugin.records import NO_DEFAULT, Field, Record
from awf.plugin.values import ArgumentError, PluginDefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.plugin.forms import Form

__all__ = ["Operation", "Output", "operation_of"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
_BY_NAME = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}


@dataclass(frozen=True)
class Output:
    name: str
    type: str
    description: str = ""


@dataclass(frozen=True)
class Operation:
    name: str
    function: Callable[..., Any]
    fields: tuple[Field, ...]
    description: str = ""
    outputs: tuple[Output, ...] = ()
    read_only: bool = False


def operation_of(function: Callable[..., Any], name: str, description: str, *, read_only: bool) -> Operation:
    """Raises `PluginDefinitionError` that names the function and the parameter at fault."""
    name = name or getattr(function, "__name__", "")
    if not _NAME.fullmatch(name):
        raise PluginDefinitionError(
            f"'{name}' cannot be the name of an operation: a letter, then letters, digits, _ and -, 63 at most."
        )
    where = f"operation '{name}'"
    told, notes = read_docstring(function)
    hints = type_hints(function, where)
    parameters = inspect.signature(function).parameters.values()
    fields = tuple(_field(parameter, hints, notes, where) for parameter in parameters)
    return Operation(name, function, fields, description or told, _outputs(hints.get("return")), read_only)


def _field(
    parameter: inspect.Parameter, hints: dict[str, Any], notes: dict[str, str], operation: str
) -> Field:
    where = f"{operation}, parameter '{parameter.name}'"
    if parameter.kind not in _BY_NAME:
        raise PluginDefinitionError(f"{where}: arguments come by name, so *, ** and / cannot be used.")
    if parameter.name not in hints:
        raise PluginDefinitionError(
            f"{where}: it has no type hint, so its schema is not known. Write `: str`."
        )
    hint = hints[parameter.name]
    form = form_of(hint, where)
    if isinstance(form.inner if isinstance(form, Nullable) else form, Anything):
        raise PluginDefinitionError(
            f"{where}: an input has one type, so Any cannot be used. Use dict or list[Any]."
        )
    given = parameter.default is not inspect.Parameter.empty
    return Field(
        parameter.name,
        form,
        not given and not isinstance(form, Nullable),
        _told_default(parameter.default, form, where) if given else NO_DEFAULT,
        note_of(hint).description or notes.get(parameter.name, ""),
        none_when_missing=not given,
    )


def _told_default(default: Any, form: Form, where: str) -> Any:
    """None as a default means that the input may be left out; there is nothing to tell."""
    if default is None:
        return NO_DEFAULT
    told = plain_json(default, where)
    try:
        form.read(told, "default")
    except ArgumentError as error:
        raise PluginDefinitionError(f"{where}: its default does not fit its type: {error}.") from error
    return told


def _outputs(returned: Any) -> tuple[Output, ...]:
    """What can be told of the result. A hint that says nothing of use is no mistake here."""
    try:
        form = form_of(returned, "result")
    except PluginDefinitionError:
        return ()
    if isinstance(form, Record):
        return tuple(Output(f.name, _type_of(f.form), f.description) for f in form.fields)
    kind = _type_of(form)
    if kind == "string":
        return (Output("output", kind),)
    return () if kind in {"", "object"} else (Output("result", kind),)


def _type_of(form: Form) -> str:
    kind = form.schema().get("type", "")
    return str(kind[0] if isinstance(kind, list) else kind)
