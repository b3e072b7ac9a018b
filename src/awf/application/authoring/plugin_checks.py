"""What a workflow wants of plugins and other servers, held against what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.mcp_server import problems_with
from awf.domain.problem import NodePath, Problem, suggest
from awf.domain.workflow import AgentState, OperationState, PluginState, plugin_and_member

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from awf.domain.draft import Draft
    from awf.domain.mcp_proxy import ExposedPlugin, McpProxy
    from awf.domain.ports.plugins import DeclaredPlugin, Operation, PluginFacts
    from awf.domain.program import LoadedProgram
    from awf.domain.workflow import Workflow

__all__ = ["PluginChecks", "named_plugins", "workflow_documents"]

BUILTIN_TOOLS = ("Read", "Write", "Edit", "Bash", "Glob", "Grep")


def named_plugins(loaded: LoadedProgram) -> set[str]:
    """The plugins that these workflows refer to."""
    return {
        plugin
        for one in loaded.files.values()
        for state in one.draft.states.values()
        for plugin in _named(state, one.draft)
    }


def _named(state: Any, draft: Draft) -> Iterator[str]:
    short = draft.workflow.plugins if draft.workflow else {}
    if isinstance(state, OperationState):
        yield plugin_and_member(state.operation, short)[0]
    elif isinstance(state, PluginState):
        yield plugin_and_member(state.step_type, short)[0]
    elif isinstance(state, AgentState) and state.mcp_proxy and state.mcp_proxy.enable:
        yield from (plugin_and_member(one.plugin, short)[0] for one in state.mcp_proxy.plugin_tools)


def workflow_documents(loaded: LoadedProgram) -> dict[str, bytes]:
    """Each workflow as JSON, for the validators of plugins: as in its file, with short forms written out."""
    return {
        file: msgspec.json.encode(_document(one.draft.workflow))
        for file, one in loaded.files.items()
        if one.draft.workflow is not None
    }


def _document(workflow: Workflow) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(workflow)
    for name, state in workflow.states.items():
        if not isinstance(state, PluginState):
            document["states"][name]["type"] = state.kind
        else:
            document["states"][name]["type"] = document["states"][name].pop("step_type")
    return document


class PluginChecks:
    """`declared` starts nothing and is asked only where a workflow refers to a plugin. `facts` is what plugins said
    when they were asked; None where nobody asked them.
    """

    def __init__(
        self, declared: Callable[[], Mapping[str, DeclaredPlugin]], facts: Mapping[str, PluginFacts] | None
    ) -> None:
        self._declared = declared
        self._facts = facts

    def state(self, state: Any, path: NodePath, draft: Draft) -> Iterator[Problem]:
        short = draft.workflow.plugins if draft.workflow else {}
        if isinstance(state, OperationState):
            yield from self._operation(state, path, short)
        elif isinstance(state, PluginState):
            yield from self._step_type(state, path, short)
        elif isinstance(state, AgentState) and state.mcp_proxy is not None:
            yield from self._proxy(state.mcp_proxy, (*path, "mcp_proxy"), short)

    # -- states that a plugin carries out ------------------------------------------------------------------------------

    def _operation(self, state: OperationState, path: NodePath, short: dict[str, str]) -> Iterator[Problem]:
        plugin, member = plugin_and_member(state.operation, short)
        place = (*path, "operation")
        if not member:
            yield Problem(
                code="WORKFLOW.PARSE.INVALID_VALUE",
                message=f"'{state.operation}' names no operation.",
                path=place,
                hint="Write it as PLUGIN.OPERATION.",
            )
            return
        facts, problem = self._known(plugin, place, "WORKFLOW.VALIDATION.UNKNOWN_PLUGIN")
        if problem is not None:
            yield problem
        if facts is None:
            return
        operation = facts.operations.get(member)
        if operation is None:
            yield _unknown_operation("WORKFLOW.VALIDATION.UNKNOWN_OPERATION", plugin, member, facts, place)
        elif operation.refusal:
            yield _refused("WORKFLOW.VALIDATION.UNKNOWN_OPERATION", plugin, member, operation, place)
        else:
            yield from _operation_inputs(state, path, operation)

    def _step_type(self, state: PluginState, path: NodePath, short: dict[str, str]) -> Iterator[Problem]:
        plugin, member = plugin_and_member(state.step_type, short)
        place = (*path, "type")
        facts, problem = self._known(plugin, place, "WORKFLOW.VALIDATION.UNKNOWN_TYPE")
        if problem is not None:
            yield problem
        if facts is not None and member not in facts.step_types:
            close = suggest(member, facts.step_types)
            known = ", ".join(sorted(facts.step_types)) or "none"
            yield Problem(
                code="WORKFLOW.VALIDATION.UNKNOWN_TYPE",
                message=f"The plugin '{plugin}' has no step type '{member}'.",
                path=place,
                hint=f"did you mean '{plugin}.{close}'?" if close else f"Its step types: {known}.",
            )

    def _known(self, plugin: str, place: NodePath, code: str) -> tuple[PluginFacts | None, Problem | None]:
        """What the plugin said, and what is wrong with asking it."""
        declared = self._declared()
        if plugin not in declared:
            close = suggest(plugin, declared)
            known = ", ".join(sorted(declared)) or "none"
            return None, Problem(
                code=code,
                message=f"No plugin is named '{plugin}'.",
                path=place,
                hint=f"did you mean '{close}'?"
                if close
                else f"Plugins here: {known}. `awf plugin list` shows them.",
            )
        facts = self._facts.get(plugin) if self._facts is not None else None
        if facts is not None and facts.trouble:
            return None, Problem(
                code="EXECUTION.PLUGIN.UNAVAILABLE",
                message=f"The plugin '{plugin}' cannot be asked: {facts.trouble}",
                path=place,
                hint=facts.hint or f"awf plugin check {plugin}",
            )
        return facts, None

    # -- the proxy of an agent -----------------------------------------------------------------------------------------

    def _proxy(self, proxy: McpProxy, path: NodePath, short: dict[str, str]) -> Iterator[Problem]:
        if not proxy.enable:
            return
        servers = {name: server for name, server in proxy.mcp_servers.items() if server.enabled}
        exposes = any(one.expose for one in proxy.plugin_tools)
        if not (proxy.intercept_builtins or exposes or servers or proxy.gateway):
            yield Problem(
                code="USER.MCP_PROXY.EMPTY_PROXY",
                message="This proxy offers nothing: built-in tools are not intercepted, and nothing is added.",
                path=path,
                at_key=True,
                hint="Add plugin_tools, mcp_servers or gateway, or remove the block.",
            )
        names: dict[str, str] = dict.fromkeys(BUILTIN_TOOLS, "builtin") if proxy.intercept_builtins else {}
        for index, exposed in enumerate(proxy.plugin_tools):
            yield from self._exposed(exposed, (*path, "plugin_tools", index), short, names)
        for name, server in servers.items():
            for field, message, hint in problems_with(server):
                place = (*path, "mcp_servers", name, *field.split(".", 1))
                yield Problem(code="WORKFLOW.PARSE.INVALID_VALUE", message=message, path=place, hint=hint)

    def _exposed(
        self, exposed: ExposedPlugin, path: NodePath, short: dict[str, str], names: dict[str, str]
    ) -> Iterator[Problem]:
        plugin, _ = plugin_and_member(exposed.plugin, short)
        facts, problem = self._known(plugin, (*path, "plugin"), "USER.MCP_PROXY.UNKNOWN_PLUGIN")
        if problem is not None:
            yield problem
        for number, member in enumerate(exposed.expose):
            place = (*path, "expose", number)
            tool = f"{plugin}_{member}"
            source = f"{plugin}.{member}"
            other = names.get(tool.replace("-", "_"))
            names.setdefault(tool.replace("-", "_"), source)
            if other is not None:
                yield Problem(
                    code="USER.MCP_PROXY.NAME_COLLISION",
                    message=f"Two tools would be called '{tool}': {other} and {source}.",
                    path=place,
                    hint="Expose only one of them.",
                )
            if facts is None:
                continue
            operation = facts.operations.get(member)
            if operation is None:
                yield _unknown_operation("USER.MCP_PROXY.UNKNOWN_OPERATION", plugin, member, facts, place)
            elif operation.refusal:
                yield _refused("USER.MCP_PROXY.UNKNOWN_OPERATION", plugin, member, operation, place)

    # -- what validators of plugins found ------------------------------------------------------------------------------

    def issues(self, file: str, draft: Draft) -> Iterator[Problem]:
        for facts in (self._facts or {}).values():
            for issue in facts.issues.get(file, []):
                path: NodePath = ("states", issue.step) if issue.step in draft.states else ()
                yield Problem(
                    code="WORKFLOW.VALIDATION.PLUGIN_ISSUE",
                    message=f"{issue.message} (says the plugin '{facts.name}')",
                    path=(*path, issue.field) if path and issue.field else path,
                    at_key=bool(path),
                    severity=issue.severity,
                )
            if facts.trouble and "validators" in facts.capabilities:
                yield Problem(
                    code="EXECUTION.PLUGIN.UNAVAILABLE",
                    message=f"The validator of the plugin '{facts.name}' could not be asked: {facts.trouble}",
                    hint=facts.hint or f"awf plugin check {facts.name}",
                    severity="warning",
                )


def _unknown_operation(code: str, plugin: str, member: str, facts: PluginFacts, place: NodePath) -> Problem:
    close = suggest(member, facts.operations)
    known = ", ".join(sorted(facts.operations)) or "none"
    return Problem(
        code=code,
        message=f"The plugin '{plugin}' has no operation '{member}'.",
        path=place,
        hint=f"did you mean '{close}'?" if close else f"Its operations: {known}.",
    )


def _refused(code: str, plugin: str, member: str, operation: Operation, place: NodePath) -> Problem:
    return Problem(
        code=code,
        message=f"The operation '{member}' of '{plugin}' cannot be used: {operation.refusal}",
        path=place,
        hint=f"awf plugin check {plugin}",
    )


def _operation_inputs(state: OperationState, path: NodePath, operation: Operation) -> Iterator[Problem]:
    schema = operation.input_schema
    known: Iterable[str] = schema.get("properties", {})
    for key in ("inputs", "operation_inputs"):
        for given in getattr(state, key):
            if given not in known:
                close = suggest(given, known)
                yield Problem(
                    code="WORKFLOW.VALIDATION.UNDEFINED_INPUT",
                    message=f"'{state.operation}' has no input '{given}'.",
                    path=(*path, key, given),
                    at_key=True,
                    hint=f"did you mean '{close}'?"
                    if close
                    else f"Its inputs: {', '.join(known) or 'none'}.",
                )
    for name in schema.get("required", []):
        if name not in state.inputs and name not in state.operation_inputs:
            yield Problem(
                code="WORKFLOW.VALIDATION.UNDEFINED_INPUT",
                message=f"'{state.operation}' needs the input '{name}'.",
                path=path,
                at_key=True,
                hint=f"Add inputs: {{{name}: …}}",
            )
