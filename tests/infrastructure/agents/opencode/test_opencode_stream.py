"""What is made of real output of OpenCode. After a change that is meant: AWF_WRITE_GOLDEN=1, then read the diff."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from awf.domain.agent import TextDelta, Thought, ToolFinished, ToolStarted, UsageReport
from awf.domain.run import Usage
from awf.infrastructure.agents.cli.shapes import Answer, SessionKnown, Trouble
from awf.infrastructure.agents.opencode.failures import explained
from awf.infrastructure.agents.opencode.stream import OpenCodeReader

SAMPLES = Path(__file__).parents[1] / "samples" / "opencode"
NAMES = sorted(path.stem for path in SAMPLES.glob("*.jsonl"))


def told(*lines):
    reader = OpenCodeReader("db")
    return [one for line in lines for one in reader.read(line)] + list(reader.end())


def heard(name):
    return told(*map(json.loads, (SAMPLES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()))


def of(kind, events):
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_read_as_before(name):
    made = [{"heard": type(one).__name__, **msgspec.to_builtins(one)} for one in heard(name)]
    golden = SAMPLES / f"{name}.heard.json"
    if os.environ.get("AWF_WRITE_GOLDEN"):
        golden.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert made == json.loads(golden.read_text(encoding="utf-8"))


def test_the_answer_is_what_was_said_in_the_last_step():
    events = heard("isolated")

    assert of(Answer, events) == [Answer("The note says: the secret word is xyzzy\n")]
    assert of(TextDelta, events)[0] == TextDelta("I will read the note.")
    assert of(Thought, events)
    assert of(SessionKnown, events) == [SessionKnown("ses_e1f49b326ffeW2wzK17sahgHIw@db")]


def test_a_step_without_words_leaves_the_answer_of_the_one_before():
    events = told(
        {"type": "step_start"},
        {"type": "text", "part": {"text": "One."}},
        {"type": "text", "part": {"text": "Two."}},
        {"type": "step_start"},
    )

    assert of(Answer, events) == [Answer("One.\n\nTwo.")]


def test_a_call_is_told_from_start_to_end_under_an_id_that_is_not_the_model_s():
    (started,), (finished,) = of(ToolStarted, heard("isolated")), of(ToolFinished, heard("isolated"))

    assert started == ToolStarted(started.call_id, "awf-proxy_Read", {"file_path": "note.txt"})
    assert finished == ToolFinished(started.call_id, "awf-proxy_Read", "the secret word is xyzzy\n")
    assert started.call_id.startswith("prt_")


def test_tokens_are_added_up_and_a_cost_of_nothing_is_unknown():
    assert [one.usage for one in of(UsageReport, heard("isolated"))] == [Usage(2222, 24), Usage(1200, 34)]


def test_a_cost_that_is_told_is_reported():
    tokens = {"input": 1, "output": 2, "reasoning": 3, "cache": {"read": 10, "write": 100}}
    (report,) = told({"type": "step_finish", "part": {"tokens": tokens, "cost": 0.25}})

    assert report.usage == Usage(111, 5, 0.25, "reported")


def test_a_tool_that_failed_is_an_error():
    (finished,) = of(ToolFinished, heard("tool-error"))

    assert finished.is_error
    assert "No such file" in finished.output


def test_a_tool_that_is_not_there_is_told_by_the_name_the_model_used():
    events = heard("unavailable-in-additive")
    named = [(call.name, call.is_error) for call in of(ToolFinished, events)]

    assert named == [("exec_command", True), ("bash", False), ("apply_patch", True)]
    assert [call.name for call in of(ToolStarted, events)] == ["exec_command", "bash", "apply_patch"]


@pytest.mark.parametrize(
    ("name", "retryable", "says"),
    [
        ("api-error-400", False, "refused (HTTP 400)"),
        ("api-error-401", False, "HTTP 401"),
        ("api-error-429", True, "slow down (HTTP 429)"),
        ("api-error-500", True, "HTTP 500"),
        ("cut-stream", True, "closed unexpectedly"),
    ],
)
def test_an_error_is_told_once_and_whether_it_may_pass(name, retryable, says):
    (trouble,) = of(Trouble, heard(name))

    assert trouble.retryable is retryable
    assert says in trouble.message


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        ({"name": "ProviderAuthError", "data": {"message": "sign in"}}, False),
        ({"name": "ContextOverflowError", "data": {"message": "too long"}}, False),
        ({"name": "APIError", "data": {"message": "x", "isRetryable": False}}, False),
        ({"name": "APIError", "data": {"message": "x", "statusCode": 503, "isRetryable": False}}, True),
        ({"name": "UnknownError", "data": {"message": "?"}}, True),
        ({"name": "Odd"}, True),
    ],
)
def test_what_may_pass_is_told_from_what_stays(error, retryable):
    (trouble,) = told({"type": "error", "error": error})

    assert trouble.retryable is retryable
    assert trouble.message


def test_an_error_that_was_got_over_is_none():
    events = told(
        {"type": "error", "error": {"name": "APIError", "data": {"message": "busy"}}},
        {"type": "step_start"},
        {"type": "text", "part": {"text": "Done."}},
    )

    assert not of(Trouble, events)
    assert of(Answer, events) == [Answer("Done.")]


def test_a_run_that_was_broken_off_has_no_answer():
    assert [type(one) for one in heard("sigint-mid-stream")] == [SessionKnown]


def test_events_that_nobody_knows_are_passed_over():
    assert told({"type": "weather"}, {"no": "type"}, {}) == []


def test_a_session_that_is_gone_is_not_looked_for_again():
    gone = explained(Trouble(message="opencode ended with exit code 1: Error: Session not found"))
    other = Trouble(message="opencode ended with exit code 1: disk full")

    assert not gone.retryable
    assert gone.hint
    assert explained(other) == other


def test_an_error_without_a_reason_comes_with_the_likely_one():
    error = {
        "name": "UnknownError",
        "data": {"message": "Unexpected server error. Check server logs for details."},
    }
    (trouble,) = told({"type": "error", "error": error})

    assert "opencode models" in trouble.hint
