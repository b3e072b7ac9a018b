"""Test modules are imported by path, so what they share is loaded here and handed out."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest


def load(name: str):
    known = f"journeys_peers_{name}"
    if known not in sys.modules:
        file = Path(__file__).parents[1] / "peers" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(known, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[known] = module
        spec.loader.exec_module(module)
    return sys.modules[known]


clients = load("acp_clients")


def pytest_generate_tests(metafunc):
    """A test that asks for an `sdk` is run with every SDK, one that asks for an `acpx_version` with every acpx."""
    if "sdk" in metafunc.fixturenames:
        metafunc.parametrize("sdk", clients.SDK_CLIENTS, ids=[client.name for client in clients.SDK_CLIENTS])
    if "acpx_version" in metafunc.fixturenames:
        metafunc.parametrize("acpx_version", clients.ACPX)


@pytest.fixture
def acp():
    """The module with the clients and the words of scenarios."""
    return clients
