"""A gateway over servers in memory, and clients of both eras who write down what they hear."""

from __future__ import annotations

import asyncio
from itertools import count

import msgspec
import pytest

from awf.application.gateway.call_book import CallBook
from awf.application.gateway.client import Client, Exchange
from awf.application.gateway.fleet import GatewayParts
from awf.application.gateway.gateway import Gateway
from awf.application.running.tasks import spawn
from awf.application.tools.pipeline import Observers
from awf.domain.gateway_file import GatewayFile, GatewayServer
from awf.domain.mcp import MODERN_VERSIONS, RpcError, modern_meta
from awf.domain.redaction import Masker
from awf.infrastructure.json_schemas.schemas import RustJsonSchemas
from awf.infrastructure.telemetry.tracing import NoTracer
from awf.infrastructure.tool_doors.lowering import DialectLowering
from awf.testing.memory_pins import MemoryPins
from awf.testing.memory_upstreams import MemoryServer

PATIENT = 30.0
numbers = count(1)


class Ear:
    """A `Reach` that keeps what is sent. `deaf`: nobody can hear it."""

    def __init__(self):
        self.heard = []
        self.pauses = 0
        self.deaf = False
        self._news = asyncio.Event()

    def send(self, message):
        if self.deaf:
            return False
        self.heard.append(message)
        self._news.set()
        return True

    def pause(self):
        self.pauses += 1

    def of(self, method):
        return [message for message in self.heard if message.get("method") == method]

    async def until(self, method, how_many=1):
        async with asyncio.timeout(PATIENT):
            while len(found := self.of(method)) < how_many:
                self._news.clear()
                await self._news.wait()
        return found[how_many - 1]


class Request:
    """One request under way."""

    def __init__(self, task, ear, exchange):
        self.task, self.ear, self.exchange = task, ear, exchange

    async def answer(self):
        async with asyncio.timeout(PATIENT):
            return await self.task

    async def cancelled(self):
        self.task.cancel()
        await asyncio.wait([self.task], timeout=PATIENT)
        assert self.task.cancelled()


class Visitor:
    """A client: a session of the older era, or someone of the newer one, who is a new client with each request."""

    quick = False

    def __init__(self, gateway, version, capabilities, key, profile, level, session, name):
        self.gateway, self.name = gateway, name
        self.modern = version in MODERN_VERSIONS
        self.level, self.key, self.profile = level, key, profile
        self.capabilities, self.version = capabilities, version
        self.standing = Ear()
        self.client = self._client(session)
        self.client.standing = None if self.modern else self.standing

    def _client(self, session=""):
        return Client(
            id=session,
            version=self.version,
            modern=self.modern,
            capabilities=self.capabilities,
            info={"name": self.name, "version": "1"},
            key=self.key,
            profile=self.profile,
            level=self.level,
        )

    def begin(self, method, params=None, *, token=None, headers=None, meta=None, gateway=None):
        client = self._client() if self.modern else self.client
        meta = dict(meta or {})
        if self.modern:
            meta = {**modern_meta(self.version, self.capabilities, client.info), **meta}
        if token is not None:
            meta["progressToken"] = token
        params = {**(params or {}), **({"_meta": meta} if meta else {})}
        ear = Ear()
        exchange = Exchange(client, next(numbers), ear, meta=meta, headers=headers or {})
        chosen = gateway or self.gateway
        if self.quick and method == "tools/call":
            work = _quickly(chosen, exchange, params)
        else:
            work = chosen.answer(exchange, method, params)
        return Request(spawn(_plain(work), method, awaited=True), ear, exchange)

    async def ask(self, method, params=None, **more):
        return await self.begin(method, params, **more).answer()

    async def call(self, name, arguments=None, **more):
        given = {} if arguments is None else {"arguments": arguments}
        return await self.ask("tools/call", {"name": name, **given}, **more)

    async def tools(self):
        return [tool["name"] for tool in (await self.ask("tools/list"))["tools"]]

    def answered(self, question, result):
        return self.client.answered({"id": question["id"], "result": result})


async def _plain(work):
    answer = await work
    return msgspec.json.decode(answer) if isinstance(answer, msgspec.Raw) else answer


async def _quickly(gateway, exchange, params):
    """As doors do it: the short way where it is open to a call, else the usual one."""
    told = asyncio.get_running_loop().create_future()
    quick = gateway.begin_call(exchange, params, told.set_result)
    if quick is None:
        return await gateway.answer(exchange, "tools/call", params)
    try:
        outcome = await asyncio.shield(told)
    except asyncio.CancelledError:
        quick.cancel()
        raise
    if outcome is None:
        raise asyncio.CancelledError
    if isinstance(outcome, RpcError):
        raise outcome
    return outcome


class House:
    """A gateway over these servers. What a server is configured with stands in `config` of its name."""

    def __init__(
        self, servers, config=None, *, pins=None, record=None, alone=False, tracer=None, gate=None, **file
    ):
        self.memory = dict(servers)
        self.book = CallBook()
        self.pins = pins
        self.opened = []  # the configurations with which servers were opened
        self.asked = []  # what was known of servers when names were looked at
        self.warnings = []  # what came of that
        self.now = 1000.0
        self.file = self.file_of(servers, config, **file)
        self.masker = Masker() if gate is None else gate.masker
        observers = Observers(tracer=tracer or NoTracer(), masker=self.masker, record=record)
        parts = GatewayParts(
            version="1",
            open_server=self._open,
            checks=RustJsonSchemas(),
            observers=observers,
            lowering=DialectLowering(),
            book=self.book,
            pins=pins,
            clock=lambda: self.now,
            gate=None if gate is None else lambda file: gate.opened(file, file.overrides),
            look_at_names=self._look_at_names,
        )
        self.gateway = Gateway(parts, self.file, alone=alone)
        if gate is not None:
            gate.contexts.listen(self.gateway.label_changed)
        self._visitors = 0

    def file_of(self, servers, config=None, **file):
        configured = {
            name: GatewayServer(command="memory", **(config or {}).get(name, {})) for name in servers
        }
        for name, given in (config or {}).items():
            if "url" in given:
                configured[name] = GatewayServer(**given)
        return GatewayFile(servers=configured, **file)

    def _open(self, name, config):
        self.opened.append((name, config))
        return self.memory[name]

    def _look_at_names(self, file, asked):
        self.asked.append(asked)
        return self.warnings

    async def start(self):
        self.gateway.fleet.start()
        await self.gateway.fleet.settle()
        return self

    def server(self, name):
        return self.gateway.fleet.servers[name]

    async def visitor(
        self,
        version="2025-11-25",
        *,
        capabilities=None,
        key="",
        profile="",
        level="",
        greeted=True,
        name="visitor",
    ):
        self._visitors += 1
        session = f"session-{self._visitors}"
        visitor = Visitor(self.gateway, version, capabilities or {}, key, profile, level, session, name)
        if greeted and not visitor.modern:
            visitor.greeting = await self.gateway.greet(visitor.client)
        return visitor

    async def modern(self, **more):
        return await self.visitor(MODERN_VERSIONS[-1], **more)


@pytest.fixture(params=["usual", "quick"])
async def house(request, monkeypatch):
    """A function that opens a gateway over these servers: `await house(a=MemoryServer(), …)`; `gate`: a `GateLab`.

    Every test runs twice: its calls go the usual way, and the short one where they can.
    """
    opened = []
    monkeypatch.setattr(Visitor, "quick", request.param == "quick")

    async def make(
        *,
        start=True,
        config=None,
        pins=None,
        record=None,
        alone=False,
        tracer=None,
        gate=None,
        file=None,
        **servers,
    ):
        made = House(
            servers, config, pins=pins, record=record, alone=alone, tracer=tracer, gate=gate, **(file or {})
        )
        opened.append(made)
        return await made.start() if start and not alone else made

    yield make
    for one in opened:
        async with asyncio.timeout(PATIENT):
            await one.gateway.close()


@pytest.fixture
def until():
    async def wait(holds):
        async with asyncio.timeout(PATIENT):
            while not holds():
                await asyncio.sleep(0.001)

    return wait


@pytest.fixture
def ear():
    return Ear


@pytest.fixture
def weather():
    """A server with one tool."""
    return MemoryServer().tool("tell", lambda asked: f"sunny in {asked.arguments.get('city')}")


@pytest.fixture
def pins():
    return MemoryPins()


@pytest.fixture(scope="session")
def open_house():
    """A gateway over these servers without a test around it: for properties, which run many in one test."""
    return House
