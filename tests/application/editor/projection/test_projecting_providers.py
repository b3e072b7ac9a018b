"""Everything that any provider shows on its way becomes something on the screen, from real output of their programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from awf.domain.agent import TextDelta, Thought, ToolFinished, ToolStarted
from awf.domain.events import AgentText, AgentThought, AgentTool, StepStarted
from awf.infrastructure.agents.claude.stream import ClaudeReader
from awf.infrastructure.agents.codex.stream import CodexReader
from awf.infrastructure.agents.gemini.stream import GeminiReader
from awf.infrastructure.agents.github_copilot.stream import CopilotReader
from awf.infrastructure.agents.opencode.stream import OpenCodeReader

SAMPLES = Path(__file__).parents[3] / "infrastructure" / "agents" / "samples"
READERS = {
    "claude": ClaudeReader,
    "codex": CodexReader,
    "gemini": GeminiReader,
    "github_copilot": CopilotReader,
    "opencode": OpenCodeReader,
}
CASES = [(name, path.stem) for name in READERS for path in sorted((SAMPLES / name).glob("*.jsonl"))]
SHOWN = {
    TextDelta: "agent_message_chunk",
    Thought: "agent_thought_chunk",
    ToolStarted: "tool_call",
    ToolFinished: "tool_call_update",
}


def heard(provider, sample):
    reader = READERS[provider]()
    text = (SAMPLES / provider / f"{sample}.jsonl").read_text(encoding="utf-8")
    for line in text.splitlines():
        yield from reader.read(json.loads(line))
    yield from reader.end()


def as_event(shown):
    here = {"path": "ask", "step": "ask"}
    match shown:
        case TextDelta():
            return AgentText(**here, text=shown.text)
        case Thought():
            return AgentThought(**here, text=shown.text)
        case ToolStarted():
            return AgentTool(
                **here, call_id=shown.call_id, name=shown.name, phase="started", input=shown.input
            )
        case ToolFinished():
            told = {"output": shown.output, "is_error": shown.is_error}
            return AgentTool(**here, call_id=shown.call_id, name=shown.name, phase="finished", **told)
    return None


@pytest.mark.parametrize(("provider", "sample"), CASES)
def test_every_display_event_of_a_sample_is_shown(play, provider, sample):
    run = play()
    run.tell(StepStarted(path="ask", step="ask", kind="agent", detail=provider))
    for one in heard(provider, sample):
        event = as_event(one)
        if event is None or (isinstance(one, TextDelta | Thought) and not one.text):
            continue
        kinds = [update["sessionUpdate"] for update in run.tell(event)]
        assert SHOWN[type(one)] in kinds

    rows = {row_id: row for row_id, row in run.screen.rows.items() if row_id != "run-1/ask"}
    assert all(row["title"] and not row["title"].startswith("mcp") for row in rows.values())


def test_the_samples_show_every_kind_of_display_event():
    kinds = {type(one) for provider, sample in CASES for one in heard(provider, sample)}

    assert set(SHOWN) <= kinds
    assert {provider for provider, _ in CASES} == set(READERS)
