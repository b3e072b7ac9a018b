"""What is made of real output of Claude Code. After a change that is meant: AWF_WRITE_GOLDEN=1, then read the diff."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from awf.domain.agent import TextDelta, Thought, ToolFinished, ToolStarted, UsageReport
from awf.infrastructure.agents.claude.stream import ClaudeReader
from awf.infrastructure.agents.cli.shapes import Answer, CostSoFar, SessionKnown, ToolsOffered, Trouble

SAMPLES = Path(__file__).parents[1] / "samples" / "claude"
NAMES = sorted(path.stem for path in SAMPLES.glob("*.jsonl"))


def heard_in(lines):
    reader = ClaudeReader()
    return [one for line in lines for one in reader.read(line)] + list(reader.end())


def heard(name):
    text = (SAMPLES / f"{name}.jsonl").read_text(encoding="utf-8")
    return heard_in([json.loads(line) for line in text.splitlines()])


def of(kind, events):
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_read_as_before(name):
    events = [{"heard": type(one).__name__, **msgspec.to_builtins(one)} for one in heard(name)]
    told = json.loads(json.dumps(events))
    golden = SAMPLES / f"{name}.heard.json"
    if os.environ.get("AWF_WRITE_GOLDEN"):
        golden.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert told == json.loads(golden.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_every_sample_tells_its_session_and_comes_to_one_end(name):
    events = heard(name)

    assert len({one.id for one in of(SessionKnown, events)}) == 1
    assert len(of(Answer, events)) + len(of(Trouble, events)) == 1


def test_the_answer_is_told_apart_from_what_was_said_on_the_way():
    events = heard("isolated")

    (answer,) = of(Answer, events)
    assert "xyzzy" in answer.text
    assert of(TextDelta, events)[0].text != answer.text
    assert [one.name for one in of(ToolStarted, events)] == ["mcp__awf-proxy__Read"]
    assert [one.call_id for one in of(ToolFinished, events)] == [
        one.call_id for one in of(ToolStarted, events)
    ]


def test_pieces_are_shown_once_although_the_whole_text_follows():
    events = heard("isolated-partial")

    said = "".join(one.text for one in of(TextDelta, events))
    assert said.count("xyzzy") == 1
    assert len(of(TextDelta, events)) > 2
    assert of(Answer, events)[0].text in said
    assert "".join(one.text for one in of(Thought, events)).strip()


def test_the_tools_of_its_model_and_our_servers_state_are_told():
    (offer,) = of(ToolsOffered, heard("isolated"))

    assert offer.connected
    assert {name.rpartition("__")[0] for name in offer.names} == {"mcp__awf-proxy"}


def test_a_server_that_did_not_come_up_is_told():
    (offer,) = of(ToolsOffered, heard("mcp-server-fails"))

    assert offer.connected is False


@pytest.mark.parametrize(("name", "retryable"), [("api-error-400", False), ("api-error-429", True)])
def test_an_error_of_the_api_is_trouble_although_it_is_told_as_a_success(name, retryable):
    (trouble,) = of(Trouble, heard(name))

    assert trouble.retryable is retryable
    assert "API Error" in trouble.message


@pytest.mark.parametrize(
    ("status", "retryable"), [(401, False), (403, False), (404, False), (413, False), (429, True), (500, True), (529, True), (None, True)]
)  # fmt: skip
def test_only_what_may_pass_is_worth_another_attempt(status, retryable):
    event = {"type": "result", "subtype": "success", "is_error": True, "session_id": "s", "result": "x"}

    (trouble,) = of(Trouble, heard_in([{**event, "api_error_status": status}]))

    assert trouble.retryable is retryable


@pytest.mark.parametrize("subtype", ["error_max_turns", "error_max_budget_usd"])
def test_a_limit_of_its_own_is_not_worth_another_attempt(subtype):
    event = {"type": "result", "subtype": subtype, "is_error": True, "session_id": "s", "errors": ["used up"]}

    (trouble,) = of(Trouble, heard_in([event]))

    assert (trouble.message, trouble.retryable) == ("used up", False)


def test_an_interrupted_run_is_trouble_although_its_exit_code_is_zero():
    assert of(Trouble, heard("sigint-mid-stream"))


def test_a_failing_tool_and_one_that_is_not_there_end_as_errors():
    for name in ("tool-error", "unknown-tool"):
        assert [one.is_error for one in of(ToolFinished, heard(name))] == [True], name


def test_calls_made_at_once_keep_their_ids():
    events = heard("parallel-calls")

    started = [one.call_id for one in of(ToolStarted, events)]
    assert len(set(started)) == len(started) > 1
    assert sorted(one.call_id for one in of(ToolFinished, events)) == sorted(started)


def test_tokens_are_those_of_the_call_and_the_cost_is_that_of_the_session():
    first, second = heard("isolated"), heard("resumed")

    assert of(UsageReport, first)[0].usage.cost is None
    assert of(CostSoFar, first)[0].cost > 0
    assert of(SessionKnown, second)[0].id == of(SessionKnown, first)[0].id


def test_what_a_called_agent_says_is_not_told_but_what_it_does_is():
    block = {
        "id": "m",
        "content": [{"type": "text", "text": "hm"}, {"type": "tool_use", "id": "c", "name": "Bash"}],
    }
    delta = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "hm"}}

    events = heard_in([
        {"type": "stream_event", "event": delta, "parent_tool_use_id": "p"},
        {"type": "assistant", "message": block, "parent_tool_use_id": "p"},
    ])  # fmt: skip

    assert events == [ToolStarted("c", "Bash", {})]


def test_unknown_events_say_nothing():
    assert heard_in([{"type": "news"}, {}, {"type": "system", "subtype": "api_retry"}]) == []
