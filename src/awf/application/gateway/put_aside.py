"""Results that were too long, as resources of the gateway itself: read under the same gate, and only by whose they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.application.gate.artifacts import TEMPLATE, listed, read
from awf.application.gate.labels import LABEL_KEY
from awf.application.gate.output_limits import bounds_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.application.gate.gate import Gate
    from awf.application.gateway.client import Exchange
    from awf.application.gateway.origins import Origins

__all__ = ["PutAside"]

_MOST = 100  # that a list shows, the newest first


class PutAside:
    def __init__(self, origins: Origins, gate: Callable[[], Gate | None]) -> None:
        self._origins = origins
        self._gate = gate

    async def joined(self, page: dict[str, Any] | None, exchange: Exchange, method: str) -> dict[str, Any]:
        """A page of resources or templates with ours behind the last of the servers'."""
        gate = self._gate()
        kind = "resources" if method == "resources/list" else "resourceTemplates"
        page = dict(page) if page is not None else _empty(kind, modern=exchange.client.modern)
        if gate is None or "nextCursor" in page:
            return page
        if kind == "resourceTemplates":
            own = [TEMPLATE] if gate.cuts else []
        else:
            context = self._origins.of(exchange.client, exchange.headers).context
            own = (await listed(gate.artifacts, context=context))[:_MOST] if gate.cuts else []
        found = page.get(kind)
        page[kind] = [*(found if isinstance(found, list) else ()), *own]
        return page

    async def read(self, gate: Gate, exchange: Exchange, uri: str) -> dict[str, Any]:
        """Whoever reads it knows it: its label is theirs. Raises `RpcError` and `AwfError`."""
        client = exchange.client
        origin = self._origins.of(client, exchange.headers)
        page = await read(
            gate.artifacts,
            uri,
            bounds=bounds_of(gate.keys.limits),
            context=origin.context,
            modern=client.modern,
        )
        label = page.artifact.label
        await gate.has_read(origin, page.artifact)
        result = page.result
        meta = {
            **result.get("_meta", {}),
            LABEL_KEY: {"confidentiality": label.confidentiality, "integrity": label.integrity},
        }
        result = {**result, "_meta": meta}
        return (
            {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}
            if client.modern
            else result
        )


def _empty(kind: str, *, modern: bool) -> dict[str, Any]:
    return {"resultType": "complete", kind: [], "ttlMs": 0, "cacheScope": "private"} if modern else {kind: []}
