"""A plugin that runs: its process, the connection to it, and what it said of itself."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, TypeVar

from awf.domain.errors import AwfError
from awf.infrastructure.plugins.connection import CallFailed, Message
from awf.infrastructure.plugins.wording import how_it_ended

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.domain.ports.plugins import Capability, Operation
    from awf.infrastructure.plugins.connection import Connection
    from awf.infrastructure.plugins.declaration import Declaration
    from awf.infrastructure.plugins.process import PluginProcess
    from awf.infrastructure.plugins.surroundings import Surroundings

__all__ = ["RunningPlugin"]

A = TypeVar("A", bound=Message)
_MOMENT = 0.1  # in which a process whose connection broke usually turns out to be gone


class RunningPlugin:
    def __init__(
        self,
        declaration: Declaration,
        process: PluginProcess,
        connection: Connection,
        surroundings: Surroundings,
    ) -> None:
        self.declaration = declaration
        self.surroundings = surroundings
        self.version = ""
        self.description = ""
        self.capabilities: tuple[Capability, ...] = ()
        self.operations: dict[str, Operation] | None = None  # None: not asked yet
        self.step_types: dict[str, str] | None = None
        self._process = process
        self._connection = connection
        self._patience = surroundings.patience
        self._broken = False

    @property
    def name(self) -> str:
        return self.declaration.name

    @property
    def alive(self) -> bool:
        return not self._broken and not self._process.exited

    async def call(
        self,
        method: str,
        request: Message,
        answer: type[A],
        *,
        timeout: float | None = None,
        trace: Mapping[str, str] | None = None,
    ) -> A:
        """Raises `AwfError` EXECUTION.PLUGIN.* when there is no usable answer."""
        limit = self.declaration.timeout if timeout is None else min(timeout, self.declaration.timeout)
        try:
            return await self._connection.call(method, request, answer, timeout=limit, trace=trace)
        except CallFailed as failed:
            raise await self._translated(method, failed, limit) from None

    async def offers(self, method: str, request: Message, answer: type[A]) -> A:
        """As `call`; for a plugin that does not know the method an empty answer."""
        try:
            return await self._connection.call(method, request, answer, timeout=self.declaration.timeout)
        except CallFailed as failed:
            if failed.status == "UNIMPLEMENTED":
                return answer()
            raise await self._translated(method, failed, self.declaration.timeout) from None

    async def close(self) -> None:
        """Ask it to stop; end it if it does not."""
        try:
            if self.alive:
                await self._ask_to_stop()
        finally:
            self._broken = True
            try:
                await self._connection.close()
            finally:
                await self._process.end()

    async def _ask_to_stop(self) -> None:
        from awf.plugin.protocol import plugin_pb2

        self._process.let_go()
        with contextlib.suppress(CallFailed):
            await self._connection.call(
                "PluginService/Shutdown",
                plugin_pb2.ShutdownRequest(),
                plugin_pb2.ShutdownResponse,
                timeout=self._patience.shutdown,
            )
            await self._process.outcome(self._patience.shutdown)

    def error(self, code: str, what: str, hint: str = "") -> AwfError:
        return AwfError(code, f"The plugin '{self.name}' {what}", hint=hint)

    def garbage(self, failed: CallFailed) -> AwfError:
        return self.error(
            "EXECUTION.PLUGIN.PROTOCOL",
            f"does not keep to the protocol: {failed.details}.",
            "This is a fault of the plugin.",
        )

    async def _translated(self, method: str, failed: CallFailed, limit: float) -> AwfError:
        asked = method.rpartition("/")[2]
        if failed.status == "DEADLINE_EXCEEDED":
            return self.error(
                "EXECUTION.PLUGIN.TIMEOUT",
                f"did not answer {asked} within {round(limit, 2):g} s.",
                "Raise `timeout` of the plugin or of the step, or look into the plugin's log.",
            )
        if failed.status == "GARBAGE":
            return self.garbage(failed)
        if failed.status == "UNIMPLEMENTED":
            return self.error(
                "EXECUTION.PLUGIN.PROTOCOL", f"does not know {asked}.", "This is a fault of the plugin."
            )
        if await self._is_gone(failed.status):
            return await self._crash(asked)
        return self.error(
            "EXECUTION.PLUGIN.FAILED",
            f"could not do {asked} ({failed.status}): {failed.details or 'it does not say why'}",
        )

    async def _is_gone(self, status: str) -> bool:
        """Whether the plugin broke off, rather than to answer with this status."""
        if status not in {"UNAVAILABLE", "CANCELLED", "INTERNAL", "ABORTED"}:
            return self._process.exited
        if await self._process.outcome(_MOMENT) is not None:
            return True
        return status == "UNAVAILABLE" and not await self._answers()

    async def _answers(self) -> bool:
        from awf.plugin.protocol import plugin_pb2

        try:
            await self._connection.call(
                "PluginService/GetInfo",
                plugin_pb2.GetInfoRequest(),
                plugin_pb2.GetInfoResponse,
                timeout=self._patience.connect,
            )
        except CallFailed:
            return False
        return True

    async def _crash(self, asked: str) -> AwfError:
        self._broken = True
        outcome = await self._process.outcome(self._patience.crash)
        what = how_it_ended(outcome) if outcome else "closed its connection"
        return self.error(
            "EXECUTION.SANDBOX.STOPPED" if outcome and outcome.breach else "EXECUTION.PLUGIN.CRASHED",
            f"{what} while it worked on {asked}.{self._process.last_words()}",
            "It is started again when it is next needed.",
        )
