from __future__ import annotations

import json
import os

import pytest

from awf.domain.agent import AgentFailure
from awf.infrastructure.agents.cli.options import check_options
from awf.infrastructure.agents.opencode.dialect import OpenCode
from awf.infrastructure.agents.opencode.options import OpenCodeOptions

ADDRESS = "http://127.0.0.1:1/v1"
CLOSED = {"*": "deny", "awf-proxy_*": "allow"}


def invocation(task):
    return OpenCode().invocation(task, {})


def configuration(started):
    return json.loads(started.env["OPENCODE_CONFIG_CONTENT"])


def value_of(started, flag):
    return started.argv[started.argv.index(flag) + 1]


def test_the_prompt_is_on_standard_input(opencode_task):
    started = invocation(opencode_task(prompt="-x\nhello", options={"extra_args": ["--print-logs"]}))

    assert started.argv[:4] == ["/bin/opencode", "run", "--format", "json"]
    assert started.argv[-1] == "--print-logs"
    assert started.stdin == "-x\nhello"


def test_where_ours_are_the_only_tools_an_agent_of_ours_may_use_nothing_else(opencode_task):
    started = invocation(opencode_task())
    given = configuration(started)

    assert value_of(started, "--agent") == "awf-only"
    assert "--pure" in started.argv
    assert "--auto" not in started.argv
    assert given["agent"]["awf-only"]["permission"] == CLOSED
    assert list(given["agent"]["awf-only"]["permission"]) == ["*", "awf-proxy_*"]  # the last one counts
    assert given["permission"] == CLOSED
    assert given["mcp"]["awf-proxy"]["command"] == ["/usr/bin/awf", "mcp-serve", "--config=a b.json"]
    assert given["mcp"]["awf-proxy"]["timeout"] == 600_000
    assert started.env["OPENCODE_DISABLE_PROJECT_CONFIG"] == "1"
    assert {"OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_PERMISSION"} <= started.without


def test_the_user_s_configuration_is_out_of_sight_and_nothing_is_installed_for_an_empty_one(opencode_task):
    task = opencode_task()
    started = invocation(task)
    folder = os.path.join(started.env["XDG_CONFIG_HOME"], "opencode")

    assert started.env["XDG_CONFIG_HOME"].startswith(task.folder)
    assert os.path.join(folder, "node_modules", ".empty") in started.files
    lock = json.loads(started.files[os.path.join(folder, "package-lock.json")])
    assert "@opencode-ai/plugin" in lock["packages"][""]["dependencies"]


def test_the_user_s_configuration_can_be_asked_for(opencode_task):
    started = invocation(opencode_task(options={"user_config": True}))

    assert "XDG_CONFIG_HOME" not in started.env
    assert not started.files
    assert configuration(started)["agent"]["awf-only"]["permission"] == CLOSED


def test_a_variable_that_the_step_itself_sets_is_kept(opencode_task):
    started = invocation(opencode_task(options={"env": {"OPENCODE_CONFIG": "/mine.json"}}))

    assert "OPENCODE_CONFIG" not in started.without


def test_next_to_its_own_tools_the_user_s_world_stays_as_it_is(opencode_task):
    wished = {"permission": {"bash": "allow", "webfetch": "deny"}, "agent": "plan", "auto_approve": True}
    started = invocation(opencode_task("additive", wished))
    given = configuration(started)

    assert value_of(started, "--agent") == "plan"
    assert "--auto" in started.argv
    assert "--pure" not in started.argv
    assert given["permission"] == {"bash": "allow", "webfetch": "deny"}
    assert "awf-proxy" in given["mcp"]
    assert "agent" not in given
    assert not [name for name in started.env if name.startswith("XDG_")]
    assert "OPENCODE_DISABLE_PROJECT_CONFIG" not in started.env
    assert not started.without


def test_what_the_user_configures_in_the_same_variable_is_kept_next_to_ours(opencode_task):
    theirs = {"mcp": {"mine": {"type": "local"}}, "share": "auto", "theme": "x"}
    env = {"HOME": "/h", "OPENCODE_CONFIG_CONTENT": json.dumps(theirs)}

    additive = configuration(invocation(opencode_task("additive", env=env)))
    intercepted = configuration(invocation(opencode_task(env=env)))

    assert set(additive["mcp"]) == {"mine", "awf-proxy"}
    assert additive["theme"] == "x"
    assert additive["share"] == "disabled"
    assert set(intercepted["mcp"]) == {"awf-proxy"}
    assert "theme" not in intercepted


@pytest.mark.parametrize("broken", ["", "{", "[1]", "3"])
def test_a_broken_configuration_of_the_user_s_does_not_stop_ours(opencode_task, broken):
    started = invocation(opencode_task("additive", env={"OPENCODE_CONFIG_CONTENT": broken}))

    assert "awf-proxy" in configuration(started)["mcp"]


def test_without_a_proxy_there_is_no_server(opencode_task):
    assert "mcp" not in configuration(invocation(opencode_task("native")))


@pytest.mark.parametrize("mode", ["intercept", "additive", "native"])
def test_a_system_prompt_comes_after_its_own_in_every_mode_however_long(opencode_task, mode):
    long = "é" * 200_000
    started = invocation(opencode_task(mode, system_prompt=long, session="ses_1@db"))
    (path,) = configuration(started)["instructions"]

    assert started.files[path] == long
    assert max(len(value) for value in started.env.values()) < 128 * 1024


def test_each_new_session_has_a_database_of_its_own_and_is_found_there_again(opencode_task):
    fresh = opencode_task()
    started = invocation(fresh)
    (known, *_) = OpenCode().reader(fresh).read({"type": "step_start", "sessionID": "ses_1"})
    later = opencode_task(session=known.id, new_session="another")
    resumed = invocation(later)

    assert "--session" not in started.argv
    assert started.env["OPENCODE_DB"].startswith(fresh.state)
    assert resumed.env["OPENCODE_DB"] == started.env["OPENCODE_DB"]
    assert value_of(resumed, "--session") == "ses_1"
    (again, *_) = OpenCode().reader(later).read({"type": "step_start", "sessionID": "ses_1"})
    assert again == known


def test_a_session_of_the_user_s_own_is_looked_for_where_the_user_has_it(opencode_task):
    started = invocation(opencode_task(session="ses_1"))

    assert value_of(started, "--session") == "ses_1"
    assert "OPENCODE_DB" not in started.env


def test_a_database_cannot_be_named_outside_the_run_s_folder(opencode_task):
    task = opencode_task(session="ses_1@../../other")

    assert os.path.dirname(invocation(task).env["OPENCODE_DB"]) == task.state


@pytest.mark.parametrize(
    ("wire", "adapter"),
    [
        ("chat", "@ai-sdk/openai-compatible"),
        ("responses", "@ai-sdk/openai"),
        ("anthropic", "@ai-sdk/anthropic"),
    ],
)
def test_an_endpoint_of_the_step_s_own_gets_a_provider_and_needs_no_login(opencode_task, wire, adapter):
    wished = {
        "base_url": ADDRESS,
        "api_key": "k",
        "model": "org/model-1",
        "wire": wire,
        "context_window": 64_000,
    }
    task = opencode_task(options=wished)
    started = invocation(task)
    provider = configuration(started)["provider"]["awf"]

    assert value_of(started, "--model") == "awf/org/model-1"
    assert provider["npm"] == adapter
    assert provider["options"] == {"baseURL": ADDRESS, "apiKey": "k"}
    assert provider["models"]["org/model-1"]["limit"] == {"context": 64_000, "output": 16_000}
    assert started.env["XDG_DATA_HOME"].startswith(task.state)
    assert not any(word == "k" for word in started.argv)


def test_a_key_alone_is_for_the_provider_of_the_model(opencode_task):
    wished = {"api_key": "k", "model": "anthropic/claude-x", "variant": "high"}
    started = invocation(opencode_task(options=wished))

    assert value_of(started, "--model") == "anthropic/claude-x"
    assert value_of(started, "--variant") == "high"
    assert configuration(started)["provider"] == {"anthropic": {"options": {"apiKey": "k"}}}


def test_without_an_endpoint_the_user_s_login_is_used(opencode_task):
    started = invocation(opencode_task())

    assert "XDG_DATA_HOME" not in started.env
    assert "OPENCODE_DISABLE_DEFAULT_PLUGINS" not in started.env  # some logins are plugins
    assert "provider" not in configuration(started)
    assert "--model" not in started.argv


@pytest.mark.parametrize(
    "options", [{"base_url": ADDRESS}, {"api_key": "k"}, {"api_key": "k", "model": "gpt-5"}]
)
def test_an_endpoint_without_the_model_it_needs_is_refused_with_a_hint(opencode_task, options):
    with pytest.raises(AgentFailure) as failed:
        invocation(opencode_task(options=options))

    assert failed.value.code == "WORKFLOW.VALIDATION.INVALID_OPTIONS"
    assert not failed.value.retryable
    assert "`model`" in failed.value.hint


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"wire": "soap"}, "wire"),
        ({"permission": {"bash": "maybe"}}, "permission"),
        ({"variants": "high"}, "did you mean 'variant'?"),
    ],
)
def test_wrong_options_are_named(options, says):
    problems = check_options(OpenCodeOptions, options, "opencode")

    assert says in f"{problems[0].message} {problems[0].hint}"


@pytest.mark.parametrize(("name", "own"), [("awf-proxy_Read", "Read"), ("read", None), ("other_Read", None)])
def test_our_tools_are_told_from_its_own(name, own):
    assert OpenCode().own_tool(name) == own
