"""Hooks: small things beside the work. They never fail a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.application.running.context import EndOfRecord, StepContext
from awf.domain.events import LogLine, Warned
from awf.domain.ports.durability import Finished
from awf.domain.ports.expressions import ExpressionError
from awf.domain.workflow import CommandState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.domain.workflow import Hook

__all__ = ["run_hooks"]


async def run_hooks(step: StepContext, hooks: Sequence[Hook], path: str) -> None:
    for index, hook in enumerate(hooks):
        key = f"{path}/{index}"
        if hook.log is not None and not step.frame.replay_only:
            _log(step, hook.log, key)
        elif hook.command is not None:
            if step.frame.replay_only and step.durable.recorded(key) is None:
                raise EndOfRecord
            await _command(step, hook.command, key)


def _log(step: StepContext, template: str, key: str) -> None:
    try:
        step.emit(LogLine(path=step.path, message=step.render(template)), once=key)
    except ExpressionError as error:
        step.emit(Warned(path=step.path, message=f"A log hook of '{step.name}': {error.message}"), once=key)


async def _command(step: StepContext, template: str, key: str) -> None:
    state = CommandState(command=template, timeout=60.0)

    async def work() -> Finished:
        result = await step.walk.leaf_work(
            StepContext(step.walk, step.name, step.path, key, step.frame), state
        )
        warnings = (
            (Warned(path=step.path, message=f"A hook of '{step.name}' failed: {result.error.message}"),)
            if result.error
            else ()
        )
        return Finished(result, warnings)

    await step.durable.step(key, work)
