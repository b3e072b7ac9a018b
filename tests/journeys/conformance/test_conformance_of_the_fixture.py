"""The fixture meets the official conformance suite, so that it can be the measure for the gateway."""

from __future__ import annotations

import json
import subprocess

import pytest

from awf.testing import peers
from awf.testing.conformance import PREVIEW, RELEASED, Selection, differences, failing, scenarios, scored

pytestmark = pytest.mark.journey

# An extension that no revision requires and that the fixture does not have. Its scenarios run, and are not counted.
OF_THE_TASKS_EXTENSION = {
    "tasks-capability-negotiation",
    "tasks-dispatch-and-envelope",
    "tasks-lifecycle",
    "tasks-mrtr-composition",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-request-state-removal",
    "tasks-required-task-error",
    "tasks-wire-fields",
}
NOT_MET = {Selection(PREVIEW, requirements="2026-07-28"): OF_THE_TASKS_EXTENSION}
AT_LEAST = {"active": 30, "all": 32}


@pytest.mark.parametrize("way", ["plain", "streams"])
def test_the_fixture_meets_every_check_that_counts_and_fails_only_what_it_does_not_have(
    way, selection, direct
):
    verdicts = direct(selection, way)

    assert scenarios(failing(verdicts)) == NOT_MET.get(selection, set()), failing(verdicts)


def test_how_it_answers_shows_in_one_check_only(direct):
    selection = Selection(PREVIEW, requirements="2025-11-25")

    assert differences(direct(selection, "plain"), direct(selection, "streams")) == {
        ("server-sse-multiple-streams", "server-sse-streams-functional"): ("INFO", "SUCCESS")
    }


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_every_scenario_that_a_revision_requires_of_servers_has_run(revision, direct):
    selection = Selection(PREVIEW, requirements=revision)
    required = peers.requested(lambda: scored(selection, "server"))

    assert required <= scenarios(direct(selection))
    assert not required & NOT_MET.get(selection, set())


@pytest.mark.parametrize("suite", AT_LEAST)
def test_every_scenario_of_the_released_suite_has_run(suite, direct):
    assert len(scenarios(direct(Selection(RELEASED, suite=suite)))) >= AT_LEAST[suite]


def _over_stdio(stage, tmp_path, *messages):
    lines = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
    argv = [*stage.FIXTURE, "--stdio"]
    process = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=stage.environment(tmp_path), text=True
    )
    with process:
        process.stdin.write(lines)
        process.stdin.flush()
        answers = {}
        while len(answers) < sum("id" in message for message in messages):
            answer = json.loads(process.stdout.readline())
            answers[answer.get("id")] = answer.get("result") or answer.get("error")
        process.stdin.close()
        assert process.wait(stage.PATIENCE) == 0
    return answers


def test_the_fixture_speaks_both_eras_over_one_pair_of_pipes(stage, tmp_path):
    prefix = "io.modelcontextprotocol/"
    meta = {f"{prefix}protocolVersion": "2026-07-28", f"{prefix}clientCapabilities": {}}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}

    answers = _over_stdio(
        stage,
        tmp_path,
        {"id": 1, "method": "tools/list"},
        {"id": 2, "method": "server/discover", "params": {"_meta": meta}},
        {"id": 3, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 4, "method": "tools/call", "params": {"name": "test_simple_text"}},
        {"id": 5, "method": "tools/call", "params": {"name": "test_missing_capability", "_meta": meta}},
    )

    assert answers[1]["code"] == -32600
    assert answers[2]["supportedVersions"] == ["2026-07-28"]
    assert answers[3]["protocolVersion"] == "2025-06-18"
    assert "resultType" not in answers[4]
    assert answers[5]["data"] == {"requiredCapabilities": {"sampling": {}}}
