"""The services of a running plugin, in domain words. Each raises `AwfError` EXECUTION.PLUGIN.* without a usable answer."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from awf.domain.ports.plugins import Issue, Operation, OperationOutcome, PluginStepOutcome
from awf.infrastructure.plugins.connection import CallFailed
from awf.infrastructure.plugins.output import LOG
from awf.infrastructure.plugins.schema import operation_of
from awf.infrastructure.plugins.values import decode_object, decode_values, encode_value, encode_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from awf.infrastructure.plugins.running import RunningPlugin

__all__ = ["execute", "execute_step", "list_operations", "list_step_types", "validate"]


async def list_operations(plugin: RunningPlugin, *, again: bool = False) -> dict[str, Operation]:
    """Asked once per start, unless it is wanted again."""
    from awf.plugin.protocol import plugin_pb2

    if plugin.operations is None or again:
        said = await plugin.offers(
            "OperationService/ListOperations",
            plugin_pb2.ListOperationsRequest(),
            plugin_pb2.ListOperationsResponse,
        )
        plugin.operations = _by_name(plugin, said.operations)
    return plugin.operations


def _by_name(plugin: RunningPlugin, said: Iterable[Any]) -> dict[str, Operation]:
    found: dict[str, Operation] = {}
    for one in said:
        if not one.name:
            LOG.warning("The plugin %s has an operation without a name.", plugin.name)
        elif one.name in found:
            found[one.name] = Operation(name=one.name, refusal="it is declared twice")
        else:
            found[one.name] = operation_of(one, plugin.surroundings.problem_with)
    return found


async def list_step_types(plugin: RunningPlugin, *, again: bool = False) -> dict[str, str]:
    from awf.plugin.protocol import plugin_pb2

    if plugin.step_types is None or again:
        said = await plugin.offers(
            "StepTypeService/ListStepTypes",
            plugin_pb2.ListStepTypesRequest(),
            plugin_pb2.ListStepTypesResponse,
        )
        plugin.step_types = {one.name: one.description for one in said.step_types if one.name}
    return plugin.step_types


async def execute(
    plugin: RunningPlugin,
    operation: str,
    inputs: Mapping[str, Any],
    timeout: float | None,
    trace: Mapping[str, str] | None,
) -> OperationOutcome:
    from awf.plugin.protocol import plugin_pb2

    with _in_json(plugin):
        request = plugin_pb2.ExecuteRequest(operation=operation, inputs=encode_values("the input", inputs))
    said = await plugin.call(
        "OperationService/Execute", request, plugin_pb2.ExecuteResponse, timeout=timeout, trace=trace
    )
    with _in_json(plugin):
        data = decode_values("the value", said.data)
    return OperationOutcome(success=said.success, output=said.output, data=data, error=said.error)


async def execute_step(
    plugin: RunningPlugin,
    step_type: str,
    step_name: str,
    config: Mapping[str, Any],
    inputs: Mapping[str, Any],
    timeout: float | None,
    trace: Mapping[str, str] | None,
) -> PluginStepOutcome:
    from awf.plugin.protocol import plugin_pb2

    with _in_json(plugin):
        request = plugin_pb2.ExecuteStepRequest(
            step_name=step_name,
            step_type=step_type,
            config=encode_value("the step's config", dict(config)),
            inputs=encode_value("the inputs", dict(inputs)),
        )
    said = await plugin.call(
        "StepTypeService/ExecuteStep", request, plugin_pb2.ExecuteStepResponse, timeout=timeout, trace=trace
    )
    with _in_json(plugin):
        data = decode_object("the step's data", said.data)
    return PluginStepOutcome(output=said.output, data=data, exit_code=said.exit_code)


async def validate(plugin: RunningPlugin, workflow: bytes) -> list[Issue]:
    from awf.plugin.protocol import plugin_pb2

    said = await plugin.call(
        "ValidatorService/ValidateWorkflow",
        plugin_pb2.ValidateWorkflowRequest(workflow_json=workflow),
        plugin_pb2.ValidateResponse,
        timeout=plugin.surroundings.patience.validate,
    )
    warning = plugin_pb2.ValidationIssue.WARNING
    return _once_each(
        Issue(
            # One without a severity counts as an error: it is easier to see and to mend than one that is overlooked.
            severity="warning" if one.severity == warning else "error",
            message=one.message,
            step=one.step,
            field=one.field,
        )
        for one in said.issues
    )


def _once_each(issues: Iterable[Issue]) -> list[Issue]:
    """The same finding once; as an error if it is one anywhere."""
    found: dict[tuple[str, str, str], Issue] = {}
    for issue in issues:
        key = (issue.message, issue.step, issue.field)
        if key not in found or issue.severity == "error":
            found[key] = issue
    return list(found.values())


@contextlib.contextmanager
def _in_json(plugin: RunningPlugin) -> Iterator[None]:
    try:
        yield
    except CallFailed as failed:
        if failed.status == "GARBAGE":
            raise plugin.garbage(failed) from None
        raise plugin.error("EXECUTION.PLUGIN.FAILED", f"cannot be asked: {failed.details}.") from None
