"""What a tool gave, as far as a message to the model can carry it. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from awf.domain.tool import ToolResult

__all__ = ["pictures", "tool_text"]


def tool_text(result: ToolResult, *, images: bool) -> str:
    """The API's answers of tools are text alone, and have no mark for an error."""
    parts = [_block(block, images=images) for block in result.content]
    text = "\n".join(part for part in parts if part)
    if not text and result.structured is not msgspec.UNSET:
        text = json.dumps(result.structured, ensure_ascii=False, default=str)
    if result.is_error and not text.lower().startswith("error"):
        return f"Error: {text or 'the tool failed and did not say why'}"
    return text or "(no output)"


def pictures(result: ToolResult) -> list[dict[str, Any]]:
    """As parts of a message of the user, the only one that may hold pictures."""
    return [
        {
            "type": "image_url",
            "image_url": {"url": f"data:{block.get('mimeType', 'image/png')};base64,{block['data']}"},
        }
        for block in result.content
        if _is_picture(block)
    ]


def _is_picture(block: dict[str, Any]) -> bool:
    return block.get("type") == "image" and isinstance(block.get("data"), str)


def _block(block: dict[str, Any], *, images: bool) -> str:
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "resource":
            return _resource(block.get("resource"))
        case "resource_link":
            return f"({block.get('name', 'resource')}: {block.get('uri', '')})"
        case "image" if images and _is_picture(block):
            return f"({_about(block)}; it follows in a message of its own)"
        case kind:
            return f"({_about(block)}, which cannot be shown to you)" if "data" in block else f"({kind})"


def _resource(resource: Any) -> str:
    if not isinstance(resource, dict):
        return "(resource)"
    if isinstance(resource.get("text"), str):
        return str(resource["text"])
    return f"(resource {resource.get('uri', '')} of type {resource.get('mimeType', 'unknown')}, not text)"


def _about(block: dict[str, Any]) -> str:
    size = len(str(block.get("data", ""))) * 3 // 4
    return f"{block.get('type')} of type {block.get('mimeType', 'unknown')}, {size} bytes"
