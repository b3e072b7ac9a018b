"""`awf tools`: what an agent will see, before it sees it."""

from __future__ import annotations

import json
import sys

import pytest
from click.testing import CliRunner

from awf.interfaces.cli.app import cli

WORKFLOW = {
    "name": "x",
    "inputs": [{"name": "python", "default": sys.executable}],
    "states": {
        "initial": "fix",
        "fix": {
            "type": "agent",
            "provider": "scripted",
            "prompt": "Go.",
            "options": {"turns": ["Done."]},
            "mcp_proxy": {"enable": True},
            "on_success": "look",
        },
        "look": {
            "type": "agent",
            "provider": "scripted",
            "prompt": "Go.",
            "options": {"turns": ["Done."]},
            "mcp_proxy": {
                "enable": True,
                "intercept_builtins": False,
                "mcp_servers": {
                    "inner": {
                        "command": "{{ inputs.python }}",
                        "args": ["-m", "awf", "mcp-serve"],
                        "tools": ["Gr*", "Glob"],
                    }
                },
            },
            "on_success": "plain",
        },
        "plain": {"type": "step", "command": "true", "on_success": "done"},
        "done": {"type": "terminal"},
    },
}


@pytest.fixture
def tools(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AWF_STORAGE", str(tmp_path / "runs"))

    def run(*arguments: str, workflow=WORKFLOW):
        (tmp_path / "x.yaml").write_text(json.dumps(workflow))
        return CliRunner().invoke(cli, ["tools", "x.yaml", *arguments], standalone_mode=False)

    return run


def test_each_agent_with_a_proxy_is_listed_with_its_tools_and_their_size(tools):
    shown = tools().output.splitlines()
    assert shown[0].startswith("fix  6 tools, about ")
    assert [line.split()[:2] for line in shown[1:7]] == [
        [name, "builtin"] for name in ("Read", "Write", "Edit", "Bash", "Glob", "Grep")
    ]
    assert shown[8].startswith("look  2 tools")
    assert [line.split()[:2] for line in shown[9:]] == [["Glob", "mcp:inner"], ["Grep", "mcp:inner"]]


def test_one_state_can_be_asked_for(tools):
    assert tools("--step", "look").output.splitlines()[0].startswith("look  2 tools")


def test_json_has_the_schemas_that_the_agent_gets(tools):
    listed = json.loads(tools("--step", "fix", "-o", "json").output)
    assert [tool["name"] for tool in listed] == ["Read", "Write", "Edit", "Bash", "Glob", "Grep"]
    assert listed[0]["input_schema"]["required"] == ["file_path"]
    assert listed[0]["source"] == "builtin"
    assert listed[0]["tokens"] > 0


@pytest.mark.parametrize(
    ("step", "words"), [("plain", "gets no tools"), ("lok", "did you mean 'look'?"), ("nobody", "no state")]
)
def test_a_state_without_tools_or_of_another_name_is_told(tools, step, words):
    failure = tools("--step", step).exception
    assert words in f"{failure.message} {failure.hint}"


def test_a_value_that_only_a_run_can_know_is_told(tools):
    workflow = json.loads(json.dumps(WORKFLOW))
    workflow["states"]["look"]["mcp_proxy"]["mcp_servers"]["inner"]["command"] = "{{ states.fix.output }}"
    failure = tools("--step", "look", workflow=workflow).exception
    assert failure.code == "EXECUTION.TEMPLATE.FAILED"


def test_a_workflow_without_a_proxy_says_how_to_get_one(tools):
    workflow = {
        "name": "x",
        "states": {
            "initial": "a",
            "a": {"type": "step", "command": "true", "on_success": "done"},
            "done": {"type": "terminal"},
        },
    }
    assert "mcp_proxy: {enable: true}" in tools(workflow=workflow).output


def test_a_folder_that_only_the_run_knows_is_no_obstacle(tools):
    fix = {**WORKFLOW["states"]["fix"], "dir": "{{ states.plain.output | trim }}", "on_success": "done"}
    plain = {**WORKFLOW["states"]["plain"], "on_success": "fix"}
    states = {"initial": "plain", "plain": plain, "fix": fix, "done": {"type": "terminal"}}
    done = tools(workflow={"name": "x", "states": states})
    assert done.exception is None
    assert done.output.startswith("fix  6 tools, about ")
