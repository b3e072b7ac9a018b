"""A plugin's operations as tools of an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.errors import AwfError
from awf.domain.tool import Behind, ToolDefinition, ToolFailure, UnknownTool, text_result
from awf.infrastructure.plugins.tool_names import tool_name
from awf.infrastructure.plugins.wording import meant

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from awf.domain.ports.plugins import Operation, OperationOutcome, Plugins
    from awf.domain.tool import CallContext, ToolErrorCode, ToolResult

__all__ = ["PluginTools"]

_CODE = "USER.MCP_PROXY.UNKNOWN_OPERATION"
_TOLD: dict[str, ToolErrorCode] = {
    "EXECUTION.PLUGIN.TIMEOUT": "TIMEOUT",
    "EXECUTION.SANDBOX.STOPPED": "SANDBOX_VIOLATION",
    "USER.PLUGIN.UNKNOWN_OPERATION": "RESOURCE_NOT_FOUND",
}


class PluginTools:
    """`exposed` names operations; None stands for all that the plugin has."""

    def __init__(self, plugins: Plugins, plugin: str, exposed: Iterable[str] | None = None) -> None:
        self._plugins = plugins
        self._plugin = plugin
        self._exposed = None if exposed is None else list(dict.fromkeys(exposed))
        self._operations: dict[str, Operation] | None = None  # by the name of the tool

    async def list_tools(self) -> Sequence[ToolDefinition]:
        return [self._definition(name, one) for name, one in (await self._tools()).items()]

    def behind(self, name: str) -> Behind:
        """By the operation, whatever name its tool was given."""
        operation = (self._operations or {}).get(name)
        tool_id = f"plugin.{self._plugin}:{operation.name if operation is not None else name}"
        declared = self._plugins.declared().get(self._plugin)
        return Behind(tool_id, declared.folders if declared is not None else ())

    async def call_tool(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> ToolResult:
        operation = (await self._tools()).get(name)
        if operation is None:
            raise UnknownTool(name)
        try:
            outcome = await self._plugins.execute(
                self._plugin, operation.name, arguments, trace=context.trace
            )
        except AwfError as error:
            code = _TOLD.get(error.code, "EXECUTION_FAILED")
            raise ToolFailure(code, error.message) from error
        return _result(outcome, operation)

    async def close(self) -> None:
        """Nothing to let go of: the plugin belongs to the run."""

    async def _tools(self) -> dict[str, Operation]:
        if self._operations is None:
            facts = (await self._plugins.facts([self._plugin]))[self._plugin]
            if facts.trouble:
                raise AwfError("EXECUTION.PLUGIN.UNAVAILABLE", facts.trouble, hint=facts.hint)
            self._operations = self._chosen(facts.operations)
        return self._operations

    def _chosen(self, operations: Mapping[str, Operation]) -> dict[str, Operation]:
        chosen: dict[str, Operation] = {}
        for name in operations if self._exposed is None else self._exposed:
            operation = operations.get(name)
            if operation is None:
                raise AwfError(
                    _CODE,
                    f"The plugin '{self._plugin}' has no operation '{name}'.",
                    hint=meant(name, operations, "It has no operations at all."),
                )
            if operation.refusal:
                raise AwfError(
                    _CODE,
                    f"The operation '{name}' of the plugin '{self._plugin}' cannot be a tool: {operation.refusal}.",
                    hint="Mend the plugin, or expose only its other operations.",
                )
            tool = tool_name(self._plugin, name)
            if tool in chosen:
                raise AwfError(
                    "USER.MCP_PROXY.NAME_COLLISION",
                    f"The operations '{chosen[tool].name}' and '{name}' of the plugin '{self._plugin}' "
                    f"would both be the tool {tool}.",
                    hint="Expose one of them.",
                )
            chosen[tool] = operation
        return chosen

    def _definition(self, name: str, operation: Operation) -> ToolDefinition:
        return ToolDefinition(
            name=name,
            description=operation.description,
            input_schema=operation.input_schema,
            source=f"plugin:{self._plugin}",
            output_schema=operation.output_schema,
            annotations={"readOnlyHint": True} if operation.read_only else {},
        )


def _result(outcome: OperationOutcome, operation: Operation) -> ToolResult:
    if not outcome.success:
        why = outcome.error or f"The operation '{operation.name}' failed and does not say why."
        text = "\n".join(part for part in (why, outcome.output) if part)
        return text_result(text, is_error=True, structured=outcome.data or msgspec.UNSET)
    # Whoever announces an output schema has to answer with an object, also with an empty one.
    structured = outcome.data if outcome.data or operation.output_schema else msgspec.UNSET
    data = msgspec.json.encode(outcome.data).decode() if outcome.data else ""
    return text_result(outcome.output or data, structured=structured)
