"""The client half of the official conformance suite: stock clients whose servers are behind the gateway.

The suite's servers see the gateway as their client. Scenarios in which a person signs in with a browser (`auth/…`) are not
for a gateway, which has credentials of its own: of those only the client credentials are tried.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from awf.testing import peers
from awf.testing.conformance import (
    PREVIEW,
    RELEASED,
    Selection,
    complaints,
    differences,
    failing,
    run_client_suite,
    scored,
)

pytestmark = pytest.mark.journey

CLIENTS = Path(__file__).with_name("clients")
SDKS = {"python_v1": "mcp==1.30.0", "python_v2": "mcp==2.3.0"}
RUNS = [
    ("python_v1", Selection(RELEASED, suite="all")),
    ("python_v2", Selection(RELEASED, suite="core")),
    ("python_v1", Selection(PREVIEW, requirements="2025-11-25")),
    ("python_v2", Selection(PREVIEW, requirements="2025-11-25")),
    ("python_v2", Selection(PREVIEW, requirements="2026-07-28")),
]
SIGNING_IN = ("auth/client-credentials-basic", "client-credentials-basic-auth")
RETRY_TIME = ("sse-retry", "client-sse-retry-timing")  # on a slow machine anybody comes back late
# For its own list of tools the gateway asks with its own capabilities, not with those of any client.
DECLARED = "sep-2575-client-declares-"


def _comparable(verdicts):
    return {
        (scenario, check): statuses
        for (scenario, check), statuses in verdicts.items()
        if not scenario.startswith("auth/")
        and (scenario, check) != RETRY_TIME
        and not check.startswith(DECLARED)
    }


def _early(results):
    return [text for text in complaints(results, *RETRY_TIME) if "too early" in text]


@pytest.fixture(params=RUNS, ids=lambda run: f"{run[0]} {run[1]}")
def suite_run(request):
    """A function that runs the suite: with the stock client alone, or with a gateway in between."""
    sdk, selection = request.param
    python = peers.requested(lambda: peers.python_peer(SDKS[sdk]))

    def run(out_dir, **environment):
        command = [python, str(CLIENTS / "start.py"), sdk]
        return peers.requested(lambda: run_client_suite(command, selection, out_dir, environment))

    return run


def test_a_stock_client_does_the_same_through_the_gateway_as_direct(suite_run, stage, tmp_path):
    gateway = {
        "command": [sys.executable, "-m", "awf", "gateway", "serve", "--config"],
        "env": stage.environment(tmp_path),
    }
    results = tmp_path / "through"

    alone = _comparable(suite_run(tmp_path / "direct"))
    through = suite_run(results, CONFORMANCE_GATEWAY=json.dumps(gateway))

    assert not failing(alone)
    differing = differences(alone, _comparable(through))
    assert not differing, "\n".join(
        f"{scenario} {check}: direct {was}, through {came} {complaints(results, scenario, check)}"
        for (scenario, check), (was, came) in differing.items()
    )
    assert not [key for key in failing(through) if key[1].startswith(DECLARED)]
    assert not _early(results)
    if SIGNING_IN in through:
        assert through[SIGNING_IN] == ("SUCCESS",), complaints(results, *SIGNING_IN)


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_there_is_a_behaviour_for_every_client_scenario_without_a_browser(revision):
    required = peers.requested(lambda: scored(Selection(PREVIEW, requirements=revision), "client"))
    written = (CLIENTS / "scenarios.py").read_text(encoding="utf-8")

    assert [name for name in required if not name.startswith("auth/") and f'"{name}"' not in written] == []
