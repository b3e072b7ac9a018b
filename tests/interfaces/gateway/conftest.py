"""A gateway with all its doors in this process, over servers in memory: for what only shows from inside."""

from __future__ import annotations

import asyncio
import time

import pytest

from awf.application.gateway.admission import Admission
from awf.application.gateway.call_book import CallBook
from awf.application.gateway.desk import GatewayDesk
from awf.application.gateway.fleet import GatewayParts
from awf.application.gateway.gateway import Gateway
from awf.application.tools.pipeline import Observers
from awf.bootstrap import App
from awf.domain.gateway_file import GatewayFile, GatewayServer, Listen
from awf.domain.redaction import Masker
from awf.infrastructure.http_client import LeanHttpClient
from awf.infrastructure.http_server import LeanHttpServer
from awf.infrastructure.json_schemas.schemas import RustJsonSchemas
from awf.infrastructure.telemetry.tracing import NoTracer
from awf.infrastructure.tool_doors.lowering import DialectLowering
from awf.interfaces.mcp.gateway.elsewhere import Elsewhere
from awf.interfaces.mcp.gateway.http_door import HttpDoor
from awf.testing.memory_upstreams import MemoryServer, text

PATIENT = 30.0


class Doors:
    def __init__(self, app=None, listen=None, replicas=None, **file):
        """`app`: whose gate calls have to pass, and whose operator answers. `replicas`: this one among others."""
        rooms = app.gate_rooms if app is not None else None
        self.listen = listen or Listen()
        self.now = time.time
        self.server = MemoryServer().tool("echo", lambda asked: text(str(asked.arguments.get("text", ""))))
        self.file = GatewayFile(servers={"memory": GatewayServer(command="memory")}, **file)
        self.book = CallBook()
        parts = GatewayParts(
            version="1",
            open_server=lambda _name, _config: self.server,
            checks=RustJsonSchemas(),
            observers=Observers(tracer=NoTracer(), masker=app.masker if app else Masker(), record=None),
            lowering=DialectLowering(),
            book=self.book,
            gate=rooms.gate if rooms else None,
            **({"name": replicas.new_name} if replicas else {}),
        )
        self.gateway = Gateway(parts, self.file)
        operator = (lambda: rooms.operator_key) if rooms else None
        desk = GatewayDesk(self.gateway, self.book, "gateway.yaml", clock=self._clock, operator=operator)
        self.elsewhere = Elsewhere(replicas, LeanHttpClient()) if replicas else None
        self.http = HttpDoor(self.gateway, self.book, desk, elsewhere=self.elsewhere)
        self.port = 0
        self._web: LeanHttpServer | None = None

    def _clock(self):
        return self.now()

    async def open(self):
        self.gateway.fleet.start()
        await self.gateway.fleet.settle()
        self._web = LeanHttpServer(self.http.handle, quick=self.http.quick.begin)
        self.port = await self._web.listen_tcp("127.0.0.1", 0)
        self.http.admission = Admission(self.listen, [f"127.0.0.1:{self.port}"], None, time.monotonic)
        return self

    async def close(self):
        async with asyncio.timeout(PATIENT):
            await self.http.close()
            if self._web is not None:
                await self._web.close(0.0)
            await self.gateway.close()
            if self.elsewhere is not None:
                await self.elsewhere.close()

    async def send(self, method, path, body=b"", headers=()):
        """One request on a connection of its own: status, headers, body."""
        lines = [f"{method} {path} HTTP/1.1", "Connection: close"]
        fields = {"Host": f"127.0.0.1:{self.port}", **dict(headers)}
        lines += [f"{name}: {value}" for name, value in fields.items()]
        lines.append(f"Content-Length: {len(body)}")
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            async with asyncio.timeout(PATIENT):
                writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
                answer = await reader.read()
        finally:
            writer.close()
            await writer.wait_closed()
        head, _, rest = answer.partition(b"\r\n\r\n")
        first, *fields = head.decode("latin-1").split("\r\n")
        named = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
        return int(first.split()[1]), named, rest


@pytest.fixture
def make_doors():
    return Doors


@pytest.fixture
async def doors():
    made = await Doors().open()
    yield made
    await made.close()


@pytest.fixture
async def gated(tmp_path):
    """A function that opens the doors of a gateway with a gate: `await gated(overrides={…})`."""
    environment = {"HOME": str(tmp_path), "AWF_STORAGE": str(tmp_path / "s")}
    app = App(cwd=str(tmp_path), environment=environment)
    opened = []

    async def open_doors(**more):
        opened.append(Doors(app, **more))
        opened[-1].app = app
        return await opened[-1].open()

    yield open_doors
    for one in opened:
        await one.close()
    await app.close()
