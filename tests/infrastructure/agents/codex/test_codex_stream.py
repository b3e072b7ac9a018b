"""What is made of real output of Codex. After a change that is meant: AWF_WRITE_GOLDEN=1, then read the diff."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from awf.domain.agent import TextDelta, ToolFinished, ToolStarted, UsageReport
from awf.domain.run import Usage
from awf.infrastructure.agents.cli.shapes import Answer, SessionKnown, Trouble
from awf.infrastructure.agents.codex.failures import explained, trouble
from awf.infrastructure.agents.codex.stream import CodexReader

SAMPLES = Path(__file__).parents[1] / "samples" / "codex"
NAMES = sorted(path.stem for path in SAMPLES.glob("*.jsonl"))


def heard(name, **given):
    reader = CodexReader("call.", **given)
    lines = (SAMPLES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [one for line in lines for one in reader.read(json.loads(line))] + list(reader.end())


def of(kind, events):
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_read_as_before(name):
    told = [{"heard": type(one).__name__, **msgspec.to_builtins(one)} for one in heard(name)]
    golden = SAMPLES / f"{name}.heard.json"
    if os.environ.get("AWF_WRITE_GOLDEN"):
        golden.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert told == json.loads(golden.read_text(encoding="utf-8"))


def test_the_answer_is_the_last_message_and_calls_are_told_from_start_to_end():
    events = heard("isolated")

    assert of(Answer, events)[0].text.startswith("The note says: ")
    assert "".join(one.text for one in of(TextDelta, events)).startswith("I will read the note.\n\nThe note")
    assert of(ToolStarted, events) == [
        ToolStarted("call.item_2", "awf-proxy.Read", {"file_path": "note.txt"})
    ]
    assert of(ToolFinished, events) == [
        ToolFinished("call.item_2", "awf-proxy.Read", "the secret word is xyzzy\n")
    ]
    assert of(UsageReport, events) == [UsageReport(Usage(7906, 58))]  # no cost is told, so none is known


def test_a_session_that_is_continued_counts_only_what_is_new():
    before = {"input_tokens": 7906, "output_tokens": 58}

    events = heard("resumed", spent=before)

    assert of(SessionKnown, events) == of(SessionKnown, heard("isolated"))
    assert of(UsageReport, events) == [UsageReport(Usage(14640 - 7906, 65 - 58))]


def test_a_tool_that_failed_is_an_error():
    assert of(ToolFinished, heard("tool-error"))[0].is_error
    assert "Method not found" in of(ToolFinished, heard("mcp-resources"))[1].output


def test_tools_of_its_own_are_told_with_what_they_did():
    started = of(ToolStarted, heard("additive-native"))

    assert [call.name for call in started] == ["shell", "apply_patch"]
    assert "touch native-was-here" in started[0].input["command"]
    assert started[1].input["changes"][0]["kind"] == "add"
    assert of(ToolFinished, heard("additive-native"))[0].output == "native\n"


@pytest.mark.parametrize(
    ("name", "retryable", "says"),
    [
        ("api-error-400", False, "scripted: this request is refused"),
        ("api-error-401", False, "401 Unauthorized"),
        ("api-error-429", True, "429 Too Many Requests"),
        ("api-error-500", True, "high demand"),
        ("cut-stream", True, "stream disconnected"),
    ],
)
def test_an_error_is_told_once_and_whether_it_may_pass(name, retryable, says):
    (told,) = of(Trouble, heard(name))

    assert told.retryable is retryable
    assert says in told.message
    assert not told.message.startswith("{")


def test_an_error_on_the_way_is_not_the_end():
    reader = CodexReader()
    lines = [
        {"type": "error", "message": "Reconnecting... 1/5"},
        {"type": "item.completed", "item": {"id": "item_0", "type": "error", "message": "a warning"}},
        {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "Done."}},
        {"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 2}},
    ]

    events = [one for line in lines for one in reader.read(line)] + list(reader.end())

    assert not of(Trouble, events)
    assert of(Answer, events) == [Answer("Done.")]


def test_a_run_that_was_broken_off_has_no_answer():
    assert heard("sigint-mid-stream") == [SessionKnown("01a1e0b6-1c27-7082-aa81-59f8383732d3")]


def test_events_that_nobody_knows_are_passed_over_but_unknown_items_are_calls():
    reader = CodexReader()

    assert list(reader.read({"type": "thread.renamed"})) == []
    assert list(reader.read({"no": "type"})) == []
    item = {"id": "item_0", "type": "time_travel", "where": "1955", "status": "declined"}
    told = list(reader.read({"type": "item.completed", "item": item}))
    assert told == [
        ToolStarted("item_0", "time_travel", {"where": "1955"}),
        ToolFinished("item_0", "time_travel", "", is_error=True),
    ]


@pytest.mark.parametrize(
    ("said", "retryable"),
    [
        ("unexpected status 403 Forbidden: no", False),
        ("unexpected status 404 Not Found: url", False),
        ("unexpected status 408 Request Timeout: x", True),
        ("unexpected status 503 Service Unavailable: x", True),
        ("exceeded retry limit, last status: 401 Unauthorized", False),
        ("You've hit your usage limit. Try again at 5 PM.", False),
        ("Your input exceeds the context window of this model.", False),
        (
            '{"error": {"message": "no such model", "type": "invalid_request_error", "code": "model_not_found"}}',
            False,
        ),
        ('{"error": {"message": "overloaded", "type": "server_error"}}', True),
        ('{"error": "odd"}', True),
        ("<html>bad gateway</html>", True),
    ],
)
def test_what_may_pass_is_told_from_what_stays(said, retryable):
    assert trouble(said).retryable is retryable


def test_a_failure_without_words_still_has_a_message():
    reader = CodexReader()
    (told,) = reader.read({"type": "turn.failed", "error": {}})

    assert told.message


def test_what_it_says_when_it_does_not_even_begin_is_understood():
    server = explained(
        Trouble(message="codex ended with exit code 1: required MCP servers failed to initialize: x")
    )
    session = explained(Trouble(message="codex ended with exit code 1: no rollout found for thread id 1"))
    other = Trouble(message="codex ended with exit code 1: disk full")

    assert (server.code, server.retryable) == ("EXECUTION.AGENT.NO_TOOLS", True)
    assert not session.retryable
    assert session.hint
    assert explained(other) == other
