"""Test modules are imported by path, so what they share is loaded here and handed out."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from awf.testing import peers
from awf.testing.conformance import PREVIEW, RELEASED, Selection, run_suite


def load(name: str):
    known = f"journeys_conformance_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, Path(__file__).with_name(f"{name}.py"))
        module = importlib.util.module_from_spec(spec)
        sys.modules[known] = module
        spec.loader.exec_module(module)
    return sys.modules[known]


stage_module = load("stage")
SELECTIONS = [
    Selection(RELEASED, suite="active"),
    Selection(RELEASED, suite="all"),
    Selection(PREVIEW, requirements="2025-11-25"),
    Selection(PREVIEW, requirements="2026-07-28"),
]


@pytest.fixture(name="stage", scope="session")
def _stage():
    return stage_module


@pytest.fixture(params=SELECTIONS, ids=str)
def selection(request):
    return request.param


@pytest.fixture(scope="session")
def direct(tmp_path_factory):
    """What the suite says of the fixture itself, found out once: a function of the selection and the way it answers."""
    known = {}

    def ask(selection, way="plain"):
        if (selection, way) not in known:
            folder = tmp_path_factory.mktemp("direct")
            with stage_module.fixture_alone(folder, way) as url:
                verdicts = peers.requested(lambda: run_suite(url, selection, folder / "results"))
            known[selection, way] = verdicts
        return known[selection, way]

    return ask
