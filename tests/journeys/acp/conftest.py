"""Test modules are imported by path, so what they share is loaded here and handed out."""

from __future__ import annotations

import asyncio
import ctypes
import importlib.util
import sys
from pathlib import Path

import pytest

PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER = 36, 37


def load(name: str, folder: Path = Path(__file__).parents[1] / "peers"):
    known = f"journeys_{folder.name}_{name}"
    if known not in sys.modules:
        file = folder / f"{name}.py"
        spec = importlib.util.spec_from_file_location(known, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[known] = module
        spec.loader.exec_module(module)
    return sys.modules[known]


clients = load("acp_clients")
desks = load("acp_desk", Path(__file__).parent)


def pytest_generate_tests(metafunc):
    """A test that asks for an `sdk` is run with every SDK, one that asks for an `acpx_version` with every acpx."""
    if "sdk" in metafunc.fixturenames:
        metafunc.parametrize("sdk", clients.SDK_CLIENTS, ids=[client.name for client in clients.SDK_CLIENTS])
    if "acpx_version" in metafunc.fixturenames:
        metafunc.parametrize("acpx_version", clients.ACPX)


@pytest.fixture(autouse=True)
def orphans_go_their_own_way():
    """Other tests make this process the one that orphans come to. Clients here wait for orphans of theirs to be gone,
    and a dead one that nobody reaps would never be.
    """
    if sys.platform != "linux":
        yield
        return
    libc, adopts = ctypes.CDLL(None), ctypes.c_int()
    libc.prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(adopts), 0, 0, 0)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    yield
    libc.prctl(PR_SET_CHILD_SUBREAPER, adopts.value, 0, 0, 0)


@pytest.fixture
def acp():
    """The module with the clients and the words of scenarios."""
    return clients


@pytest.fixture
def words():
    """The module with what workflows of these tests are made of."""
    return desks


@pytest.fixture
def desk(tmp_path):
    """A person's folders, with the usual workflows. In the end nothing may be left running."""
    here = desks.Desk(tmp_path)
    here.usual_workflows()
    try:
        yield here
        here.nothing_is_left()
    finally:
        here.clean_up()


@pytest.fixture
def awf(acp, desk):
    """`awf acp-serve` for the real clients."""
    return acp.Agent(list(desk.command), desk.project, desk.scratch, desk.environment)


@pytest.fixture(scope="session")
def recording(tmp_path_factory):
    """A function that gives the frames of a session with everything in it, played once for each set of capabilities."""
    rich = load("rich_session", Path(__file__).parent)
    played = {}

    def give(capabilities=None):
        key = str(capabilities)
        if key not in played:
            desk = desks.Desk(tmp_path_factory.mktemp("rich"))
            desk.usual_workflows()
            try:
                played[key] = asyncio.run(rich.record(desk, desks, capabilities))
                desk.nothing_is_left()
            finally:
                desk.clean_up()
        return played[key]

    return give
