"""All servers of the gateway, and what they offer together; exchanged as a whole when the configuration changes."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from awf.application.gateway.offers import Offers
from awf.application.gateway.parking import new_name
from awf.application.gateway.server import Server
from awf.application.gateway.view import View, build_view
from awf.application.running.tasks import spawn
from awf.domain.name_patterns import fits
from awf.domain.sandbox import rules_named

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from awf.application.gate.gate import Gate
    from awf.application.gateway.call_book import CallBook
    from awf.application.gateway.client import Client
    from awf.application.gateway.eras import Lowering
    from awf.application.gateway.hub import Hub
    from awf.application.gateway.pinning import Change
    from awf.application.gateway.view import PublishedTool
    from awf.application.tools.pipeline import ArgumentChecks, Observers
    from awf.domain.gateway_file import GatewayFile, GatewayServer
    from awf.domain.pinning import Pin
    from awf.domain.ports.pin_store import PinStore
    from awf.domain.ports.turn import Turn
    from awf.domain.ports.upstream import Upstreams
    from awf.domain.problem import Problem
    from awf.domain.sandbox import SandboxRules

__all__ = ["Fleet", "GatewayParts"]

ANNOUNCING_SECONDS = 0.2  # between two announcements of one list
SETTLING_SECONDS = 15.0  # what the first clients wait for slow servers
_log = logging.getLogger("awf.gateway")


class GatewayParts(msgspec.Struct, frozen=True, kw_only=True):
    """What a gateway is made of."""

    version: str
    open_server: Callable[[str, GatewayServer], Upstreams]
    checks: ArgumentChecks
    observers: Observers
    lowering: Lowering
    book: CallBook
    pins: PinStore | None = None
    clock: Callable[[], float] = time.time
    gate: Callable[[GatewayFile], Gate | None] | None = None  # what calls have to pass, as a file says
    name: Callable[[], str] = new_name  # for what lives in this process and is asked for by its name
    awake: float = 0.0  # seconds that it looks for the next call before it sleeps
    turn: Turn | None = None  # where calls that come at the same time may be dealt with together
    # Hears what the servers that can be asked offer, whenever that changes, and says what of the file is about nothing.
    look_at_names: Callable[[GatewayFile, Mapping[str, Collection[str]]], Sequence[Problem]] | None = None


class Questions(Protocol):
    async def question(self, server: Server, client: Client, method: str, params: Any) -> dict[str, Any]:
        """A server asks a client something while nothing of that client is under way. Raises `RpcError`."""
        ...


class _Checked(NamedTuple):
    offered: dict[str, Sequence[dict[str, Any]]]
    changes: tuple[Change, ...] = ()  # of definitions that were seen before
    withheld: frozenset[str] = frozenset()
    pins: Mapping[str, Pin] | None = None  # to be kept, where something is new


class Fleet:
    """A `Watcher` of its servers."""

    def __init__(
        self, parts: GatewayParts, file: GatewayFile, hub: Hub, info: dict[str, Any], questions: Questions
    ) -> None:
        self.file = file
        self._questions = questions
        self.found: list[Problem] = []  # in the light of what is offered
        self.pointless: Sequence[Problem] = ()  # of what the file says and is about nothing
        self.changes: tuple[Change, ...] = ()  # of definitions that were seen before
        self.withheld: frozenset[str] = frozenset()
        self.closing = asyncio.Event()
        self.lowering = parts.lowering
        self.clock = parts.clock
        self._parts = parts
        self._hub = hub
        self._sole: Client | None = None
        self._info = info
        self.servers = self._made(file)
        self.gate = self._gate_of(file)
        self.offers = self._offers(file, View(()))
        self._used: dict[str, tuple[Any, ...]] = {}
        self._seen: dict[str, PublishedTool] = {}  # ever since this configuration is served
        self._pending = False
        self._settled = False
        self._leaving: set[asyncio.Task[None]] = set()
        self._retiring: set[Server] = set()
        self._announced: dict[tuple[str, str], bool] = {}  # being told; whether once more
        self._told = 0  # how often another list of tools was announced
        self.started = asyncio.Event()

    @property
    def problems(self) -> list[Problem]:
        return _grave(self.found)

    @property
    def warnings(self) -> list[Problem]:
        """What is served all the same."""
        return [*(one for one in self.found if one.severity == "warning"), *self.pointless]

    def servers_within(self, profile: str) -> list[Server]:
        """In the order of their names. All of them, where no profile is named; none, where there is no such profile."""
        servers = [self.servers[name] for name in sorted(self.servers)]
        if not profile:
            return servers
        chosen = self.file.profiles.get(profile)
        if chosen is None:
            return []
        return [
            one
            for one in servers
            if (chosen.tools is None or any(_names(pattern, one.name) for pattern in chosen.tools))
            and not any(pattern in {"*", f"{one.name}:*"} for pattern in chosen.deny)
        ]

    def start(self, sole: Client | None = None) -> None:
        """`sole`: there is only this client, and never another one."""
        if self.started.is_set():
            if sole is not None and self._sole is not None:
                self._sole = sole
                for server in self.servers.values():
                    server.adopt(sole)
            return
        self.started.set()
        self._sole = sole
        for server in self.servers.values():
            if sole is not None:
                server.adopt(sole)
            if server.config.start == "eager":
                server.start()

    async def settle(self) -> None:
        """Until every server has been reached or has failed, but not for ever."""
        if self._settled:
            return
        wanted = self._wanted(self.file, self.servers)
        waiting = [server.started() for server in wanted.values()]
        try:
            async with asyncio.timeout(SETTLING_SECONDS):
                await asyncio.gather(*waiting)
        except TimeoutError:
            slow = [name for name, server in self.servers.items() if not server.settled.is_set()]
            _log.warning("still waiting for %s; their tools come later", ", ".join(slow))
        self._settled = True
        self.rebuild()

    async def close(self) -> None:
        for task in self._leaving:
            task.cancel()
        if self._leaving:
            await asyncio.wait(self._leaving)
        servers = {*self.servers.values(), *self._retiring}
        await asyncio.gather(*(server.close() for server in servers), return_exceptions=True)

    # Another configuration

    async def reload(self, file: GatewayFile) -> list[Problem]:
        """Serve it from now on, unless something is wrong with it; then all stays as it is."""
        kept = {
            name: server
            for name, server in self.servers.items()
            if file.servers.get(name) == server.config
            and server.config.enabled
            and _walls_of(file, server) == _walls_of(self.file, server)
        }
        added = self._made(file, kept)
        if self._sole is not None:
            for server in added.values():
                server.adopt(self._sole)
        servers = {name: (kept | added)[name] for name in sorted(kept | added)}
        try:
            wanted = self._wanted(file, servers)
            for server in wanted.values():
                server.start()
            await self._until_settled(wanted)
            checked = self._checked(file, servers)
            view, found = build_view(file, checked.offered, checked.withheld)
            problems = _grave(found)
            gate = None if problems else self._gate_of(file)
        except BaseException:
            await asyncio.gather(*(server.close() for server in added.values()))
            raise
        if problems:
            await asyncio.gather(*(server.close() for server in added.values()))
            return problems
        gone = [server for name, server in self.servers.items() if name not in kept]
        self.file, self.servers, self.found, self.gate = file, servers, found, gate
        self._accept(checked)
        self._seen.clear()
        self._look_at_names()
        self._publish(view)
        for server in gone:
            self._retiring.add(server)
            task = spawn(self._retire(server), f"MCP server {server.name} leaves")
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)
        self._hub.changed("prompts")
        self._hub.changed("resources")
        return []

    async def _retire(self, server: Server) -> None:
        await server.retire()
        self._retiring.discard(server)

    async def _until_settled(self, servers: dict[str, Server]) -> None:
        try:
            async with asyncio.timeout(SETTLING_SECONDS):
                await asyncio.gather(*(server.settled.wait() for server in servers.values()))
        except TimeoutError:
            _log.warning("some of the new servers are slow; their tools come later")

    def _made(self, file: GatewayFile, kept: dict[str, Server] | None = None) -> dict[str, Server]:
        parts = self._parts
        return {
            name: Server(name, config, parts.open_server, self, parts.clock)
            for name, config in sorted(file.servers.items())
            if config.enabled and name not in (kept or {})
        }

    # What is offered

    def rebuild(self, *, anew: bool = False) -> None:
        """Publish what the servers offer now. `anew`: also when they offer what they did."""
        self._pending = False
        self._parts.book.changed()
        used = {name: (one.tools, one.state) for name, one in self.servers.items()}
        if used == self._used and not anew:
            return
        self._used = used
        checked = self._checked(self.file, self.servers)
        self._accept(checked)
        view, found = build_view(self.file, checked.offered, checked.withheld)
        for problem in found:
            if problem not in self.found:
                _log.warning("%s %s", problem.message, problem.hint)
        self.found = found
        self._look_at_names()
        self._publish(view)

    def _look_at_names(self) -> None:
        """Only those that have answered are held against: what others offer nobody knows now."""
        if self._parts.look_at_names is not None:
            asked = {
                name: [str(tool.get("name", "")) for tool in one.tools]
                for name, one in self.servers.items()
                if one.state == "ready"
            }
            self.pointless = self._parts.look_at_names(self.file, asked)

    def _checked(self, file: GatewayFile, servers: dict[str, Server]) -> _Checked:
        """What servers offer, held against what was pinned."""
        offered: dict[str, Sequence[dict[str, Any]]] = {
            name: one.tools for name, one in servers.items() if one.state == "ready"
        }
        store, mode = self._parts.pins, file.pinning.mode
        if store is None or mode == "off":
            return _Checked(offered)
        from awf.application.gateway.pinning import compare

        drift = compare(store.load(), offered, now=self._parts.clock(), quarantine_new=mode == "quarantine")
        for change in drift.changes:
            if change not in self.changes:
                _log.warning("tool %s %s", change.id, change.what)
        promised = self._promised(file, servers, offered)
        pins = drift.pins if drift.pinned else None
        return _Checked(offered | promised, tuple(drift.changes), drift.withheld(mode), pins)

    def _accept(self, checked: _Checked) -> None:
        """What is new in it is trusted from now on."""
        self.changes, self.withheld = checked.changes, checked.withheld
        if checked.pins is not None and self._parts.pins is not None:
            self._parts.pins.save(checked.pins)

    def _wanted(self, file: GatewayFile, servers: dict[str, Server]) -> dict[str, Server]:
        """Those that must be asked for what they offer: a server that may wait is known by its pins."""
        pinned = self._pinned(file, servers)
        return {name: one for name, one in servers.items() if name not in pinned}

    def _promised(
        self, file: GatewayFile, servers: dict[str, Server], offered: Mapping[str, object]
    ) -> dict[str, Sequence[dict[str, Any]]]:
        """What servers that wait for their first use have offered before."""
        pinned = self._pinned(file, servers)
        return {
            name: pinned[name]
            for name, one in servers.items()
            if name not in offered and one.state in {"idle", "starting"} and name in pinned
        }

    def _pinned(self, file: GatewayFile, servers: dict[str, Server]) -> dict[str, list[dict[str, Any]]]:
        store = self._parts.pins
        found: dict[str, list[dict[str, Any]]] = {}
        lazy = {name for name, one in servers.items() if one.config.start == "lazy"}
        if store is None or not lazy or file.pinning.mode == "off":
            return found
        for pin in store.load().values():
            server = pin.id.partition(":")[0]
            if server in lazy:
                found.setdefault(server, []).append(pin.definition)
        return found

    def _publish(self, view: View) -> None:
        before = self.offers.view.definitions()
        self.offers = self._offers(self.file, view)
        self._seen |= {one.definition["name"]: one for one in view.tools}
        by_server: dict[str, list[str]] = {name: [] for name in self.servers}
        for tool in view.tools:
            by_server[tool.server].append(tool.tool)
        self._parts.book.offers(by_server)
        if before != view.definitions():
            self._told += 1
            self._hub.changed("tools")

    def _offers(self, file: GatewayFile, view: View) -> Offers:
        parts = self._parts
        return Offers(file, view, self.servers, parts.checks, parts.lowering, self._info, self.gate)

    def _gate_of(self, file: GatewayFile) -> Gate | None:
        return self._parts.gate(file) if self._parts.gate is not None else None

    def lost(self, name: str, profile: str) -> Server | None:
        """The server that has failed and had this tool, as far as the client could know of it."""
        published = self._seen.get(name)
        server = self.servers.get(published.server) if published is not None else None
        if published is None or server is None or server.state != "failed":
            return None
        chosen = self.file.profiles.get(profile)
        return (
            server if not profile or (chosen is not None and View([published]).within(chosen).tools) else None
        )

    def look_at_stale_ones(self) -> None:
        for server in self.servers.values():
            server.nudge_if_stale()

    # What servers do

    def server_moved(self, server: Server) -> None:
        del server
        if not self._pending:
            self._pending = True
            asyncio.get_running_loop().call_soon(self.rebuild)

    def announced(self, server: Server, kind: str) -> None:
        """Lists of tools and prompts are fetched first, so that whoever asks now gets the new ones."""
        key = server.name, kind
        if key in self._announced:
            self._announced[key] = True  # once more, when what is under way has been told
            return
        self._announced[key] = False
        task = spawn(self._tell(server, kind), f"telling that {kind} of {server.name} have changed")
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _tell(self, server: Server, kind: str) -> None:
        key, again = (server.name, kind), True
        try:
            while again:
                self._announced[key] = False
                told = self._told
                if kind != "resources":
                    await server.refreshed()
                    self.rebuild()
                if kind != "tools" or told == self._told:  # else a new list has been announced already
                    self._hub.changed(kind)
                await asyncio.sleep(ANNOUNCING_SECONDS)
                again = self._announced[key]
        finally:
            del self._announced[key]

    def masked(self, text: str) -> str:
        return self._parts.observers.masker.mask(text)

    @property
    def guarded(self) -> bool:
        return self.gate is not None

    async def question(self, server: Server, client: Client, method: str, params: Any) -> dict[str, Any]:
        return await self._questions.question(server, client, method, params)

    def cleaned(self, params: Any) -> Any:
        return params if self.gate is None else self.gate.without_values(params)

    def resource_updated(self, server: Server, message: dict[str, Any]) -> None:
        del server
        self._hub.updated(message)

    def overheard(self, server: Server, message: dict[str, Any]) -> None:
        del server
        self._hub.overheard(message)


def _grave(found: Sequence[Problem]) -> list[Problem]:
    return [one for one in found if one.severity == "error"]


def _walls_of(file: GatewayFile, server: Server) -> SandboxRules:
    return rules_named(file.sandbox, server.config.sandbox)


def _names(pattern: str, server: str) -> bool:
    return fits(server, pattern.partition(":")[0])
