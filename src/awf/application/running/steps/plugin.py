"""Work that a plugin does: one of its operations, or a step of a type that it brings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from awf.application.running.context import failed
from awf.domain.run import StepResult
from awf.domain.workflow import OperationState, PluginState, plugin_and_member

if TYPE_CHECKING:
    from awf.application.running.context import StepContext

__all__ = ["run_operation", "run_plugin_step"]


async def run_operation(step: StepContext, state: OperationState) -> StepResult:
    plugin, operation = plugin_and_member(state.operation, step.scope.workflow.plugins)
    inputs = step.value({**state.operation_inputs, **state.inputs})
    with step.services.tracer.span(
        "plugin.rpc", {"plugin.name": plugin, "plugin.operation": operation, "rpc.system": "grpc"}
    ):
        outcome = await step.services.plugins.execute(
            plugin, operation, inputs, timeout=state.timeout, trace=_trace(step)
        )
    if not outcome.success:
        message = outcome.error or outcome.output or "It gave no reason."
        result = failed("EXECUTION.PLUGIN.FAILED", f"{state.operation}: {message}")
        return StepResult(
            status="failed", exit_code=1, error=result.error, output=outcome.output, json=outcome.data or None
        )
    text = outcome.output or _as_text(outcome.data)
    return StepResult(status="success", output=text, response=text, json=outcome.data or None)


async def run_plugin_step(step: StepContext, state: PluginState) -> StepResult:
    plugin, step_type = plugin_and_member(state.step_type, step.scope.workflow.plugins)
    config = step.value(state.config)
    with step.services.tracer.span(
        "plugin.rpc", {"plugin.name": plugin, "plugin.step_type": step_type, "rpc.system": "grpc"}
    ):
        outcome = await step.services.plugins.execute_step(
            plugin, step_type, step.name, config, step.scope.inputs, timeout=state.timeout, trace=_trace(step)
        )
    text = outcome.output or _as_text(outcome.data)
    if outcome.exit_code:
        said = text.strip().splitlines()
        detail = f": {said[-1][:200]}" if said else ""
        result = failed("EXECUTION.PLUGIN.FAILED", f"It ended with exit code {outcome.exit_code}{detail}")
        return StepResult(
            status="failed",
            exit_code=outcome.exit_code,
            error=result.error,
            output=text,
            json=outcome.data or None,
        )
    return StepResult(status="success", output=text, response=text, json=outcome.data or None)


def _trace(step: StepContext) -> dict[str, str]:
    return {key.lower(): value for key, value in step.services.tracer.carrier().items()}


def _as_text(data: dict[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False) if data else ""
