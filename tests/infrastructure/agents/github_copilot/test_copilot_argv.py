"""How GitHub Copilot CLI is started: arguments, variables and files."""

from __future__ import annotations

import json

import pytest

from awf.infrastructure.agents.github_copilot.dialect import Copilot

SESSION = "5e3ee8d4-0000-4000-8000-000000000000"


def started(task):
    return Copilot().invocation(task, {})


def test_ours_are_its_only_tools_when_they_are_to_be(copilot_task):
    made = started(copilot_task("intercept"))

    assert "--available-tools=awf-proxy" in made.argv
    assert "--allow-tool=awf-proxy" in made.argv
    assert "--no-custom-instructions" in made.argv
    assert "--disable-builtin-mcps" in made.argv
    assert "COPILOT_ALLOW_ALL" in made.without
    config = made.argv[made.argv.index("--additional-mcp-config") + 1]
    assert config == "@/call/mcp.json"
    server = json.loads(made.files["/call/mcp.json"])["mcpServers"]["awf-proxy"]
    assert (server["command"], server["args"]) == ("/usr/bin/awf", ["mcp-serve", "--config=a b.json"])
    assert server["tools"] == ["*"]
    assert made.stdin == "do it"


def test_its_own_tools_stay_where_ours_are_only_added(copilot_task):
    made = started(copilot_task("additive", {"allowed_tools": ["write", "shell(git:*)"]}))

    assert "--additional-mcp-config" in made.argv
    assert not [one for one in made.argv if one.startswith("--available-tools")]
    assert [one for one in made.argv if one.startswith("--allow-tool=")] == [
        "--allow-tool=awf-proxy",
        "--allow-tool=write",
        "--allow-tool=shell(git:*)",
    ]
    assert "COPILOT_ALLOW_ALL" not in made.without


def test_without_a_proxy_there_is_no_server(copilot_task):
    made = started(copilot_task("native", {"allow_all_tools": True}))

    assert "--additional-mcp-config" not in made.argv
    assert "--allow-all-tools" in made.argv
    assert made.files == {}


def test_options_have_their_effect(copilot_task):
    made = started(
        copilot_task(
            "additive",
            {
                "model": "m",
                "effort": "high",
                "denied_tools": ["shell"],
                "add_dir": ["/a", "/b"],
                "max_ai_credits": 5,
                "extra_args": ["--plain-diff"],
            },
        )
    )

    line = " ".join(made.argv)
    assert "--model m --reasoning-effort high --max-ai-credits 5" in line
    assert line.endswith("--deny-tool=shell --add-dir /a --add-dir /b --plain-diff")
    assert "--no-auto-update" in made.argv
    assert "--disable-client-telemetry" in made.argv


def test_its_own_tools_cannot_be_allowed_where_ours_are_the_only_ones(copilot_task):
    made = started(copilot_task("intercept", {"allow_all_tools": True, "allowed_tools": ["shell"]}))

    assert "--allow-all-tools" not in made.argv
    assert "--allow-tool=shell" not in made.argv


def test_with_an_api_of_its_own_it_has_a_home_of_its_own(copilot_task):
    options = {
        "base_url": "http://localhost:1/v1",
        "api_key": "k",
        "model": "m",
        "provider_type": "anthropic",
        "wire_api": "responses",
    }
    made = started(copilot_task("intercept", options))

    assert made.env["COPILOT_HOME"] == f"/state/{SESSION}"
    assert made.env["COPILOT_OFFLINE"] == "true"
    assert made.env["COPILOT_PROVIDER_BASE_URL"] == "http://localhost:1/v1"
    assert made.env["COPILOT_PROVIDER_API_KEY"] == "k"
    assert made.env["COPILOT_PROVIDER_TYPE"] == "anthropic"
    assert made.env["COPILOT_PROVIDER_WIRE_API"] == "responses"
    assert made.env["COPILOT_MODEL"] == "m"
    assert "COPILOT_PROVIDER_BEARER_TOKEN" in made.without


def test_without_one_it_works_in_the_users_home_and_the_key_is_a_token(copilot_task):
    made = started(copilot_task("intercept", {"api_key": "t"}))

    assert made.env["COPILOT_GITHUB_TOKEN"] == "t"
    assert "COPILOT_HOME" not in made.env
    assert "COPILOT_OFFLINE" not in made.env


def test_a_session_is_continued_in_its_own_home_with_its_own_counts(copilot_task):
    first = started(copilot_task("intercept", {"base_url": "http://localhost:1"}))
    again = started(
        copilot_task("intercept", {"base_url": "http://localhost:1"}, session=SESSION, new_session="x")
    )

    assert first.argv[first.argv.index("--session-id") + 1] == SESSION
    assert f"--resume={SESSION}" in again.argv
    assert again.env["COPILOT_HOME"] == first.env["COPILOT_HOME"]
    assert again.report_file == first.report_file == f"/state/{SESSION}.usage.json"


@pytest.mark.parametrize("mode", ["intercept", "additive", "native"])
def test_the_role_of_the_step_is_an_agent_of_a_plugin(copilot_task, mode):
    made = started(copilot_task(mode, system_prompt="Be brief.\n---\nAnd kind."))

    assert made.argv[made.argv.index("--agent") + 1] == "awf:role"
    folder = made.argv[made.argv.index("--plugin-dir") + 1]
    assert made.files[f"{folder}/agents/role.agent.md"].endswith("\n---\n\nBe brief.\n---\nAnd kind.\n")
    assert json.loads(made.files[f"{folder}/plugin.json"])["name"] == "awf"
    assert "--agent" not in started(copilot_task(mode)).argv


def test_what_it_remembers_of_our_server_goes_away_with_the_call(copilot_task):
    usual = started(copilot_task("intercept")).env
    chosen = started(copilot_task("intercept", {"env": {"COPILOT_CACHE_HOME": "/c"}})).env

    assert usual["COPILOT_CACHE_HOME"] == chosen["COPILOT_CACHE_HOME"] == "/call/cache"
    assert usual["COPILOT_PKG_CACHE_HOME"] == "/home/user/.cache/copilot"
    assert chosen["COPILOT_PKG_CACHE_HOME"] == "/c"
    assert "COPILOT_CACHE_HOME" not in started(copilot_task("intercept", env={})).env


def test_our_tools_are_known_by_the_name_we_gave_them():
    assert Copilot().own_tool("awf-proxy-Read") == "Read"
    assert Copilot().own_tool("bash") is None
    assert Copilot().own_tool("other-Read") is None
