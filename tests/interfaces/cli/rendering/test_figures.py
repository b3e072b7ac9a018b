from __future__ import annotations

import pytest

from awf.domain.run import Usage
from awf.interfaces.cli.rendering.figures import counted, duration_text, elapsed_text, number_text, usage_text


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (-5, "0ms"),
        (0, "0ms"),
        (340, "340ms"),
        (999, "999ms"),
        (999.7, "1s"),
        (1000, "1s"),
        (4100, "4.1s"),
        (59_900, "59.9s"),
        (59_960, "1m 00s"),
        (123_000, "2m 03s"),
        (3_599_400, "59m 59s"),
        (3_599_700, "1h 00m"),
        (3_720_000, "1h 02m"),
        (360_000_000, "100h 00m"),
    ],
)
def test_a_duration_is_told_in_the_unit_that_fits(ms, text):
    assert duration_text(ms) == text


def test_the_age_of_a_running_step_counts_whole_seconds():
    assert [elapsed_text(seconds) for seconds in (0.9, 1.99, 61.5)] == ["", "1s", "1m 01s"]


def test_numbers_are_grouped_with_a_narrow_space():
    assert number_text(1234567) == "1\u202f234\u202f567"
    assert number_text(999) == "999"


def test_a_count_agrees_with_its_noun():
    assert counted(1, "branch", "branches") == "1 branch"
    assert counted(2, "branch", "branches") == "2 branches"
    assert counted(0, "step") == "0 steps"


@pytest.mark.parametrize(
    ("usage", "text"),
    [
        (None, ""),
        (Usage(), ""),
        (Usage(tool_calls=3), ""),
        (Usage(input_tokens=1000, output_tokens=234), "1\u202f234 tokens"),
        (Usage(input_tokens=0, output_tokens=1), "1 token"),
        (Usage(input_tokens=12), "12 input tokens"),
        (Usage(output_tokens=12), "12 output tokens"),
        (Usage(cost=0.0123, cost_source="reported"), "$0.0123"),
        (Usage(cost=0.0123, cost_source="computed"), "~$0.0123"),
        (Usage(cost=0.0, cost_source="reported"), "$0.00"),
        (Usage(cost=12.3456, cost_source="reported"), "$12.35"),
        (Usage(cost=0.00001, cost_source="computed"), "~<$0.0001"),
        (
            {"input_tokens": 5, "output_tokens": 5, "cost": 2.0, "cost_source": "reported"},
            "10 tokens · $2.00",
        ),
        ({"cost": "much"}, ""),
    ],
)
def test_usage_tells_what_is_known_and_nothing_else(usage, text):
    assert usage_text(usage) == text
