"""Which script and turn answer a request, and what a scenario may say."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import urllib.error
from importlib.resources import files

import pytest

from awf.testing.fake_models import FakeModelServer, Scenario, ScenarioError
from awf.testing.fake_models.conversation import OfferedTool
from awf.testing.fake_models.offered_tools import find_tool
from awf.testing.fake_models.side_requests import example_of

SHIPPED = sorted(
    (path for path in files("awf.testing.fake_models").joinpath("scenarios").iterdir()),
    key=lambda path: path.name,
)


def user(text):
    return {"role": "user", "content": text}


@pytest.fixture
def choice(ask):
    def read(fake, *messages, **more):
        body = {"model": "m", "messages": list(messages), **more}
        return ask(fake.url + "/v1/chat/completions", body)["choices"][0]

    return read


def test_the_newest_matching_prompt_wins_and_turns_count_from_it(choice):
    scenario = Scenario(
        {
            "scripts": [
                {"name": "one", "prompt": "first", "turns": [{"text": "a"}, {"text": "b"}]},
                {"name": "two", "prompt": "second", "turns": [{"text": "c"}]},
                {"name": "rest", "turns": [{"text": "default"}]},
            ]
        }
    )
    first, note, said = user("first"), user("<added by the agent>"), {"role": "assistant", "content": "a"}
    with FakeModelServer(scenario) as fake:
        assert choice(fake, first, note)["message"]["content"] == "a"
        assert choice(fake, first, note, said, note)["message"]["content"] == "b"
        assert choice(fake, first, said, user("second"))["message"]["content"] == "c"
        assert choice(fake, note)["message"]["content"] == "default"


def test_a_script_can_ask_for_a_system_prompt_or_for_no_tools(choice):
    scenario = Scenario(
        {
            "scripts": [
                {"system": "pirate", "turns": [{"text": "arr"}]},
                {"no_tools": False, "turns": [{"text": "with"}]},
                {"no_tools": True, "turns": [{"text": "without"}]},
            ]
        }
    )
    tools = [{"type": "function", "function": {"name": "Read"}}]
    with FakeModelServer(scenario) as fake:
        pirate = {"role": "system", "content": "You are a pirate."}
        assert choice(fake, pirate, user("x"))["message"]["content"] == "arr"
        assert choice(fake, user("x"), tools=tools)["message"]["content"] == "with"
        assert choice(fake, user("x"))["message"]["content"] == "without"


def test_a_scripted_stop_is_said_without_any_call(serve, choice):
    said = choice(serve([{"text": "", "stop": "tool_calls"}]), user("go"))
    assert said["finish_reason"] == "tool_calls"
    assert "tool_calls" not in said["message"]


def test_a_scripted_error_has_its_status_and_headers(serve, choice):
    error = {"status": 429, "message": "no", "headers": {"retry-after": "7"}}
    with pytest.raises(urllib.error.HTTPError) as caught:
        choice(serve([{"error": error}]), user("go"))
    with caught.value as answer:
        assert (answer.code, answer.headers["retry-after"]) == (429, "7")
        assert json.loads(answer.read())["error"]["message"] == "no"


def test_a_scripted_stream_is_cut(serve, stream):
    fake = serve([{"text": "x" * 400, "drop_after_chunks": 3}])
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        stream(fake.url + "/v1/chat/completions", {"stream": True, "messages": [user("go")]})


def test_a_tool_is_found_by_its_own_name_behind_a_prefix():
    tools = [OfferedTool("Read"), OfferedTool("mcp__srv__Read"), OfferedTool("srv-echo")]
    names = {wanted: find_tool(wanted, tools) for wanted in ("Read", "exact:Read", "re:^srv", "Write")}
    assert {wanted: tool and tool.name for wanted, tool in names.items()} == {
        "Read": "mcp__srv__Read",
        "exact:Read": "Read",
        "re:^srv": "srv-echo",
        "Write": None,
    }


@pytest.mark.parametrize(
    "bad",
    [
        {},
        [],
        {"scripts": []},
        {"scripts": [{"turns": []}]},
        {"scripts": [{"turns": [{"txt": "typo"}]}]},
        {"scripts": [{"turns": [{"tool_calls": [{"name": "no tool key"}]}]}]},
        {"scripts": [{"prompt": "(", "turns": [{"text": "x"}]}]},
    ],
)
def test_a_bad_scenario_is_refused(bad):
    with pytest.raises(ScenarioError):
        Scenario(bad)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_a_shipped_scenario_loads(path):
    assert Scenario.load(str(path)).name == path.name.removesuffix(".json")


def test_the_smallest_example_of_a_schema():
    schema = {"type": "object", "properties": {"a": {"enum": ["x", "y"]}, "b": {"type": "boolean"}}}
    assert example_of(schema, "t") == {"a": "x", "b": False}


def test_the_program_serves_a_scenario_until_it_is_told_to_stop(tmp_path, ask):
    log = tmp_path / "log.jsonl"
    scenario = next(path for path in SHIPPED if path.name == "read_then_answer.json")
    argv = [sys.executable, "-m", "awf.testing.fake_models", "--scenario", str(scenario), "--log", str(log)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().strip()
            ask(url + "/v1/chat/completions", {"messages": [user("x")]})
        finally:
            server.terminate()
        assert server.wait(20) == 0
    assert json.loads(log.read_text().splitlines()[0])["script"] == "default"


def test_the_program_says_what_is_wrong_with_a_scenario(tmp_path):
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    argv = [sys.executable, "-m", "awf.testing.fake_models", "--scenario", str(tmp_path / "bad.json")]
    done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "bad.json" in done.stderr
    assert "Traceback" not in done.stderr
