"""What the suite writes, as it is read for comparing."""

from __future__ import annotations

import json

import pytest

from awf.testing.conformance import (
    PREVIEW,
    Selection,
    complaints,
    differences,
    failing,
    read_verdicts,
    run_client_suite,
    scenarios,
)

STAMP = "2026-11-16T07-13-31-887Z"


@pytest.fixture
def written(tmp_path):
    def write(**checks):
        for name, some in checks.items():
            folder = tmp_path / f"{name.replace('_', '/', 1)}-{STAMP}"
            folder.mkdir(parents=True)
            told = [{"id": check, "status": status, "errorMessage": f"why {check}"} for check, status in some]
            (folder / "checks.json").write_text(json.dumps(told), encoding="utf-8")
        return tmp_path

    return write


def test_checks_of_one_id_are_kept_together_and_sorted(written):
    folder = written(**{"server-ping": [("a", "SUCCESS"), ("a", "FAILURE"), ("b", "INFO")]})

    assert read_verdicts(folder) == {("ping", "a"): ("FAILURE", "SUCCESS"), ("ping", "b"): ("INFO",)}


def test_the_scenario_keeps_its_whole_name(written):
    folder = written(**{"server-server-sse-polling": [("a", "INFO")], "auth_scope-step-up": [("a", "INFO")]})

    assert scenarios(read_verdicts(folder)) == {"server-sse-polling", "auth/scope-step-up"}


def test_a_failure_among_successes_and_a_warning_are_failing(written):
    folder = written(ping=[("a", "SUCCESS"), ("a", "FAILURE"), ("b", "WARNING"), ("c", "SKIPPED")])

    assert failing(read_verdicts(folder)).keys() == {("ping", "a"), ("ping", "b")}
    assert complaints(folder, "ping", "a") == ["FAILURE why a"]


def test_a_check_that_one_side_lacks_or_has_more_often_is_a_difference():
    one = {("s", "a"): ("SUCCESS",), ("s", "b"): ("SUCCESS",), ("s", "c"): ("INFO",)}
    other = {("s", "a"): ("SUCCESS", "SUCCESS"), ("s", "c"): ("INFO",), ("s", "d"): ("FAILURE",)}

    assert differences(one, other) == {
        ("s", "a"): ("SUCCESS", "SUCCESS SUCCESS"),
        ("s", "b"): ("SUCCESS", "-"),
        ("s", "d"): ("-", "FAILURE"),
    }


def test_traces_are_no_difference():
    assert differences({("s", "incoming-sse-event"): ("INFO",)}, {}) == {}


def test_a_selection_is_a_suite_or_a_revision():
    with pytest.raises(ValueError, match="either"):
        Selection(PREVIEW)
    with pytest.raises(ValueError, match="either"):
        Selection(PREVIEW, suite="all", requirements="2025-11-25")


def test_a_client_whose_command_has_spaces_is_refused_because_the_suite_would_cut_it(tmp_path):
    with pytest.raises(ValueError, match="spaces"):
        run_client_suite(["python", "my client.py"], Selection(PREVIEW, suite="core"), tmp_path / "out")
