"""What the gate remembers is taken away under a gateway that runs: nothing passes, and whoever reads the log learns why."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.journey
REFUSED, AGAIN = "calls are refused: The gate's store", "can be used again"


def test_a_store_that_is_gone_and_comes_back_is_in_the_log_once_each(opened, journey, noted, until):
    house = opened()
    assert house.client.call("look").text == "look: done"
    folder, away = journey.storage / "gate", journey.storage / "away"
    folder.rename(away)
    house.until_said(REFUSED)  # also where nobody calls
    for _ in range(3):
        assert "cannot be used" in house.client.call("look").text
    away.rename(folder)
    house.until_said(AGAIN)
    assert house.client.call("look").text == "look: done"
    house.stop()
    assert (house.said.count(REFUSED), house.said.count(AGAIN)) == (1, 1)
    assert len(noted("look")) == 2
