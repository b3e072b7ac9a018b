"""What is made of real output of GitHub Copilot CLI. After a change that is meant: AWF_WRITE_GOLDEN=1, then read the diff."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from awf.domain.agent import TextDelta, Thought, ToolFinished, ToolStarted, UsageReport
from awf.domain.run import Usage
from awf.infrastructure.agents.cli.shapes import Answer, SessionKnown, ToolsOffered, Trouble
from awf.infrastructure.agents.github_copilot.dialect import Copilot
from awf.infrastructure.agents.github_copilot.stream import CopilotReader

SAMPLES = Path(__file__).parents[1] / "samples" / "github_copilot"
NAMES = sorted(path.stem for path in SAMPLES.glob("*.jsonl"))


def told(*lines):
    reader = CopilotReader()
    return [one for line in lines for one in reader.read(line)] + list(reader.end())


def heard(name):
    return told(*map(json.loads, (SAMPLES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()))


def of(kind, events):
    return [event for event in events if isinstance(event, kind)]


def error(**data):
    return told({"type": "session.error", "data": data}, {"type": "result", "sessionId": "s", "exitCode": 1})


def counted(read, written):
    return {"modelMetrics": {"m": {"usage": {"inputTokens": read, "outputTokens": written}}}}


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_read_as_before(name):
    made = [{"heard": type(one).__name__, **msgspec.to_builtins(one)} for one in heard(name)]
    golden = SAMPLES / f"{name}.heard.json"
    if os.environ.get("AWF_WRITE_GOLDEN"):
        golden.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert made == json.loads(golden.read_text(encoding="utf-8"))


def test_pieces_are_shown_once_and_the_answer_is_the_last_message():
    events = heard("isolated")

    assert "".join(one.text for one in of(Thought, events)) == (
        "The user wants the note, so I should read it first."
    )
    assert "".join(one.text for one in of(TextDelta, events)) == (
        "I will read the note.The note says: the secret word is xyzzy\n"
    )
    assert of(Answer, events) == [Answer("The note says: the secret word is xyzzy\n")]
    assert of(ToolStarted, events) == [
        ToolStarted("call_read_0_0", "awf-proxy-Read", {"file_path": "note.txt"})
    ]
    assert of(ToolFinished, events) == [
        ToolFinished("call_read_0_0", "awf-proxy-Read", "the secret word is xyzzy\n")
    ]


def test_a_session_that_is_continued_keeps_its_id():
    assert of(SessionKnown, heard("resumed")) == of(SessionKnown, heard("isolated"))


@pytest.mark.parametrize(
    ("name", "says"), [("tool-error", "No such file"), ("unknown-tool", "does not exist")]
)
def test_a_tool_that_failed_is_an_error(name, says):
    finished = of(ToolFinished, heard(name))[0]

    assert finished.is_error
    assert says in finished.output


def test_whether_our_server_came_up_is_told():
    assert of(ToolsOffered, heard("isolated")) == [ToolsOffered(connected=True)]
    assert of(ToolsOffered, heard("mcp-server-fails")) == [ToolsOffered(connected=False)]


def test_a_run_that_was_interrupted_is_no_success():
    assert of(Trouble, heard("sigint-mid-stream"))[0].retryable
    assert not of(Answer, heard("sigint-mid-stream"))


def test_a_run_without_a_result_is_no_success():
    begun = {"type": "user.message", "data": {"content": "x"}}

    assert "before its answer" in of(Trouble, told(begun))[0].message
    assert told() == []


@pytest.mark.parametrize(("name", "retryable"), [("api-error-400", False), ("api-error-429", True)])
def test_an_error_of_the_api_tells_whether_to_try_again(name, retryable):
    trouble = of(Trouble, heard(name))[-1]

    assert "scripted" in trouble.message
    assert trouble.retryable is retryable


@pytest.mark.parametrize(
    ("data", "retryable", "hint"),
    [
        ({"message": "x", "statusCode": 401}, False, "login"),
        ({"message": "x", "errorType": "authentication"}, False, "login"),
        ({"message": "x", "errorType": "quota"}, False, ""),
        ({"message": "x", "errorType": "rate_limit", "statusCode": 429}, True, ""),
        ({"message": "x", "statusCode": 500}, True, ""),
        ({"message": "x"}, True, ""),
    ],
)
def test_every_kind_of_error_has_its_meaning(data, retryable, hint):
    trouble = of(Trouble, error(**data))[0]

    assert (trouble.message, trouble.retryable) == ("x", retryable)
    assert hint in trouble.hint


def test_without_a_login_trying_again_is_of_no_use():
    said = Trouble(message="Set the COPILOT_GITHUB_TOKEN, GH_TOKEN, or GITHUB_TOKEN environment variable")

    explained = Copilot().explain(said, 1)

    assert not explained.retryable
    assert "copilot login" in explained.hint
    assert Copilot().explain(Trouble(message="other"), 1) == Trouble(message="other")


def test_what_agents_of_its_own_say_is_not_the_answer_but_their_calls_are_seen():
    said = {"type": "assistant.message_delta", "data": {"messageId": "m", "deltaContent": "inner"}}
    call = {"type": "tool.execution_start", "data": {"toolCallId": "c", "toolName": "view", "arguments": {}}}

    assert told({**said, "agentId": "a"}, {**call, "agentId": "a"}) == [ToolStarted("c", "view", {})]


def test_a_message_without_pieces_is_shown_whole():
    message = {"type": "assistant.message", "data": {"messageId": "m", "content": "all of it"}}

    assert told(message) == [TextDelta("all of it")]


def test_tokens_are_counted_and_no_cost_is_invented():
    first = list(CopilotReader().report(None, counted(100, 10)))
    again = list(CopilotReader(continued=True).report(counted(100, 10), counted(250, 30)))

    assert first == [UsageReport(Usage(100, 10))]
    assert again == [UsageReport(Usage(150, 20))]
    assert first[0].usage.cost_source == "unknown"


def test_what_a_session_used_before_it_came_to_us_is_not_counted():
    assert list(CopilotReader(continued=True).report(None, counted(100, 10))) == []


def test_what_it_does_not_know_is_passed_over():
    assert told({"type": "news", "data": {"x": 1}}, {}, {"type": "assistant.idle", "data": None}) == []
