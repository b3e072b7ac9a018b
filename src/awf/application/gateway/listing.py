"""Lists of a server, fetched to their end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.domain.errors import AwfError
from awf.domain.mcp import METHOD_NOT_FOUND, RpcError
from awf.domain.paging import EndlessList, all_pages

if TYPE_CHECKING:
    from awf.domain.mcp import Era
    from awf.domain.ports.upstream import Upstream

__all__ = ["fetch_all"]


async def fetch_all(upstream: Upstream, kind: str, era: Era) -> tuple[tuple[dict[str, Any], ...], float]:
    """All `tools` or `prompts`, and for how many seconds the list holds. Nothing, where the server has none of them."""
    if era.capabilities and kind not in era.capabilities:
        return (), float("inf")
    try:
        found, lifetime = await all_pages(upstream.exchange, kind)
    except RpcError as reason:
        if reason.code == METHOD_NOT_FOUND:
            return (), float("inf")
        raise
    except EndlessList:
        raise AwfError(
            "EXECUTION.MCP_SERVER.PROTOCOL",
            f"Its list of {kind} does not end.",
            hint="The server repeats its pages, or has more than awf takes.",
        ) from None
    return tuple(found), lifetime
