"""A plugin's program, started as AWF starts it, with a bare gRPC client: what is shown here needs no host of ours."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

import grpc
import pytest
from grpc_health.v1 import health_pb2

from awf.plugin.protocol import plugin_pb2 as pb
from awf.testing.peers import node_executable, requested

PATIENCE = 30.0
_SERVICES = {
    method.name: (service.name, method)
    for service in pb.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}


class Started:
    """A running plugin. Its standard error goes to a file."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path, errors: Path) -> None:
        self.process = process
        self.folder = folder
        self._errors = errors
        self.address = ""
        self.channel: grpc.aio.Channel | None = None

    async def greet(self) -> None:
        line = await asyncio.wait_for(self.process.stdout.readline(), PATIENCE)
        fields = line.decode().split("|")
        assert fields[:3] + fields[4:] == ["1", "1", "unix", "grpc", "\n"], (line, self.errors)
        self.address = fields[3]
        options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        self.channel = grpc.aio.insecure_channel(f"unix:{quote(self.address)}", options=options)

    @property
    def errors(self) -> str:
        return self._errors.read_text(encoding="utf-8")

    def method(self, path: str, answer: type):
        return self.channel.unary_unary(
            path, request_serializer=lambda m: m.SerializeToString(), response_deserializer=answer.FromString
        )

    async def call(self, method: str, *, timeout: float = PATIENCE, headers=(), **fields):
        service, described = _SERVICES[method]
        request = getattr(pb, described.input_type.name)(**fields)
        answer = getattr(pb, described.output_type.name)
        return await self.method(f"/plugin.v1.{service}/{method}", answer)(
            request, timeout=timeout, metadata=headers
        )

    def execute(self, operation: str, *, timeout: float = PATIENCE, headers=(), **inputs):
        encoded = {name: json.dumps(value).encode() for name, value in inputs.items()}
        return self.call("Execute", operation=operation, inputs=encoded, timeout=timeout, headers=headers)

    async def health(self, service: str = "plugin") -> int:
        check = self.method("/grpc.health.v1.Health/Check", health_pb2.HealthCheckResponse)
        return (await check(health_pb2.HealthCheckRequest(service=service), timeout=PATIENCE)).status

    async def ended(self) -> int:
        return await asyncio.wait_for(self.process.wait(), PATIENCE)

    async def rest_of_standard_output(self) -> bytes:
        return await asyncio.wait_for(self.process.stdout.read(), PATIENCE)


def plugin_environment(folder: Path, **more: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "AWF_PLUGIN": "awf-plugin-v1",
        "AWF_PLUGIN_DIR": str(folder),
        **more,
    }


@pytest.fixture
async def start(tmp_path):
    """A function that starts a program as a plugin."""
    everything: list[Started] = []
    with tempfile.TemporaryDirectory(prefix="awf-t-") as private:

        async def begin(
            *argv: str, cwd: Path = tmp_path, folder: Path = Path(private), **more: str
        ) -> Started:
            errors = tmp_path / f"errors-{len(everything)}"
            with errors.open("wb") as stream:
                process = await asyncio.create_subprocess_exec(
                    *argv, cwd=cwd, env=plugin_environment(folder, **more), stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.PIPE, stderr=stream,
                )  # fmt: skip
            started = Started(process, folder, errors)
            everything.append(started)
            await started.greet()
            return started

        yield begin
        for started in everything:
            if started.channel is not None:
                await started.channel.close()
            if started.process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    started.process.kill()
                await started.process.communicate()


@pytest.fixture
def start_python(start, tmp_path):
    """The same for the text of a plugin in Python."""

    async def begin(text: str, **more) -> Started:
        (tmp_path / "plugin.py").write_text(text, encoding="utf-8")
        return await start(sys.executable, "-m", "plugin", **more)

    return begin


@pytest.fixture(scope="session")
def node() -> str:
    return requested(lambda: node_executable((18,)))
