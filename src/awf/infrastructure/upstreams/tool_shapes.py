"""Tools and results as servers write them, and as the rest of awf sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from awf.domain.mcp import INVALID_PARAMS, RESERVED_META
from awf.domain.tool import ToolDefinition, ToolErrorCode, ToolFailure, ToolResult, words_of_server

if TYPE_CHECKING:
    from awf.domain.mcp import RpcError
    from awf.domain.tool import CallContext

__all__ = ["definition", "failure", "request_meta", "result"]

_KNOWN = frozenset({"name", "description", "inputSchema", "title", "outputSchema", "annotations"})
_RESOURCE_NOT_FOUND = -32002  # the older era's; the newer one says -32602


def definition(tool: dict[str, Any], source: str) -> ToolDefinition | None:
    """None for what cannot be called, because it has no name."""
    name = tool.get("name")
    if not isinstance(name, str) or not name:
        return None
    output = tool.get("outputSchema")
    return ToolDefinition(
        name=name,
        description=_text(tool.get("description")),
        input_schema=_mapping(tool.get("inputSchema")) or {"type": "object"},
        source=source,
        title=_text(tool.get("title")),
        output_schema=output if isinstance(output, dict) else None,
        annotations=_mapping(tool.get("annotations")),
        more={key: value for key, value in tool.items() if key not in _KNOWN},
    )


def result(raw: dict[str, Any], server: str) -> ToolResult:
    """Raises `ToolFailure` when the server wants something before it goes on."""
    kind = raw.get("resultType", "complete")
    if kind == "input_required":
        raise ToolFailure(
            "EXECUTION_FAILED", f'MCP server "{server}" {_wanted(raw)}, which cannot be given here.'
        )
    if kind != "complete":
        message = (
            f'MCP server "{server}" answered with a result of the kind {kind!r}, which awf does not know.'
        )
        raise ToolFailure("EXECUTION_FAILED", message)
    content = raw.get("content")
    if not isinstance(content, list):
        content = [{"type": "text", "text": _as_json(raw["toolResult"])}] if "toolResult" in raw else []
    return ToolResult(
        content=[block for block in content if isinstance(block, dict)],
        is_error=raw.get("isError") is True,
        structured=raw.get("structuredContent", msgspec.UNSET),
        meta=words_of_server(_mapping(raw.get("_meta"))),
    )


def request_meta(context: CallContext) -> dict[str, Any]:
    """What of the caller's `_meta` may go on: not what each hop says for itself."""
    kept = {
        key: value
        for key, value in context.meta.items()
        if not key.startswith(RESERVED_META) and key != "progressToken"
    }
    return {**kept, **context.trace}


def failure(reason: RpcError, server: str) -> ToolFailure:
    code: ToolErrorCode = "EXECUTION_FAILED"
    if reason.code == INVALID_PARAMS:
        code = "INVALID_ARGUMENTS"
    elif reason.code == _RESOURCE_NOT_FOUND:
        code = "RESOURCE_NOT_FOUND"
    return ToolFailure(code, f'MCP server "{server}": {reason.message} (error {reason.code})')


def _wanted(raw: dict[str, Any]) -> str:
    asked = _mapping(raw.get("inputRequests")).values()
    methods = sorted(
        {str(item.get("method")) for item in asked if isinstance(item, dict) and item.get("method")}
    )
    return f"wants input first ({', '.join(methods)})" if methods else "wants input first"


def _as_json(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
