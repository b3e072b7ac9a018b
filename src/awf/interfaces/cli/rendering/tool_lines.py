"""Tools as a list for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from awf.application.tools.preview import estimated_tokens
from awf.interfaces.cli.rendering.figures import counted, number_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from awf.domain.tool import ToolDefinition

__all__ = ["tool_lines"]

_ABOUT = 60


def tool_lines(listed: Mapping[str, Sequence[ToolDefinition]]) -> Iterator[str]:
    if not listed:
        yield "No agent of this workflow gets its tools through AWF."
        yield "Give an agent state  mcp_proxy: {enable: true}"
    for number, (state, tools) in enumerate(listed.items()):
        if number:
            yield ""
        total = sum(map(estimated_tokens, tools))
        yield f"{state}  {counted(len(tools), 'tool')}, about {number_text(total)} tokens"
        name_width = max((len(tool.name) for tool in tools), default=0)
        source_width = max((len(tool.source) for tool in tools), default=0)
        for tool in tools:
            size = number_text(estimated_tokens(tool)).rjust(6)
            yield f"  {tool.name.ljust(name_width)}  {tool.source.ljust(source_width)}  {size}  {_about(tool)}".rstrip()


def _about(tool: ToolDefinition) -> str:
    lines = tool.description.strip().splitlines()
    first = " ".join(lines[0].split()) if lines else ""
    return first if len(first) <= _ABOUT else f"{first[: _ABOUT - 1]}…"
