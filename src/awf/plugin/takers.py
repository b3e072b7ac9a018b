"""Functions that are handed fixed things: step types, validators, event handlers, the configuration."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from awf.plugin.docstrings import read_docstring
from awf.plugin.hints import form_of, type_hints
from awf.plugin.values import PluginDefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.plugin.forms import Form

__all__ = ["Taker", "taker_of", "taker_of_one"]

_BY_NAME = {inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY}


@dataclass(frozen=True)
class Taker:
    what: str  # for messages
    function: Callable[..., Any]
    wanted: Mapping[
        str, tuple[str, Form | None]
    ]  # parameter → what it is given, and how to read it (None: as is)
    description: str = ""

    def arguments(self, offered: Mapping[str, Any]) -> dict[str, Any]:
        """What the function asked for. Raises `ArgumentError` where a value does not fit its hint."""
        return {
            parameter: offered[name] if form is None else form.read(offered[name], name)
            for parameter, (name, form) in self.wanted.items()
        }


def taker_of(function: Callable[..., Any], what: str, offered: tuple[str, ...]) -> Taker:
    """By name: parameters may be left out, but none may be there that nothing is given to."""
    hints = type_hints(function, what)
    wanted: dict[str, tuple[str, Form | None]] = {}
    for parameter in inspect.signature(function).parameters.values():
        name = parameter.name
        if name not in offered or parameter.kind not in _BY_NAME:
            raise PluginDefinitionError(
                f"{what}, parameter '{name}': nothing is given to it; parameters may be {', '.join(offered)}."
            )
        wanted[name] = (name, _form(hints, name, what))
    return Taker(what, function, wanted, read_docstring(function)[0])


def taker_of_one(function: Callable[..., Any], what: str, offered: str, *, checked: bool = False) -> Taker:
    """One parameter (beside those with a default), whatever its name. `checked`: its hint says which values fit."""
    parameters = list(inspect.signature(function).parameters.values())
    asked = [one for one in parameters if one.default is inspect.Parameter.empty]
    if len(asked) != 1 or asked[0].kind not in _BY_NAME:
        raise PluginDefinitionError(f"{what}: it has to have one parameter, which is given the {offered}.")
    name = asked[0].name
    form = _form(type_hints(function, what), name, what) if checked else None
    return Taker(what, function, {name: (offered, form)})


def _form(hints: Mapping[str, Any], name: str, what: str) -> Form | None:
    return form_of(hints[name], f"{what}, parameter '{name}'") if name in hints else None
