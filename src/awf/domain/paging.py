"""Lists that an MCP server gives page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["EndlessList", "all_pages"]

PAGES = 1000
ITEMS = 20_000


class EndlessList(Exception):  # noqa: N818  how bad that is decides whoever asks
    """The server repeats its pages, or has more than anybody takes."""


async def all_pages(
    ask: Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]], kind: str
) -> tuple[list[dict[str, Any]], float]:
    """All `tools`, or `prompts`, and for how many seconds the list holds. Raises `EndlessList`, and what `ask` does."""
    found: list[dict[str, Any]] = []
    cursors: set[str] = set()
    cursor, lifetime = None, float("inf")
    for _ in range(PAGES):
        page = await ask(f"{kind}/list", {} if cursor is None else {"cursor": cursor})
        items = page.get(kind)
        found += [item for item in items if _is_named(item)] if isinstance(items, list) else []
        lifetime = min(lifetime, _seconds(page.get("ttlMs")))
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or not cursor:
            return found, lifetime
        if cursor in cursors or len(found) > ITEMS:
            break
        cursors.add(cursor)
    raise EndlessList


def _is_named(item: Any) -> bool:
    """What has no name cannot be asked for."""
    return isinstance(item, dict) and isinstance(item.get("name"), str) and bool(item["name"])


def _seconds(ttl: Any) -> float:
    return ttl / 1000 if isinstance(ttl, int | float) and ttl > 0 else 0.0
