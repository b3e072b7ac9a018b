"""Servers to talk to, and a way to wait for what they do."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shutil
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from awf.domain.mcp_server import McpServer
from awf.domain.tool import CallContext
from awf.infrastructure.http_client import LeanHttpClient
from awf.infrastructure.processes import ProcessRunner
from awf.infrastructure.upstreams import open_server

HERE = Path(__file__).parent


@pytest.fixture
async def runner():
    runner = ProcessRunner(grace=1.0)
    yield runner
    await runner.close()


@pytest.fixture
async def odd(runner):
    """A function that opens the odd server with these options."""
    opened = []

    def open_odd(*options, on_change=None, patience=None, **config):
        server = McpServer(
            command=sys.executable, args=[str(HERE / "odd_server.py"), *map(str, options)], **config
        )
        tools = open_server("odd", server, runner, dict(os.environ), on_change, http=LeanHttpClient)
        if patience is not None:
            tools.client._patience = patience
        opened.append(tools)
        return tools

    yield open_odd
    for tools in opened:
        await tools.close()


@pytest.fixture
def context():
    return CallContext(call_id="c1")


@pytest.fixture(name="until")
def _until():
    async def until(holds, seconds=30.0):
        async with asyncio.timeout(seconds):
            while not holds():
                await asyncio.sleep(0.01)

    return until


@pytest.fixture
def received():
    """The messages that the odd server has written to its log file."""

    def read(path):
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    return read


def _load(name):
    known = f"upstreams_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, HERE / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[known] = module
        spec.loader.exec_module(module)
    return sys.modules[known]


@pytest.fixture
def web():
    """The module with which HTTP answers are made."""
    return _load("web_server")


@pytest.fixture
async def serve(web):
    """A function that starts an HTTP server with these replies."""
    started = []

    async def start(reply, tls=None):
        server = web.Web(reply, tls)
        await server.start()
        started.append(server)
        return server

    yield start
    for server in started:
        await server.stop()


@pytest.fixture
async def at(runner):
    """A function that opens the server at an address."""
    opened = []

    def open_at(url, *, patience=None, on_change=None, publishing=None, **config):
        made = {"http": LeanHttpClient, "publishing": publishing}
        tools = open_server("web", McpServer(url=url, **config), runner, {}, on_change, **made)
        if patience is not None:
            tools.client._patience = patience
        opened.append(tools)
        return tools

    yield open_at
    for tools in opened:
        await tools.close()


class Certificate:
    """Made for this test: the server's side, and the file a client has to trust."""

    def __init__(self, folder):
        key, self.authority = str(folder / "key.pem"), str(folder / "certificate.pem")
        subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
        made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
        subprocess.run([*made, "-keyout", key, "-out", self.authority], check=True, capture_output=True)
        self.server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.server.load_cert_chain(self.authority, key)


@pytest.fixture
def certificate(tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl here to make a certificate")
    return Certificate(tmp_path)
