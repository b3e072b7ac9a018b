"""What is made of real output of Gemini CLI. After a change that is meant: AWF_WRITE_GOLDEN=1, then read the diff."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from awf.domain.agent import TextDelta, ToolFinished, ToolStarted, UsageReport
from awf.domain.run import Usage
from awf.infrastructure.agents.cli.shapes import Answer, SessionKnown, Trouble
from awf.infrastructure.agents.gemini.endings import explained
from awf.infrastructure.agents.gemini.stream import GeminiReader

SAMPLES = Path(__file__).parents[1] / "samples" / "gemini"
NAMES = sorted(path.stem for path in SAMPLES.glob("*.jsonl"))


def told(*lines):
    reader = GeminiReader()
    return [one for line in lines for one in reader.read(line)] + list(reader.end())


def heard(name):
    return told(*map(json.loads, (SAMPLES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()))


def of(kind, events):
    return [event for event in events if isinstance(event, kind)]


def exit_code(name):
    return json.loads((SAMPLES / f"{name}.meta.json").read_text(encoding="utf-8"))["returncode"]


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_read_as_before(name):
    made = [{"heard": type(one).__name__, **msgspec.to_builtins(one)} for one in heard(name)]
    golden = SAMPLES / f"{name}.heard.json"
    if os.environ.get("AWF_WRITE_GOLDEN"):
        golden.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert made == json.loads(golden.read_text(encoding="utf-8"))


def test_the_answer_is_what_it_said_after_its_last_call():
    events = heard("isolated")

    assert "".join(one.text for one in of(TextDelta, events)).startswith("I will read the note.The note")
    assert of(Answer, events)[0].text.startswith("The note says: ")
    assert of(ToolStarted, events) == [
        ToolStarted("mcp_awf-proxy_Read__call_read_0_0", "mcp_awf-proxy_Read", {"file_path": "note.txt"})
    ]
    assert of(ToolFinished, events) == [
        ToolFinished("mcp_awf-proxy_Read__call_read_0_0", "mcp_awf-proxy_Read", "the secret word is xyzzy\n")
    ]


def test_tokens_are_counted_and_no_cost_is_invented():
    usage = of(UsageReport, heard("isolated"))[0].usage

    assert usage == Usage(6287, 70)  # 12 of them are thoughts
    assert usage.cost_source == "unknown"


def test_a_session_that_is_continued_keeps_its_id():
    assert of(SessionKnown, heard("resumed")) == of(SessionKnown, heard("isolated"))


@pytest.mark.parametrize("name", ["tool-error", "unknown-tool"])
def test_a_tool_that_failed_is_an_error(name):
    assert of(ToolFinished, heard(name))[0].is_error


def test_a_run_that_was_interrupted_is_no_success_though_its_exit_status_is_0():
    assert exit_code("sigint-mid-stream") == 0
    assert of(Trouble, heard("sigint-mid-stream"))[0].retryable
    assert not of(Answer, heard("sigint-mid-stream"))


@pytest.mark.parametrize(("name", "retryable"), [("api-error-400", False), ("api-error-429", True)])
def test_the_exit_status_tells_whether_to_try_again(name, retryable):
    trouble = explained(of(Trouble, heard(name))[-1], exit_code(name))

    assert "scripted" in trouble.message
    assert trouble.retryable is retryable


@pytest.mark.parametrize(
    ("status", "retryable", "hint"),
    [
        (401 % 256, False, "key"),
        (403 % 256, False, "key"),
        (500 % 256, True, ""),
        (503 % 256, True, ""),
        (41, False, "api_key"),
        (42, False, "folder"),
        (53, False, "max_turns"),
        (1, True, ""),
    ],
)
def test_every_exit_status_has_its_meaning(status, retryable, hint):
    trouble = explained(Trouble(message="x"), status)

    assert (trouble.message, trouble.retryable) == ("x", retryable)
    assert hint in trouble.hint


def test_an_error_on_the_way_is_told_when_the_result_has_no_reason():
    complaint = {"type": "error", "severity": "error", "message": "the answer was empty"}
    begun = {"type": "init", "session_id": "s", "model": "m"}

    assert of(Trouble, told(begun, complaint, {"type": "result", "status": "error"})) == [
        Trouble(message="the answer was empty")
    ]
    assert of(Trouble, told(begun, complaint)) == [Trouble(message="the answer was empty")]
    assert not of(Trouble, told(begun, complaint, {"type": "result", "status": "success"}))


def test_what_it_does_not_know_is_passed_over():
    assert told({"type": "news"}, {}, {"type": "message", "role": "user", "content": "x"}) == []
