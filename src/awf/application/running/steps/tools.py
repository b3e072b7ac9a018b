"""The tools of an agent state that has a proxy."""

from __future__ import annotations

import contextlib
import fnmatch
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.running.approval import ask_tool_approval
from awf.application.running.environment import agent_environment, context_of
from awf.application.running.steps.command import working_directory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from awf.application.running.context import StepContext
    from awf.application.tools.pipeline import StepGate
    from awf.application.tools.proxy import ProxyTools
    from awf.application.tools.router import Observers
    from awf.domain.mcp_proxy import McpProxy
    from awf.domain.tool import ToolDefinition
    from awf.domain.workflow import AgentState

__all__ = ["step_tools"]


@contextlib.asynccontextmanager
async def step_tools(step: StepContext, state: AgentState) -> AsyncIterator[ProxyTools | None]:
    """The proxy for the time of the block; None where the state has none and the editor has no servers."""
    proxy = state.mcp_proxy if state.mcp_proxy is not None and state.mcp_proxy.enable else None
    joined = step.services.editor_servers
    if proxy is None and not joined:
        yield None
        return
    from awf.application.tools.offering import offered_tools
    from awf.domain.mcp_proxy import McpProxy

    proxy = proxy or McpProxy(enable=True, intercept_builtins=False)

    offered = offered_tools(
        proxy,
        step.render,
        root=working_directory(step, state.dir),
        environment=agent_environment(step, state.env),
        short_names=step.scope.workflow.plugins,
    )
    if joined:  # under one name the editor's server counts
        own = {name: server for name, server in offered.servers.items() if name not in joined}
        offered = msgspec.structs.replace(offered, servers=own, optional=joined)
    async with step.services.tools.open(offered, _observers(step, proxy)) as tools:
        yield tools


def _gate(step: StepContext) -> StepGate | None:
    gate = step.services.gate()
    if gate is None:
        return None
    from awf.application.gate.origin import Origin
    from awf.application.running.steps.asking import StepAsking
    from awf.application.tools.pipeline import StepGate
    from awf.domain.grant import Holder

    services = step.services
    context = context_of(step)
    origin = Origin(
        context=context,
        door="step",
        holder=Holder(services.cwd, services.surroundings.get("user", ""), context),
        client=f"run {step.durable.run_id}",
        workflow=step.scope.workflow.name,
        step=step.path,
    )
    return StepGate(gate, origin, StepAsking(step))


def _observers(step: StepContext, proxy: McpProxy) -> Observers:
    from awf.application.tools.router import Observers

    async def allow(tool: ToolDefinition, arguments: Mapping[str, Any], call_id: str) -> str:
        if not any(fnmatch.fnmatchcase(tool.name, pattern) for pattern in proxy.approve):
            return ""
        return await ask_tool_approval(step, tool.name, arguments, call_id, proxy.approve_timeout)

    return Observers(
        tracer=step.services.tracer,
        masker=step.services.masker,
        record=step.emit,
        step=step.name,
        path=step.path,
        allow=allow if proxy.approve else None,
        gate=_gate(step),
    )
