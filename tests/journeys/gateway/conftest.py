"""Test modules are imported by path, so what they share is loaded here and handed out."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest


def load(name: str):
    known = f"journeys_gateway_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, Path(__file__).with_name(f"{name}.py"))
        module = importlib.util.module_from_spec(spec)
        sys.modules[known] = module
        spec.loader.exec_module(module)
    return sys.modules[known]


running = load("running")


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """Where the processes of a module run. In the end none of them may be left."""
    made = running.Stage(tmp_path_factory.mktemp("gateway"))
    yield made
    made.nothing_is_left()


clients = load("clients")


def pytest_generate_tests(metafunc):
    """A test that asks for a `client` is made with every client, one that asks for a `tourist` with those that can answer."""
    for name, choice in (("client", clients.CLIENTS), ("tourist", clients.TOURISTS)):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, choice, ids=[one.name for one in choice])
