"""`awf mcp import`: the servers of other clients, shown first and written when asked to."""

from __future__ import annotations

import json

import pytest
import yaml

from awf.interfaces.cli.app import run_cli

CURSOR = {
    "mcpServers": {"git": {"command": "uvx", "args": ["mcp-server-git"], "env": {"GIT_TOKEN": "hunter2"}}}
}
CODE = '{"servers": {"hub": {"type": "http", "url": "http://127.0.0.1:1/mcp"}}, /* none */ "inputs": []}'


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AWF_STORAGE", str(tmp_path / "runs"))
    return folder


def put(path, content) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


@pytest.fixture
def clients(project, tmp_path):
    put(tmp_path / "home/.cursor/mcp.json", CURSOR)
    put(project / ".vscode/mcp.json", CODE)


def test_the_change_is_shown_and_nothing_is_written(project, clients, capsys):
    assert run_cli(["mcp", "import"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("--- /dev/null\n+++ .awf/gateway.yaml\n")
    assert "+  git:\n" in out
    assert "set GIT_TOKEN before the gateway starts" in err
    assert "--write" in err
    assert "hunter2" not in out + err
    assert not (project / ".awf").exists()


def test_with_write_the_file_is_there_and_a_second_time_changes_nothing(project, clients, capsys):
    assert run_cli(["mcp", "import", "--write"]) == 0
    written = (project / ".awf/gateway.yaml").read_text()
    assert yaml.safe_load(written)["mcpServers"]["git"]["env"] == {"GIT_TOKEN": "${env:GIT_TOKEN}"}
    assert "wrote .awf/gateway.yaml" in capsys.readouterr().err
    assert run_cli(["mcp", "import", "--write"]) == 0
    assert "Nothing to add" in capsys.readouterr().err
    assert (project / ".awf/gateway.yaml").read_text() == written
    assert [path.name for path in (project / ".awf").iterdir()] == ["gateway.yaml"]


def test_only_the_named_files_are_read(project, clients, capsys):
    put(project / "mine.json", {"mcpServers": {"own": {"command": "x"}}})
    assert run_cli(["mcp", "import", "mine.json", "-o", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["added"], answer["written"]) == (["own"], False)
    assert answer["read"] == [str(project / "mine.json")]
    assert answer["diff"].endswith("+    command: x\n")


def test_what_was_there_stays(project, clients, capsys):
    put(project / ".awf/gateway.yaml", "# mine\r\nmcpServers:\r\n  a: {command: x}\r\n")
    assert run_cli(["mcp", "import", "--write"]) == 0
    text = (project / ".awf/gateway.yaml").read_bytes().decode()
    assert text.startswith("# mine\r\nmcpServers:\r\n  a: {command: x}\r\n")
    assert list(yaml.safe_load(text)["mcpServers"]) == ["a", "hub", "git"]


def test_a_broken_file_among_the_usual_ones_does_not_stop_the_others(project, clients, capsys):
    put(project / ".mcp.json", "{")
    assert run_cli(["mcp", "import", "-o", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["added"] == ["hub", "git"]
    assert ".mcp.json is left out: Not valid JSON" in answer["notes"][0]


def test_a_broken_file_that_was_named_is_an_error(project, capsys):
    put(project / "x.json", "{")
    assert run_cli(["mcp", "import", "x.json"]) == 1
    assert "x.json:1:2: error USER.GATEWAY.INVALID_FILE" in capsys.readouterr().err
    assert run_cli(["mcp", "import", "gone.json"]) == 1
    assert "USER.INPUT.MISSING_FILE" in capsys.readouterr().err


def test_a_wrong_file_of_ours_is_told_and_not_touched(project, clients, capsys):
    put(project / ".awf/gateway.yaml", "mcpServer: {}\n")
    assert run_cli(["mcp", "import", "--write"]) == 1
    err = capsys.readouterr().err
    assert ".awf/gateway.yaml:1:1: error USER.GATEWAY.INVALID_FILE" in err
    assert "did you mean 'mcpServers'?" in err
    assert (project / ".awf/gateway.yaml").read_text() == "mcpServer: {}\n"


def test_nothing_found_is_no_failure(project, capsys):
    assert run_cli(["mcp", "import", "--write"]) == 0
    assert "No MCP servers of other clients were found" in capsys.readouterr().err
    assert not (project / ".awf").exists()
