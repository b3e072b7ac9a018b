"""`Plugin`: what an author's functions are registered with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, overload

from awf.plugin.patterns import is_pattern
from awf.plugin.signatures import Operation, operation_of
from awf.plugin.standard_output import claim_standard_output
from awf.plugin.takers import Taker, taker_of, taker_of_one
from awf.plugin.values import PluginDefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable

    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["Plugin"]

_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_STEP_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


class Plugin:
    """A plugin under its name. Functions join it by its decorators; `serve()` hands it over to AWF."""

    def __init__(self, name: str, *, version: str = "0.0.0", description: str = "") -> None:
        if not _NAME.fullmatch(name):
            raise PluginDefinitionError(
                f"'{name}' cannot be the name of a plugin: a small letter, then small letters, digits, - and _."
            )
        self.name = name
        self.version = version
        self.description = description
        self.operations: dict[str, Operation] = {}
        self.step_types: dict[str, Taker] = {}
        self.validators: list[Taker] = []
        self.subscriptions: list[tuple[tuple[str, ...], Taker]] = []
        self.configuration: Taker | None = None
        claim_standard_output()

    @property
    def capabilities(self) -> tuple[str, ...]:
        """What AWF may ask this plugin for."""
        has = {
            "operations": self.operations,
            "step_types": self.step_types,
            "validators": self.validators,
            "events": self.subscriptions,
        }
        return tuple(name for name, things in has.items() if things)

    @overload
    def operation(self, function: F, /) -> F: ...
    @overload
    def operation(
        self, function: None = None, /, *, name: str = "", description: str = "", read_only: bool = False
    ) -> Callable[[F], F]: ...
    def operation(
        self, function: F | None = None, /, *, name: str = "", description: str = "", read_only: bool = False
    ) -> F | Callable[[F], F]:
        """An operation: agents can use it as a tool, workflows as a state. Its type hints are its schema.

        `read_only` says that it changes nothing, so that it can be allowed more freely.
        """

        def register(function: F) -> F:
            operation = operation_of(function, name, description, read_only=read_only)
            self._add(self.operations, operation.name, operation, "an operation")
            return function

        return register if function is None else register(function)

    def step_type(self, name: str) -> Callable[[F], F]:
        """A kind of step of its own: `type: PLUGIN.NAME`. The function may take config, inputs and step."""
        if not _is_step_type(name):
            raise PluginDefinitionError(
                f'{_said(name)} cannot be the name of a step type. Write @plugin.step_type("query").'
            )

        def register(function: F) -> F:
            taker = taker_of(function, f"step type '{name}'", ("config", "inputs", "step"))
            self._add(self.step_types, name, taker, "a step type")
            return function

        return register

    def validator(self, function: F, /) -> F:
        """Looks at a workflow before it runs and gives issues."""
        self.validators.append(taker_of_one(function, _called("validator", function), "workflow"))
        return function

    def on(self, *patterns: str) -> Callable[[F], F]:
        """Is told of events whose type fits one of the patterns; may answer with events of its own."""
        wrong = [_said(pattern) for pattern in patterns if not is_pattern(pattern)]
        if wrong or not patterns:
            said = f"{wrong[0]} is not an event type" if wrong else "No event type is named"
            raise PluginDefinitionError(f'{said}. Write @plugin.on("step.failed", "workflow.*").')

        def register(function: F) -> F:
            taker = taker_of_one(function, _called("event handler", function), "event")
            self.subscriptions.append((patterns, taker))
            return function

        return register

    def configure(self, function: F, /) -> F:
        """Is given the configuration once, before anything else."""
        if self.configuration is not None:
            raise PluginDefinitionError(
                "There is a function for the configuration already; one has to be enough."
            )
        what = _called("configuration", function)
        self.configuration = taker_of_one(function, what, "config", checked=True)
        return function

    def serve(self) -> NoReturn:
        """Answer AWF until it says that it is enough. Ends the process."""
        from awf.plugin.serving import serve

        serve(self)

    def _add(self, known: dict[str, Any], name: str, thing: Any, what: str) -> None:
        if name in known:
            raise PluginDefinitionError(f"There is {what} '{name}' already.")
        known[name] = thing


def _called(what: str, function: Callable[..., Any]) -> str:
    return f"{what} '{getattr(function, '__name__', function)}'"


def _said(name: object) -> str:
    """A decorator used without parentheses is given the function where its name should be."""
    return f"'{name}'" if isinstance(name, str) else f"The function '{getattr(name, '__name__', name)}'"


def _is_step_type(name: object) -> bool:
    return isinstance(name, str) and bool(_STEP_TYPE.fullmatch(name))
