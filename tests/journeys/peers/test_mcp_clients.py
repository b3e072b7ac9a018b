"""Every official MCP client lists and calls the built-in tools through `awf mcp-serve`, alone and through the relay."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from awf.testing import peers
from awf.testing.mcp_wire import WireChecker

PATIENCE = 60
TOOLS = ["Read", "Write", "Edit", "Bash", "Glob", "Grep"]
INVALID_PARAMS = -32602
SCHEMAS = Path(__file__).parents[2] / "protocols" / "mcp"
AWF = [sys.executable, "-m", "awf", "mcp-serve"]

# What a refusal must name.
REFUSED = {
    "runs a command that fails": "7",
    "reads a file that is not there": "absent.txt",
    "reads outside of the folder": "hostname",
    "forgets an argument": "file_path",
    "gives an argument of the wrong type": "old_string",
}
NO_SUCH_TOOL = "calls a tool that is not there"
TWO_MISTAKES = ["forgets an argument", NO_SUCH_TOOL]  # enough for a client that is slow


@pytest.fixture
def clients():
    return sys.modules["journeys_peers_clients"]


def project_in(folder: Path) -> Path:
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "main.py").write_text("def main():\n    return 'needle'\n", encoding="utf-8")
    (folder / "notes.txt").write_text("alpha\nbeta\ngamma\n", encoding="utf-8")
    return folder.resolve()


@pytest.fixture
def project(tmp_path):
    return project_in(tmp_path / "project")


def server_with(clients, command: list[str], cwd: Path, scratch: Path) -> Any:
    scratch.mkdir()
    environment = {**peers.peer_environment(scratch / "home"), "AWF_STORAGE": str(scratch / "storage")}
    return clients.Server(command, cwd, scratch, environment)


# -- three ways to reach the same tools --------------------------------------------------------------------------------


def config_for(project: Path) -> str:
    file = project.parent / "tools.json"
    file.write_text(json.dumps({"intercept_builtins": True, "root_dir": str(project)}), encoding="utf-8")
    return f"--config={file}"


@pytest.fixture
def by_config(project, tmp_path):
    return [*AWF, config_for(project)], tmp_path


@pytest.fixture
def by_default(project):
    """Without a file: the built-in tools in the folder where it is started."""
    return AWF, project


@pytest.fixture
def by_relay(project, tmp_path):
    """The tools belong to another process, as they belong to `awf run` while an agent works."""
    pipe = subprocess.PIPE
    argv = [sys.executable, "-m", "awf.testing.tool_owner", str(project)]
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, cwd=tmp_path) as owner:
        command = json.loads(owner.stdout.readline())
        yield command, tmp_path
        owner.stdin.close()
        assert owner.wait(PATIENCE) == 0
    file = next(word for word in command if word.startswith("--config=")).removeprefix("--config=")
    assert not Path(file).exists()


@pytest.fixture(params=["by_config", "by_default", "by_relay"])
def server(request, clients, tmp_path):
    command, cwd = request.getfixturevalue(request.param)
    return server_with(clients, command, cwd, tmp_path / "scratch")


@pytest.fixture(scope="session")
def expected(tmp_path_factory):
    """What a client without any library sees. It is made once; every other client must see the same."""
    clients = sys.modules["journeys_peers_clients"]
    folder = tmp_path_factory.mktemp("expected")
    project = project_in(folder / "project")
    server = server_with(clients, [*AWF, config_for(project)], project, folder / "scratch")
    calls = calls_in(clients, project)
    seen = clients.by_hand(server, list(calls.values()))
    return seen.tools, told_of(calls, seen.results, project)


# -- what is asked, and how answers are compared -----------------------------------------------------------------------


def calls_in(clients, project: Path) -> dict[str, Any]:
    """What a client does, in this order. Each name is a sentence about the call."""
    call, new = clients.Call, str(project / "made" / "new.txt")
    return {
        "writes a file in a new folder": call("Write", {"file_path": new, "content": "one\ntwo\n"}),
        "reads it": call("Read", {"file_path": new}),
        "changes it": call("Edit", {"file_path": new, "old_string": "two", "new_string": "three ✓"}),
        "runs a command on it": call("Bash", {"command": "cat made/new.txt; echo to-stderr >&2"}),
        "finds it by name": call("Glob", {"pattern": "**/new.txt"}),
        "finds what is in it": call("Grep", {"pattern": "thr.e", "output_mode": "content", "-n": True}),
        "runs a command that fails": call("Bash", {"command": "echo before; exit 7"}),
        "reads a file that is not there": call("Read", {"file_path": str(project / "absent.txt")}),
        "reads outside of the folder": call("Read", {"file_path": "/etc/hostname"}),
        "forgets an argument": call("Read", {}),
        "gives an argument of the wrong type": call(
            "Edit", {"file_path": new, "old_string": 1, "new_string": "x"}
        ),
        NO_SUCH_TOOL: call("Teleport", {"to": "home"}),
    }


def chosen(calls: dict[str, Any], peer: Any, server: Any) -> dict[str, Any]:
    """Without a file only the folder is found differently, so no mistake is made there."""
    good = [*calls][: len(TOOLS)]
    if server.command == AWF:
        return {name: calls[name] for name in good}
    return calls if peer.patient else {name: calls[name] for name in [*good, *TWO_MISTAKES]}


def plain(result: dict[str, Any], project: Path) -> dict[str, Any]:
    """A result without what belongs to one era or one client, and without the name of the test's own folder."""
    if "error" in result:
        return {"code": result["error"]["code"]}
    meta = {key: value for key, value in result.get("_meta", {}).items() if not key.startswith("io.model")}
    kept = {
        "content": result["content"],
        "is error": result.get("isError", False),
        "structured": result.get("structuredContent"),
        "meta": meta,
    }
    text = json.dumps(kept, ensure_ascii=False).replace(str(project), "PROJECT")
    return json.loads(re.sub(r"\d+(\.\d+)? ?ms\b", "N ms", text))


def text_of(result: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"])


def told_of(calls: dict[str, Any], results: list[dict[str, Any]], project: Path) -> dict[str, Any]:
    return {name: plain(result, project) for name, result in zip(calls, results, strict=True)}


# -- the journeys ------------------------------------------------------------------------------------------------------


def test_an_official_client_lists_and_calls_every_built_in_tool(clients, peer, server, project, expected):
    calls = chosen(calls_in(clients, project), peer, server)
    seen = peer.run(server, list(calls.values()))
    assert seen.protocol == peer.protocol
    assert [tool["name"] for tool in seen.tools] == TOOLS
    assert all(tool["description"] and tool["inputSchema"]["type"] == "object" for tool in seen.tools)
    told = told_of(calls, seen.results, project)
    check_what_was_done(told, project)
    check_what_was_refused(told)
    same_tools, same_results = expected
    assert seen.tools == same_tools
    assert [name for name in told if told[name] != same_results[name]] == [], (told, same_results)
    check_the_frames(server.frames())


def check_what_was_done(told: dict[str, dict[str, Any]], project: Path) -> None:
    assert (project / "made" / "new.txt").read_text(encoding="utf-8") == "one\nthree ✓\n"
    assert not any(result["is error"] for result in [*told.values()][: len(TOOLS)])
    assert "one" in text_of(told["reads it"])
    assert "three ✓" in text_of(told["runs a command on it"])
    assert "to-stderr" in text_of(told["runs a command on it"])
    assert "made/new.txt" in text_of(told["finds it by name"])
    assert re.search(r"made/new\.txt:2:.*three", text_of(told["finds what is in it"]))


def check_what_was_refused(told: dict[str, dict[str, Any]]) -> None:
    for name, named in REFUSED.items():
        if name in told:
            assert told[name]["is error"], name
            assert named in text_of(told[name]), name
    assert told.get(NO_SUCH_TOOL, {"code": INVALID_PARAMS}) == {"code": INVALID_PARAMS}


def check_the_frames(conversations: list[list[tuple[str, bytes]]]) -> None:
    """Every line that we wrote is what the official schema of its protocol asks for, and every request was answered."""
    assert conversations
    for frames in conversations:
        checker = WireChecker(SCHEMAS)
        for who, line in frames:
            (checker.client_sent if who == ">" else checker.server_sent)(line)
        assert checker.frames
        asked = [json.loads(line) for who, line in frames if who == ">"]
        # A subscription is answered when it ends; by then its client may be gone.
        open_ended = {one["id"] for one in asked if one.get("method") == "subscriptions/listen"}
        assert checker.answers.keys() | open_ended == {one["id"] for one in asked if "id" in one}
        assert set(checker.answers.values()) == {1}
