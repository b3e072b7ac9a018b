"""What came of a call, in the shape that programs get."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import msgspec

from awf.application.gate.spooling import SPOOLED_KEY
from awf.application.tools.pipeline import error_code
from awf.domain.manifest import MCPToolResult, OutputSpool, ToolError, ToolResultMeta
from awf.domain.tool import ERROR_KEY, ToolErrorCode

if TYPE_CHECKING:
    from awf.domain.tool import ToolResult

__all__ = ["result_form"]

_LONGEST = 2000  # characters of a message
_CODES: frozenset[ToolErrorCode] = frozenset(get_args(ToolErrorCode))


def result_form(
    result: ToolResult, *, tool: str, request_id: str, took: float, sandboxed: bool
) -> MCPToolResult:
    meta = ToolResultMeta(
        duration_ms=int(took * 1000),
        tool_name=tool,
        sandboxed=sandboxed,
        request_id=request_id,
        output_spool=_spool(result.meta.get(SPOOLED_KEY)),
    )
    return MCPToolResult(
        success=not result.is_error,
        content=result.content,
        structured_content=result.structured,
        error=_error(result) if result.is_error else None,
        meta=meta,
    )


def _error(result: ToolResult) -> ToolError:
    said = error_code(result)
    code: ToolErrorCode = next((one for one in _CODES if one == said), "EXECUTION_FAILED")
    about = result.meta.get(ERROR_KEY)
    details = about.get("details") if isinstance(about, dict) else None
    message = result.text or "The tool failed, and did not say why."
    if len(message) > _LONGEST:
        message = f"{message[:_LONGEST]}…"  # `content` has all of it
    return ToolError(code=code, message=message, details=details if isinstance(details, dict) else {})


def _spool(facts: Any) -> OutputSpool | None:
    return msgspec.convert(facts, OutputSpool) if isinstance(facts, dict) else None
