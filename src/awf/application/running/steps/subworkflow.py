"""Run another workflow as one step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.running.context import Ending, StepContext
from awf.application.running.hooks import run_hooks
from awf.application.running.scope import Frame, Scope, StateView
from awf.domain.errors import AwfError
from awf.domain.inputs import resolve_inputs
from awf.domain.run import ErrorInfo, StepResult
from awf.domain.workflow import WorkflowHooks

if TYPE_CHECKING:
    from awf.application.running.walk import Walk
    from awf.domain.workflow import CallState

__all__ = ["run_subworkflow", "workflow_hooks", "workflow_outputs"]


async def run_subworkflow(step: StepContext, state: CallState) -> StepResult:
    from awf.application.running.walk import Walk as Inside

    run = step.walk.run_context
    file = run.program.definition.called(step.scope.file, state.workflow)
    if file is None:
        raise AwfError("WORKFLOW.VALIDATION.UNKNOWN_WORKFLOW", f"There is no workflow '{state.workflow}'.")
    called = run.program.workflows[file]
    inputs, wrong = resolve_inputs(
        called.inputs, step.value(state.inputs), is_file=step.services.files.is_file
    )
    if wrong:
        raise AwfError("USER.INPUT.VALIDATION_FAILED", f"Inputs of '{state.workflow}': {' '.join(wrong)}")
    required = called.env if isinstance(called.env, list) else []
    missing = [name for name in required if name not in step.services.environment]
    if missing:
        raise AwfError(
            "USER.INPUT.MISSING_ENV",
            f"'{state.workflow}' needs these environment variables: {', '.join(missing)}.",
            hint=f"export {missing[0]}=…",
        )
    scope = Scope(called, file, inputs, f"{step.key}/", step.scope.now, step.scope.fixed)
    inside = Inside(run, scope)
    inside.replay_only = step.frame.replay_only
    await workflow_hooks(inside, "workflow_start")
    ending = await inside.run()
    await workflow_hooks(inside, "workflow_error" if ending.error else "workflow_end", ending)
    step.scope.spend(scope.usage)
    if ending.error:
        return _failure(state, ending, scope)
    outputs = _kept(state, scope) if state.outputs else workflow_outputs(inside)
    return StepResult(status="success", output=ending.message, outputs=outputs, usage=scope.usage)


def _failure(state: CallState, ending: Ending, scope: Scope) -> StepResult:
    error = ending.error
    assert error is not None
    message = f"'{state.workflow}' failed in '{error.state}': {error.message}"
    info = ErrorInfo("EXECUTION.SUBWORKFLOW.FAILED", message, error.hint, abort=error.abort)
    return StepResult(
        status="failed",
        exit_code=error.exit_status or 1,
        error=info if not error.abort else error,
        usage=scope.usage,
    )


def _kept(state: CallState, scope: Scope) -> dict[str, Any]:
    """`outputs: {build: artifact}` keeps what `build` gave as `artifact`: its data if it has any, else its text."""
    kept: dict[str, Any] = {}
    for inner, name in state.outputs.items():
        result = scope.states.get(inner)
        view = StateView(result) if result is not None else None
        kept[name] = (
            None
            if view is None or result is None
            else result.json
            if result.json is not None
            else view["response"]
        )
    return kept


def workflow_outputs(walk: Walk) -> dict[str, Any]:
    return {name: _context(walk).value(written) for name, written in walk.scope.workflow.outputs.items()}


def _context(walk: Walk) -> StepContext:
    prefix = walk.scope.prefix
    return StepContext(
        walk, walk.scope.workflow.name, prefix.rstrip("/"), "", Frame(prefix, replay_only=walk.replay_only)
    )


async def workflow_hooks(walk: Walk, moment: str, ending: Ending | None = None) -> None:
    hooks = walk.scope.workflow.hooks or WorkflowHooks()
    if ending is not None and ending.error is not None:
        walk.scope.error = ending.error
    await run_hooks(_context(walk), getattr(hooks, moment), f"{walk.scope.prefix}hooks/{moment}")
