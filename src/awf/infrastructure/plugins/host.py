"""All plugins of a project behind one port."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError
from awf.domain.ports.plugins import PluginFacts
from awf.infrastructure.plugins.discovery import find_plugins
from awf.infrastructure.plugins.restarts import RestartBudget
from awf.infrastructure.plugins.surroundings import Patience, Surroundings
from awf.infrastructure.plugins.wording import meant

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence

    from awf.domain.ports.command_runner import CommandRunner
    from awf.domain.ports.plugins import (
        DeclaredPlugin,
        Issue,
        OperationOutcome,
        PluginStepOutcome,
        Subscription,
    )
    from awf.infrastructure.plugins.discovery import Found, ReadFile
    from awf.infrastructure.plugins.events import EventDelivery
    from awf.infrastructure.plugins.lifecycle import Lifecycle
    from awf.infrastructure.plugins.running import RunningPlugin

__all__ = ["PluginHost"]


class PluginHost:
    """`file` is the project's plugins.yaml, `folders` hold plugin folders; what is earlier wins."""

    def __init__(
        self,
        *,
        read: ReadFile,
        file: str,
        folders: Sequence[str],
        project: str,
        runner: CommandRunner,
        environment: Mapping[str, str],
        inherited: Callable[[], Mapping[str, str]] | None = None,
        problem_with: Callable[[dict[str, Any]], str],
        version: str = "",
        patience: Patience = Patience(),  # noqa: B008  frozen
        budget: RestartBudget = RestartBudget(),  # noqa: B008  frozen
    ) -> None:
        self._read = read
        self._file = file
        self._folders = folders
        self._surroundings = Surroundings(
            runner=runner,
            project=project,
            environment=environment,
            inherited=inherited or (lambda: environment),
            version=version,
            problem_with=problem_with,
            patience=patience,
        )
        self._budget = budget
        self._known: Found | None = None
        self._lifecycles: dict[str, Lifecycle] = {}
        self._deliveries: set[EventDelivery] = set()
        self._closed = False

    def declared(self) -> Mapping[str, DeclaredPlugin]:
        return {name: one.shown for name, one in self._found().plugins.items()}

    async def facts(
        self, names: Iterable[str], workflows: Mapping[str, bytes] | None = None
    ) -> dict[str, PluginFacts]:
        wanted = list(dict.fromkeys(names))
        self._found()  # a broken declaration is not the trouble of one plugin
        found = await asyncio.gather(*(self._facts(name, workflows or {}) for name in wanted))
        return dict(zip(wanted, found, strict=True))

    async def execute(
        self,
        plugin: str,
        operation: str,
        inputs: Mapping[str, Any],
        *,
        timeout: float | None = None,
        trace: Mapping[str, str] | None = None,
    ) -> OperationOutcome:
        from awf.infrastructure.plugins import services

        async with self._ready(plugin, timeout) as (running, left):
            known = await services.list_operations(running)
            if operation not in known:
                known = await services.list_operations(running, again=True)
        if operation not in known:
            raise AwfError(
                "USER.PLUGIN.UNKNOWN_OPERATION",
                f"The plugin '{plugin}' has no operation '{operation}'.",
                hint=meant(operation, known, "It has no operations at all."),
            )
        return await services.execute(running, operation, inputs, left(), trace)

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
        from awf.infrastructure.plugins import services

        async with self._ready(plugin, timeout) as (running, left):
            known = await services.list_step_types(running)
            if step_type not in known:
                known = await services.list_step_types(running, again=True)
        if step_type not in known:
            raise AwfError(
                "USER.PLUGIN.UNKNOWN_STEP_TYPE",
                f"The plugin '{plugin}' has no step type '{step_type}'.",
                hint=meant(step_type, known, "It has no step types at all."),
            )
        return await services.execute_step(running, step_type, step_name, config, inputs, left(), trace)

    def subscribe(self, emit: Callable[[str, str, dict[str, Any]], None]) -> Subscription | None:
        listening = [name for name, one in self._found().plugins.items() if one.shown.subscribe]
        if not listening:
            return None
        from awf.infrastructure.plugins.events import EventDelivery

        lifecycles = [self._lifecycle(name) for name in listening]
        delivery = EventDelivery(
            lifecycles, emit, self._surroundings.patience.settle, self._deliveries.discard
        )
        self._deliveries.add(delivery)
        return delivery

    async def close(self) -> None:
        self._closed = True
        for delivery in tuple(self._deliveries):
            await delivery.close()
        closing = [one.close() for one in self._lifecycles.values()]
        for result in await asyncio.gather(*closing, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result

    def _found(self) -> Found:
        if self._known is None:
            self._known = find_plugins(self._read, self._file, self._folders, self._surroundings.project)
        return self._known

    def _lifecycle(self, name: str) -> Lifecycle:
        found = self._found()
        if name not in found.plugins:
            raise _unknown(name, found)
        if name not in self._lifecycles:
            from awf.infrastructure.plugins.lifecycle import Lifecycle

            self._lifecycles[name] = Lifecycle(found.plugins[name], self._surroundings, self._budget)
        return self._lifecycles[name]

    @contextlib.asynccontextmanager
    async def _ready(
        self, name: str, timeout: float | None
    ) -> AsyncIterator[tuple[RunningPlugin, Callable[[], float | None]]]:
        """The running plugin, and how much of the caller's time is left. What is done in the block counts, too."""
        clock = asyncio.get_running_loop().time
        end = None if timeout is None else clock() + timeout
        try:
            async with asyncio.timeout_at(end):
                running = await self._lifecycle(name).ready()
                yield running, lambda: None if end is None else max(end - clock(), 0.001)
        except TimeoutError:
            raise AwfError(
                "EXECUTION.PLUGIN.TIMEOUT",
                f"The plugin '{name}' was not ready within {timeout:g} s.",
                hint="Raise the timeout of the step; the first call also starts the plugin.",
            ) from None

    async def _facts(self, name: str, workflows: Mapping[str, bytes]) -> PluginFacts:
        try:
            return await self._ask(name, workflows)
        except AwfError as error:
            return PluginFacts(name=name, trouble=error.message, hint=error.hint)

    async def _ask(self, name: str, workflows: Mapping[str, bytes]) -> PluginFacts:
        from awf.infrastructure.plugins import services

        running = await self._lifecycle(name).ready()
        may_have = running.capabilities or ("operations", "step_types")
        operations = await services.list_operations(running) if "operations" in may_have else {}
        step_types = await services.list_step_types(running) if "step_types" in may_have else {}
        issues: dict[str, list[Issue]] = {}
        if "validators" in may_have:
            issues = {file: await services.validate(running, text) for file, text in workflows.items()}
        return PluginFacts(
            name=name,
            version=running.version,
            description=running.description,
            capabilities=running.capabilities,
            operations=operations,
            step_types=step_types,
            issues=issues,
        )


def _unknown(name: str, found: Found) -> AwfError:
    if name in found.disabled:
        return AwfError(
            "USER.PLUGIN.UNKNOWN",
            f"The plugin '{name}' is switched off.",
            hint=f"Remove `enabled: false` from {found.disabled[name]}.",
        )
    nothing = "Declare it in .awf/plugins.yaml."
    return AwfError(
        "USER.PLUGIN.UNKNOWN", f"There is no plugin '{name}'.", hint=meant(name, found.plugins, nothing)
    )
