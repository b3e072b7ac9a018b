"""A result that was put aside, as text that can be read page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.gate.output_limits import as_json, binary_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["SCHEME", "address", "left_out", "view_of", "view_of_blocks"]

SCHEME = "awf://artifact/"


def address(artifact_id: str, part: int | str = "") -> str:
    return f"{SCHEME}{artifact_id}/{part}" if part != "" else f"{SCHEME}{artifact_id}"


def view_of(result: Mapping[str, Any], artifact_id: str) -> str:
    """All texts one after the other, and a line for everything else. Without any, what is structured."""
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    if not blocks and "structuredContent" in result:
        return as_json(result["structuredContent"]).decode()
    return view_of_blocks(enumerate(blocks), artifact_id)


def view_of_blocks(blocks: Iterable[tuple[int, Any]], artifact_id: str) -> str:
    return "\n".join(_line(at, block, artifact_id) for at, block in blocks)


def _line(at: int, block: Any, artifact_id: str) -> str:
    text = text_of(block)
    return text if text is not None else f"[{left_out(block)}: {address(artifact_id, at)}]"


def left_out(block: Any) -> str:
    """What a block is, in a few words."""
    binary = binary_of(block)
    if binary is not None:
        return f"{binary[1]}, {len(binary[0]) * 3 // 4 - binary[0][-2:].count('=')} bytes"
    kind = block.get("type") if isinstance(block, dict) else None
    return f"{kind if isinstance(kind, str) else 'something'}, {len(as_json(block))} bytes"
