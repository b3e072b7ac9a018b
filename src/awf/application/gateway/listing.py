"""Lists of a server, fetched to their end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError
from awf.domain.mcp import METHOD_NOT_FOUND, RpcError

if TYPE_CHECKING:
    from awf.domain.mcp import Era
    from awf.domain.ports.upstream import Upstream

__all__ = ["fetch_all"]

PAGES = 1000
ITEMS = 20_000


async def fetch_all(upstream: Upstream, kind: str, era: Era) -> tuple[tuple[dict[str, Any], ...], float]:
    """All `tools` or `prompts`, and for how many seconds the list holds. Nothing, where the server has none of them."""
    if era.capabilities and kind not in era.capabilities:
        return (), float("inf")
    try:
        return await _pages(upstream, kind)
    except RpcError as reason:
        if reason.code == METHOD_NOT_FOUND:
            return (), float("inf")
        raise


async def _pages(upstream: Upstream, kind: str) -> tuple[tuple[dict[str, Any], ...], float]:
    found: list[dict[str, Any]] = []
    cursors: set[str] = set()
    cursor, lifetime = None, float("inf")
    for _ in range(PAGES):
        page = await upstream.exchange(f"{kind}/list", {} if cursor is None else {"cursor": cursor})
        items = page.get(kind)
        found += [item for item in items if _is_named(item)] if isinstance(items, list) else []
        lifetime = min(lifetime, _seconds(page.get("ttlMs")))
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or not cursor:
            return tuple(found), lifetime
        if cursor in cursors or len(found) > ITEMS:
            break
        cursors.add(cursor)
    raise AwfError(
        "EXECUTION.MCP_SERVER.PROTOCOL",
        f"Its list of {kind} does not end.",
        hint="The server repeats its pages, or has more than awf takes.",
    )


def _is_named(item: Any) -> bool:
    """What has no name cannot be asked for."""
    return isinstance(item, dict) and isinstance(item.get("name"), str) and bool(item["name"])


def _seconds(ttl: Any) -> float:
    return ttl / 1000 if isinstance(ttl, int | float) and ttl > 0 else 0.0
