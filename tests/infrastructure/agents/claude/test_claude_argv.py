"""How Claude Code is started."""

from __future__ import annotations

import json

import pytest

from awf.domain.ports.tools import ToolEndpoint
from awf.infrastructure.agents.claude.argv import invocation
from awf.infrastructure.agents.claude.dialect import Claude
from awf.infrastructure.agents.claude.options import ClaudeOptions
from awf.infrastructure.agents.cli.options import read_options
from awf.infrastructure.agents.cli.shapes import Task


def task(mode="intercept", options=None, **more):
    endpoint = ToolEndpoint(command=("/usr/bin/awf", "mcp-serve", "--config=a b.json"))
    given = {
        "prompt": "do it",
        "options": read_options(ClaudeOptions, options or {}),
        "program": "/bin/claude",
        "folder": "/call",
        "state": "/state",
        "cwd": "/project",
        "env": {},
        "new_session": "5e3ee8d4-0000-4000-8000-000000000000",
        "endpoint": None if mode == "native" else endpoint,
        "intercepts": mode == "intercept",
        "version": (2, 1, 325),
    }
    return Task(**{**given, **more})


def value(argv, flag):
    return argv[argv.index(flag) + 1]


def test_the_prompt_goes_in_on_standard_input_and_nowhere_else():
    started = invocation(task(prompt="a secret plan"))

    assert started.stdin == "a secret plan"
    assert not any("secret" in argument for argument in started.argv)
    assert started.argv[:2] == ["/bin/claude", "-p"]


def test_in_intercept_mode_nothing_but_our_server_is_left():
    started = invocation(task())

    assert value(started.argv, "--tools") == ""
    assert value(started.argv, "--setting-sources") == ""
    assert value(started.argv, "--allowedTools") == "mcp__awf-proxy"
    assert {"--strict-mcp-config", "--disable-slash-commands"} <= set(started.argv)
    assert started.env["ENABLE_TOOL_SEARCH"] == "false"
    server = json.loads(started.files[value(started.argv, "--mcp-config")])["mcpServers"]
    assert server == {"awf-proxy": {"command": "/usr/bin/awf", "args": ["mcp-serve", "--config=a b.json"]}}


def test_in_additive_mode_its_own_tools_and_settings_stay():
    started = invocation(task("additive", {"allowed_tools": ["Bash(git *)", "Edit"]}))

    assert not {"--tools", "--setting-sources", "--strict-mcp-config"} & set(started.argv)
    assert value(started.argv, "--allowedTools") == "mcp__awf-proxy,Bash(git *),Edit"
    assert "--mcp-config" in started.argv


def test_without_a_proxy_it_is_left_as_it_is():
    started = invocation(task("native"))

    assert not {"--tools", "--mcp-config", "--allowedTools", "--setting-sources"} & set(started.argv)
    assert started.files == {}


def test_permissions_of_its_own_tools_are_of_no_use_where_it_has_none():
    options = {"allowed_tools": ["Bash"], "disallowed_tools": ["Edit"], "permission_mode": "acceptEdits"}

    hidden, shown = invocation(task(options=options)).argv, invocation(task("additive", options)).argv

    assert not {"--disallowedTools", "--permission-mode"} & set(hidden)
    assert value(hidden, "--allowedTools") == "mcp__awf-proxy"
    assert value(shown, "--disallowedTools") == "Edit"
    assert value(shown, "--permission-mode") == "acceptEdits"


def test_settings_of_the_user_are_loaded_where_the_step_asks_for_them():
    assert "--setting-sources" not in invocation(task(options={"user_settings": True})).argv


def test_a_new_session_gets_our_id_and_an_old_one_is_continued():
    fresh, again = invocation(task()).argv, invocation(task(session="s-1")).argv

    assert value(fresh, "--session-id") == "5e3ee8d4-0000-4000-8000-000000000000"
    assert value(again, "--resume") == "s-1"
    assert "--session-id" not in again


def test_instructions_are_handed_over_in_a_file_in_every_mode():
    for mode in ("intercept", "additive", "native"):
        started = invocation(task(mode, system_prompt="Be brief. " * 50_000))
        assert started.files[value(started.argv, "--append-system-prompt-file")].startswith("Be brief.")
        assert "--system-prompt-snapshot" not in started.argv


@pytest.mark.parametrize(("version", "given"), [((2, 1, 325), True), ((2, 1, 153), False), ((), False)])
def test_a_continued_session_gets_the_steps_instructions_where_it_would_keep_its_first(version, given):
    started = invocation(task(session="s-1", system_prompt="Be brief.", version=version))

    assert ("--system-prompt-snapshot" in started.argv) is given


def test_options_become_arguments_and_variables():
    started = invocation(
        task(options={
            "model": "opus", "effort": "low", "max_turns": 4, "max_retries": 7, "base_url": "http://gateway",
            "api_key": "sk-1", "add_dir": ["/a", "/b"], "extra_args": ["--debug", "api"],
        })
    )  # fmt: skip

    assert (value(started.argv, "--model"), value(started.argv, "--effort")) == ("opus", "low")
    assert value(started.argv, "--max-turns") == "4"
    assert started.argv[-2:] == ["--debug", "api"]
    assert [started.argv[i + 1] for i, one in enumerate(started.argv) if one == "--add-dir"] == ["/a", "/b"]
    assert started.env["ANTHROPIC_BASE_URL"] == "http://gateway"
    assert started.env["ANTHROPIC_API_KEY"] == "sk-1"
    assert started.env["CLAUDE_CODE_MAX_RETRIES"] == "7"
    assert "sk-1" not in started.argv


def test_without_options_its_own_endpoint_and_key_are_left_alone():
    started = invocation(task())

    assert not {"ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"} & started.env.keys()
    assert started.env["CLAUDE_CODE_MAX_RETRIES"] == "3"


def test_updates_and_reports_to_the_vendor_are_off():
    env = invocation(task()).env

    assert (env["DISABLE_AUTOUPDATER"], env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"]) == ("1", "1")


def test_our_tools_are_known_by_their_prefix():
    claude = Claude()

    assert claude.own_tool("mcp__awf-proxy__Read") == "Read"
    assert claude.own_tool("Read") is None
    assert claude.own_tool("mcp__other__Read") is None
