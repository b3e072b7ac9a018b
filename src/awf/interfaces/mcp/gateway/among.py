"""A gateway that serves joins the others of its database, and takes its leave in the end."""

from __future__ import annotations

import ipaddress
import sys
from typing import TYPE_CHECKING

from awf.application.running.tasks import end_task, spawn
from awf.interfaces.mcp.gateway.elsewhere import Elsewhere

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from awf.application.gateway.replicas import Replicas
    from awf.domain.ports.http_client import HttpClient

__all__ = ["Among"]


class Among:
    def __init__(self, replicas: Replicas, http: HttpClient) -> None:
        self.elsewhere = Elsewhere(replicas, http)
        self._replicas = replicas
        self._tasks: list[asyncio.Task[None]] = []

    async def enter(self, advertised: str, addresses: Sequence[str]) -> None:
        """`advertised`: as somebody has said; else it is where it listens. Raises `AwfError`."""
        url = advertised or await self._listens_at(addresses)
        if url:
            await self._replicas.enter(url)
            sys.stderr.write(f"one of the gateways of this database, reached by the others at {url}\n")
            sys.stderr.flush()
            own = addresses[0] if addresses else ""
            self._tasks.append(spawn(self.elsewhere.check_own(url, own), "reaching this gateway"))
        self._tasks.append(spawn(self._replicas.keep_beating(), "telling other gateways of this one"))

    async def _listens_at(self, addresses: Sequence[str]) -> str:
        """On all addresses of a machine: the one that the database sees. Empty on a Unix socket."""
        if not addresses:
            return ""
        host, _, port = addresses[0].rpartition(":")
        if _is_any(host):
            seen = await self._replicas.seen_from() or "127.0.0.1"
            host = f"[{seen}]" if ":" in seen else seen
        return f"http://{host}:{port}"

    async def leave(self) -> None:
        """Nothing more is handed on to it; what it hands on itself goes on."""
        for task in self._tasks:
            await end_task(task)
        self._tasks.clear()
        await self._replicas.leave()

    async def close(self) -> None:
        await self.elsewhere.close()


def _is_any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return not host
