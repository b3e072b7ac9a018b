"""Type hints → forms. What a plugin's schema cannot say is refused here, with its reason."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import pathlib
import types
import typing
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from awf.plugin.forms import Anything, Choice, Flag, ListOf, MapOf, Nullable, Number, Text, Whole
from awf.plugin.records import NO_DEFAULT, Field, Record
from awf.plugin.values import Param, PluginDefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.plugin.forms import Form

__all__ = ["form_of", "note_of", "plain_json", "type_hints"]

_SIMPLE: dict[Any, Form] = {
    str: Text(),
    int: Whole(),
    float: Number(),
    bool: Flag(),
    dict: MapOf(Anything()),
    list: ListOf(Anything()),
    pathlib.Path: Text(make=pathlib.Path),
}
_LISTS: dict[Any, Callable[[list[Any]], Any]] = {
    list: list,
    tuple: tuple,
    set: set,
    frozenset: frozenset,
    collections.abc.Sequence: list,
    collections.abc.Iterable: list,
}
_MAPS = {dict, collections.abc.Mapping, collections.abc.MutableMapping}
_SUPPORTED = (
    "Use str, int, float, bool, list[...], dict, Literal[...], an Enum, Optional, a TypedDict or a dataclass."
)


def type_hints(thing: Any, where: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(thing, include_extras=True)
    except (NameError, TypeError) as error:
        raise PluginDefinitionError(
            f"{where}: a type hint cannot be read: {error}. Define the types it uses at the top of the module."
        ) from error


def note_of(hint: Any) -> Param:
    """What Annotated adds to a hint, also within `| None`; a later note wins over an earlier one."""
    note = Param()
    if typing.get_origin(hint) in (Union, types.UnionType):
        return next(
            (note_of(one) for one in typing.get_args(hint) if typing.get_origin(one) is Annotated), note
        )
    if typing.get_origin(hint) is Annotated:
        for extra in hint.__metadata__:
            if isinstance(extra, str):
                note = dataclasses.replace(note, description=extra)
            elif isinstance(extra, Param):
                note = Param(
                    description=extra.description or note.description, format=extra.format or note.format
                )
    return note


def form_of(hint: Any, where: str, within: tuple[Any, ...] = ()) -> Form:
    """The form of a type hint. Raises `PluginDefinitionError` that begins with `where`."""
    if typing.get_origin(hint) is Annotated:
        form = form_of(hint.__origin__, where, within)
        return _with_format(form, note_of(hint).format, where)
    meant = getattr(hint, "__supertype__", None) or getattr(hint, "__value__", None)
    if meant is not None and not isinstance(hint, type):  # NewType, and a name given by `type`
        return form_of(meant, where, within)
    if hint in (Any, object):
        return Anything()
    simple = _SIMPLE.get(hint) if isinstance(hint, collections.abc.Hashable) else None
    if simple is not None:
        return simple
    return _composed(hint, where, within)


def _composed(hint: Any, where: str, within: tuple[Any, ...]) -> Form:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return _choice(arguments, arguments, where)
    if origin in (Union, types.UnionType):
        return _optional(arguments, where, within)
    if origin in _LISTS:
        return _list(origin, arguments, where, within)
    if origin in _MAPS:
        return _map(arguments, where, within)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _choice(tuple(member.value for member in hint), tuple(hint), where)
    if dataclasses.is_dataclass(hint) or typing.is_typeddict(hint):
        return _record(hint, where, within)
    raise PluginDefinitionError(f"{where}: {_name(hint)} cannot be said in a plugin's schema. {_SUPPORTED}")


def _with_format(form: Form, format_name: str, where: str) -> Form:
    if not format_name:
        return form
    if isinstance(form, Nullable):
        return Nullable(_with_format(form.inner, format_name, where))
    if isinstance(form, Text):
        return dataclasses.replace(form, format=format_name)
    raise PluginDefinitionError(f"{where}: format '{format_name}' is for strings only.")


def _optional(arguments: tuple[Any, ...], where: str, within: tuple[Any, ...]) -> Form:
    others = [argument for argument in arguments if argument is not type(None)]
    if len(others) != 1 or len(others) == len(arguments):
        names = " | ".join(_name(argument) for argument in arguments)
        raise PluginDefinitionError(
            f"{where}: {names} is more than one type. A plugin's input has one; only `| None` can be added."
        )
    return Nullable(form_of(others[0], where, within))


def _list(origin: Any, arguments: tuple[Any, ...], where: str, within: tuple[Any, ...]) -> Form:
    if origin is tuple and (len(arguments) != 2 or arguments[1] is not Ellipsis):
        raise PluginDefinitionError(
            f"{where}: a tuple of fixed length cannot be said in a plugin's schema. "
            "Use tuple[T, ...], list[T], a TypedDict or a dataclass."
        )
    item = form_of(arguments[0], where, within) if arguments else Anything()
    return ListOf(item, _LISTS[origin])


def _map(arguments: tuple[Any, ...], where: str, within: tuple[Any, ...]) -> Form:
    if arguments and arguments[0] is not str:
        raise PluginDefinitionError(f"{where}: the keys of an object are strings, not {_name(arguments[0])}.")
    return MapOf(form_of(arguments[1], where, within) if arguments else Anything())


def _choice(values: tuple[Any, ...], members: tuple[Any, ...], where: str) -> Form:
    if None in values:
        kept = [(value, member) for value, member in zip(values, members, strict=True) if value is not None]
        return Nullable(_choice(tuple(v for v, _ in kept), tuple(m for _, m in kept), where))
    kinds = {type(value) for value in values}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind not in {str, int, float, bool}:
        raise PluginDefinitionError(
            f"{where}: the choices {', '.join(map(repr, values)) or '(none)'} have to be all strings or all numbers."
        )
    return Choice(_SIMPLE[kind], values, members)


def _record(hint: Any, where: str, within: tuple[Any, ...]) -> Form:
    if hint in within:
        raise PluginDefinitionError(
            f"{where}: {_name(hint)} contains itself, which a plugin's schema cannot say."
        )
    inner = (*within, hint)
    hints = type_hints(hint, f"{where}: {_name(hint)}")
    fields = _typed_dict(hint, hints) if typing.is_typeddict(hint) else _dataclass(hint, hints)
    return Record(
        tuple(
            Field(
                name,
                form_of(kind, f"{where}, field '{name}'", inner),
                required,
                NO_DEFAULT if default is NO_DEFAULT else plain_json(default, f"{where}, field '{name}'"),
                note_of(kind).description,
            )
            for name, kind, required, default in fields
        ),
        hint,
    )


def _typed_dict(hint: Any, hints: Mapping[str, Any]) -> list[tuple[str, Any, bool, Any]]:
    return [
        (name, *_unwrapped(kind, name in hint.__required_keys__), NO_DEFAULT) for name, kind in hints.items()
    ]


def _unwrapped(hint: Any, required: bool) -> tuple[Any, bool]:
    """Without Required[...] and NotRequired[...], and what they say.

    `__required_keys__` alone does not know them in modules whose annotations are kept as text.
    """
    origin = typing.get_origin(hint)
    if origin in (typing.Required, typing.NotRequired):
        return typing.get_args(hint)[0], origin is typing.Required
    return hint, required


def _dataclass(hint: Any, hints: Mapping[str, Any]) -> list[tuple[str, Any, bool, Any]]:
    missing = dataclasses.MISSING
    return [
        (
            field.name,
            hints[field.name],
            field.default is missing and field.default_factory is missing,
            NO_DEFAULT if field.default is missing else field.default,
        )
        for field in dataclasses.fields(hint)
        if field.init
    ]


def plain_json(value: Any, where: str) -> Any:
    """A default as JSON. `where` names it when it cannot be."""
    if isinstance(value, enum.Enum):
        return plain_json(value.value, where)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain_json(getattr(value, f.name), where) for f in dataclasses.fields(value)}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_json(item, where) for item in value]
    if isinstance(value, dict):
        return {str(key): plain_json(item, where) for key, item in value.items()}
    if isinstance(value, pathlib.PurePath):
        return str(value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise PluginDefinitionError(f"{where}: the default {value!r} cannot be written as JSON.")


def _name(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint).removeprefix("typing.")
