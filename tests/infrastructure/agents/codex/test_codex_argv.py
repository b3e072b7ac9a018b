from __future__ import annotations

import os
import tomllib

import pytest

from awf.infrastructure.agents.cli.options import check_options
from awf.infrastructure.agents.codex.dialect import Codex
from awf.infrastructure.agents.codex.options import CodexOptions


def invocation(task, *, role_is_told=False):
    catalogue = "/cache/models.json" if task.intercepts else ""
    return Codex().invocation(task, {"catalogue": catalogue, "role_is_told": role_is_told})


def settings(started):
    """All `-c` settings, read as Codex reads them."""
    argv = started.argv
    given = [argv[at + 1] for at, word in enumerate(argv) if word == "-c"]
    return {
        key: tomllib.loads(f"v = {value}")["v"] for key, _, value in (one.partition("=") for one in given)
    }


def test_the_prompt_is_on_standard_input_and_the_last_argument_says_so(codex_task):
    started = invocation(codex_task(prompt="-x\nhello", options={"extra_args": ["--oss"]}))

    assert started.argv[:3] == ["/bin/codex", "exec", "--json"]
    assert started.argv[-2:] == ["--oss", "-"]
    assert started.stdin == "-x\nhello"


def test_where_ours_are_the_only_tools_everything_else_is_off(codex_task):
    started = invocation(codex_task())
    given = settings(started)

    assert {"--ignore-user-config", "--ignore-rules"} <= set(started.argv)
    assert given["mcp_servers.awf-proxy.command"] == "/usr/bin/awf"
    assert given["mcp_servers.awf-proxy.args"] == ["mcp-serve", '--config=a "b".json']
    assert given["mcp_servers.awf-proxy.required"] is True
    assert given["mcp_servers.awf-proxy.default_tools_approval_mode"] == "approve"
    assert given["mcp_servers.awf-proxy.tool_timeout_sec"] == 600
    assert given["model_catalog_json"] == "/cache/models.json"
    assert given["web_search"] == "disabled"
    assert not any(value for key, value in given.items() if key.startswith("features."))
    assert {"features.shell_tool", "features.unified_exec", "features.code_mode"} <= set(given)
    assert "sandbox_mode" not in given


def test_next_to_its_own_tools_ours_are_shown_at_once_and_the_user_s_settings_count(codex_task):
    wished = {"sandbox": "workspace-write", "network": True, "add_dir": ["/data"], "web_search": "live"}
    started = invocation(codex_task("additive", wished))
    given = settings(started)

    assert "--ignore-user-config" not in started.argv
    assert given["mcp_servers.awf-proxy.omit_tools_from"] == ["deferred", "code_mode"]
    assert given["sandbox_mode"] == "workspace-write"
    assert given["sandbox_workspace_write.network_access"] is True
    assert given["sandbox_workspace_write.writable_roots"] == ["/data"]
    assert given["web_search"] == "live"
    assert not [key for key in given if key.startswith(("features.", "model_catalog"))]


def test_without_a_proxy_there_is_no_server(codex_task):
    given = settings(invocation(codex_task("native")))

    assert not [key for key in given if key.startswith("mcp_servers")]
    assert given["analytics.enabled"] is False


def test_a_session_is_continued_with_all_the_same_settings(codex_task):
    fresh = invocation(codex_task(system_prompt="Be terse."))
    resumed = invocation(codex_task(session="0199-abc", system_prompt="Be terse."))

    assert resumed.argv[:4] == ["/bin/codex", "exec", "resume", "0199-abc"]
    assert settings(resumed) == settings(fresh)
    assert settings(resumed)["developer_instructions"] == "Be terse."


def test_a_session_that_goes_on_is_told_its_role_in_the_prompt_unless_it_knows_it(codex_task):
    fresh = invocation(codex_task(system_prompt="Be terse."))
    told = invocation(codex_task(session="0199-abc", system_prompt="Be terse."), role_is_told=True)
    untold = invocation(codex_task(session="0199-abc", system_prompt="Be terse."))

    assert fresh.stdin == told.stdin == "do it"
    assert untold.stdin == "<system_instructions>\nBe terse.\n</system_instructions>\n\ndo it"


def test_a_system_prompt_too_long_for_an_argument_goes_before_the_prompt(codex_task):
    long = "é" * 60_000
    started = invocation(codex_task(system_prompt=long))

    assert "developer_instructions" not in settings(started)
    assert max(len(word.encode()) for word in started.argv) < 128 * 1024
    assert started.stdin == f"<system_instructions>\n{long}\n</system_instructions>\n\ndo it"


def test_wishes_for_the_model_are_passed_on(codex_task):
    wished = {"model": "gpt-5.5", "effort": "high", "reasoning_summary": "detailed", "project_doc": False}
    started = invocation(codex_task("native", wished))
    given = settings(started)

    assert started.argv[started.argv.index("-m") + 1] == "gpt-5.5"
    assert given["model_reasoning_effort"] == "high"
    assert given["model_reasoning_summary"] == "detailed"
    assert given["project_doc_max_bytes"] == 0


def test_an_endpoint_of_the_step_s_own_gets_a_provider_and_a_private_home(codex_task):
    task = codex_task(options={"base_url": "http://127.0.0.1:1/v1", "api_key": "s3cret", "retries": 0})
    started = invocation(task)
    given = settings(started)

    assert given["model_provider"] == "awf"
    assert given["model_providers.awf"] == {
        "name": "awf",
        "base_url": "http://127.0.0.1:1/v1",
        "wire_api": "responses",
        "env_key": "AWF_CODEX_API_KEY",
        "request_max_retries": 0,
        "stream_max_retries": 0,
    }
    assert started.env["AWF_CODEX_API_KEY"] == "s3cret"
    assert not any("s3cret" in word for word in started.argv)
    assert started.env["CODEX_HOME"] == os.path.join(task.state, "home")
    assert all(path.startswith(started.env["CODEX_HOME"]) for path in started.files)


def test_a_key_alone_is_for_the_vendor_s_own_address(codex_task):
    given = settings(invocation(codex_task(options={"api_key": "k"})))

    assert given["model_providers.awf"]["base_url"] == "https://api.openai.com/v1"


@pytest.mark.parametrize(("env", "key"), [({"OPENAI_API_KEY": "k"}, "OPENAI_API_KEY"), ({}, None)])
def test_an_address_alone_is_asked_with_the_usual_key_if_there_is_one(codex_task, env, key):
    task = codex_task(options={"base_url": "http://127.0.0.1:1/v1"}, env={"HOME": "/home/x", **env})

    assert settings(invocation(task))["model_providers.awf"].get("env_key") == key


def test_without_an_endpoint_the_user_s_login_is_used(codex_task):
    started = invocation(codex_task())

    assert "CODEX_HOME" not in started.env
    assert "model_provider" not in settings(started)
    assert not started.files


def test_a_home_that_the_step_names_is_used_in_any_case(codex_task):
    task = codex_task(options={"api_key": "k", "env": {"CODEX_HOME": "/chosen"}})
    started = invocation(task)

    assert "CODEX_HOME" not in started.env  # it is in the environment already
    assert not started.files


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"sandbox": "none"}, "sandbox"),
        ({"retries": "many"}, "retries"),
        ({"modell": "x"}, "did you mean 'model'?"),
    ],
)
def test_wrong_options_are_named(options, says):
    problems = check_options(CodexOptions, options, "codex")

    assert says in f"{problems[0].message} {problems[0].hint}"


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("awf-proxy.Read", "Read"),
        ("codex.list_mcp_resources", "list_mcp_resources"),
        ("codex.something", None),
        ("other.Read", None),
        ("shell", None),
    ],
)
def test_our_tools_are_told_from_its_own(name, own):
    assert Codex().own_tool(name) == own
