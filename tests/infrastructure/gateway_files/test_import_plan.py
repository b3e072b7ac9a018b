"""Taking over the servers of other clients."""

from __future__ import annotations

import pytest
import yaml

from awf.domain.errors import InvalidWorkflowError
from awf.infrastructure.expressions import ExpressionLanguage
from awf.infrastructure.gateway_files import ClientFile, import_plan, read_gateway_file, usual_files
from awf.infrastructure.yaml_files.config_file import read_record
from awf.infrastructure.yaml_files.nodes import parse_yaml

A = {"command": "a", "args": ["x y", "yes", "1e3"]}
B = {"url": "http://127.0.0.1:1/mcp", "transport": "streamableHttp"}
CURRENT = """\
# ours
mcpServers:
    # the weather
    weather:
        command: uvx   # from the index
        args: [mcp-server-weather]

# how it looks
overrides:
    "weather:fetch": {rename: get_weather}
"""


def of(name: str = "one.json", **entries) -> ClientFile:
    return ClientFile(name, "other", entries, [])


def test_a_new_file_is_written_and_can_be_read_again(tmp_path):
    plan = import_plan(None, [of(a=A, b=B)])
    (tmp_path / "gateway.yaml").write_text(plan.text)
    file, _ = read_gateway_file(
        str(tmp_path / "gateway.yaml"), read=read_record, parse=parse_yaml, conditions=ExpressionLanguage()
    )
    assert (file.servers["a"].args, file.servers["b"].url) == (["x y", "yes", "1e3"], B["url"])
    assert plan.added == ["a", "b"]
    assert plan.diff.startswith("--- /dev/null\n+++ .awf/gateway.yaml\n@@")
    assert "\n+  a:\n" in plan.diff


def test_what_stands_in_the_file_stays_to_the_letter():
    plan = import_plan(CURRENT, [of(b=B)])
    added = "    b:\n      url: http://127.0.0.1:1/mcp\n      transport: streamableHttp\n"
    assert plan.text == CURRENT.replace(
        "        args: [mcp-server-weather]\n", f"        args: [mcp-server-weather]\n{added}"
    )
    assert plan.notes == []
    removed = [line for line in plan.diff.splitlines()[2:] if line.startswith("-")]
    assert removed == []


@pytest.mark.parametrize(
    "current",
    [
        "",
        "# only a comment\n",
        "listen: {port: 1}",
        "mcpServers:\nlisten: {port: 1}\n",
        "mcpServers: {}\nlisten: {port: 1}\n",
        "mcpServers:  # none yet\nlisten: {port: 1}\n",
        "mcpServers: {w: {command: x}}  # short\nlisten: {port: 1}\n",
        "mcpServers:\n  w:\n    command: |\n      x\n\n\nlisten: {port: 1}\n",
        "mcpServers:\n  w: {command: x}",
        "mcpServers:\n  w:\n    args:\n    - a\n    - b\n    command: >-\n      x\n      y\n",
        '{"mcpServers": {"w": {"command": "x"}}}',
        "---\nmcpServers:\n  w: {command: x}\n...\n",
        "mcpServers:\n  w:\n    command: 'x\n\n      y'\n# end\n",
    ],
)
def test_servers_are_added_whatever_the_form_of_the_file(current):
    before = yaml.safe_load(current) or {}
    plan = import_plan(current, [of(a=A, b=B)])
    after = yaml.safe_load(plan.text)
    assert after == {**before, "mcpServers": {**(before.get("mcpServers") or {}), "a": A, "b": B}}
    again = import_plan(plan.text, [of(a=A, b=B)])
    assert (again.text, again.diff, again.added) == (plan.text, "", [])


def test_comments_are_kept_but_where_the_whole_file_is_in_braces():
    assert "# none yet" in import_plan("mcpServers:  # none yet\n", [of(a=A)]).text
    plan = import_plan("{mcpServers: {}} # lost\n", [of(a=A)])
    assert plan.notes == [".awf/gateway.yaml: the file is written anew, and comments in it are lost"]


def test_a_server_that_is_there_already_is_not_added_again():
    plan = import_plan(import_plan(None, [of(a=A)]).text, [of("two.json", other=A)])
    assert plan.added == []
    assert plan.notes == ["two.json: server “other” is already there as “a”"]


def test_two_servers_of_one_name_are_both_kept():
    plan = import_plan(CURRENT, [of("one.json", Weather=A), of("two.json", Weather=B)])
    assert plan.added == ["Weather_2", "Weather_3"]
    assert plan.notes[0] == "one.json: server “Weather” becomes “Weather_2”, for there is another “Weather”"
    assert import_plan(plan.text, [of("one.json", Weather=A), of("two.json", Weather=B)]).diff == ""


def test_the_same_server_in_two_files_is_added_once():
    assert import_plan(None, [of("one.json", a=A), of("two.json", a=A)]).added == ["a"]


def test_secrets_are_not_copied_and_never_told():
    github = {
        "command": "docker",
        "args": ["run", "-e", "API_TOKEN=hunter2", "--api-key=hunter2", "--token", "hunter2", "--port", "1"],
        "env": {
            "GITHUB_TOKEN": "hunter2",
            "LANG": "C",
            "OTHER": "ghp_hunter2hunter2",
            "PASSWORD": "${env:PW}",
        },
    }
    hub = {
        "url": "https://example.org/mcp?api_key=hunter2&a=1",
        "headers": {"Authorization": "Bearer hunter2", "X-Api-Key": "hunter2", "X-Trace": "1"},
    }
    plan = import_plan(None, [of(github=github, hub=hub)])
    servers = yaml.safe_load(plan.text)["mcpServers"]
    assert servers["github"]["env"] == {
        "GITHUB_TOKEN": "${env:GITHUB_TOKEN}",
        "LANG": "C",
        "OTHER": "${env:GITHUB_OTHER}",
        "PASSWORD": "${env:PW}",
    }
    assert servers["github"]["args"] == [
        *("run", "-e", "API_TOKEN=${env:GITHUB_API_TOKEN}", "--api-key=${env:GITHUB_API_KEY}"),
        *("--token", "${env:GITHUB_TOKEN}", "--port", "1"),
    ]
    assert servers["hub"]["url"] == "https://example.org/mcp?api_key=${env:HUB_API_KEY}&a=1"
    assert servers["hub"]["headers"] == {
        "Authorization": "Bearer ${env:HUB_AUTHORIZATION}",
        "X-Api-Key": "${env:HUB_X_API_KEY}",
        "X-Trace": "1",
    }
    assert "hunter2" not in f"{plan.text}{plan.diff}{plan.notes}"
    assert (
        "one.json: the secret in env.GITHUB_TOKEN of “github” is not copied; "
        "set GITHUB_TOKEN before the gateway starts" in plan.notes
    )


def test_the_key_of_one_server_is_never_sent_to_another_of_the_same_name():
    first = {"url": "http://a/", "headers": {"Authorization": "Bearer one"}}
    second = {"url": "http://b/", "headers": {"Authorization": "Bearer two"}}
    plan = import_plan(None, [of("one.json", hub=first), of("two.json", hub=second)])
    servers = yaml.safe_load(plan.text)["mcpServers"]
    assert [one["headers"]["Authorization"] for one in servers.values()] == [
        "Bearer ${env:HUB_AUTHORIZATION}",
        "Bearer ${env:HUB_2_AUTHORIZATION}",
    ]
    assert import_plan(plan.text, [of("one.json", hub=first), of("two.json", hub=second)]).diff == ""


def test_secrets_of_our_own_file_do_not_show_in_the_diff():
    current = "mcpServers:\n  w:\n    command: x\n    env: {API_KEY: hunter2}\n"
    plan = import_plan(current, [of(a=A)])
    assert "hunter2" in plan.text
    assert "hunter2" not in plan.diff
    assert "API_KEY: ***" in plan.diff


@pytest.mark.parametrize("current", ["a: [", "- a\n", "mcpServers: [a]\n"])
def test_a_file_of_ours_that_is_broken_is_not_touched(current):
    with pytest.raises(InvalidWorkflowError) as caught:
        import_plan(current, [of(a=A)])
    assert caught.value.code == "USER.GATEWAY.INVALID_FILE"


def test_the_usual_files_are_those_that_are_there_the_projects_first(tmp_path):
    project, home = tmp_path / "p", tmp_path / "h"
    for path in (home / ".claude.json", home / ".gemini/settings.json", project / ".vscode/mcp.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    found = usual_files(str(project), str(home))
    assert found == [
        str(project / ".vscode/mcp.json"),
        str(home / ".claude.json"),
        str(home / ".gemini/settings.json"),
    ]
    assert usual_files(str(home), str(home)).count(str(home / ".gemini/settings.json")) == 1


def test_the_secret_of_an_oauth_client_is_not_copied():
    oauth = {"token_url": "https://a/token", "client_id": "me", "client_secret": "hunter2"}
    plan = import_plan(None, [of(hub={"url": "https://a/mcp", "oauth": oauth})])
    assert "hunter2" not in plan.text
    assert (
        yaml.safe_load(plan.text)["mcpServers"]["hub"]["oauth"]["client_secret"] == "${env:HUB_CLIENT_SECRET}"
    )
