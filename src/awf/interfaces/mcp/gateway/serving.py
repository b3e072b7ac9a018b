"""`awf gateway serve`: open the door, keep the servers going, follow the configuration, and leave in good order."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import uvloop

from awf.application.running.tasks import spawn
from awf.domain.errors import AwfError
from awf.interfaces.mcp.gateway.among import Among
from awf.interfaces.mcp.gateway.http_door import HttpDoor
from awf.interfaces.web import is_open_to_all

if TYPE_CHECKING:
    from awf.application.gateway.gateway import Gateway
    from awf.bootstrap import App
    from awf.bootstrap.gateways import GatewayHouse
    from awf.domain.gateway_file import GatewayFile, Listen
    from awf.domain.ports.http_server import HttpServer
    from awf.domain.problem import Problem

__all__ = ["ServeOptions", "serve"]

TICK = 1.0
_SWITCH = 0.001  # seconds; calls are short, and must not wait five times as long for another thread
GRACE = 10.0  # seconds that calls have to finish when the gateway stops
_log = logging.getLogger("awf.gateway")


class ServeOptions(NamedTuple):
    config: str
    host: str | None = None
    port: int | None = None
    stdio: bool = False
    unix: str = ""
    profile: str = ""  # of the client on standard streams
    shadow: bool = False  # record what would be refused, and refuse nothing
    advertise: str = ""  # where other gateways of the same database reach this one


def serve(app: App, options: ServeOptions) -> int:
    """Until it is told to stop; the exit status. Raises `AwfError` when it cannot begin."""
    if options.stdio:
        from mcpserver.stdio import StandardStreams

        with StandardStreams() as streams:
            return uvloop.run(_Serving(app, options).run(streams))
    return uvloop.run(_Serving(app, options).run(None))


class _Serving:
    def __init__(self, app: App, options: ServeOptions) -> None:
        self._app = app
        self._options = options
        self._stop = asyncio.Event()
        self._reload = asyncio.Event()
        self._received = 0

    async def run(self, streams: tuple[int, int] | None) -> int:
        from awf.bootstrap.gateways import GatewayHouse

        self._app.set_up_logging("warning")
        self._app.serves_long = True
        house = GatewayHouse(self._app, self._options.config, shadow=self._options.shadow)
        for note in house.notes:
            _tell(note)
        house.warn = _warn
        gateway = house.open(alone=streams is not None, shared=streams is None)
        self._handle_signals()
        try:
            if streams is not None:
                await self._on_streams(house, gateway, *streams)
            else:
                gateway.fleet.start()
                await self._over_http(house, gateway)
        finally:
            await gateway.close()
            await self._app.close()
        return 128 + self._received if self._received else 0

    def _handle_signals(self) -> None:
        loop = asyncio.get_running_loop()

        def end(number: int) -> None:
            self._received = number
            loop.remove_signal_handler(number)  # whoever asks twice gets it the hard way
            self._stop.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, end, number)
        loop.add_signal_handler(signal.SIGHUP, self._reload.set)

    # Standard streams

    async def _on_streams(self, house: GatewayHouse, gateway: Gateway, source: int, target: int) -> None:
        from awf.interfaces.mcp.gateway.lines import serve_descriptors

        listen, profile = house.file.listen, self._options.profile
        house.check_profile(profile)
        serving = spawn(
            serve_descriptors(
                gateway, source, target, longest=listen.max_request, key="stdio", profile=profile
            ),
            "the client on standard streams",
            awaited=True,
        )
        others: list[asyncio.Task[Any]] = [
            spawn(self._stop.wait(), "waiting to stop", awaited=True),
            spawn(self._follow(house, gateway), "following the configuration", awaited=True),
        ]
        checking = spawn(self._settled(house, gateway), "the first look", awaited=True)
        try:
            done, _ = await asyncio.wait([serving, checking, *others], return_when=asyncio.FIRST_COMPLETED)
            if checking in done and serving not in done:
                checking.result()  # a wrong configuration is told, and ends it
                await asyncio.wait([serving, *others], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (serving, checking, *others):
                task.cancel()
            await asyncio.wait([serving, checking, *others])

    # HTTP

    async def _over_http(self, house: GatewayHouse, gateway: Gateway) -> None:
        listen = self._listen(house.file)
        desk = house.desk(gateway)
        advertised = house.advertised(self._options.advertise)
        among = Among(house.replicas, house.http()) if house.replicas is not None else None
        elsewhere = among.elsewhere if among is not None else None
        door = HttpDoor(gateway, house.book, desk, quiet=listen.quiet, elsewhere=elsewhere)
        desk.counts = lambda: (len(door.sessions) + len(door.older), door.streams)
        server = house.http_server(door.handle, door.quick.begin, listen)
        following: asyncio.Task[None] | None = None
        try:
            addresses = await self._open_door(server, listen, gateway)
            door.admission = house.admission(house.file, listen, addresses, is_open_to_all)
            self._announce(house, gateway, addresses)
            if among is not None:
                await among.enter(advertised, addresses)
            following = spawn(
                self._look_and_follow(house, gateway, door, addresses),
                "following the configuration",
                awaited=True,
            )
            ticking = spawn(_tick(door), "the clock", awaited=True)
            stopping = spawn(self._stop.wait(), "waiting to stop", awaited=True)
            await asyncio.wait([following, stopping], return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            ticking.cancel()
            if following.done():
                following.result()
        finally:
            if following is not None:
                following.cancel()
            gateway.fleet.closing.set()
            if among is not None:
                await among.leave()
            await door.close()
            await server.close(GRACE)
            if among is not None:
                await among.close()

    def _listen(self, file: GatewayFile) -> Listen:
        listen, options = file.listen, self._options
        changes: dict[str, object] = {}
        if options.host is not None:
            changes["host"] = options.host
        if options.port is not None:
            changes["port"] = options.port
        return msgspec.structs.replace(listen, **changes) if changes else listen

    async def _open_door(self, server: HttpServer, listen: Listen, gateway: Gateway) -> list[str]:
        """Where clients come in."""
        if self._options.unix:
            from awf.interfaces.mcp.gateway.lines import LineProtocol

            try:
                await server.listen_unix(
                    self._options.unix, lambda: LineProtocol(gateway, longest=listen.max_request, key="unix")
                )
            except OSError as error:
                raise _cannot_listen(self._options.unix, error) from error
            return []
        try:
            port = await server.listen_tcp(listen.host, listen.port)
        except OSError as error:
            raise _cannot_listen(f"{listen.host}:{listen.port}", error) from error
        host = f"[{listen.host}]" if ":" in listen.host else listen.host
        return [f"{host}:{port}"]

    def _announce(self, house: GatewayHouse, gateway: Gateway, addresses: list[str]) -> None:
        where = [f"http://{address}/mcp" for address in addresses] or [f"unix:{self._options.unix}"]
        _tell(f"listening on {', '.join(where)}")
        if addresses:
            for name in house.file.profiles:
                _tell(f"profile {name}: http://{addresses[0]}/mcp/{name}")
            _announce_page(house, gateway, addresses)

    # The configuration

    async def _settled(self, house: GatewayHouse, gateway: Gateway) -> None:
        """A configuration that does not fit its servers is no configuration."""
        await gateway.fleet.started.wait()
        await gateway.fleet.settle()
        if gateway.fleet.problems:
            raise house.located(gateway.fleet.problems)
        await house.configured()
        _calm_collections()
        sys.setswitchinterval(_SWITCH)
        servers = gateway.fleet.servers.values()
        tools = len(gateway.fleet.offers.view.tools)
        failed = [server.name for server in servers if server.state == "failed"]
        _tell(f"{tools} tools of {len(servers) - len(failed)} servers")
        for server in servers:
            if server.state == "failed":
                _tell(f"server {server.name} is not available: {server.detail}")  # masked already

    async def _look_and_follow(
        self, house: GatewayHouse, gateway: Gateway, door: HttpDoor, addresses: list[str]
    ) -> None:
        await self._settled(house, gateway)
        await self._follow(house, gateway, door, addresses)

    async def _follow(
        self,
        house: GatewayHouse,
        gateway: Gateway,
        door: HttpDoor | None = None,
        addresses: list[str] | None = None,
    ) -> None:
        """Look at the file now and then."""
        pins = house.pins.load()
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(TICK):
                    await self._reload.wait()
            now = house.fingerprint()
            if self._reload.is_set() or (now != house.seen and now is not None):
                self._reload.clear()
                await self._take_over(house, gateway, door, addresses or [])
            if (lost := house.look_at_footing()) is not None:
                _report(lost)
            with contextlib.suppress(AwfError):  # a store that is out of reach is told by calls
                await house.look_at_levels()
            with contextlib.suppress(AwfError):
                pinned = house.pins.load()
                if pinned != pins:
                    pins = pinned
                    gateway.fleet.rebuild(anew=True)

    async def _take_over(
        self, house: GatewayHouse, gateway: Gateway, door: HttpDoor | None, addresses: list[str]
    ) -> None:
        """All of it or nothing: what can be refused comes before anything is exchanged."""
        gated = gateway.fleet.gate is not None
        try:
            file = house.read_again()
            admission = house.admission(file, self._listen(file), addresses, is_open_to_all) if door else None
            problems = await gateway.fleet.reload(file)
            if problems:
                raise house.located(problems)
            house.file = file
            if door is not None and admission is not None:
                door.admission = admission
            await house.configured()
        except AwfError as error:
            house.book.reloaded("error")
            house.book.changed()
            _report(error)
            _tell("the configuration was not taken over; the last one stays")
            return
        house.book.reloaded("ok")
        _tell(f"the configuration was taken over: {len(gateway.fleet.offers.view.tools)} tools")
        if addresses and not gated and gateway.fleet.gate is not None:
            self._announce_anew(house, gateway, addresses)

    def _announce_anew(self, house: GatewayHouse, gateway: Gateway, addresses: list[str]) -> None:
        """The page has another address now; without it everything else goes on."""
        try:
            _announce_page(house, gateway, addresses)
        except AwfError as error:
            _report(error)


def _announce_page(house: GatewayHouse, gateway: Gateway, addresses: list[str]) -> None:
    """With the key by which the gate knows that it is a person who answers; a browser keeps that part to itself."""
    key = f"#key={house.operator_key()}" if gateway.fleet.gate is not None else ""
    _tell(f"what goes on: http://{addresses[0]}/{key}")
    if gateway.fleet.gate is not None and gateway.fleet.gate.lets_all_pass:
        _tell(
            "shadow mode: every call passes, and what would be refused or asked is recorded (awf audit list)"
        )


def _calm_collections() -> None:
    """They cost a fifth of a call: what is there now stays, and a call leaves nothing that only they would find."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 50)


async def _tick(door: HttpDoor) -> None:
    while True:
        await asyncio.sleep(TICK)
        door.tick()


def _cannot_listen(where: str, error: OSError) -> AwfError:
    reason = os.strerror(error.errno) if error.errno else str(error)
    hint = "Choose another with --port, or 0 for a free one; or end what listens there."
    return AwfError("SYSTEM.IO.LISTEN_FAILED", f"Nobody can listen on {where}: {reason}.", hint=hint)


def _report(error: AwfError) -> None:
    from awf.interfaces.cli.failure import report_failure

    report_failure(error, [])


def _warn(problem: Problem) -> None:
    from awf.interfaces.cli.rendering.problems import warning_line

    _tell(warning_line(problem))


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
