from __future__ import annotations

import pytest

from awf.application.history.amounts import cost, duration, moment, tokens
from awf.domain.run import Usage


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (0, "0 ms"), (0.0421, "42 ms"), (1.26, "1.3 s"), (12.4, "12 s"), (9.97, "10 s"), (0.9999, "1.0 s"), (59.7, "1 min 00 s"), (59.96, "1 min 00 s"), (61, "1 min 01 s"),
        (3599, "59 min 59 s"), (7380, "2 h 03 min"), (86400 * 3 + 3600, "3 days 1 h"), (-5, "0 ms"),
    ],
)  # fmt: skip
def test_durations_read_well(seconds, written):
    assert duration(seconds) == written


def test_moments_are_given_in_one_time_zone():
    assert moment(0) == "1970-01-01 00:00:00 UTC"
    assert moment(1e20) == "unknown"


def test_unknown_is_never_zero():
    assert tokens(None) == tokens(Usage()) == "unknown"
    assert cost(None) == cost(Usage(5, 5)) == "unknown"


def test_known_amounts_say_where_they_come_from():
    assert tokens(Usage(1000, 20)) == "1,020 (1,000 in, 20 out)"
    assert cost(Usage(cost=0.01234, cost_source="computed")) == "$0.0123 (computed)"
    assert cost(Usage(cost=12.5, cost_source="reported")) == "$12.50 (reported)"
    assert cost(Usage(cost=0.0, cost_source="reported")) == "$0.00 (reported)"
