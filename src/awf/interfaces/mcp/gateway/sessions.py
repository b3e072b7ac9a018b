"""Sessions of the older era: who they are, what they have missed, and when they are over."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from awf.application.gateway.client import Client, Work
from awf.application.running.tasks import spawn
from awf.domain.mcp import INVALID_PARAMS, LEGACY_VERSIONS, RpcError
from awf.interfaces.mcp.gateway.event_log import EventLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from awf.application.gateway.gateway import Gateway
    from awf.interfaces.mcp.gateway.reach import StandingReach

__all__ = ["Session", "Sessions", "legacy_client"]

IDLE_SECONDS = 1800.0
MOST = 10_000
LOGS = 32
KEPT_BYTES = 8 * 1024 * 1024
KEPT_SECONDS = 300.0
_log = logging.getLogger("awf.gateway")


def legacy_client(params: dict[str, Any], *, id: str, key: str, profile: str) -> Client:  # noqa: A002
    """Whoever sent this `initialize`. Raises `RpcError`."""
    version, capabilities, info = (
        params.get("protocolVersion"),
        params.get("capabilities"),
        params.get("clientInfo"),
    )
    if not isinstance(version, str):
        raise RpcError(INVALID_PARAMS, "Invalid params: initialize needs protocolVersion, a string")
    return Client(
        id=id,
        version=version if version in LEGACY_VERSIONS else LEGACY_VERSIONS[-1],
        modern=False,
        capabilities=capabilities if isinstance(capabilities, dict) else {},
        info=info if isinstance(info, dict) else {},
        key=key,
        profile=profile,
    )


class Session:
    __slots__ = ("_streams", "client", "ended", "logs", "standing", "tasks", "used")

    def __init__(self, client: Client) -> None:
        self.client = client
        self.ended = False
        self.used = 0.0
        self.standing: StandingReach | None = None
        self.logs: OrderedDict[str, EventLog] = OrderedDict()
        self.tasks: dict[Any, Work] = {}  # by the id of the request
        self._streams = 0

    def new_log(self) -> EventLog:
        self._streams += 1
        log = self.logs[str(self._streams)] = EventLog(str(self._streams))
        self.forget_logs(math.inf)
        return log

    def forget_logs(self, now: float) -> None:
        """Only the latest answers are kept, not too much of them, and not for long."""
        complete = [log for log in self.logs.values() if log.complete]
        size = sum(log.size for log in complete)
        for place, log in enumerate(complete):
            too_many = len(complete) - place > LOGS
            too_old = now < math.inf and now - log.completed_at > KEPT_SECONDS
            if too_many or too_old or size > KEPT_BYTES:
                size -= log.size
                del self.logs[log.name]


class Sessions:
    def __init__(self, gateway: Gateway, now: Callable[[], float]) -> None:
        self._gateway = gateway
        self._now = now
        self._sessions: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def streams(self) -> int:
        return sum(1 for one in self._sessions.values() if one.standing is not None and one.standing.open)

    def new_client(self, params: dict[str, Any], key: str, profile: str) -> Client:
        return legacy_client(params, id=self._gateway.new_name(), key=key, profile=profile)

    def open(self, client: Client) -> Session:
        if len(self._sessions) >= MOST:
            self._drop_oldest()
        session = self._sessions[client.id] = Session(client)
        session.used = self._now()
        return session

    def find(self, session_id: str, key: str) -> Session | None:
        """Only for whoever opened it."""
        session = self._sessions.get(session_id)
        if session is None or session.client.key != key:
            return None
        session.used = self._now()
        return session

    def touch(self, session: Session) -> None:
        session.used = self._now()

    async def end(self, session: Session) -> None:
        if self._sessions.pop(session.client.id, None) is not None:
            await self._ended(session)

    async def _ended(self, session: Session) -> None:
        session.ended = True
        for task in list(session.tasks.values()):
            task.cancel()
        if session.standing is not None:
            session.standing.close()
        await self._gateway.leave(session.client)

    def sweep(self) -> None:
        """End those that nobody has used for long."""
        now = asyncio.get_running_loop().time()
        too_old = self._now() - IDLE_SECONDS
        for session in list(self._sessions.values()):
            session.forget_logs(now)
            listening = session.standing is not None and session.standing.open
            if session.used < too_old and not session.tasks and not listening:
                spawn(self.end(session), "ending an idle session")

    def pulse(self) -> None:
        for session in self._sessions.values():
            if session.standing is not None:
                session.standing.pulse()

    async def close(self) -> None:
        for session in list(self._sessions.values()):
            await self.end(session)

    def _drop_oldest(self) -> None:
        oldest = min(self._sessions.values(), key=lambda one: one.used)
        _log.warning("there are more than %d sessions; the one idle for longest ends", MOST)
        del self._sessions[oldest.client.id]
        spawn(self._ended(oldest), "ending the oldest session")
