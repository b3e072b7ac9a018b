"""The nine methods: plain JSON values in and out. What is wrong with a call of them is raised; what comes of a tool is a result."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.audit.trail import AuditTrail
from awf.application.gate import artifacts
from awf.application.gate.origin import Origin
from awf.application.gate.registry import ToolRegistry
from awf.application.tool_gateway.calls import Calls
from awf.application.tool_gateway.forms import (
    event_form,
    grant_form,
    grant_of,
    invalid_call,
    invocation_of,
    require_json,
    whole_number,
)
from awf.application.tool_gateway.server_link import Hooks, OpenedServer, ServerLink
from awf.domain.errors import AwfError
from awf.domain.manifest import ArtifactPage, GatewayEvent, ToolGatewaySnapshot
from awf.domain.mcp import RpcError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from awf.application.gate.approvals import ApprovalNews
    from awf.application.gate.gate import Gate
    from awf.application.gate.grants import Grants
    from awf.application.gate.manifest_checks import ManifestRules
    from awf.application.gate.registry import Registered
    from awf.application.tools.pipeline import ArgumentChecks, Observers
    from awf.domain.grant import Holder
    from awf.domain.manifest import McpServerConfig, ToolRegistryEntry
    from awf.domain.override import ToolOverride
    from awf.domain.ports.audit_log import AuditLog

__all__ = ["ToolGatewayParts", "ToolGatewayService"]

MOST_EVENTS = 10_000
_USUAL_EVENTS = 1000


class ToolGatewayParts(msgspec.Struct, frozen=True, kw_only=True):
    """What it is made of."""

    gate: Gate
    grants: Grants
    log: AuditLog
    rules: ManifestRules
    checks: ArgumentChecks
    observers: Observers
    overrides: dict[str, ToolOverride]  # what configuration says of tools, by their ids
    open_server: Callable[[McpServerConfig, Callable[[], None]], OpenedServer]  # raises `AwfError`
    clock: Callable[[], float]
    holder: Holder  # in whose name calls are made; its session is the security context
    close: Callable[[], Awaitable[None]]


class ToolGatewayService:
    def __init__(self, parts: ToolGatewayParts) -> None:
        self._parts = parts
        self._registry = ToolRegistry(parts.rules)
        self._calls = Calls(parts.gate, parts.checks, parts.observers, parts.overrides, self._registry)
        self._trail = AuditTrail(parts.log)
        self._links: dict[str, ServerLink] = {}
        self._granted: dict[str, None] = {}  # ids, in their order
        self._changing = asyncio.Lock()
        self._closed = False
        self._deaf = parts.gate.desk.listen(self._heard)

    @property
    def session(self) -> str:
        return self._parts.holder.session

    def subscribe(self, listener: Callable[[dict[str, Any]], None]) -> Callable[[], None]:
        """Hear what happens to servers, tools and approvals, as it happens. Gives what ends it."""
        return self._registry.listen(lambda event: listener(msgspec.to_builtins(event)))

    def _heard(self, news: ApprovalNews) -> None:
        approval = news.approval
        if approval.context == self.session:
            server_id = approval.tool_id.partition(":")[0]
            self._registry.tell(
                GatewayEvent(
                    type=news.kind,
                    server_id=server_id,
                    tool_id=approval.tool_id,
                    approval_id=approval.approval_id,
                    status=approval.status,
                )
            )

    # -- the registry ------------------------------------------------------------------------------------------------

    async def register_manifest(self, manifest: Any) -> None:
        """Raises `RegistrationRefused` with everything that is wrong."""
        self._require_open()
        require_json(manifest)
        async with self._changing:
            self._registry.add(self._registry.checked_manifest(manifest))

    async def register_server(self, config: Any, hooks: Hooks = Hooks()) -> None:  # noqa: B008  it never changes
        """The same; raises also when this machine has no sandbox as the configuration asks for."""
        self._require_open()
        require_json(config)
        async with self._changing:
            server = self._registry.checked_server(config)
            self._links[server.server_id] = self._linked(server, hooks)
            self._registry.add(server)

    def _linked(self, server: Registered, hooks: Hooks) -> ServerLink:
        config = server.config
        assert config is not None
        return ServerLink(
            server.manifest,
            lambda on_change: self._parts.open_server(config, on_change),
            hooks,
            self._registry.tell,
        )

    async def list_tools(self) -> list[dict[str, Any]]:
        self._require_open()
        return [_json(entry) for entry in self._registry.entries()]

    # -- grants ------------------------------------------------------------------------------------------------------

    async def grant_capability(self, grant: Any) -> str:
        """Its id. Raises `AwfError`: USER.GATEWAY.INVALID_CALL, USER.GRANT.INVALID, USER.GRANT.DUPLICATE."""
        self._require_open()
        made = grant_of(grant, self._parts.clock(), self._parts.holder.user or "api")
        await self._parts.grants.add(made)
        self._granted[made.grant_id] = None
        return made.grant_id

    async def revoke_capability(self, grant_id: Any) -> None:
        """Raises `AwfError` (USER.GRANT.UNKNOWN)."""
        self._require_open()
        if not isinstance(grant_id, str):
            raise invalid_call("`grantId` is a text.")
        await self._parts.grants.revoke(grant_id, self._parts.holder.user or "api")
        self._granted.pop(grant_id, None)

    # -- calls -------------------------------------------------------------------------------------------------------

    async def call_tool(self, invocation: Any) -> dict[str, Any]:
        """What came of it, whatever came of it. Raises `AwfError` only for what is no invocation."""
        self._require_open()
        asked = invocation_of(invocation)
        origin = Origin(
            context=self.session,
            door="api",
            holder=self._parts.holder,
            grant_ids=tuple(asked.grant_ids),
            redact_keys=tuple(asked.redact_keys),
            waits=False,
        )
        request_id = asked.request_id or f"req_{secrets.token_hex(8)}"
        return _json(await self._calls.call(asked, request_id, origin, self._links))

    async def read_artifact(self, uri: Any) -> dict[str, Any]:
        """A page of a result that was put aside in this session. Raises `AwfError` (USER.GATEWAY.UNKNOWN_ARTIFACT)."""
        self._require_open()
        if not isinstance(uri, str):
            raise invalid_call("`uri` is a text.")
        try:
            found = await artifacts.read(self._parts.gate.artifacts, uri, context=self.session)
        except RpcError as error:
            hint = "Take the address from `meta.outputSpool.uri`."
            raise AwfError("USER.GATEWAY.UNKNOWN_ARTIFACT", f"{error.message}.", hint=hint) from None
        origin = Origin(context=self.session, door="api", holder=self._parts.holder)
        await self._parts.gate.has_read(origin, found.artifact)
        return _json(ArtifactPage(contents=found.result["contents"]))

    # -- what happened -----------------------------------------------------------------------------------------------

    async def drain_audit_events(self, after: Any = None, limit: Any = None) -> list[dict[str, Any]]:
        """Those with a higher `sequence` than `after`, in their order. Nothing is taken out by it."""
        self._require_open()
        first = 0 if after is None else whole_number(after, "after", 0, 2**53 - 1)
        most = _USUAL_EVENTS if limit is None else whole_number(limit, "limit", 1, MOST_EVENTS)
        return [_json(event_form(event)) for event in await self._trail.drain(first, most)]

    async def get_snapshot(self) -> dict[str, Any]:
        self._require_open()
        now = self._parts.clock()
        own = [one for one in await self._parts.grants.all() if one.grant_id in self._granted]
        live = [
            one for one in own if one.revoked_at is None and (one.expires_at is None or now < one.expires_at)
        ]
        latest = await self._parts.log.records(limit=1, newest_first=True)
        tools: list[ToolRegistryEntry] = self._registry.entries()
        cursor = latest[0].sequence if latest else 0
        return _json(
            ToolGatewaySnapshot(tools=tools, grants=[grant_form(one) for one in live], audit_cursor=cursor)
        )

    # -- the end -----------------------------------------------------------------------------------------------------

    async def reset(self) -> None:
        """Forget servers, manifests and the grants that were made here. What is recorded stays recorded."""
        self._require_open()
        async with self._changing:
            await self._let_go()
            for grant_id in list(self._granted):
                await self._revoked(grant_id)

    async def _revoked(self, grant_id: str) -> None:
        try:
            await self._parts.grants.revoke(grant_id, self._parts.holder.user or "api")
        except AwfError as error:
            if error.code != "USER.GRANT.UNKNOWN":  # one that is over for long is in no store any more
                raise
        self._granted.pop(grant_id, None)

    async def close(self) -> None:
        """Servers end, and calls with them. May be called more than once."""
        if self._closed:
            return
        self._closed = True
        try:
            async with self._changing:
                await self._let_go()
        finally:
            self._deaf()
            await self._parts.close()

    async def _let_go(self) -> None:
        """Calls that come while servers end find nothing any more."""
        links, self._links = list(self._links.values()), {}
        self._registry.clear()
        self._calls.forget()
        await asyncio.gather(*(link.close() for link in links))

    def _require_open(self) -> None:
        if self._closed:
            raise AwfError("USER.GATEWAY.CLOSED", "The tool gateway is closed.", hint="Make a new one.")


def _json(value: msgspec.Struct) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(value)
    return found
