"""The tool gateway for programs with an event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from awf.gateway.plain import plain

if TYPE_CHECKING:
    import os
    from collections.abc import Awaitable, Callable, Mapping
    from types import TracebackType
    from typing import Self

    Hook = Callable[[str], Awaitable[None] | None]
    Listener = Callable[[dict[str, Any]], None]

__all__ = ["AsyncToolGateway"]


class AsyncToolGateway:
    """It belongs to the event loop in which it is first used. `async with`, or `await close()` in the end.

    `storage`: a folder for grants, approvals, long results and the audit; without it there is a private one that is
    removed with the gateway. `config`: the path of a gateway's file, or its keys for the gate (`policy`, `limits`, …).
    `workspace`: the folder in which servers work, by default that of the process. `user` and `session`: in whose name
    calls are made, for grants that count only there; a session is a security context, too.
    """

    def __init__(
        self,
        *,
        storage: str | os.PathLike[str] | None = None,
        config: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        workspace: str | os.PathLike[str] | None = None,
        user: str | None = None,
        session: str | None = None,
    ) -> None:
        """Starts nothing yet. Raises `GatewayError` for a configuration that is wrong."""
        from os import fspath

        from awf.bootstrap.tool_gateways import ToolGatewayOptions, open_tool_gateway

        keys = config is None or hasattr(config, "keys")
        self._service = open_tool_gateway(
            ToolGatewayOptions(
                storage=None if storage is None else fspath(storage),
                config=(None if config is None else plain(dict(config))) if keys else fspath(config),  # type: ignore[arg-type]
                workspace=None if workspace is None else fspath(workspace),
                user=user,
                session=session,
            )
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def session(self) -> str:
        """The security context of its calls."""
        return self._service.session

    async def register_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Register tools without a server: they are listed, and grants can be prepared for them."""
        await self._service.register_manifest(plain(manifest))

    async def register_server(
        self, config: Mapping[str, Any], *, initialize: Hook | None = None, cleanup: Hook | None = None
    ) -> None:
        """Register a server with its manifest. It is started when one of its tools is first called.

        `initialize` is called with its id before that, `cleanup` after it was let go.
        """
        from awf.application.tool_gateway.server_link import Hooks

        await self._service.register_server(plain(config), Hooks(initialize, cleanup))

    async def list_tools(self) -> list[dict[str, Any]]:
        """`ToolRegistryEntry` of each tool, by server ids, then by names."""
        return await self._service.list_tools()

    async def call_tool(self, invocation: Mapping[str, Any]) -> dict[str, Any]:
        """An `MCPToolResult`, whatever comes of the call."""
        return await self._service.call_tool(plain(invocation, any_number=True))

    async def grant_capability(self, grant: Mapping[str, Any]) -> str:
        """The id of the grant."""
        return await self._service.grant_capability(plain(grant))

    async def revoke_capability(self, grant_id: str) -> None:
        """Calls that come later do not get it any more."""
        await self._service.revoke_capability(grant_id)

    async def drain_audit_events(
        self, after: int | None = None, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """`ToolAuditEvent` of each call behind the one of this `sequence`. Go on with that of the last one."""
        return await self._service.drain_audit_events(after, limit)

    async def get_snapshot(self) -> dict[str, Any]:
        """The tools, the grants that were made here and count, and the `sequence` up to which the audit goes."""
        return await self._service.get_snapshot()

    async def reset(self) -> None:
        """Forget all servers and manifests, and revoke the grants that were made here. The audit stays as it is."""
        await self._service.reset()

    async def read_artifact(self, uri: str) -> dict[str, Any]:
        """A page of a long result, by the address in `meta.outputSpool.uri`."""
        return await self._service.read_artifact(uri)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Hear of servers, calls and approvals as they come. Gives what ends it."""
        return self._service.subscribe(listener)

    async def close(self) -> None:
        """End the servers. May be called more than once."""
        await self._service.close()

    registerManifest = register_manifest  # noqa: N815  as the other languages spell it
    registerServer = register_server  # noqa: N815
    listTools = list_tools  # noqa: N815
    callTool = call_tool  # noqa: N815
    grantCapability = grant_capability  # noqa: N815
    revokeCapability = revoke_capability  # noqa: N815
    drainAuditEvents = drain_audit_events  # noqa: N815
    getSnapshot = get_snapshot  # noqa: N815
    readArtifact = read_artifact  # noqa: N815
