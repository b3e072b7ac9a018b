"""The same for programs without an event loop: it has one of its own, in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from awf.domain.errors import AwfError
from awf.gateway.async_gateway import AsyncToolGateway

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from types import TracebackType
    from typing import Self

    from awf.gateway.async_gateway import Hook, Listener

__all__ = ["ToolGateway"]

T = TypeVar("T")


class ToolGateway:
    """Takes what `AsyncToolGateway` takes. Any thread may use it; hooks and listeners are called in its own thread."""

    def __init__(self, **options: Any) -> None:
        self._gateway = AsyncToolGateway(**options)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="awf-tool-gateway", daemon=True)
        self._ending = threading.Lock()
        self._ended = False
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()

    def _do(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if threading.current_thread() is self._thread:
            message = "A hook or a listener waits for the very thread in which it is called."
            hint = "Use AsyncToolGateway, or do it in another thread."
            raise AwfError("USER.GATEWAY.INVALID_CALL", message, hint=hint)
        if self._ended:
            raise AwfError("USER.GATEWAY.CLOSED", "The tool gateway is closed.", hint="Make a new one.")
        future = asyncio.run_coroutine_threadsafe(work(), self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # an interrupt of the program ends the call, too
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def session(self) -> str:
        return self._gateway.session

    def register_manifest(self, manifest: Mapping[str, Any]) -> None:
        self._do(lambda: self._gateway.register_manifest(manifest))

    def register_server(
        self, config: Mapping[str, Any], *, initialize: Hook | None = None, cleanup: Hook | None = None
    ) -> None:
        self._do(lambda: self._gateway.register_server(config, initialize=initialize, cleanup=cleanup))

    def list_tools(self) -> list[dict[str, Any]]:
        return self._do(self._gateway.list_tools)

    def call_tool(self, invocation: Mapping[str, Any]) -> dict[str, Any]:
        return self._do(lambda: self._gateway.call_tool(invocation))

    def grant_capability(self, grant: Mapping[str, Any]) -> str:
        return self._do(lambda: self._gateway.grant_capability(grant))

    def revoke_capability(self, grant_id: str) -> None:
        self._do(lambda: self._gateway.revoke_capability(grant_id))

    def drain_audit_events(self, after: int | None = None, limit: int | None = None) -> list[dict[str, Any]]:
        return self._do(lambda: self._gateway.drain_audit_events(after, limit))

    def get_snapshot(self) -> dict[str, Any]:
        return self._do(self._gateway.get_snapshot)

    def reset(self) -> None:
        self._do(self._gateway.reset)

    def read_artifact(self, uri: str) -> dict[str, Any]:
        return self._do(lambda: self._gateway.read_artifact(uri))

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        return self._gateway.subscribe(listener)

    def close(self) -> None:
        """End the servers and the thread. May be called more than once."""
        with self._ending:
            if self._ended:
                return
            try:
                self._do(self._gateway.close)
            finally:
                self._ended = True
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join()

    registerManifest = register_manifest  # noqa: N815  as the other languages spell it
    registerServer = register_server  # noqa: N815
    listTools = list_tools  # noqa: N815
    callTool = call_tool  # noqa: N815
    grantCapability = grant_capability  # noqa: N815
    revokeCapability = revoke_capability  # noqa: N815
    drainAuditEvents = drain_audit_events  # noqa: N815
    getSnapshot = get_snapshot  # noqa: N815
    readArtifact = read_artifact  # noqa: N815
