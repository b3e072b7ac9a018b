"""Tools and results in the words of the oldest protocol versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcpserver import Result
from mcpserver.dialects import DIALECTS

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DialectLowering"]


class DialectLowering:
    """The gateway's `Lowering`."""

    def tools(self, version: str, tools: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        return DIALECTS[version].tools(tools)

    def result(self, version: str, result: dict[str, Any]) -> dict[str, Any]:
        content, meta = result.get("content"), result.get("_meta")
        more = {"structured": result["structuredContent"]} if "structuredContent" in result else {}
        made = Result(
            content=content if isinstance(content, list) else [],
            is_error=result.get("isError") is True,
            meta=meta if isinstance(meta, dict) else {},
            **more,
        )
        return DIALECTS[version].call_result(made)
