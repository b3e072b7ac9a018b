"""A gateway with a gate whose calls are watched from both sides: what was recorded, sent and told, and in which order."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec

from awf.application.gateway.client import Exchange
from awf.application.gateway.gateway import Gateway
from awf.domain.gate_file import Limits
from awf.domain.label import Label
from awf.domain.mcp import RpcError, Verbatim, modern_meta
from awf.domain.override import ToolOverride
from awf.domain.policy import Policy, PolicyDefaults, PolicyRule
from awf.testing.gate_lab import GateLab
from awf.testing.held_turn import HeldTurn
from awf.testing.memory_audit import MemoryAudit
from awf.testing.memory_upstreams import MemoryServer, MemoryWay, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from awf.domain.ports.audit_log import Ready
    from awf.domain.ports.turn import Turn
    from awf.domain.ports.upstream import Guise, Hearer
    from awf.testing.memory_upstreams import Asked

    Done = Callable[[dict[str, Any] | None, Exception | None], None]

__all__ = ["FILE", "ODD", "PATIENT", "SECRET", "CallLab", "DoorCall", "said", "story"]

PATIENT = 30.0
SECRET = "hunter2-long-and-secret"  # noqa: S105  of nobody
FILE: dict[str, Any] = {
    "overrides": {
        "files:read": ToolOverride(policy_action="file.read"),
        "files:write": ToolOverride(policy_action="file.write"),
        "files:private": ToolOverride(policy_action="file.read", classification="confidential"),
        "slow:wait": ToolOverride(policy_action="file.read"),
    },
    "policy": Policy(
        rules=[PolicyRule(id="no", action="*", when="arguments.text.startsWith('no')", decision="deny")],
        defaults=PolicyDefaults(fallback="allow"),
    ),
    "limits": Limits(max_output_bytes=2000),
}
# What servers may answer, by the text that they are asked with.
ODD: dict[str, Any] = {
    "plain": text("fine"),
    "error": text("it went wrong", is_error=True),
    "long": text("x" * 3000),
    "secret": text(f"it is {SECRET}"),
    "marked": {**text("x"), "_meta": {"ifc": {"confidentiality": "confidential"}}},
    "key twice": Verbatim(
        text("x"), b'{"content":[],"content":[{"type":"text","text":"x"}]}'
    ),  # whoever looks at the words sees more
    "objection": RpcError(-32000, "no paper"),
}


class _Watched(MemoryAudit):
    """Tells in which order things happen, and what was added in one go."""

    def __init__(self, seen: list[Any]) -> None:
        super().__init__()
        self._seen = seen

    def add(self, made: Sequence[str]) -> None:
        super().add(made)
        self._seen.append(("recorded", len(made)))

    def add_ready(self, made: Ready) -> None:
        super().add_ready(made)
        self._seen.append(("recorded", 1))

    def complete(self, whole: str) -> None:
        super().complete(whole)
        self._seen.append("completed")


class _Way(MemoryWay):
    server: _WatchedServer

    def begin(
        self,
        method: str,
        params: dict[str, Any],
        done: Done,
        *,
        headers: Mapping[str, str] | None = None,
        tag: object = None,
    ) -> asyncio.Task[None] | None:
        server = self.server
        if server.is_full:
            return None
        if params.get("arguments", {}).get("text") == server.poison:
            raise RuntimeError("it broke")
        begun = super().begin(method, params, done, headers=headers, tag=tag)
        if begun is not None:
            server.order.append(("sent", params["name"]))
        return begun


class _WatchedServer(MemoryServer):
    """`is_full`: nothing can be sent to it without waiting. `poison`: the text that breaks what sends it."""

    def __init__(self, order: list[Any], **more: Any) -> None:
        super().__init__(**more)
        self.order = order
        self.is_full = False
        self.poison: str | None = None

    def open(self, guise: Guise, hearer: Hearer) -> MemoryWay:
        way = _Way(self, guise, hearer)
        self.ways.append(way)
        return way


class DoorCall:
    """One call of a door: `told` is what its client gets. `way`: None where it is left to the usual one."""

    def __init__(self, house: Any, visitor: Any, name: str, arguments: dict[str, Any] | None = None) -> None:
        client = visitor.client
        meta = modern_meta(visitor.version, {}, client.info) if visitor.modern else {}
        given = {"name": name, "arguments": arguments or {}, **({"_meta": meta} if meta else {})}
        self.exchange = Exchange(client, 0, visitor.standing, meta=meta, headers={})
        self.told: list[Any] = []
        self.on_told: Callable[[], None] = lambda: None
        self._end = asyncio.Event()
        self.way = house.gateway.begin_call(self.exchange, given, self._tell)

    def _tell(self, outcome: Any) -> None:
        self.told.append(outcome)
        self.on_told()
        self._end.set()

    @property
    def is_over(self) -> bool:
        return bool(self.told)

    async def outcome(self) -> Any:
        async with asyncio.timeout(PATIENT):
            await self._end.wait()
        assert len(self.told) == 1
        assert self.exchange.task is None
        return self.told[0]


class CallLab:
    """Where it `is_busy`, a call is on its way already, so that all others wait for the end of their turn."""

    def __init__(
        self,
        open_house: Callable[..., Any],
        turn: Turn,
        *,
        awake: float = 0.0,
        modern: bool = False,
        **file: Any,
    ) -> None:
        self.turn = turn
        self.order: list[Any] = []
        self.gate = GateLab()
        self.gate.masker.add("door", SECRET)
        self.gate.audit = self.gate.recorder.log = _Watched(self.order)
        self.answers: dict[str, Any] = {}  # what a text is answered with
        self.files = _WatchedServer(self.order, modern=modern)
        for name in ("read", "write", "private"):
            self.files.tool(name, self._answer)
        self.slow = MemoryServer().tool("wait", "at last")
        self.house = open_house({"files": self.files, "slow": self.slow}, gate=self.gate, **{**FILE, **file})
        known = self.house.gateway.fleet._parts  # noqa: SLF001  another gateway of the same
        parts = msgspec.structs.replace(known, turn=turn, awake=awake)
        self.house.gateway = self.gateway = Gateway(parts, self.house.file)
        self.book = self.house.book
        self.visitor: Any = None
        self.first: DoorCall  # the one that is on its way
        self.before = 0  # entries that were there when it began

    def _answer(self, asked: Asked) -> Any:
        given = asked.arguments.get("text", "")
        return self.answers.get(given, f"read {given}")

    async def open(self, version: str = "2025-11-25") -> CallLab:
        await self.house.start()
        self.visitor = await self.house.visitor(version)
        await self.gate.contexts.raise_("gateway", Label("confidential"), "x")
        for name in (
            "read",
            "write",
            "private",
            "wait",
        ):  # whatever has to be looked up first is known from here on
            await self.visitor.call(name, {"text": "before"})
        return self._begun()

    async def is_busy(self) -> CallLab:
        """One call is on its way from now on, and stays there."""
        held = self.slow.hold("wait")
        self.first = self.call("wait")
        async with asyncio.timeout(PATIENT):
            await held.reached()
        return self._begun()

    def _begun(self) -> CallLab:
        self.before = len(self.gate.entries)
        self.order.clear()
        return self

    async def close(self) -> None:
        if "wait" in self.slow._gates:  # noqa: SLF001  somebody may have released it
            self.slow.release("wait")
        ringing = asyncio.get_running_loop().create_task(self._ring_on())
        async with asyncio.timeout(PATIENT):
            await self.gateway.close()
        ringing.cancel()

    async def _ring_on(self) -> None:
        while isinstance(self.turn, HeldTurn):
            self.turn.end()
            await asyncio.sleep(0)

    def call(self, name: str, given: str = "", visitor: Any = None) -> DoorCall:
        made = DoorCall(self.house, visitor or self.visitor, name, {"text": given})
        assert made.way is not None
        return made

    async def answered(self, *calls: DoorCall) -> list[Any]:
        """What the clients get. The bell is rung until all of them have it."""
        async with asyncio.timeout(PATIENT):
            while not all(call.is_over for call in calls):
                if isinstance(self.turn, HeldTurn):
                    self.turn.end()
                await asyncio.sleep(0)
        return [await call.outcome() for call in calls]

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENT):
            while not holds():  # noqa: ASYNC110  nothing tells of it
                await asyncio.sleep(0)

    @property
    def entries(self) -> list[tuple[str, str, str]]:
        """What was recorded since it began: kind, tool, error."""
        found = self.gate.entries[self.before :]
        return sorted((entry.kind, entry.tool_id, entry.error) for entry in found)

    async def has_nothing_open(self) -> bool:
        """Only the call that is on its way, and no other, is waited for by anyone."""
        assert len(await self.gate.audit.open_calls()) == 1
        assert self.book.in_flight == 1
        assert self.house.server("files").in_flight == 0
        return True


def said(result: Any) -> str:
    return result["content"][0]["text"]  # type: ignore[no-any-return]


def story(lab: CallLab, results: Sequence[Any]) -> tuple[list[str], list[str]]:
    """What was told, and what was recorded whatever its order, without what is never twice the same."""
    entries = msgspec.to_builtins(lab.gate.entries[lab.before :])
    of = {entry["requestId"]: entry["inputHash"] for entry in entries if entry["kind"] == "decision"}
    for entry in entries:
        entry["requestId"] = of[entry["requestId"]]
        entry.pop("follows", None)
        if entry["kind"] == "spooled":
            entry.pop("details")
    spooled = {entry["requestId"] for entry in entries if entry["kind"] == "spooled"}
    for entry in entries:
        if entry["kind"] == "effect" and entry["requestId"] in spooled:
            entry.pop("outputHash")  # the id of what was put aside is in it
    told = [
        repr((one.code, one.message)) if isinstance(one, RpcError) else repr(dict(one)) if "x" * 100 not in str(one) else ""
        for one in results
    ]  # fmt: skip
    return told, sorted(map(repr, entries))
