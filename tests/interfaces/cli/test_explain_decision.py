"""`awf gateway explain-decision`: what the gate would say, before anybody asks it in earnest."""

from __future__ import annotations

import json
import sys

import pytest
from click.testing import CliRunner

from awf.domain.errors import AwfError, InvalidWorkflowError
from awf.interfaces.cli.app import cli

SERVER = """
from mcpserver import Server, run_stdio

async def answer(arguments, call):
    raise SystemExit("it was called")

server = Server(name="fs", version="1")
schema = {"type": "object", "properties": {"path": {"type": "string"}}}
server.register_tool("delete_file", schema, answer, description="Deletes.")
run_stdio(server)
"""
POLICY = {
    "rules": [
        {
            "id": "no-delete",
            "action": "*",
            "when": "'delete' in risk",
            "decision": "deny",
            "reason": "Keep it.",
        },
        {"id": "secret", "action": "*", "when": "labels.confidentiality != 'public'", "decision": "deny"},
        {"id": "bob", "action": "file.*", "when": "context.user == 'bob'", "decision": "allow_with_confirm"},
    ]
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "fs.py").write_text(SERVER, encoding="utf-8")

    def run(*words: str, policy=POLICY, **change):
        (tmp_path / ".awf").mkdir(exist_ok=True)
        file = {
            "mcpServers": {"fs": {"command": sys.executable, "args": ["fs.py"]}},
            "policy": policy,
            **change,
        }
        (tmp_path / ".awf/gateway.yaml").write_text(json.dumps(file), encoding="utf-8")
        return CliRunner().invoke(cli, ["gateway", "explain-decision", *words])

    return run


def test_a_tool_of_a_server_is_explained_and_not_called(run, tmp_path):
    done = run(
        "delete_file", '{"path": "a"}', "-o", "json", overrides={"fs:delete_file": {"rename": "delete_it"}}
    )
    assert done.exit_code == 1
    done = run("fs:delete_file", '{"path": "a"}', "-o", "json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["decision"]["rule"] == "no-delete"
    assert told["decision"]["reason"] == "Keep it."
    assert told["document"]["paths"] == [str(tmp_path.resolve() / "a")]
    assert told["tool"]["actions"] == ["connector.action"]
    assert [one["rule"] for one in told["rules"] if one["decides"]] == ["no-delete"]


def test_built_in_tools_need_no_server(run, tmp_path):
    (tmp_path / "fs.py").unlink()
    done = run("builtin:Read", '{"file_path": "a"}', "--context", "user=bob")
    assert done.exit_code == 0, done.output
    assert "→ bob (file.read): holds: allow_with_confirm  when context.user == 'bob'" in done.output
    assert "policy: allow_with_confirm by bob [policy]" in done.output


def test_what_the_caller_knows_can_be_said(run):
    done = run("builtin:Glob", '{"pattern": "*"}', "--context", "LABEL=Confidential", "-o", "json")
    assert json.loads(done.stdout)["decision"]["rule"] == "secret"
    assert (
        json.loads(run("builtin:Glob", '{"pattern": "*"}', "-o", "json").stdout)["decision"]["verdict"]
        == "allow"
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["builtin:Raed"], "did you mean 'builtin:Read'?"),
        (["fs:nope"], "There is no tool 'fs:nope'."),
        (["fs:nope/really/" + "x" * 200], "Method not found"),
        (["no:resources/read"], "There is no tool 'no:resources/read'."),
        (["fs:tools/list"], "The gateway answers `tools/list` itself"),
        (["builtin:Read", "[]"], "The arguments must be a JSON object."),
        (["builtin:Read", '{"file_path": NaN}'], "The arguments are not JSON: NaN is no number of JSON."),
        (["fs:delete_file", '{"path": -Infinity}'], "The arguments are not JSON: -Infinity is no number"),
        (["fs:delete_file", '{"path": [1e999]}'], "The arguments are not JSON: path.0: inf is no number"),
        (["builtin:Read", '{"file_path": "\\ud800"}'], "not JSON: file_path: a text has half of a surrogate"),
        (["builtin:Read", '{"\\udc00": 1}'], "not JSON: a name has half of a surrogate pair in it"),
        (["builtin:Read", "{}", "--context", "bob"], "'bob' is not NAME=VALUE."),
        (["builtin:Read", "{}", "--context", "label=pink"], "public, confidential or secret"),
        (["builtin:Read", "{}", "--context", "planet=mars"], "There are: label, integrity, id, door"),
    ],
)
def test_mistakes_are_told(run, words, told):
    done = run(*words)
    assert isinstance(done.exception, AwfError)
    assert told in f"{done.exception.message} {done.exception.hint}"


def test_a_mistake_in_a_rule_is_told_with_its_place(run):
    broken = {"rules": [{"id": "x", "action": "*", "when": "pth == 'a'", "decision": "deny"}]}
    done = run("builtin:Read", policy=broken)
    assert isinstance(done.exception, InvalidWorkflowError)
    (problem,) = done.exception.problems
    assert problem.message == "policy.rules.0.when: Conditions know no “pth”."
    assert problem.hint == "did you mean “path”?"
    assert str(problem.place).startswith(".awf/gateway.yaml:1:")


def stages(done):
    assert done.exit_code == 0, done.output
    return {one["name"]: one["decision"] for one in json.loads(done.stdout)["stages"]}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fs:delete_file", '{"path": 7}'], "path: 7 is not of type"),
        (["builtin:Read", "{}"], "file_path"),
        (["builtin:Read", '{"file_path": "a", "limit": "many"}'], "limit: "),
    ],
)
def test_arguments_that_do_not_fit_are_told_as_the_doors_tell_them(run, words, said):
    done = run(*words, "-o", "json")
    told = json.loads(done.stdout)
    assert told["decision"]["code"] == stages(done)["arguments"]["code"] == "invalid_arguments"
    assert told["decision"]["verdict"] == "deny"
    assert said in told["decision"]["reason"]
    assert "refused before anything is decided: INVALID_ARGUMENTS." in run(*words).output


def test_built_in_tools_are_judged_by_the_names_of_their_arguments(run, tmp_path):
    """Models call it `path`; the tool, and so the rules, call it `file_path`."""
    told = json.loads(run("builtin:Read", '{"path": "a"}', "-o", "json").stdout)
    assert told["document"]["arguments"]["file_path"] == "a"
    assert told["decision"]["verdict"] == "allow"


@pytest.mark.parametrize("way", ["flag", "file"])
def test_shadow_mode_says_what_would_be_and_that_it_passes(run, way):
    words = ["fs:delete_file", '{"path": "a"}', *(["--shadow"] if way == "flag" else [])]
    policy = {**POLICY, "shadow": way == "file"}
    told = json.loads(run(*words, "-o", "json", policy=policy).stdout)["decision"]
    assert (told["verdict"], told["shadowed"], told["rule"]) == ("allow", "deny", "no-delete")
    text = run(*words, policy=policy).output
    assert "The call would be denied; shadow mode records that and lets it pass." in text


@pytest.mark.parametrize("tool", ["builtin:Bash", "fs:delete_file"])
def test_in_shadow_mode_a_level_lets_everything_pass_too(run, tool):
    open_world = {"fs:delete_file": {"open_world": True}, "builtin:Bash": {"open_world": True}}
    words = [tool, '{"command": "ls"}' if "Bash" in tool else "{}", "--context", "label=secret", "-o", "json"]
    done = run(*words, policy={}, overrides=open_world)
    assert stages(done)["level"]["verdict"] == json.loads(done.stdout)["decision"]["verdict"] == "deny"
    done = run(*words, "--shadow", policy={}, overrides=open_world)
    assert stages(done)["level"]["shadowed"] == json.loads(done.stdout)["decision"]["shadowed"] == "deny"
    assert json.loads(done.stdout)["decision"]["verdict"] == "allow"


@pytest.mark.parametrize(
    ("method", "params", "action"),
    [
        ("resources/read", {"uri": "file:///etc/passwd", "_meta": {"progressToken": 1}}, "connector.read"),
        ("prompts/get", {"name": "x"}, "connector.read"),
        ("completion/complete", {}, "connector.read"),
        ("resources/subscribe", {"uri": "file:///etc/passwd"}, "connector.read"),
        ("tasks/result", {"taskId": "1"}, "connector.action"),
    ],
)
def test_what_else_a_server_is_asked_for_is_explained_too(run, method, params, action):
    rule = {
        "id": "no-etc",
        "action": "*",
        "tools": ["fs:*"],
        "when": "path.startsWith('/etc/')",
        "decision": "deny",
    }
    done = run(f"fs:{method}", json.dumps(params), "-o", "json", policy={"rules": [rule]})
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["tool"]["id"], told["tool"]["actions"]) == (f"fs:{method}", [action])
    assert "_meta" not in told["document"]["arguments"]
    assert told["decision"]["verdict"] == ("deny" if "uri" in params else "allow")


def test_a_call_comes_from_where_calls_usually_come_from(run, tmp_path):
    here = {"id": "here", "action": "*", "when": "context.door == 'gateway'", "decision": "deny"}
    told = json.loads(run("fs:delete_file", "-o", "json", policy={"rules": [here]}).stdout)
    assert told["decision"]["rule"] == "here"
    context = told["document"]["context"]
    assert context["workspace"] == str(tmp_path)
    assert context["id"].startswith(f"gateway:{tmp_path.name[:20]}")
    assert context["session"] == context["id"]
    words = ["fs:delete_file", "--context", "door=step", "--context", "id=mine", "-o", "json"]
    told = json.loads(run(*words, policy={"rules": [here]}).stdout)
    assert told["decision"]["verdict"] == "allow"
    assert told["document"]["context"]["session"] == "mine"
    told = json.loads(run("builtin:Glob", '{"pattern": "*"}', "-o", "json").stdout)
    assert told["document"]["context"]["door"] == "mcp-serve"


def test_a_context_that_nobody_made_is_refused_where_only_such_count(run, monkeypatch, tmp_path):
    monkeypatch.setenv("AWF_STORAGE", str(tmp_path / "s"))
    words, minted = ["fs:delete_file", "-o", "json"], {"policy": {}, "levels": {"contexts": "minted"}}
    made = CliRunner().invoke(cli, ["gateway", "context", "new"]).output.strip()
    for more in ([], ["--context", "id=made-up"], ["--context", "id=made-up", "--context", "user=bob"]):
        done = run(*words, *more, **minted)
        assert stages(done)["level"]["code"] == "context:refused"
        assert json.loads(done.stdout)["decision"]["verdict"] == "deny"
    done = run(*words, "--context", f"id={made}", **minted)
    assert json.loads(done.stdout)["decision"]["verdict"] == "allow"
    assert CliRunner().invoke(cli, ["gateway", "context", "list"]).output.split()[0] == made


def test_what_the_context_has_read_by_now_counts_unless_somebody_says_otherwise(run, monkeypatch, tmp_path):
    monkeypatch.setenv("AWF_STORAGE", str(tmp_path / "s"))
    words, reads = ["fs:delete_file", "-o", "json"], {"fs:delete_file": {"classification": "confidential"}}
    allowed = {"rules": [POLICY["rules"][1]], "defaults": {"fallback": "allow"}}
    told = json.loads(run(*words, policy=allowed, overrides=reads).stdout)
    assert (told["decision"]["verdict"], told["document"]["labels"]["confidentiality"]) == ("allow", "public")
    CliRunner().invoke(
        cli, ["gateway", "call", "delete_file", "{}"]
    )  # its label is raised before it is called
    told = json.loads(run(*words, policy=allowed, overrides=reads).stdout)
    assert (told["decision"]["rule"], told["document"]["labels"]["confidentiality"]) == (
        "secret",
        "confidential",
    )
    told = json.loads(run(*words, "--context", "label=public", policy=allowed, overrides=reads).stdout)
    assert told["decision"]["verdict"] == "allow"
