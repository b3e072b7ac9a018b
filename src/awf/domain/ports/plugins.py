"""Plugins: programs of their own whose operations, step types, validators and event handlers workflows can use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from awf.domain.events import Stamped

__all__ = [
    "DeclaredPlugin",
    "Issue",
    "Operation",
    "OperationOutcome",
    "PluginFacts",
    "PluginStepOutcome",
    "Plugins",
    "Subscription",
]

Capability = Literal["operations", "step_types", "validators", "events"]


class DeclaredPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a plugin without starting it."""

    name: str
    origin: str  # the file that declares it
    folders: tuple[str, ...] = ()  # where relative paths of its calls may start
    description: str = ""
    version: str = ""
    capabilities: tuple[Capability, ...] = ()  # as declared; may be empty where only the plugin knows
    subscribe: tuple[str, ...] = ()  # event types it wants, `*` for one dotted part or for all
    emit: tuple[str, ...] = ()  # event types it may send


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    description: str = ""
    input_schema: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object"})
    output_schema: dict[str, Any] | None = None
    read_only: bool = False
    refusal: str = ""  # why its schema cannot be used, if so


class Issue(msgspec.Struct, frozen=True, kw_only=True):
    """What a plugin's validator says of a workflow."""

    severity: Literal["error", "warning"]
    message: str
    step: str = ""
    field: str = ""


class PluginFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a plugin told of itself."""

    name: str
    version: str = ""
    description: str = ""
    capabilities: tuple[Capability, ...] = ()
    operations: dict[str, Operation] = {}
    step_types: dict[str, str] = {}  # name → description
    issues: dict[str, list[Issue]] = {}  # workflow file → what its validator found
    trouble: str = ""  # why it could not be asked; then the rest is empty
    hint: str = ""


class OperationOutcome(msgspec.Struct, frozen=True, kw_only=True):
    success: bool
    output: str = ""
    data: dict[str, Any] = {}
    error: str = ""


class PluginStepOutcome(msgspec.Struct, frozen=True, kw_only=True):
    output: str = ""
    data: dict[str, Any] = {}
    exit_code: int = 0


class Subscription(Protocol):
    """Hands the events of one run to plugins. Never blocks."""

    def __call__(self, stamped: Stamped) -> None: ...

    async def end(self) -> None:
        """Wait, within reason, until every event handed over has been delivered, and let go."""
        ...


class Plugins(Protocol):
    """All plugins of one project. Each is started when it is first needed, once, and started again if it dies."""

    def declared(self) -> Mapping[str, DeclaredPlugin]:
        """Every plugin that can be used here, by name. Starts nothing. Raises `AwfError` when a declaration is broken."""
        ...

    async def facts(
        self, names: Iterable[str], workflows: Mapping[str, bytes] | None = None
    ) -> dict[str, PluginFacts]:
        """Ask plugins what they offer, and validators what they think of these workflows (file → JSON).

        A plugin that cannot be asked is in the answer too, with its trouble.
        """
        ...

    async def execute(
        self,
        plugin: str,
        operation: str,
        inputs: Mapping[str, Any],
        *,
        timeout: float | None = None,
        trace: Mapping[str, str] | None = None,
    ) -> OperationOutcome:
        """Run an operation. Raises `AwfError` EXECUTION.PLUGIN.* when the plugin fails to answer."""
        ...

    async def execute_step(
        self,
        plugin: str,
        step_type: str,
        step_name: str,
        config: Mapping[str, Any],
        inputs: Mapping[str, Any],
        *,
        timeout: float | None = None,
        trace: Mapping[str, str] | None = None,
    ) -> PluginStepOutcome:
        """Run a step of a plugin's own type. Raises as `execute` does."""
        ...

    def subscribe(self, emit: Callable[[str, str, dict[str, Any]], None]) -> Subscription | None:
        """A listener that hands events to the plugins that want them, or None when no plugin wants any.

        `emit(plugin, event_type, payload)` receives what plugins send in answer. The listener never blocks.
        """
        ...

    async def close(self) -> None:
        """Ask every running plugin to stop, and end those that do not."""
        ...
