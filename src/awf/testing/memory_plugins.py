"""Plugins in memory, for tests: operations, step types and validators are functions."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.ports.plugins import (
    DeclaredPlugin,
    Issue,
    Operation,
    OperationOutcome,
    PluginFacts,
    PluginStepOutcome,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from awf.domain.events import Stamped
    from awf.domain.ports.plugins import Subscription

__all__ = ["MemoryPlugin", "MemoryPlugins"]


class MemoryPlugin:
    def __init__(self, name: str, *, trouble: str = "") -> None:
        self.name = name
        self.trouble = trouble
        self.operations: dict[str, tuple[Operation, Callable[..., Any]]] = {}
        self.step_types: dict[str, Callable[..., Any]] = {}
        self.validator: Callable[[dict[str, Any]], list[Issue]] | None = None
        self.wants: tuple[str, ...] = ()
        self.heard: list[Stamped] = []

    def operation(
        self, name: str, function: Callable[..., Any], schema: dict[str, Any] | None = None
    ) -> MemoryPlugin:
        described = Operation(name=name, input_schema=schema or {"type": "object"})
        self.operations[name] = (described, function)
        return self

    def facts(self, workflows: Mapping[str, bytes]) -> PluginFacts:
        if self.trouble:
            return PluginFacts(name=self.name, trouble=self.trouble)
        check = self.validator
        return PluginFacts(
            name=self.name,
            operations={name: one for name, (one, _) in self.operations.items()},
            step_types=dict.fromkeys(self.step_types, ""),
            issues={file: check(json.loads(text)) for file, text in workflows.items()} if check else {},
        )


class MemoryPlugins:
    """The `Plugins` port."""

    def __init__(self, *plugins: MemoryPlugin) -> None:
        self._plugins = {one.name: one for one in plugins}
        self.executed: list[tuple[str, str, dict[str, Any]]] = []

    def declared(self) -> Mapping[str, DeclaredPlugin]:
        return {
            name: DeclaredPlugin(
                name=name,
                origin="memory",
                capabilities=("validators",) if one.validator else (),
                subscribe=one.wants,
            )
            for name, one in self._plugins.items()
        }

    async def facts(
        self, names: Iterable[str], workflows: Mapping[str, bytes] | None = None
    ) -> dict[str, PluginFacts]:
        return {name: self._plugins[name].facts(workflows or {}) for name in names}

    async def execute(
        self, plugin: str, operation: str, inputs: Mapping[str, Any], **_: Any
    ) -> OperationOutcome:
        self.executed.append((plugin, operation, dict(inputs)))
        outcome = self._plugins[plugin].operations[operation][1](**inputs)
        if inspect.isawaitable(outcome):
            outcome = await outcome
        if isinstance(outcome, OperationOutcome):
            return outcome
        return OperationOutcome(
            success=True, **({"data": outcome} if isinstance(outcome, dict) else {"output": str(outcome)})
        )

    async def execute_step(
        self,
        plugin: str,
        step_type: str,
        step_name: str,
        config: Mapping[str, Any],
        inputs: Mapping[str, Any],
        **_: Any,
    ) -> PluginStepOutcome:
        self.executed.append((plugin, step_type, dict(config)))
        outcome = self._plugins[plugin].step_types[step_type](step_name, config, inputs)
        return outcome if isinstance(outcome, PluginStepOutcome) else PluginStepOutcome(output=str(outcome))

    def subscribe(self, emit: Callable[[str, str, dict[str, Any]], None]) -> Subscription | None:
        wanting = [one for one in self._plugins.values() if one.wants]
        return _Hearing(wanting, emit) if wanting else None

    async def close(self) -> None:
        pass


class _Hearing:
    def __init__(self, wanting: list[MemoryPlugin], emit: Callable[[str, str, dict[str, Any]], None]) -> None:
        self._wanting = wanting
        self._emit = emit

    def __call__(self, stamped: Stamped) -> None:
        kind = msgspec.to_builtins(stamped.event)["type"]
        for one in self._wanting:
            if kind in one.wants:
                one.heard.append(stamped)
                self._emit(one.name, "heard", {"type": kind})

    async def end(self) -> None:
        pass
