"""Agent steps with the OpenAI-compatible provider, through the whole application."""

from __future__ import annotations

import contextlib
import contextvars
import json
import logging

import pytest
import yaml

from awf.domain.events import (
    AgentIsolation,
    AgentText,
    AgentTool,
    AgentUsage,
    ToolCallFinished,
    ToolCallStarted,
    Warned,
)
from awf.infrastructure.agents.openai_compatible.provider import OpenAICompatibleAgent
from awf.infrastructure.http_client import LeanHttpClient
from awf.testing.fake_models import FakeModelServer, Scenario
from awf.testing.laboratory import Laboratory, ScriptedPerson
from awf.testing.memory_plugins import MemoryPlugin, MemoryPlugins

_PARENT = contextvars.ContextVar("parent", default="")


class Spans:
    """A `Tracer` that keeps the name of each span and of the one above it."""

    idle = False

    def __init__(self):
        self.seen: list[tuple[str, str]] = []

    @contextlib.contextmanager
    def span(self, name, attributes=None, *, below=None):
        self.seen.append((name, below or _PARENT.get()))
        token = _PARENT.set(name)
        try:
            yield self
        finally:
            _PARENT.reset(token)

    def set(self, name, value):
        pass

    def fail(self, message):
        pass

    def place(self, carrier=None):
        return _PARENT.get()

    def carrier(self):
        return {}

    def close(self):
        pass


class Bench(Laboratory):
    """A project with a fake model."""

    tracer = None

    def app(self):
        app = super().app()
        app.providers["openai_compatible"] = OpenAICompatibleAgent(LeanHttpClient)
        if self.tracer is not None:
            app.tracer = self.tracer
        return app

    async def steps(self, person=None, **states):
        named = list(states)
        for name, following in zip(named, [*named[1:], "done"], strict=True):
            own = states[name].pop("options", {})
            states[name] = {
                "type": "agent",
                "provider": "openai_compatible",
                "options": {
                    "model": "fake-model",
                    "base_url": self.fake.url + "/v1",
                    "api_key": "test-key",
                    **own,
                },
                "on_success": following,
                **states[name],
            }
        workflow = {
            "name": "work",
            "states": {"initial": named[0], **states, "done": {"type": "terminal", "status": "success"}},
        }
        return await self.run(yaml.safe_dump(workflow), person=person)


@pytest.fixture
def bench(tmp_path):
    bench = Bench(tmp_path)
    scripts = [
        {
            "prompt": "read the note",
            "turns": [
                {
                    "text": "Reading.",
                    "usage": {"input": 100, "output": 10},
                    "tool_calls": [
                        {"tool": "Read", "args": {"file_path": "note.txt"}},
                        {"tool": "Bash", "args": {"command": "echo from-bash"}},
                    ],
                },
                {"text": "Found: {{tool_results}}", "usage": {"input": 200, "output": 20}},
            ],
        },
        {"prompt": "no calls", "turns": [{"text": "", "stop": "tool_calls"}]},
        {"prompt": "and again", "turns": [{"text": "I see {{user_turns}} messages."}]},
        {"prompt": "could not be used", "turns": [{"text": '{"n": 1}'}]},
        {"prompt": "a number", "turns": [{"text": "one"}]},
        {"prompt": "bump it", "turns": [
            {"tool_calls": [{"tool": "semver_bump", "args": {"version": "1.2.3"}}]}, {"text": "{{tool_result}}"}]},
        {"prompt": "unwelcome", "turns": [{"error": {"status": 401, "message": "who are you?"}}]},
    ]  # fmt: skip
    with FakeModelServer(Scenario.from_dict({"scripts": scripts})) as fake:
        bench.fake = fake
        yield bench


# AC-1
async def test_read_and_bash_go_through_the_router_with_span_log_line_and_event(bench, caplog):
    caplog.set_level(logging.INFO, "awf")
    bench.tracer = Spans()
    bench.write("note.txt", "xyzzy\n")

    ran = await bench.steps(work={"prompt": "read the note", "mcp_proxy": {"enable": True}})

    assert ran.outcome.status == "completed"
    assert "xyzzy" in ran.output("work")
    assert "from-bash" in ran.output("work")
    assert bench.fake.tools_seen() == {"Read", "Write", "Edit", "Bash", "Glob", "Grep"}
    assert {(event.tool, event.source) for event in ran.of(ToolCallStarted)} == {
        ("Read", "builtin"),
        ("Bash", "builtin"),
    }
    assert [event.is_error for event in ran.of(ToolCallFinished)] == [False, False]
    assert [(event.name, event.phase) for event in ran.of(AgentTool)].count(("Read", "finished")) == 1
    lines = [record for record in caplog.records if record.getMessage() == "tool call"]
    assert {record.fields["tool"] for record in lines} == {"Read", "Bash"}
    above = dict(bench.tracer.seen)
    assert above["tool.call.Read"] == above["tool.call.Bash"] == "step.work"
    assert ran.of(Warned) == []
    isolation = ran.of(AgentIsolation)
    assert [(event.isolation, set(event.tools)) for event in isolation] == [
        ("guaranteed", {"Read", "Write", "Edit", "Bash", "Glob", "Grep"})
    ]


async def test_without_a_proxy_the_model_has_no_tools(bench):
    ran = await bench.steps(work={"prompt": "and again"})
    assert ran.output("work") == "I see 1 messages."
    assert "tools" not in bench.fake.model_requests()[0]["body"]
    assert ran.of(AgentIsolation) == []


async def test_text_and_usage_are_told_and_the_key_is_not(bench):
    bench.write("note.txt", "xyzzy\n")
    prices = {"prices": {"input": 1.0, "output": 10.0}}
    ran = await bench.steps(
        work={"prompt": "read the note", "mcp_proxy": {"enable": True}, "options": prices}
    )
    assert "".join(event.text for event in ran.of(AgentText)).startswith("Reading.Found: ")
    usage = ran.steps["work"].result.usage
    assert (usage.input_tokens, usage.output_tokens, usage.tool_calls) == (300, 30, 2)
    assert (usage.cost, usage.cost_source) == (pytest.approx(0.0006), "computed")
    assert [event.cost_source for event in ran.of(AgentUsage)] == ["computed"]
    assert not any("test-key" in str(event) for event in ran.events)


# AC-2, for this provider: it has no tools of its own, so `intercept_builtins: false` leaves those of the plugins.
async def test_without_interception_the_model_has_the_tools_of_the_plugins_alone(bench):
    bench.plugins = MemoryPlugins(
        MemoryPlugin("semver").operation("bump", lambda version: {"next": version + "-next"})
    )
    proxy = {
        "enable": True,
        "intercept_builtins": False,
        "plugin_tools": [{"plugin": "semver", "expose": ["bump"]}],
    }
    ran = await bench.steps(work={"prompt": "bump it", "mcp_proxy": proxy})
    assert ran.outcome.status == "completed"
    assert bench.fake.tools_seen() == {"semver_bump"}
    assert bench.plugins.executed == [("semver", "bump", {"version": "1.2.3"})]
    assert "1.2.3-next" in ran.output("work")
    assert [event.source for event in ran.of(ToolCallFinished)] == ["plugin:semver"]


# AC-7
async def test_a_turn_that_wants_tools_and_calls_none_fails_the_step(bench):
    ran = await bench.steps(work={"prompt": "no calls", "mcp_proxy": {"enable": True}})
    assert ran.outcome.status == "failed"
    assert ran.steps["work"].result.error.code == "USER.MCP_PROXY.INFINITE_LOOP_GUARD"
    assert len(bench.fake.model_requests()) == 1


async def test_a_later_step_continues_the_conversation(bench):
    bench.write("note.txt", "xyzzy\n")
    ran = await bench.steps(
        first={
            "prompt": "read the note",
            "system_prompt": "Be brief.",
            "conversation": {},
            "mcp_proxy": {"enable": True},
        },
        second={
            "prompt": "and again",
            "system_prompt": "Be brief.",
            "conversation": {"continue_from": "first"},
        },
    )
    assert ran.output("second") == "I see 2 messages."
    roles = [message["role"] for message in bench.fake.model_requests()[-1]["body"]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "assistant", "user"]


async def test_a_person_talks_to_the_model_for_several_turns(bench):
    person = ScriptedPerson(lines=["and again", "and again", "and again", "/end"])
    ran = await bench.steps(person, work={"prompt": "and again", "mode": "conversation", "conversation": {}})
    assert ran.output("work") == "I see 4 messages."
    assert ran.steps["work"].result.session.turns == 4


async def test_an_answer_that_does_not_fit_is_repaired_in_the_same_conversation(bench):
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    ran = await bench.steps(work={"prompt": "a number", "output_schema": schema})
    assert ran.steps["work"].result.json == {"n": 1}
    assert [message["role"] for message in bench.fake.model_requests()[-1]["body"]["messages"]] == [
        "user",
        "assistant",
        "user",
    ]


async def test_the_schema_of_the_answer_is_sent_where_that_is_asked_for(bench):
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    ran = await bench.steps(
        work={"prompt": "a number", "output_schema": schema, "options": {"json_mode": "schema"}}
    )
    assert ran.steps["work"].result.json == {"n": 1}
    asked = bench.fake.model_requests(side=True)
    assert len(asked) == 1
    assert asked[0]["body"]["response_format"]["json_schema"]["schema"] == schema


async def test_a_refusal_fails_the_step_with_the_words_of_the_api(bench):
    ran = await bench.steps(
        work={"prompt": "unwelcome", "retry": {"max_attempts": 3, "initial_delay": "1ms"}}
    )
    error = ran.steps["work"].result.error
    assert error.message == "The API answered with HTTP 401: who are you?"
    assert error.hint == "Check `api_key`."
    assert len(bench.fake.model_requests()) == 1  # asking again would come to the same


def test_wrong_options_are_found_by_the_validator(bench):
    workflow = """\
name: work
states:
  initial: work
  work:
    type: agent
    provider: openai_compatible
    prompt: go
    options: {model: m, temprature: 1}
    on_success: done
  done: {type: terminal, status: success}
"""
    messages = [problem.message for problem in bench.problems(workflow)]
    assert "openai_compatible has no option 'temprature'." in messages
    assert "'base_url' is missing." in messages
    assert json.dumps(messages).count("option") == 1
