"""Resources of many servers behind one door: listed page by page, server after server, and read where they lie."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import TYPE_CHECKING, Any

from awf.application.gateway.client import Errand
from awf.application.gateway.cursors import Cursors
from awf.domain.errors import AwfError
from awf.domain.mcp import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from awf.application.gateway.client import Exchange
    from awf.application.gateway.forwarding import Forwarding
    from awf.application.gateway.gated_requests import GatedRequests
    from awf.application.gateway.server import Server

__all__ = ["Resources"]

REMEMBERED = 50_000
SWEEP_PAGES = 20
SWEEP_PAUSE = 2.0  # seconds; an address that nobody has must not cost all lists each time
_KINDS = {"resources/list": "resources", "resources/templates/list": "resourceTemplates"}
_NOT_FOUND = frozenset({-32002, INVALID_PARAMS})
_PLACE = re.compile(r"\{[^{}]*\}")
_log = logging.getLogger("awf.gateway")


class Resources:
    def __init__(self, forwarding: Forwarding, requests: GatedRequests) -> None:
        self._forwarding = forwarding
        self._requests = requests
        self._cursors = Cursors()
        self._swept = -SWEEP_PAUSE
        self._owners: dict[str, list[str]] = {}  # address → servers that list it
        self._templates: dict[str, tuple[list[str], list[str]]] = {}  # template → its fixed parts, servers

    async def page(
        self, servers: Sequence[Server], exchange: Exchange, method: str, params: dict[str, Any]
    ) -> dict[str, Any]:
        """One page of `resources/list` or `resources/templates/list`. Each page is one server's."""
        if not servers:
            raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")
        sealed, alone = self._requests.guarded, len(servers) == 1
        if alone and not sealed:  # its cursors are as good as ours
            return await self._ask(servers[0], exchange, method, params)
        at, cursor = self._cursors.place(servers, method, params.get("cursor"), sealed=sealed)
        asking = self._ask if alone else self._page_of
        while True:
            wanted = {} if sealed else {key: value for key, value in params.items() if key != "cursor"}
            if cursor is not None:
                wanted["cursor"] = cursor
            page = dict(await asking(servers[at], exchange, method, wanted))
            cursor = page.pop("nextCursor", None)
            following = at if cursor is not None else at + 1
            if following < len(servers) and (page.get(_KINDS[method]) or following == at):
                beyond = self._cursors.made(method, servers[following].name, cursor, sealed=sealed)
                return {**page, "nextCursor": beyond}
            if following >= len(servers):
                return page
            at = following

    async def _page_of(
        self, server: Server, exchange: Exchange, method: str, params: dict[str, Any]
    ) -> dict[str, Any]:
        """A server that cannot be asked has nothing to show; that must not hide the others."""
        try:
            return await self._ask(server, exchange, method, params)
        except AwfError as reason:
            _log.warning("%s of MCP server %s is left out: %s", method, server.name, reason.message)
        except RpcError as reason:
            if reason.code != METHOD_NOT_FOUND and "cursor" in params:
                raise
        return {_KINDS[method]: []}

    async def _ask(
        self, server: Server, exchange: Exchange, method: str, params: dict[str, Any]
    ) -> dict[str, Any]:
        if self._requests.guarded:  # no gate judges lists: so they say nothing, and nothing is asked back
            exchange, params = Errand(exchange), {**params, "_meta": {}}
        result = await self._forwarding.send(server, exchange, method, params)
        items = result.get(_KINDS[method])
        for item in items if isinstance(items, list) else ():
            self._remember(item, server.name)
        return result

    def _remember(self, item: Any, server: str) -> None:
        if not isinstance(item, dict):
            return
        uri, template = item.get("uri"), item.get("uriTemplate")
        if isinstance(uri, str):
            if len(self._owners) >= REMEMBERED:
                self._owners.clear()
            _note(self._owners.setdefault(uri, []), server)
        if isinstance(template, str):
            if len(self._templates) >= REMEMBERED:
                self._templates.clear()
            _note(self._templates.setdefault(template, (_PLACE.split(template), []))[1], server)

    async def read(
        self, servers: Sequence[Server], exchange: Exchange, params: dict[str, Any]
    ) -> dict[str, Any]:
        owner = await self.owner(servers, exchange, _uri(params))
        if owner is not None:
            return await self._requests.send(owner, exchange, "resources/read", params)
        unreachable: AwfError | None = None
        for server in servers:
            try:
                return await self._requests.send(server, exchange, "resources/read", params)
            except AwfError as reason:
                unreachable = reason
            except RpcError as reason:
                if reason.code not in _NOT_FOUND:
                    raise
        raise unreachable or _no_resource(exchange, params["uri"])

    async def owner(self, servers: Sequence[Server], exchange: Exchange, uri: str) -> Server | None:
        """The server on which it lies: as lists and templates say, where there is more than one."""
        if len(servers) == 1:
            return servers[0]
        found = self._known(servers, uri)
        now = asyncio.get_running_loop().time()
        if found is None and now - self._swept >= SWEEP_PAUSE:
            self._swept = now
            await self._sweep(servers, exchange)
            found = self._known(servers, uri)
        return found

    def _known(self, servers: Sequence[Server], uri: str) -> Server | None:
        """The first of these servers that lists it, or has a template for it."""
        named = [*self._owners.get(uri, ()), *(self._templates[uri][1] if uri in self._templates else ())]
        found = next((server for server in servers if server.name in named), None)
        if found is not None:
            return found
        fitting = {name for parts, names in self._templates.values() if _fits(uri, parts) for name in names}
        return next((server for server in servers if server.name in fitting), None)

    async def _sweep(self, servers: Sequence[Server], exchange: Exchange) -> None:
        """Look through the lists once."""
        for method in _KINDS:
            params: dict[str, Any] = {"_meta": exchange.meta} if exchange.meta else {}
            for _ in range(SWEEP_PAGES):
                page = await self.page(servers, exchange, method, params)
                if "nextCursor" not in page:
                    break
                params = {**params, "cursor": page["nextCursor"]}


def _note(names: list[str], name: str) -> None:
    if name not in names:
        names.append(name)


def _fits(uri: str, parts: list[str]) -> bool:
    """Whether something may stand in the places of a template. Left to right, without trying twice."""
    first, last = parts[0], parts[-1]
    if len(parts) == 1:
        return uri == first
    if not uri.startswith(first) or not uri.endswith(last) or len(uri) < len(first) + len(last) + 1:
        return False
    at, end = len(first), len(uri) - len(last)
    for part in parts[1:-1]:
        found = uri.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def _uri(params: dict[str, Any]) -> str:
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise RpcError(INVALID_PARAMS, "Invalid params: uri must be a string")
    return uri


def _no_resource(exchange: Exchange, uri: str) -> RpcError:
    code = INVALID_PARAMS if exchange.client.modern else -32002
    return RpcError(code, f"Resource not found: {uri}", {"uri": uri})
