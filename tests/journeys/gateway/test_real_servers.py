"""Eight published servers behind one gateway at once, used from both eras, with nothing left of them afterwards."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import urllib.request
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from awf.testing import peers

# The first one to come here on a machine installs the servers.
pytestmark = [pytest.mark.journey, pytest.mark.timeout(900)]

running = sys.modules["journeys_gateway_running"]
clients = sys.modules["journeys_gateway_clients"]
ON_SDK_2 = ("mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19", "mcp-server-fetch==2026.10.24")
ON_SDK_1 = ("mcp-server-sqlite==2025.4.25", "mcp[cli]<2")
ON_NODE = tuple(
    f"@modelcontextprotocol/server-{name}@2026.8.31"
    for name in ("everything", "filesystem", "memory", "sequential-thinking")
)
HOW_MANY_TOOLS = {
    "everything": 13, "fetch": 1, "filesystem": 14, "git": 12, "memory": 9, "sequential-thinking": 1, "sqlite": 6, "time": 2
}  # fmt: skip
TWICE = {"time": "time", "clock": "time", "thinking": "sequential-thinking"}
UNKNOWN_TOOL = -32602
PAGE = b"<html><body><h1>A page</h1><p>with the word marmalade on it</p></body></html>"
EITHER_ERA = [one for one in clients.TOURISTS if one.name in {"python sdk 1, http", "python sdk 2, http"}]


# -- what the servers work on ------------------------------------------------------------------------------------------


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def page():
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/page"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def repository(stage):
    folder = stage.folder / "repository"
    for command in (
        ["init", "--quiet", str(folder)],
        ["-C", str(folder), "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "--quiet",
         "--allow-empty", "-m", "Begin with nothing"],
    ):  # fmt: skip
        subprocess.run(["git", *command], env=stage.environment, check=True, timeout=60)
    return folder


@pytest.fixture(scope="module")
def shelf(stage):
    folder = stage.folder / "shelf"
    folder.mkdir()
    (folder / "note.txt").write_text("remember the marmalade\n", encoding="utf-8")
    return folder


# -- the gateway in front of them --------------------------------------------------------------------------------------


def python_server(requirements, name, *arguments):
    python = peers.requested(lambda: peers.python_peer(*requirements))
    return {"command": str(Path(python).with_name(f"mcp-server-{name}")), "args": list(arguments)}


def node_server(name, *arguments, **environment):
    node = peers.requested(lambda: peers.node_executable((20,)))
    packages = peers.requested(lambda: peers.npm_peer(*ON_NODE)) / "node_modules"
    script = packages / "@modelcontextprotocol" / f"server-{name}" / "dist" / "index.js"
    return {"command": node, "args": [str(script), *arguments], "env": environment}


@pytest.fixture(scope="module")
def servers(stage, repository, shelf):
    folder = stage.folder
    # With Node on its path mcp-server-fetch installs packages when it is first used.
    plain = {"PATH": str(folder / "nowhere")}
    return {
        "time": python_server(ON_SDK_2, "time", "--local-timezone", "UTC"),
        "git": python_server(ON_SDK_2, "git", "--repository", str(repository)),
        "fetch": python_server(ON_SDK_2, "fetch", "--ignore-robots-txt", "--allow-private-ips")
        | {"env": plain},
        "sqlite": python_server(ON_SDK_1, "sqlite", "--db-path", str(folder / "data.db")),
        "filesystem": node_server("filesystem", str(shelf)),
        "memory": node_server("memory", MEMORY_FILE_PATH=str(folder / "memory.jsonl")),
        "everything": node_server("everything", "stdio"),
        "sequential-thinking": node_server("sequential-thinking"),
    }


@pytest.fixture(scope="module")
def address(stage, servers):
    """Its processes carry a mark of their own: all are there while it serves, and none when it has left."""
    crowd = running.Stage(stage.folder)
    with crowd.gateway(crowd.config("real", mcpServers=servers)) as address:
        yield address
        assert len(crowd.processes()) > len(servers)
    crowd.nothing_is_left()


def calls(repository, shelf, page):
    """One of each server, and what its answer must speak of."""
    thought = {"thought": "It is simple.", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
    asked = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    entity = {"name": "Ada", "entityType": "person", "observations": ["likes engines"]}
    return {
        "time": ("convert_time", asked, "21:00"),
        "git": ("git_log", {"repo_path": str(repository)}, "Begin with nothing"),
        "fetch": ("fetch", {"url": page}, "marmalade"),
        "sqlite": ("create_table", {"query": "CREATE TABLE IF NOT EXISTS jars (id INTEGER)"}, "success"),
        "filesystem": ("read_text_file", {"path": str(shelf / "note.txt")}, "remember the marmalade"),
        "memory": ("create_entities", {"entities": [entity]}, ""),
        "everything": ("get-sum", {"a": 40, "b": 2}, "42"),
        "sequential-thinking": ("sequentialthinking", thought, "thoughtHistoryLength"),
    }


# -- the journeys ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", EITHER_ERA, ids=lambda one: one.name)
def test_all_tools_are_listed_and_one_of_each_server_works(era, address, repository, shelf, page, tmp_path):
    wanted = calls(repository, shelf, page)
    steps = [{"do": "call", "name": name, "arguments": given} for name, given, _ in wanted.values()]
    target = era.target(address, [], {}) | {"answers": False}

    seen = era.run({"all": target}, [{"do": "list_tools"}, *steps], tmp_path)["all"]

    assert "failed" not in seen, seen["failed"]
    assert seen["protocol"] == era.protocol
    tools, *results = seen["steps"]
    assert len(tools) == sum(HOW_MANY_TOOLS.values())
    wrong = [
        f"{server}: {result}"
        for (server, (_, _, word)), result in zip(wanted.items(), results, strict=True)
        if result.get("isError", "error" in result) or word not in str(result)
    ]
    assert not wrong, "\n".join(wrong)


def test_tools_come_in_a_fixed_order_under_names_that_models_take(address):
    with urllib.request.urlopen(f"{address}/api/tools", timeout=60) as answer:
        tools = json.load(answer)

    assert Counter(tool["server"] for tool in tools) == HOW_MANY_TOOLS
    assert [tool["id"] for tool in tools] == sorted((tool["id"] for tool in tools), key=by_server)
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", tool["name"]) for tool in tools)
    assert all(tool["name"] == tool["id"].partition(":")[2] for tool in tools)  # no two have the same


def by_server(name: str) -> list[str]:
    return name.split(":", 1)


@pytest.mark.parametrize("era", EITHER_ERA, ids=lambda one: one.name)
def test_tools_of_one_name_carry_that_of_their_server(era, collision, tmp_path):
    noon = {"source_timezone": "UTC", "time": "12:00"}
    steps = [
        {"do": "list_tools"},
        {"do": "call", "name": "clock__convert_time", "arguments": noon | {"target_timezone": "Asia/Tokyo"}},
        {"do": "call", "name": "time__convert_time", "arguments": noon | {"target_timezone": "Asia/Kolkata"}},
        {"do": "call", "name": "convert_time", "arguments": noon | {"target_timezone": "Asia/Tokyo"}},
    ]
    target = era.target(collision, [], {}) | {"answers": False}

    seen = era.run({"two": target}, steps, tmp_path)["two"]

    assert "failed" not in seen, seen["failed"]
    tools, tokyo, kolkata, unclear = seen["steps"]
    assert [tool["name"] for tool in tools] == [
        "clock__convert_time", "clock__get_current_time", "sequentialthinking", "time__convert_time", "time__get_current_time"
    ]  # fmt: skip
    assert "21:00" in str(tokyo)
    assert "17:30" in str(kolkata)
    assert unclear["error"]["code"] == UNKNOWN_TOOL
    assert "convert_time" in unclear["error"]["message"]


@pytest.fixture(scope="module")
def collision(stage, servers):
    both = {name: servers[known] for name, known in TWICE.items()}
    with stage.gateway(stage.config("collision", mcpServers=both)) as address:
        yield address


@pytest.mark.parametrize("name", ["python sdk 1, stdio", "typescript sdk 1, stdio"])
def test_a_published_server_asks_the_only_client_of_a_gateway(name, stage, servers, tmp_path):
    """It has more tools for a client that can be asked, and uses them."""
    (one,) = [client for client in clients.CLIENTS if client.name == name]
    config = stage.config("everything", mcpServers={"everything": servers["everything"]})
    asked = {"prompt": "6 x 7?", "maxTokens": 5}
    steps = [
        {"do": "list_tools"},
        {"do": "call", "name": "get-roots-list", "arguments": {}},
        {"do": "call", "name": "trigger-sampling-request", "arguments": asked},
        {"do": "call", "name": "trigger-elicitation-request", "arguments": {}},
        {"do": "call", "name": "trigger-long-running-operation", "arguments": {"duration": 0.2, "steps": 2}},
    ]

    seen = one.run({"it": one.target("", stage.stdio(config), stage.environment)}, steps, tmp_path)["it"]

    assert "failed" not in seen, seen["failed"]
    tools, rooted, sampled, elicited, _ = seen["steps"]
    assert {step["name"] for step in steps[1:]} <= {tool["name"] for tool in tools}
    assert len(tools) > HOW_MANY_TOOLS["everything"]
    assert "file:///home/somebody" in str(rooted)
    assert "42" in str(sampled)
    assert "Name: Ada" in str(elicited)
    assert {"roots", "sampling", "elicitation", "progress"} <= {event[0] for event in seen["heard"]}
