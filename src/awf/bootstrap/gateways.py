"""The gateway of one configuration file, for whichever door: `awf gateway …`, and workflow steps that use it."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import re
import stat
import time
from typing import TYPE_CHECKING, Any

from awf.bootstrap.footing import FirmPins, Footing
from awf.domain.errors import AwfError, InvalidWorkflowError
from awf.domain.own_variables import handed_on
from awf.domain.problem import as_note, suggest
from awf.domain.redaction import Masker, secret_values

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from awf.application.gate.contexts import LabelChange
    from awf.application.gate.gate import Gate
    from awf.application.gate.origin import Origin
    from awf.application.gateway.admission import Admission
    from awf.application.gateway.call_book import CallBook
    from awf.application.gateway.desk import GatewayDesk
    from awf.application.gateway.gateway import Gateway
    from awf.application.gateway.replicas import Replicas
    from awf.application.tools.router import ToolRouter
    from awf.bootstrap.app import App
    from awf.bootstrap.sandboxes import Walls
    from awf.domain.gateway_file import GatewayFile, GatewayServer, Listen
    from awf.domain.ports.http_client import HttpClient
    from awf.domain.ports.http_server import HttpHandler, HttpServer, QuickHandler
    from awf.domain.ports.pin_store import PinStore
    from awf.domain.ports.upstream import Upstreams
    from awf.domain.problem import Problem
    from awf.domain.sandbox import SandboxRules
    from awf.infrastructure.loop_turn import LoopTurn

__all__ = ["GatewayHouse", "gateway_path", "gateways_of"]

_AWAKE_SECONDS = 0.0002  # longer than a processor takes to wake up, twice
_log = logging.getLogger("awf.gateway")
_LONG = 12  # characters that a secret has which is no word
_ADDRESS = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(:[0-9]{1,5})?")


def gateway_path(app: App, named: str = "") -> str:
    """The configuration to use: the named one, or the project's. Raises when there is none."""
    from awf.bootstrap.gateway_import import GATEWAY_FILE

    path = os.path.join(app.cwd, named or GATEWAY_FILE)
    if not os.path.exists(path):
        hint = "Check the path." if named else "Name one with --config, or begin with: awf mcp import"
        raise AwfError("USER.INPUT.MISSING_FILE", f"There is no file {named or GATEWAY_FILE}.", hint=hint)
    return path


def gateways_of(database_url: str) -> list[str]:
    """The addresses of those that are open now and share this database. Raises `AwfError`."""
    from awf.infrastructure.stores.postgres.replicas import living_replicas

    return [one.url for one in living_replicas(database_url)]


class GatewayHouse:
    """Everything around one gateway. It belongs to the event loop in which it is opened."""

    def __init__(self, app: App, path: str, *, serving: bool = True, shadow: bool = False) -> None:
        """`serving`: the file must name servers. `shadow`: its gate only records what it would refuse."""
        from awf.application.gateway.call_book import CallBook

        self.path = path
        self.notes: list[str] = []
        self.book: CallBook = CallBook()
        self._app = app
        self._serving = serving
        self._shadow = shadow
        self._pins: tuple[str, PinStore] | None = None
        self._kept_from_pins = Masker()
        for name, value in secret_values(app.environment).items():
            if _is_no_word(value):
                self._kept_from_pins.add(name, value)
        self._gateway: Gateway | None = None
        self._hears = False  # of labels that change
        self._told: set[Problem] = set()
        self._digest = ""
        self.seen: Any = None  # the fingerprint of what was read last
        self.warn: Callable[[Problem], None] = _log_warning
        self._footing = Footing()
        self._rules: set[SandboxRules] = set()  # by which something was started that may still be there
        self._footing.hold(path)
        self.file = self.read()
        self.walls = self._walls(self.file)

    def read(self) -> GatewayFile:
        """Raises with everything that is wrong with the file. What must stay secret is masked from now on."""
        from awf.infrastructure.gateway_files import load_gateway
        from awf.infrastructure.yaml_files.config_file import read_record
        from awf.infrastructure.yaml_files.nodes import parse_yaml

        self.seen = self.fingerprint()  # before it is read: what changes meanwhile is read again
        digest = _digest(self.path) if self.seen else ""
        loaded, self.notes = load_gateway(
            self.path,
            read=read_record,
            parse=parse_yaml,
            environment=self._app.environment,
            conditions=self._app.expressions,
            serving=self._serving,
        )
        for name, value in loaded.secrets.items():
            self._app.masker.add(name, value)
            self._kept_from_pins.add(name, value)
        self._digest = digest
        return _shadowed(loaded.file) if self._shadow else loaded.file

    def check_profile(self, profile: str) -> None:
        """Raises `AwfError` when there is none of this name. None at all is fine."""
        if profile and profile not in self.file.profiles:
            close = suggest(profile, self.file.profiles)
            known = ", ".join(self.file.profiles) or "none"
            hint = f"did you mean '{close}'?" if close else f"There are: {known}."
            raise AwfError("USER.INPUT.USAGE", f"There is no profile '{profile}'.", hint=hint)

    def located(self, problems: Sequence[Problem]) -> InvalidWorkflowError:
        """Problems that only showed when the servers were asked, with their places in the file."""
        from awf.infrastructure.gateway_files import locate
        from awf.infrastructure.yaml_files.nodes import parse_yaml

        return InvalidWorkflowError(locate(self.path, problems, parse_yaml))

    def look_at_names(self, file: GatewayFile, asked: Mapping[str, Collection[str]]) -> list[Problem]:
        """What of the file is about tools that nobody has; told once. `asked`: what servers have answered."""
        found = self._app.unknown_names(file, asked, self.path)
        for one in found:
            if one not in self._told:
                self._told.add(one)
                self.warn(one)
        return found

    def open(self, *, alone: bool = False, gated: bool = True, shared: bool = False) -> Gateway:
        """Starts nothing yet. `alone`: for one client only. `gated`: else whoever calls it is the gate. `shared`: it is one
        of the gateways of its database, if it has one.
        """
        from awf.application.gateway.fleet import GatewayParts
        from awf.application.gateway.gateway import Gateway
        from awf.application.gateway.origins import Origins
        from awf.infrastructure.tool_doors.lowering import DialectLowering

        app = self._app
        self._make_room_for_pins()
        named = {"name": self.replicas.new_name} if shared and self.replicas is not None else {}
        parts = GatewayParts(
            version=app.version,
            open_server=self._open_server,
            checks=app.schemas,
            observers=app.observers(),
            lowering=DialectLowering(),
            book=self.book,
            pins=self.pins,
            clock=time.time,
            gate=self._gate if gated else None,
            awake=_AWAKE_SECONDS if _processors() > 1 else 0.0,
            turn=self.turn,
            look_at_names=self.look_at_names,
            **named,
        )
        gateway = Gateway(
            parts,
            self.file,
            alone=alone,
            origins=Origins(self.context, app.cwd, app.masker.mask, self._place),
        )
        self._gateway = gateway
        return gateway

    @functools.cached_property
    def replicas(self) -> Replicas | None:
        """This gateway among those that share its database, if it has one. Raises `AwfError`."""
        database = self._app.shared_database
        if database is None:
            return None
        from awf.application.gateway.replicas import Replicas
        from awf.infrastructure.stores.postgres.replicas import PostgresReplicas

        return Replicas(PostgresReplicas(database.url))

    @functools.cached_property
    def turn(self) -> LoopTurn:
        """Of the one loop that all parts of it live in."""
        from awf.infrastructure.loop_turn import LoopTurn

        return LoopTurn()

    def http(self) -> HttpClient:
        return self._app.http()

    def advertised(self, flag: str) -> str:
        """Where others are to reach this gateway, as somebody has said; empty when nobody has. Raises `AwfError`."""
        if flag and self.replicas is None:
            raise AwfError(
                "USER.INPUT.USAGE",
                "--advertise is for gateways that share a database, and none is set.",
                hint="export AWF_DATABASE_URL=postgresql://user@host/name",
            )
        said = flag or self._app.environment.get("AWF_GATEWAY_ADVERTISE", "")
        url = said.rstrip("/")
        if said and not _ADDRESS.fullmatch(url):
            raise AwfError(
                "USER.INPUT.INVALID_FORMAT",
                f"{said!r} is no address at which other gateways could reach this one.",
                hint="Scheme, host and port: --advertise http://gateway-1:8931",
            )
        return url

    @property
    def context(self) -> str:
        """The security context of clients that name none: of the whole gateway, or whoever started it says which."""
        name = self._place or os.path.relpath(self.path, self._app.cwd)
        return self._app.environment.get("AWF_CONTEXT") or f"gateway:{name}"

    @functools.cached_property
    def _place(self) -> str:
        """Empty where gateways share a database: they are one, wherever their folders are."""
        from awf.bootstrap.gates import place_of

        return "" if self._app.settings.database_url.value else place_of(self._app.cwd, self.path)

    def _gate(self, file: GatewayFile) -> Gate | None:
        rooms = self._app.gate_rooms
        gate = rooms.gate(file)
        if gate is not None and not self._hears:  # a file may bring the first one later
            self._hears = True
            rooms.contexts.listen(self._label_changed)
        return gate

    def _label_changed(self, change: LabelChange) -> None:
        if self._gateway is not None:
            self._gateway.label_changed(change)

    async def look_at_levels(self) -> None:
        """What other processes have raised or reset; sessions are told, and calls to others are stopped."""
        if self._hears:
            await self._app.gate_rooms.contexts.refresh()

    async def configured(self) -> None:
        """Which file counts from now on is recorded, as long as anything is."""
        if self._app.gate_rooms.recorder.log is not None:
            await self._app.gate_rooms.configured(self.path, self._digest)

    def gate_to_ask(self) -> Gate:
        """What would be decided; nothing is called, and nothing recorded."""
        gate = self._app.gate_rooms.gate(self.file, to_ask=True)
        assert gate is not None
        return gate

    def standing_origin(self) -> Origin:
        """Where calls of built-in tools come from that belong to no run."""
        return self._app.gate_rooms.standing_origin()

    async def builtin_tools(self, gate: Gate, origin: Origin) -> ToolRouter:
        """To be asked what would be decided about their calls; without the walls of those that are made."""
        from awf.application.tools.pipeline import StepGate
        from awf.application.tools.router import Observers, ToolRouter
        from awf.infrastructure.builtin_tools import BuiltinTools

        app = self._app
        observers = Observers(tracer=app.tracer, masker=app.masker, gate=StepGate(gate, origin))
        provider = BuiltinTools(app.cwd, app.runner, environment={}, spool="")
        return await ToolRouter.open([provider], app.schemas, observers)

    def desk(self, gateway: Gateway) -> GatewayDesk:
        from awf.application.gateway.desk import GatewayDesk

        shown = os.path.relpath(self.path, self._app.cwd)
        return GatewayDesk(gateway, self.book, shown, operator=self.operator_key)

    def operator_key(self) -> str:
        """What the page's address has in it for those who may answer. Raises `AwfError`."""
        return self._app.gate_rooms.operator_key

    @property
    def pins(self) -> PinStore:
        """One for as long as the file says the same: it remembers what it has read."""
        if self._pins is None or self._pins[0] != self.file.pinning.file:
            from awf.application.gateway.clean_pins import CleanPins
            from awf.domain.redaction.publishing import Publishing
            from awf.infrastructure.pin_files import FilePins

            path = self._pins_path(self.file)
            firm = FirmPins(FilePins(path), functools.partial(self._check_footing, path))
            pins = CleanPins(firm, self._app.publishing, Publishing(self._kept_from_pins))
            self._pins = self.file.pinning.file, pins
        return self._pins[1]

    def _make_room_for_pins(self) -> None:
        """Before anything is started: a folder that comes later could be anybody's."""
        path = self._pins_path(self.file)
        if self.file.pinning.mode != "off":
            with contextlib.suppress(OSError):  # it is told when there is something to keep
                os.makedirs(os.path.dirname(path), exist_ok=True)
        self._footing.hold(path)

    def _pins_path(self, file: GatewayFile) -> str:
        name = os.path.abspath(self.path)
        if file.pinning.file != "gateway.pins.json" or name.endswith((".yaml", ".yml")):
            return os.path.join(os.path.dirname(name), os.path.expanduser(file.pinning.file))
        # Files of other programs often lie where nothing of ours should.
        folder = os.path.join(self._app.places.data_home, "gateway-pins")
        return os.path.join(folder, f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.json")

    def _open_server(self, name: str, server: GatewayServer) -> Upstreams:
        from awf.infrastructure.upstreams import ServerWays

        app = self._app
        confined = server.command is not None
        runner = self.walls.runner(server.sandbox, app.cwd) if confined else app.runner
        on_token = functools.partial(app.masker.renew, f"{name}.oauth.token")
        http = functools.partial(app.http, self.turn)
        environment = self.walls.environment(server.sandbox, handed_on(app.environment))
        publishing = self._app.publishing
        server = server.working_in(app.cwd)
        return ServerWays(name, server, runner, environment, http, on_token, self.turn, publishing)

    def _walls(self, file: GatewayFile) -> Walls:
        from awf.bootstrap.sandboxes import Walls
        from awf.domain.sandbox import rules_named

        named = {file.sandbox.default, file.sandbox.bash, file.sandbox.plugins}
        named |= {server.sandbox for server in file.servers.values()}
        self._rules |= {rules_named(file.sandbox, name) for name in named}
        files = [os.path.abspath(self.path), self._pins_path(file)]
        if file.listen.oauth is not None and file.listen.oauth.jwks_file:
            keys = os.path.expanduser(file.listen.oauth.jwks_file)
            files.append(os.path.join(os.path.dirname(files[0]), keys))
        return Walls(self._app, file.sandbox, files)

    def _check_footing(self, *files: str) -> None:
        """Raises `AwfError` where what was read from them is not to be trusted."""
        self._footing.check(files, lambda folder: self.walls.could_change(self._rules, folder))

    def look_at_footing(self) -> AwfError | None:
        """What there is to tell of the folders of its files, once."""
        if self._footing.lost:
            return None
        try:
            self._check_footing(self.path, self._pins_path(self.file))
        except AwfError as error:
            return error
        return None

    def admission(
        self, file: GatewayFile, listen: Listen, addresses: Sequence[str], is_open: Callable[[str], bool]
    ) -> Admission:
        """Raises `AwfError` where what the file refers to is not usable."""
        from awf.application.gateway.admission import Admission

        verifier = None
        if listen.oauth is not None:
            from awf.infrastructure.oauth_tokens import verifier_for

            folder = os.path.dirname(os.path.abspath(self.path))
            verifier = verifier_for(listen.oauth, self._app.http(), folder)
        return Admission(listen, addresses, verifier, time.monotonic, is_open, self._naming_key(file, listen))

    def _naming_key(self, file: GatewayFile, listen: Listen) -> bytes:
        """By which tokens without a name are known to the gate, today and tomorrow. Raises `AwfError`."""
        from awf.bootstrap.gates import gate_is_wanted

        unnamed = bool(listen.tokens) and isinstance(listen.tokens, list)
        return self.operator_key().encode() if unnamed and gate_is_wanted(file) else b""

    def http_server(self, handler: HttpHandler, quick: QuickHandler, listen: Listen) -> HttpServer:
        from awf.domain.ports.http_server import ServerLimits
        from awf.infrastructure.http_server import LeanHttpServer

        limits = ServerLimits(max_body=listen.max_request, connections=4096)
        return LeanHttpServer(handler, limits, quick, self.turn)

    def fingerprint(self) -> Any:
        """Changes when the file does, or what it refers to may have."""
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    def read_again(self) -> GatewayFile:
        """The same while it is served: waiting for a pipe would hold up everyone."""
        if self.fingerprint() is None:
            raise AwfError(
                "USER.INPUT.MISSING_FILE",
                f"{self.path} is gone, or is not a file any more.",
                hint="Put the file back.",
            )
        file = self.read()
        self._check_footing(self.path, self._pins_path(file))
        self._told.clear()  # what is still so is told again
        walls = self._walls(file)
        for server in file.servers.values():
            if server.enabled and server.command is not None:
                walls.check(server.sandbox)
        self.walls = walls  # of servers that are started from now on
        return file


def _is_no_word(secret: str) -> bool:
    """Such as a server could use of something else: then it would be another one in each environment."""
    return len(secret) >= _LONG and not secret.isalpha()


def _digest(path: str) -> str:
    """Empty where it cannot be read."""
    try:
        with open(path, "rb") as stream:
            return hashlib.sha256(stream.read()).hexdigest()
    except OSError:
        return ""


def _log_warning(problem: Problem) -> None:
    _log.warning("%s", as_note(problem))


def _processors() -> int:
    """Those that this process may use: whoever stays awake on the only one keeps everybody else from working."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _shadowed(file: GatewayFile) -> GatewayFile:
    import msgspec

    from awf.domain.policy import Policy

    policy = msgspec.structs.replace(file.policy or Policy(), shadow=True)
    return msgspec.structs.replace(file, policy=policy)
