"""The journeys of approvals and levels once more, with two gateways behind a balancer where they were made for one."""

from __future__ import annotations

import sys

import pytest

pytestmark = pytest.mark.journey
# Each gateway records the file by which it goes.
OF_ONE = {"test_which_file_counts_is_recorded_each_time_it_changes"}
SUITES = [
    sys.modules[f"journeys_gate_{name}"] for name in ("test_approvals_over_mcp", "test_levels_and_shells")
]

for _suite in SUITES:
    _tests = {
        name: found for name, found in vars(_suite).items() if name.startswith("test_") and name not in OF_ONE
    }
    assert _tests
    globals().update(_tests)
