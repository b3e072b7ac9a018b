"""Behind the gateway the fixture gets the same verdicts from the official conformance suite as alone.

How a server answers the gateway does not decide how that answers its clients: as an event stream only where it must be.
So the fixture that does the same is the measure, also for one that streams all it can and for one on pipes.
"""

from __future__ import annotations

import pytest

from awf.testing import peers
from awf.testing.conformance import complaints, differences, run_suite

pytestmark = pytest.mark.journey
# A server on pipes is started by each gateway: a list that one of them changes is that of the other no longer, and in the
# newer era no session holds a client to one of them.
OWN_PROCESS = frozenset(
    {
        ("server-stateless", "sep-2575-server-sends-prompts-list-changed-on-subscription"),
        ("server-stateless", "sep-2575-server-sends-tools-list-changed-on-subscription"),
        ("tools-list", "tools-list-deterministic-order"),
    }
)


@pytest.mark.parametrize("way", ["plain", "streams", "stdio"])
def test_every_check_says_the_same_through_the_gateway_as_direct(way, selection, direct, stage, tmp_path):
    alone = direct(selection)
    results = tmp_path / "results"
    with stage.behind_gateway(tmp_path, way) as url:
        through = peers.requested(lambda: run_suite(url, selection, results))

    same(alone, through, results)


@pytest.mark.parametrize("way", ["plain", "streams", "stdio"])
def test_every_check_says_the_same_through_two_gateways_behind_a_balancer(
    way, selection, direct, stage, tmp_path, database_url
):
    """Each request comes to the other gateway, also those of one session."""
    alone = direct(selection)
    results = tmp_path / "results"
    with stage.behind_two_gateways(tmp_path, way, database_url) as url:
        through = peers.requested(lambda: run_suite(url, selection, results))
    same(alone, through, results, OWN_PROCESS if way == "stdio" else frozenset())


def same(alone, through, results, besides=frozenset()):
    differing = {check: two for check, two in differences(alone, through).items() if check not in besides}
    assert not differing, "\n".join(
        f"{scenario} {check}: direct {was}, through {came} {complaints(results, scenario, check)}"
        for (scenario, check), (was, came) in differing.items()
    )
