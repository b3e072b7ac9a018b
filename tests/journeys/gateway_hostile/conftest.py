"""Gateways to be harmed. Each test that harms one has its own; tests that must not be able to share one of a module."""

from __future__ import annotations

import contextlib
import importlib.util
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


harness = _load("journeys_harness", HERE.parent / "harness.py")
stage = _load("gateway_hostile_stage", HERE / "stage.py")


@pytest.fixture(scope="session", name="stage")
def _stage():
    return stage


@pytest.fixture
def opened(journey):
    """A function that opens a gateway for a configuration. In the end it must leave in good order, and leave nothing."""
    with contextlib.ExitStack() as houses:

        def open_house(config, *options, **manners):
            return houses.enter_context(stage.opened(journey, config, *options, **manners))

        yield open_house


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One gateway for all tests of a module: two villains, and a profile that shows the tools of one."""
    journey = harness.Journey(tmp_path_factory.mktemp("shared"))
    config = {
        "mcpServers": {"bad": stage.villain(), "good": stage.villain(deny=["hang"])},
        "profiles": {"calm": {"tools": ["good:*"], "description": "for calm people"}},
        "pinning": {"mode": "off"},
    }
    try:
        with stage.opened(journey, config) as house:
            yield house
        journey.nothing_is_left()
    finally:
        journey.clean_up()


@pytest.fixture(scope="session")
def web_villains():
    return _load("gateway_hostile_web_villain", HERE / "web_villain.py")
