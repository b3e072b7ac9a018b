"""The page on a real server, with a fake desk behind it. Both are loaded by their paths: test folders are no packages."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from awf.domain.ports.http_server import HttpReply, ServerLimits
from awf.infrastructure.http_server import LeanHttpServer
from awf.interfaces.web import serve_page


def _load(name):
    known = f"web_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, Path(__file__).with_name(f"{name}.py"))
        module = importlib.util.module_from_spec(spec)
        sys.modules[known] = module
        spec.loader.exec_module(module)
    return sys.modules[known]


@pytest.fixture
def desks():
    return _load("fake_desk")


@pytest.fixture
def desk(desks):
    return desks.FakeDesk()


@pytest.fixture
async def server(desk):
    failures = []

    async def handler(request) -> HttpReply | None:
        try:
            return await serve_page(request, desk)
        except Exception as error:
            failures.append(error)
            raise

    server = LeanHttpServer(handler, ServerLimits())
    server.failures = failures
    server.port = await server.listen_tcp("127.0.0.1", 0)
    yield server
    await server.close(0.0)


@pytest.fixture
def client(server):
    return _load("page_client").Client(server.port)
