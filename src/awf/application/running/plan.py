"""The plan of a run: the same program and inputs, with nothing started and nothing written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.authoring.validation import MAX_CALL_DEPTH
from awf.application.running.plan_agent import Reading
from awf.application.running.plan_inputs import foresee_inputs
from awf.application.running.plan_order import order_of
from awf.application.running.plan_states import Surveyor, plan_hooks
from awf.application.running.plan_text import Foreseen, Foresight
from awf.application.running.plan_values import CallPlan, EnvironmentPlan, ExpectedApproval, Plan
from awf.domain.errors import AwfError
from awf.domain.redaction import Masker, secret_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from awf.application.running.plan_inputs import ForeseenInputs
    from awf.application.running.plan_order import Order
    from awf.application.running.plan_values import HookPlan, StatePlan
    from awf.domain.ports.agent_provider import AgentProvider
    from awf.domain.ports.expressions import Expressions
    from awf.domain.ports.project_files import ProjectFiles
    from awf.domain.program import Program
    from awf.domain.workflow import CallState, Workflow

__all__ = ["PlanServices", "make_plan"]

_MOST_CALLS = 100  # workflows that call each other many times over would fill the memory
_MOMENTS = ("workflow_start", "workflow_end", "workflow_error", "workflow_cancel")


class PlanServices(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan needs from outside; all of it only looks."""

    expressions: Expressions
    files: ProjectFiles
    providers: Mapping[str, AgentProvider]
    environment: Mapping[str, str]
    places: Mapping[str, str]  # the `awf` namespace of templates
    surroundings: Mapping[str, str]  # the `context` namespace
    cwd: str


def make_plan(program: Program, inputs: Mapping[str, Any], services: PlanServices) -> Plan:
    """What a run with these inputs would do. Missing inputs are shown; wrong ones raise as they do in a run."""
    return _Planner(program, services).main(inputs)


class _Planner:
    def __init__(self, program: Program, services: PlanServices) -> None:
        self._program = program
        self._services = services
        self._calls_left = _MOST_CALLS
        self._masker = Masker()
        for name, value in secret_values(services.environment).items():
            self._masker.add(f"env.{name}", value)

    def main(self, given: Mapping[str, Any]) -> Plan:
        file = self._program.definition.root
        foreseen = {name: Foreseen(value, complete=True) for name, value in given.items()}
        inputs = self._inputs(self._program.main, foreseen)
        if inputs.wrong:
            raise AwfError(
                "USER.INPUT.VALIDATION_FAILED",
                " ".join(inputs.wrong),
                hint="Give inputs with --input name=value.",
            )
        plan = self._workflow(file, inputs, 0)
        return self._masked(plan)

    def _masked(self, plan: Plan) -> Plan:
        masked: Plan = self._masker.map_struct(plan, self._masker.mask)
        return masked

    def _inputs(self, workflow: Workflow, given: Mapping[str, Foreseen]) -> ForeseenInputs:
        return foresee_inputs(workflow.inputs, given, self._masker, self._services.files.is_file)

    def _workflow(self, file: str, inputs: ForeseenInputs, depth: int) -> Plan:
        workflow = self._program.workflows[file]
        sight = self._sight(workflow, inputs)
        order = order_of(workflow)
        states = self._states(file, order, sight, depth)
        frame = sight.at(workflow.name)
        hooks = _workflow_hooks(workflow, frame)
        outputs = {name: frame.value(written).value for name, written in workflow.outputs.items()}
        required = workflow.env if isinstance(workflow.env, list) else []
        is_set = {name: name in self._services.environment for name in required}
        return Plan(
            workflow=workflow.name,
            file=file,
            version=workflow.version,
            description=workflow.description,
            cwd=self._services.cwd,
            inputs=inputs.plans,
            environment=EnvironmentPlan(
                required=is_set, sets=list(workflow.env) if isinstance(workflow.env, dict) else []
            ),
            limits=workflow.limits,
            hooks=hooks,
            waves=order.waves,
            states=states,
            outputs=outputs,
            approvals=list(_approvals(states)),
            missing_inputs=inputs.missing,
            missing_env=[name for name, known in is_set.items() if not known],
            problems=[*frame.problems, *_problems(states)],
        )

    def _sight(self, workflow: Workflow, inputs: ForeseenInputs) -> Foresight:
        services, root = self._services, self._program.definition.root
        context = {
            "inputs": inputs.values,
            "env": services.environment,
            "context": services.surroundings,
            "awf": services.places,
            "workflow": {
                "name": workflow.name,
                "version": workflow.version,
                "dir": root.rsplit("/", 1)[0] if "/" in root else ".",
            },
        }
        return Foresight(services.expressions, context, inputs.hidden)

    def _states(self, file: str, order: Order, sight: Foresight, depth: int) -> list[StatePlan]:
        services, workflow = self._services, self._program.workflows[file]

        def call(state: CallState, at: Foresight) -> CallPlan:
            return self._call(file, state, at, depth + 1)

        reading = Reading(services.files, file, services.cwd, services.providers, self._masker)
        surveyor = Surveyor(sight, reading, call, workflow.plugins)
        return [
            surveyor.state(name, workflow.states[name], within=within, is_branch=name in order.branches)
            for name, within in order.listed.items()
        ]

    def _call(self, caller: str, state: CallState, sight: Foresight, depth: int) -> CallPlan:
        file = self._program.definition.called(caller, state.workflow)
        plan = CallPlan(workflow=state.workflow, outputs=state.outputs)
        if file is None or depth > MAX_CALL_DEPTH or not self._calls_left:
            return plan
        self._calls_left -= 1
        given = {name: sight.value(written) for name, written in state.inputs.items()}
        inputs = self._inputs(self._program.workflows[file], given)
        missing = [f"'{name}' is required." for name in inputs.missing]
        for wrong in (*inputs.wrong, *missing):
            sight.note(f"Inputs of '{state.workflow}': {wrong}")
        return msgspec.structs.replace(plan, plan=self._workflow(file, inputs, depth))


def _workflow_hooks(workflow: Workflow, sight: Foresight) -> dict[str, list[HookPlan]]:
    if workflow.hooks is None:
        return {}
    moments = {moment.removeprefix("workflow_"): getattr(workflow.hooks, moment) for moment in _MOMENTS}
    return {moment: plan_hooks(hooks, sight) for moment, hooks in moments.items() if hooks}


def _problems(states: Sequence[StatePlan]) -> Iterator[str]:
    for state in states:
        yield from (f"{state.name}: {problem}" for problem in state.problems)
        if state.call and state.call.plan:
            yield from (f"{state.name}/{problem}" for problem in state.call.plan.problems)


def _approvals(states: Sequence[StatePlan]) -> Iterator[ExpectedApproval]:
    """Every question a run may ask, and how often if every state around it runs once."""
    places = _places(states)
    for state in states:
        path, times = places[state.name]
        if state.approval:
            yield ExpectedApproval(path=path, times=times)
        if state.call and state.call.plan:
            for inner in state.call.plan.approvals:
                inside = None if times is None or inner.times is None else times * inner.times
                yield ExpectedApproval(path=f"{path}/{inner.path}", times=inside)


def _places(states: Sequence[StatePlan]) -> dict[str, tuple[str, int | None]]:
    """For each state its path below the states that run it, and how often they run it. Containers come first."""
    places: dict[str, tuple[str, int | None]] = {}
    loops = {state.name: state.loop for state in states if state.loop}
    for state in states:
        around, times = places.get(state.within, ("", 1))
        if (loop := loops.get(state.within)) is not None:
            times = None if times is None or loop.count is None else times * loop.count
        places[state.name] = (f"{around}/{state.name}" if around else state.name, times)
    return places
