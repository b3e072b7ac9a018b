"""What one state would do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from awf.application.running.plan_agent import cut_text, file_text, plan_agent
from awf.application.running.plan_loop import plan_loop
from awf.application.running.plan_values import (
    ApprovalPlan,
    CapturePlan,
    EndingPlan,
    HookPlan,
    ParallelPlan,
    PluginPlan,
    RetryPlan,
    RoutePlan,
    StatePlan,
)
from awf.application.running.routing import retry_delay
from awf.domain.errors import exit_status
from awf.domain.workflow import (
    AgentState,
    CallState,
    CommandState,
    ForEachState,
    InlineFailure,
    OperationState,
    ParallelState,
    PluginState,
    TerminalState,
    WhileState,
    approval_of,
    plugin_and_member,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from awf.application.running.plan_agent import Reading
    from awf.application.running.plan_text import Foresight
    from awf.application.running.plan_values import CallPlan
    from awf.domain.workflow import Hook, Runnable, State

__all__ = ["Surveyor", "plan_hooks"]

_DELAYS_SHOWN = 5


class Surveyor(NamedTuple):
    """What is needed to say what a state of one workflow would do."""

    sight: Foresight
    reading: Reading
    call: Callable[[CallState, Foresight], CallPlan]
    short_names: dict[str, str]

    def state(self, name: str, state: State, *, within: str, is_branch: bool) -> StatePlan:
        sight = self.sight.at(name)
        if isinstance(state, TerminalState):
            fields: dict[str, Any] = {"ending": _ending(state, sight)}
        else:
            routes = [] if is_branch else list(_routes(state, sight))
            fields = {**self._work(state, sight), **_around(name, state, sight), "routes": routes}
        return StatePlan(
            name=name,
            kind=state.kind,
            description=state.description,
            within=within,
            problems=sight.problems,
            **fields,
        )

    def _work(self, state: Runnable, sight: Foresight) -> dict[str, Any]:
        if isinstance(state, CommandState):
            return self._command(state, sight)
        if isinstance(state, AgentState):
            folder = self.reading.folder(state.dir, sight)
            return {"agent": plan_agent(state, sight, self.reading), "dir": folder}
        if isinstance(state, ParallelState):
            plan = ParallelPlan(strategy=state.strategy, max_concurrent=state.max_concurrent)
            return {"parallel": plan}
        if isinstance(state, CallState):
            return {"call": self.call(state, sight)}
        if isinstance(state, OperationState):
            inputs = {**state.operation_inputs, **state.inputs}
            return {"plugin": self._plugin(state.operation, inputs, sight)}
        if isinstance(state, PluginState):
            return {"plugin": self._plugin(state.step_type, state.config, sight)}
        assert isinstance(state, ForEachState | WhileState)
        return {"loop": plan_loop(state, sight)}

    def _plugin(self, written: str, inputs: dict[str, Any], sight: Foresight) -> PluginPlan:
        plugin, member = plugin_and_member(written, self.short_names)
        shown = self.reading.masker.mask_data(sight.value(inputs).value)
        return PluginPlan(plugin=plugin, member=member, inputs=shown)

    def _command(self, state: CommandState, sight: Foresight) -> dict[str, Any]:
        fields: dict[str, Any] = {"dir": self.reading.folder(state.dir, sight), "shell": state.shell or ""}
        if state.command is not None:
            fields["command"] = sight.text(state.command)
        else:
            name, text = file_text(state.script_file or "", sight, self.reading)
            fields |= {"script_file": name, "script": cut_text(text, self.reading.masker)}
        if state.capture:
            kept = state.capture
            fields["capture"] = CapturePlan(
                max_size=kept.max_size, stdout=kept.stdout or "", stderr=kept.stderr or ""
            )
        return fields


def _ending(state: TerminalState, sight: Foresight) -> EndingPlan:
    failed = state.exit_code or exit_status("EXECUTION.WORKFLOW.FAILED")
    status = 0 if state.status == "success" else failed
    return EndingPlan(status=state.status, message=sight.text(state.message), exit_status=status)


def _around(name: str, state: Runnable, sight: Foresight) -> dict[str, Any]:
    """What every kind of state can have."""
    hooks = {"pre": state.hooks.pre, "post": state.hooks.post} if state.hooks else {}
    return {
        "timeout": state.timeout,
        "retry": _retry(state),
        "env": list(state.env),
        "depends_on": state.depends_on,
        "approval": _approval(name, state, sight),
        "limits": state.limits,
        "hooks": {moment: plan_hooks(some, sight) for moment, some in hooks.items() if some},
        "continue_on_error": state.continue_on_error,
    }


def _retry(state: Runnable) -> RetryPlan | None:
    retry = state.retry
    if retry is None:
        return None
    pauses = min(retry.max_attempts - 1, _DELAYS_SHOWN)
    return RetryPlan(
        attempts=retry.max_attempts,
        delays=[retry_delay(state, attempt, 0.0) for attempt in range(1, pauses + 1)],
        jitter=retry.jitter,
        exit_codes=retry.retryable_exit_codes or [],
    )


def _approval(name: str, state: Runnable, sight: Foresight) -> ApprovalPlan | None:
    approval = approval_of(state)
    if approval is None:
        return None
    message = sight.text(approval.message) or f"Run '{name}'?"
    return ApprovalPlan(message=message, on_deny=approval.on_deny, timeout=approval.timeout)


def _routes(state: Runnable, sight: Foresight) -> Iterator[RoutePlan]:
    for way in state.transitions:
        if way.when is None:
            yield RoutePlan(on="always", to=way.goto)
        else:
            yield RoutePlan(on="when", to=way.goto, when=way.when, holds=sight.holds(way.when))
    if state.on_success:
        yield RoutePlan(on="success", to=state.on_success)
    if isinstance(state, ForEachState | WhileState) and state.on_complete:
        yield RoutePlan(on="complete", to=state.on_complete)
    if state.continue_on_error:
        return  # a failure takes the way of success
    if isinstance(state.on_failure, InlineFailure):
        inline = state.on_failure
        yield RoutePlan(on="failure", message=sight.text(inline.message), exit_status=inline.status)
    elif state.on_failure:
        yield RoutePlan(on="failure", to=state.on_failure)


def plan_hooks(hooks: Sequence[Hook], sight: Foresight) -> list[HookPlan]:
    return [
        HookPlan(
            log=None if hook.log is None else sight.text(hook.log),
            command=None if hook.command is None else sight.text(hook.command),
        )
        for hook in hooks
    ]
