"""A server's tool list: fetched page by page, kept as long as it holds."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from awf.domain.mirroring import mirrored_parameters
from awf.domain.name_patterns import fits
from awf.domain.paging import EndlessList, all_pages
from awf.infrastructure.upstreams.failures import nonsense
from awf.infrastructure.upstreams.tool_shapes import definition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.domain.tool import ToolDefinition
    from awf.infrastructure.upstreams.client import McpClient

__all__ = ["KeptList", "fetch_tools", "is_chosen"]

_log = logging.getLogger("awf.upstreams")


class KeptList(NamedTuple):
    tools: tuple[ToolDefinition, ...]
    mirrored: dict[str, dict[tuple[str, ...], str]]  # tool → which of its arguments go into which header
    connection: int  # the one it came by: a restarted server may have other tools
    fetched: float
    lifetime: float | None  # seconds; None: until the server says that it changed


def is_chosen(name: str, patterns: Sequence[str] | None) -> bool:
    return patterns is None or any(fits(name, pattern) for pattern in patterns)


async def fetch_tools(client: McpClient, patterns: Sequence[str] | None, now: float) -> KeptList:
    era = await client.connect()
    try:
        raw, ttl = await all_pages(client.request, "tools")
    except EndlessList:
        message = f'The tool list of MCP server "{client.name}" does not end.'
        hint = "The server repeats its pages, or has more tools than awf takes."
        raise nonsense(message, hint=hint) from None
    found: dict[str, ToolDefinition] = {}
    mirrored: dict[str, dict[tuple[str, ...], str]] = {}
    for item in raw:
        tool = definition(item, f"mcp:{client.name}")
        if tool is None or tool.name in found or not is_chosen(tool.name, patterns):
            continue
        try:
            headers = mirrored_parameters(tool.input_schema) if era.modern else {}
        except ValueError as reason:
            bad, why = client.as_logged(tool.name), client.as_logged(reason)
            _log.warning("tool %s of MCP server %s cannot be used: %s", bad, client.name, why)
            continue
        found[tool.name] = tool
        if headers:
            mirrored[tool.name] = headers
    # A server of the newer era says how long its list holds, unless it announces changes.
    lifetime = ttl if era.modern and not era.announces_tool_changes else None
    return KeptList(tuple(found.values()), mirrored, client.connections, now, lifetime)
