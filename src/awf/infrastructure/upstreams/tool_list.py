"""A server's tool list: fetched page by page, kept as long as it holds."""

from __future__ import annotations

import logging
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from awf.domain.mirroring import mirrored_parameters
from awf.infrastructure.upstreams.failures import nonsense
from awf.infrastructure.upstreams.tool_shapes import definition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.domain.tool import ToolDefinition
    from awf.infrastructure.upstreams.client import McpClient

__all__ = ["KeptList", "fetch_tools", "is_chosen"]

PAGES = 1000
TOOLS = 20_000
_log = logging.getLogger("awf.upstreams")


class KeptList(NamedTuple):
    tools: tuple[ToolDefinition, ...]
    mirrored: dict[str, dict[tuple[str, ...], str]]  # tool → which of its arguments go into which header
    connection: int  # the one it came by: a restarted server may have other tools
    fetched: float
    lifetime: float | None  # seconds; None: until the server says that it changed


def is_chosen(name: str, patterns: Sequence[str] | None) -> bool:
    return patterns is None or any(fnmatchcase(name, pattern) for pattern in patterns)


async def fetch_tools(client: McpClient, patterns: Sequence[str] | None, now: float) -> KeptList:
    era = await client.connect()
    raw, ttl = await _pages(client)
    found: dict[str, ToolDefinition] = {}
    mirrored: dict[str, dict[tuple[str, ...], str]] = {}
    for item in raw:
        tool = definition(item, f"mcp:{client.name}")
        if tool is None or tool.name in found or not is_chosen(tool.name, patterns):
            continue
        try:
            headers = mirrored_parameters(tool.input_schema) if era.modern else {}
        except ValueError as reason:
            _log.warning("tool %s of MCP server %s cannot be used: %s", tool.name, client.name, reason)
            continue
        found[tool.name] = tool
        if headers:
            mirrored[tool.name] = headers
    # A server of the newer era says how long its list holds, unless it announces changes.
    lifetime = ttl if era.modern and not era.announces_tool_changes else None
    return KeptList(tuple(found.values()), mirrored, client.connections, now, lifetime)


async def _pages(client: McpClient) -> tuple[list[dict[str, Any]], float]:
    """All tools, and for how many seconds the list holds."""
    tools: list[dict[str, Any]] = []
    cursors: set[str] = set()
    cursor, ttl = None, float("inf")
    for _ in range(PAGES):
        page = await client.request("tools/list", {} if cursor is None else {"cursor": cursor})
        items = page.get("tools")
        tools += [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        ttl = min(ttl, _seconds(page.get("ttlMs")))
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or not cursor:
            return tools, ttl
        if cursor in cursors or len(tools) > TOOLS:
            break
        cursors.add(cursor)
    message = f'The tool list of MCP server "{client.name}" does not end.'
    raise nonsense(message, hint="The server repeats its pages, or has more tools than awf takes.")


def _seconds(ttl: Any) -> float:
    return ttl / 1000 if isinstance(ttl, int | float) and ttl > 0 else 0.0
