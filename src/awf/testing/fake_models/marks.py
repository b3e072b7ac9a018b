"""Fills the {{marks}} in scripted texts and arguments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.testing.fake_models.conversation import Asked, Message, ToolResult

__all__ = ["fill", "fill_text", "marks"]


def marks(asked: Asked, start: int, turn: int) -> dict[str, str]:
    """`start`: the message with the prompt that the script answers."""
    since = asked.messages[start + 1 :]
    latest = _latest_results(since)
    return {
        "tool_result": latest[-1].text if latest else "",
        "tool_results": "\n".join(result.text for result in latest),
        "all_tool_results": "\n".join(result.text for message in since for result in message.results),
        "prompt": asked.messages[start].text if asked.messages else "",
        "tools": ",".join(sorted(tool.full_name for tool in asked.tools)),
        "model": asked.model,
        "turn": str(turn),
        "user_turns": str(sum(message.role == "user" for message in asked.messages)),
    }


def _latest_results(since: list[Message]) -> list[ToolResult]:
    """Those that came after the last word of the assistant."""
    latest: list[ToolResult] = []
    for message in reversed(since):
        if message.role == "assistant":
            break
        latest = message.results + latest
    return latest


def fill_text(template: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values.get(found.group(1), found.group(0)), template)


def fill(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return fill_text(value, values)
    if isinstance(value, list):
        return [fill(item, values) for item in value]
    if isinstance(value, dict):
        return {key: fill(item, values) for key, item in value.items()}
    return value
