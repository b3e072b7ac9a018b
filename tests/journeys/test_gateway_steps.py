"""A workflow step whose agent gets its tools from the project's gateway: reshaped as its file says, recorded once."""

from __future__ import annotations

import json
import sys

import pytest

pytestmark = pytest.mark.journey

FILES = {"command": sys.executable, "args": ["-m", "awf", "mcp-serve"]}


def gateway(journey, **more) -> None:
    file = {
        "mcpServers": {"files": FILES},
        "overrides": {
            "files:Read": {
                "rename": "look",
                "rename_fields": {"file_path": "name"},
                "hide_fields": ["offset"],
            }
        },
        "profiles": {"reading": {"tools": ["files:Read"]}},
        **more,
    }
    path = journey.project / ".awf" / "gateway.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(file))


def asking(journey, *actions, **proxy) -> str:
    state = {
        "type": "agent",
        "provider": "scripted",
        "prompt": "Go.",
        "options": {"process": True, "turns": [{"do": list(actions)}]},
        "mcp_proxy": {"enable": True, "intercept_builtins": False, **proxy},
        "on_success": "done",
    }
    return journey.workflow(
        "asking", {"initial": "ask", "ask": state, "done": {"type": "terminal", "status": "success"}}
    )


def test_an_agent_calls_a_reshaped_tool_and_each_call_is_recorded_once(journey):
    gateway(journey)
    (journey.project / "note.txt").write_text("milk\n")
    name = asking(
        journey,
        {"tool": {"name": "look", "input": {"name": "note.txt"}}},
        {"tool": {"name": "look", "input": {"name": "note.txt", "offset": 2}}},
        gateway=True,
    )

    told = journey.awf("run", name, "-o", "ndjson")

    assert told.status == 0, told.stderr
    events = [json.loads(line) for line in told.stdout.splitlines()]
    finished = [event for event in events if event["type"] == "tool.call.finished"]
    assert [(event["tool"], event["source"]) for event in finished] == [("look", "mcp:files")] * 2
    assert "milk" in finished[0]["output"]
    assert finished[1]["error"] == "INVALID_ARGUMENTS"
    assert "offset" in finished[1]["output"]


def test_a_profile_leaves_only_its_tools(journey):
    gateway(journey)

    told = journey.awf("tools", asking(journey, gateway="reading"), "-o", "json")

    assert [tool["name"] for tool in json.loads(told.stdout)] == ["look"]


@pytest.mark.parametrize(
    ("change", "choice", "code", "said"),
    [
        ({}, "readin", "USER.GATEWAY.INVALID_FILE", "did you mean 'reading'?"),
        ({"overrides": {"files:Reed": {"rename": "x"}}}, True, "USER.GATEWAY.UNKNOWN_TOOL", "files:Read"),
        ({"mcpServers": {}}, True, "USER.GATEWAY.EMPTY", "mcpServers"),
    ],
)
def test_a_gateway_that_cannot_be_used_is_told_with_its_place(journey, change, choice, code, said):
    gateway(journey, **change)

    told = journey.awf("tools", asking(journey, gateway=choice))

    assert told.status == 1
    assert code in told.stderr
    assert said in told.stderr


def test_a_project_without_a_gateway_is_told_how_to_get_one(journey):
    told = journey.awf("tools", asking(journey, gateway=True))

    assert told.status == 1
    assert "awf mcp import" in told.stderr
