"""Which of the offered tools a script means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.testing.fake_models.conversation import OfferedTool

__all__ = ["find_tool", "literal_name"]

_EXACT, _PATTERN = "exact:", "re:"


def find_tool(wanted: str, tools: Sequence[OfferedTool]) -> OfferedTool | None:
    """`exact:X` is the whole name, `re:X` a regex to search for.

    A plain name is best found as the last part after the prefix that an agent puts before the name of an MCP tool
    (`mcp__srv__Read`, `mcp_srv_Read`, `srv_Read`, `srv-Read`), else as the whole name.
    """
    if wanted.startswith(_EXACT):
        name = wanted.removeprefix(_EXACT)
        return next((tool for tool in tools if name in {tool.name, tool.full_name}), None)
    if wanted.startswith(_PATTERN):
        pattern = re.compile(wanted.removeprefix(_PATTERN))
        return next((tool for tool in tools if pattern.search(tool.full_name)), None)
    tail = re.compile(r"(?:^|[_\-./:])" + re.escape(wanted) + "$")
    for tool in tools:
        if tool.full_name != wanted and tail.search(tool.full_name):
            return tool
    return next((tool for tool in tools if tool.name == wanted), None)


def literal_name(wanted: str) -> str:
    """The name to call when no offered tool is meant."""
    return wanted.removeprefix(_EXACT).removeprefix(_PATTERN)
