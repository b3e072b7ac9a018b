"""Gateways with a gate, as processes of their own, and clients of both eras."""

from __future__ import annotations

import contextlib
import importlib.util
import json
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
stage = _load("gateway_hostile_stage", HERE.parent / "gateway_hostile" / "stage.py")

desks = _load("journeys_acp_acp_desk", HERE.parent / "acp" / "acp_desk.py")
office_file = _load("journeys_gate_files", HERE / "files.py").office_file


class Desk:
    """What a person at the machine can ask and say."""

    def __init__(self, journey):
        self.journey = journey

    def approvals(self):
        return self.journey.awf("gateway", "approvals", "-o", "json").succeeded().json()

    def asked(self):
        """The one open question, once it is there."""
        (found,) = harness.until(self.approvals, "a question")
        return found["approvalId"]

    def say(self, word, approval_id):
        return self.journey.awf("gateway", word, approval_id)

    def audit(self, *options):
        return (
            self.journey.awf("audit", "list", "-o", "json", "--limit", "100000", *options).succeeded().json()
        )

    def calls_of(self, tool):
        return [event for event in self.audit() if event["toolId"] == tool]

    def records(self, *kinds):
        """The entries of the chain as they are, of these kinds."""
        lines = self.journey.awf("audit", "export").succeeded().out.splitlines()
        entries = [json.loads(line).get("entry", {}) for line in lines]
        return [entry for entry in entries if entry.get("kind") in kinds]

    def is_sound(self):
        self.journey.awf("audit", "verify").succeeded()


@pytest.fixture
def person(journey):
    return Desk(journey)


@pytest.fixture
def noted(journey):
    """What the office was asked to do."""
    journal = journey.root / "office"
    journey.environment["OFFICE_JOURNAL"] = str(journal)

    def look(tool=""):
        lines = journal.read_text().splitlines() if journal.exists() else []
        found = [json.loads(line) for line in lines]
        return [one["arguments"] for one in found if not tool or one["tool"] == tool]

    return look


@pytest.fixture
def opened(journey, noted):
    """A function that opens a gateway with these keys. In the end it must leave in good order, and leave nothing."""
    with contextlib.ExitStack() as houses:

        def open_house(*options, **keys):
            config = office_file(**keys)
            return houses.enter_context(stage.opened(journey, config, *options))

        yield open_house


@pytest.fixture(name="stage")
def _stage():
    return stage


@pytest.fixture
def words():
    """What workflows for editors are made of."""
    return desks


@pytest.fixture
def desk(tmp_path):
    """A person's folders for an editor. In the end nothing may be left running."""
    here = desks.Desk(tmp_path)
    try:
        yield here
        here.nothing_is_left()
    finally:
        here.clean_up()
