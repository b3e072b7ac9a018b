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
    done = run("builtin:Glob", "{}", "--context", "LABEL=Confidential", "-o", "json")
    assert json.loads(done.stdout)["decision"]["rule"] == "secret"
    assert json.loads(run("builtin:Glob", "{}", "-o", "json").stdout)["decision"]["verdict"] == "allow"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["builtin:Raed"], "did you mean 'builtin:Read'?"),
        (["fs:nope"], "There is no tool 'fs:nope'."),
        (["builtin:Read", "[]"], "The arguments must be a JSON object."),
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
