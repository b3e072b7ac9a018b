"""`awf mcp-serve` as a person or an agent starts it: what it offers, and what it says about a bad file."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
SIX = ["Read", "Write", "Edit", "Bash", "Glob", "Grep"]


def serve(folder: Path, *arguments: str, say=(LIST,), **environment: str):
    text = "".join(json.dumps(message) + "\n" for message in say)
    return subprocess.run(
        [sys.executable, "-m", "awf", "mcp-serve", *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **environment},
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def answers(done) -> dict:
    return {message["id"]: message for message in map(json.loads, done.stdout.splitlines())}


def call(name: str, number: int = 1, **arguments) -> dict:
    return {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }


def file(folder: Path, content) -> str:
    (folder / "tools.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return "--config=tools.json"


def test_without_a_file_the_built_in_tools_are_offered_in_the_working_directory(tmp_path):
    (tmp_path / "a.txt").write_text("alpha\n")
    done = serve(tmp_path, say=[LIST, call("Read", 2, file_path="a.txt")])
    assert done.returncode == 0, done.stderr
    heard = answers(done)
    assert [tool["name"] for tool in heard[1]["result"]["tools"]] == SIX
    assert "alpha" in heard[2]["result"]["content"][0]["text"]


@pytest.mark.parametrize("way", ["file", "flag"])
def test_the_root_confines_file_tools(way, tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.txt").write_text("alpha\n")
    arguments = [file(tmp_path, {"root_dir": "inner"})] if way == "file" else ["--root", "inner"]
    done = serve(tmp_path, *arguments, say=[call("Read", file_path="../a.txt")])
    result = answers(done)[1]["result"]
    assert result["isError"]
    assert result["_meta"]["awf/error"]["code"] == "PERMISSION_DENIED"


def test_the_file_may_be_yaml(tmp_path):
    done = serve(tmp_path, file(tmp_path, "# what it offers\nintercept_builtins: true\n"))
    assert [tool["name"] for tool in answers(done)[1]["result"]["tools"]] == SIX


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        ({"root": "x"}, "USER.MCP_PROXY.UNKNOWN_KEY", "did you mean 'root_dir'?"),
        ({"mcp_servers": {"a": {"comand": "x"}}}, "USER.MCP_PROXY.UNKNOWN_KEY", "did you mean 'command'?"),
        ({"plugin_tools": [{"plugin": "a", "expose": [], "x": 1}]}, "USER.MCP_PROXY.UNKNOWN_KEY", "'x'"),
        (
            {"plugin_tools": [{"plugin": "nobody", "expose": ["x"]}]},
            "USER.MCP_PROXY.UNKNOWN_PLUGIN",
            "nobody",
        ),
        ({"intercept_builtins": False}, "USER.MCP_PROXY.EMPTY_PROXY", "offers nothing"),
        ({"root_dir": "nowhere"}, "USER.INPUT.MISSING_FILE", "nowhere"),
        ({"mcp_servers": {"a": {"command": "x", "url": "http://x"}}}, "USER.CONFIG.INVALID", "either"),
        ({"mcp_servers": {"a": {"command": "${env:NOPE}"}}}, "USER.INPUT.MISSING_ENV", "NOPE"),
        ("{bad", "USER.CONFIG.INVALID", "tools.json:"),
        ("[1]", "USER.CONFIG.INVALID", "tools.json:1:1"),
    ],
)
def test_a_mistake_in_the_file_is_told_before_anything_is_served(content, code, words, tmp_path):
    done = serve(tmp_path, file(tmp_path, content))
    assert (done.returncode, done.stdout) == (1, "")
    assert code in done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments", [["--confg=x"], ["--config"], ["extra"], ["--config=missing.json"]], ids=" ".join
)
def test_a_command_line_that_makes_no_sense_is_refused_in_words(arguments, tmp_path):
    done = serve(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert "--help" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_says_what_it_is_for(tmp_path):
    done = serve(tmp_path, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: awf mcp-serve")


def test_a_server_that_cannot_be_started_is_told_to_the_client_with_its_reason(tmp_path):
    done = serve(tmp_path, file(tmp_path, {"mcp_servers": {"gone": {"command": "no-such-program-anywhere"}}}))
    error = answers(done)[1]["error"]
    assert "no-such-program-anywhere" in error["message"]
    assert "Traceback" not in done.stderr


def test_tools_of_another_server_are_offered_under_their_names(tmp_path):
    inner = {"command": sys.executable, "args": ["-m", "awf", "mcp-serve"], "tools": ["Glob", "Re*"]}
    config = file(tmp_path, {"intercept_builtins": False, "mcp_servers": {"inner": inner}})
    (tmp_path / "a.txt").write_text("alpha\n")
    done = serve(tmp_path, config, say=[LIST, call("Read", 2, file_path="a.txt")])
    heard = answers(done)
    assert [tool["name"] for tool in heard[1]["result"]["tools"]] == ["Read", "Glob"]
    assert "alpha" in heard[2]["result"]["content"][0]["text"]


def test_what_was_asked_is_answered_also_when_a_server_is_slow_to_start(tmp_path):
    command = f"sleep 3; exec {shlex.quote(sys.executable)} -m awf mcp-serve"
    inner = {"command": "sh", "args": ["-c", command], "tools": ["Read"]}
    config = file(tmp_path, {"intercept_builtins": False, "mcp_servers": {"inner": inner}})
    (tmp_path / "a.txt").write_text("alpha\n")
    heard = answers(serve(tmp_path, config, say=[LIST, call("Read", 2, file_path="a.txt")]))
    assert [tool["name"] for tool in heard[1]["result"]["tools"]] == ["Read"]
    assert "alpha" in heard[2]["result"]["content"][0]["text"]


def test_a_collision_with_a_built_in_tool_gets_the_name_of_the_server_in_front(tmp_path):
    inner = {"command": sys.executable, "args": ["-m", "awf", "mcp-serve"], "tools": ["Read"]}
    done = serve(tmp_path, file(tmp_path, {"mcp_servers": {"inner": inner}}))
    assert [tool["name"] for tool in answers(done)[1]["result"]["tools"]] == [*SIX, "inner__Read"]


def test_each_call_is_one_line_in_the_log_when_a_log_is_wanted(tmp_path):
    done = serve(tmp_path, say=[call("Bash", command="echo hi")], AWF_LOG_LEVEL="info", AWF_LOG_FORMAT="json")
    (line,) = [json.loads(one) for one in done.stderr.splitlines()]
    assert (line["event"], line["tool"], line["source"]) == ("tool call", "Bash", "builtin")


def test_the_first_answer_needs_neither_asyncio_nor_the_tools(tmp_path):
    """What is loaded before the first answer decides how long an agent waits."""
    code = (
        "import sys, json, threading, os\n"
        "from awf.interfaces.mcp.relay import main\n"
        "read, write = os.pipe()\n"
        "os.dup2(read, 0)\n"
        "real = os.dup(1)\n"
        "answers, answer = os.pipe()\n"
        "os.dup2(answer, 1)\n"
        "def drive():\n"
        "    hello = {'protocolVersion': '2025-11-25', 'capabilities': {}, 'clientInfo': {'name': 't', 'version': '1'}}\n"
        "    os.write(write, json.dumps({'jsonrpc': '2.0', 'id': 1, 'method': 'initialize', 'params': hello}).encode() + b'\\n')\n"
        "    os.read(answers, 65536)\n"
        "    os.write(real, '\\n'.join(sorted(sys.modules)).encode())\n"
        "    os._exit(0)\n"
        "threading.Thread(target=drive).start()\n"
        "main([])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True
    )
    loaded = set(done.stdout.split())
    assert "mcpserver.session" in loaded
    heavy = {"asyncio", "msgspec", "click", "yaml", "jsonschema_rs", "grpc", "typing", "awf.bootstrap"}
    assert heavy & loaded == set()


def test_the_relay_loads_nothing_of_ours_but_itself(tmp_path):
    """It is run without the site directories, so it could not even if it wanted to."""
    import awf.interfaces.mcp.relay as relay

    code = f"import sys; sys.argv[0] = 'relay'; exec(open({relay.__file__!r}).read().replace('__main__', 'never')); import select, _socket, json; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert not [
        name for name in loaded if name.split(".")[0] in {"awf", "mcpserver", "asyncio", "socket", "typing"}
    ]
