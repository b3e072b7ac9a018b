"""Two gateways over one database, behind a load balancer that sends each request to the next."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def _load(known: str, path: Path):
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[known] = module
        spec.loader.exec_module(module)
    return sys.modules[known]


_load("journeys_harness", HERE.parent / "harness.py")
stage = _load("gateway_hostile_stage", HERE.parent / "gateway_hostile" / "stage.py")
gate = _load("journeys_gate_conftest", HERE.parent / "gate" / "conftest.py")
for suite in ("test_approvals_over_mcp", "test_levels_and_shells"):
    _load(f"journeys_gate_{suite}", HERE.parent / "gate" / f"{suite}.py")
houses = _load("journeys_replicas_pair", HERE / "pair.py")


@pytest.fixture(name="stage")
def _stage():
    return stage


@pytest.fixture
def shared(journey, database_url):
    """A person's folders whose gateways keep everything in one database."""
    key = journey.root / "audit.key"
    key.write_bytes(os.urandom(32))
    key.chmod(0o600)
    journey.environment |= {"AWF_DATABASE_URL": database_url, "AWF_AUDIT_KEY": str(key)}
    return journey


person, noted = gate.person, gate.noted


@pytest.fixture
def pair(shared):
    """A function that opens two gateways with this file. In the end both must leave in good order."""
    with contextlib.ExitStack() as opened:

        def open_pair(config, *options):
            return opened.enter_context(houses.opened(shared, config, *options))

        yield open_pair


@pytest.fixture
def opened(shared, noted):
    """As in the gate's own journeys, with two gateways and a balancer for each one that these ask for."""
    with contextlib.ExitStack() as stack:

        def open_houses(*options, **keys):
            return stack.enter_context(houses.opened(shared, gate.office_file(**keys), *options))

        yield open_houses
