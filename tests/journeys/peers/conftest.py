"""Test modules are imported by path, so what they share is loaded here and handed out."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def load(name: str):
    known = f"journeys_peers_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, Path(__file__).with_name(f"{name}.py"))
        module = importlib.util.module_from_spec(spec)
        sys.modules[known] = module
        spec.loader.exec_module(module)
    return sys.modules[known]


clients = load("clients")


def pytest_generate_tests(metafunc):
    """A test that asks for a `peer` is run with every official client."""
    if "peer" in metafunc.fixturenames:
        metafunc.parametrize("peer", clients.CLIENTS, ids=[client.name for client in clients.CLIENTS])
