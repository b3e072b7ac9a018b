"""The tools that the agents of a workflow would get, without a run."""

from __future__ import annotations

import json
import os.path
from typing import TYPE_CHECKING, Any

from awf.application.tools.offering import offered_tools
from awf.application.tools.router import Observers
from awf.domain.errors import AwfError
from awf.domain.inputs import resolve_inputs
from awf.domain.own_variables import handed_on
from awf.domain.ports.expressions import ExpressionError
from awf.domain.problem import suggest
from awf.domain.workflow import AgentState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.application.running.services import RunServices
    from awf.application.tools.proxy import OfferedTools
    from awf.domain.program import Program
    from awf.domain.tool import ToolDefinition
    from awf.domain.workflow import Workflow

__all__ = ["estimated_tokens", "preview_tools"]

_CHARACTERS_PER_TOKEN = 4  # a common rule of thumb for JSON and English


async def preview_tools(
    program: Program, step: str, given: Mapping[str, Any], services: RunServices
) -> dict[str, list[ToolDefinition]]:
    """State → its tools. Plugins and servers are started to be asked."""
    states = _states(program.main, step)
    found = {}
    for name, state in states.items():
        offered = _offered(program, state, given, services)
        observers = Observers(tracer=services.tracer, masker=services.masker)
        router = await services.tools.router(offered, observers)
        try:
            found[name] = list(router.definitions())
        finally:
            await router.close()
    return found


def _states(workflow: Workflow, step: str) -> dict[str, AgentState]:
    with_proxy = {
        name: state
        for name, state in workflow.states.items()
        if isinstance(state, AgentState) and state.mcp_proxy is not None and state.mcp_proxy.enable
    }
    if not step:
        return with_proxy
    if step in with_proxy:
        return {step: with_proxy[step]}
    if step in workflow.states:
        raise AwfError(
            "USER.INPUT.USAGE",
            f"'{step}' gets no tools through AWF.",
            hint="Give it  mcp_proxy: {enable: true}"
            if isinstance(workflow.states[step], AgentState)
            else "",
        )
    close = suggest(step, workflow.states)
    raise AwfError(
        "USER.INPUT.USAGE", f"There is no state '{step}'.", hint=f"did you mean '{close}'?" if close else ""
    )


def _offered(
    program: Program, state: AgentState, given: Mapping[str, Any], services: RunServices
) -> OfferedTools:
    workflow = program.main
    values, _ = resolve_inputs(workflow.inputs, dict(given), is_file=services.files.is_file)
    context = {
        "inputs": values,
        "env": services.environment,
        "context": services.surroundings,
        "awf": services.places,
        "workflow": {"name": workflow.name, "version": workflow.version},
    }

    def render(text: str) -> str:
        try:
            return services.expressions.template(text).render(context)
        except ExpressionError as error:
            raise AwfError(
                "EXECUTION.TEMPLATE.FAILED",
                f"This cannot be known before the run: {text} ({error.message})",
                hint="Give what it needs with --input name=value.",
            ) from error

    folder = os.path.expanduser(_folder(state.dir, render)) if state.dir else ""
    assert state.mcp_proxy is not None
    return offered_tools(
        state.mcp_proxy,
        render,
        root=os.path.normpath(os.path.join(services.cwd, folder)),
        environment=handed_on(services.environment),
        short_names=workflow.plugins,
    )


def _folder(text: str, render: Callable[[str], str]) -> str:
    """Where only the run knows it, here will do: an agent sees the same tools wherever it works."""
    try:
        return render(text)
    except AwfError:
        return ""


def estimated_tokens(tool: ToolDefinition) -> int:
    """About how much of a model's context the definition takes."""
    shown = json.dumps(tool.input_schema, separators=(",", ":"), ensure_ascii=False)
    return -(-(len(tool.name) + len(tool.description) + len(shown)) // _CHARACTERS_PER_TOKEN)
