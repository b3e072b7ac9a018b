"""The level machine over MCP, with published servers and official clients of both eras.

An agent reads a confidential file with the filesystem server. From then on the fetch server is closed to it: in the same
session, in a new one, and in the other era, until a person resets its context. Another context is not touched.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from awf.testing import peers

# The first one to come here on a machine installs the servers.
pytestmark = [pytest.mark.journey, pytest.mark.timeout(900)]

running = sys.modules["journeys_gateway_running"]
clients = sys.modules["journeys_gateway_clients"]
ON_SDK_2 = ("mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19", "mcp-server-fetch==2026.10.24")
ON_NODE = tuple(
    f"@modelcontextprotocol/server-{name}@2026.8.31"
    for name in ("everything", "filesystem", "memory", "sequential-thinking")
)
PAGE = b"<html><body><p>the word marmalade</p></body></html>"
OLDER, NEWER = (
    next(one for one in clients.TOURISTS if one.name == name)
    for name in ("python sdk 1, http", "python sdk 2, http")
)
EITHER_ERA = pytest.mark.parametrize("era", [OLDER, NEWER], ids=["older", "newer"])
LIST = {"do": "list_tools"}


@pytest.fixture(scope="module", params=["one gateway", "two gateways and a database"])
def stage(request, tmp_path_factory):
    """Where the processes of a module run: over a store of their own, or over PostgreSQL behind a balancer."""
    more = {}
    if request.param.startswith("two"):
        more["AWF_DATABASE_URL"] = request.getfixturevalue("postgres").new_database()
    made = running.Stage(tmp_path_factory.mktemp("gateway"), more=more)
    yield made
    made.nothing_is_left()


def opened(stage, config):
    """The address at which clients come in."""
    return stage.gateways(config) if "AWF_DATABASE_URL" in stage.more else stage.gateway(config)


class Web:
    """A page on the loopback interface, and how often it was asked for."""

    def __init__(self):
        web = self
        self.hits = 0

        class Page(BaseHTTPRequestHandler):
            def do_GET(self):
                web.hits += 1
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(PAGE)))
                self.end_headers()
                self.wfile.write(PAGE)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/page"


@pytest.fixture(scope="module")
def web():
    page = Web()
    with page.server:
        thread = threading.Thread(target=page.server.serve_forever)
        thread.start()
        yield page
        page.server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def shelf(stage):
    folder = stage.folder / "shelf"
    folder.mkdir()
    (folder / "salaries.txt").write_text("everyone gets the same\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def config(stage, shelf):
    python = peers.requested(lambda: peers.python_peer(*ON_SDK_2))
    node = peers.requested(lambda: peers.node_executable((20,)))
    packages = peers.requested(lambda: peers.npm_peer(*ON_NODE)) / "node_modules"
    script = packages / "@modelcontextprotocol" / "server-filesystem" / "dist" / "index.js"
    fetch = str(Path(python).with_name("mcp-server-fetch"))
    return stage.config(
        "levels",
        listen={"allowed_hosts": ["127.0.0.1"]},
        mcpServers={
            "files": {"command": node, "args": [str(script), str(shelf)]},
            "web": {
                "command": fetch,
                "args": ["--ignore-robots-txt", "--allow-private-ips"],
                "env": {"PATH": str(stage.folder / "nowhere")},
            },
        },
        overrides={
            "files:read_text_file": {"policy_action": "file.read", "classification": "Confidential"},
            "web:fetch": {"policy_action": "network.request"},
        },
    )


@pytest.fixture(scope="module")
def address(stage, config):
    with opened(stage, config) as address:
        yield address


def awf(stage, *arguments):
    done = subprocess.run(
        [*running.AWF, *arguments], env=stage.environment, cwd=stage.folder, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def visit(era, address, folder, *steps, context=""):
    """One session of its own: what each step came to, and what was heard."""
    target = era.target(address, [], {}) | ({"headers": {"X-AWF-Context": context}} if context else {})
    seen = era.run({"it": target}, list(steps), folder)["it"]
    assert "failed" not in seen, seen["failed"]
    assert seen["protocol"] == era.protocol
    return seen


def fetch(web):
    return {"do": "call", "name": "fetch", "arguments": {"url": web.url}}


def read(shelf):
    return {"do": "call", "name": "read_text_file", "arguments": {"path": str(shelf / "salaries.txt")}}


def is_refused(result) -> bool:
    return result["isError"] is True and "confidential" in str(result)


def names(tools) -> list[str]:
    return [tool["name"] for tool in tools]


@pytest.mark.parametrize(
    ("era", "own"),
    [(OLDER, ""), (NEWER, "the agent")],
    ids=["older, the gateway's context", "newer, one it names"],
)
def test_whoever_has_read_a_confidential_file_cannot_fetch_until_a_person_says_so(
    era, own, address, stage, web, shelf, tmp_path
):
    before = web.hits
    news = [{"do": "hear_of", "event": ["tools changed"]}] if era is OLDER else []
    steps = [LIST, fetch(web), read(shelf), *news, LIST, fetch(web)]

    seen = visit(era, address, tmp_path, *steps, context=own)["steps"]

    first, fetched, secret, *_, second, refused = seen
    assert "marmalade" in str(fetched)
    assert "everyone gets the same" in str(secret)
    assert is_refused(refused), refused
    everything = names(first)
    without = [name for name in everything if name != "fetch"]
    assert names(second) == (without if era is OLDER else everything)  # the newer era forbids such lists
    assert web.hits == before + 1

    for another in (OLDER, NEWER):  # a new session is no way out, nor is another era
        tools, refused = visit(another, address, tmp_path, LIST, fetch(web), context=own)["steps"]
        assert is_refused(refused), refused
        assert ("fetch" in names(tools)) is (another is NEWER)
    assert web.hits == before + 1

    known = json.loads(awf(stage, "gateway", "context", "list", "-o", "json"))
    (known_as,) = [own] if own else [one["contextId"] for one in known if "gateway:" in one["contextId"]]
    (elsewhere,) = visit(era, address, tmp_path, fetch(web), context=f"other than {known_as}")["steps"]
    assert "marmalade" in str(elsewhere)

    awf(stage, "gateway", "context", "reset", known_as)
    tools, again = visit(era, address, tmp_path, LIST, fetch(web), context=own)["steps"]
    assert names(tools) == everything
    assert "marmalade" in str(again)
    resets = json.loads(awf(stage, "audit", "list", "--kind", "context_reset", "-o", "json"))
    assert known_as in [event["context"] for event in resets]
    denied = json.loads(awf(stage, "audit", "list", "--denied", "--context", known_as, "-o", "json"))
    assert {event["toolId"] for event in denied} == {"web:fetch"}
    awf(stage, "audit", "verify")


@EITHER_ERA
def test_official_clients_ask_their_person_about_a_call(era, stage, config, web, tmp_path):
    """Both SDKs do it by themselves: the older one while the call waits, the newer one between two calls."""
    file = json.loads(config.read_text(encoding="utf-8"))
    file["overrides"]["web:fetch"]["requires_confirmation"] = True
    asking = stage.config(f"asking-{era.protocol}", **file)
    with opened(stage, asking) as address:
        for answer, passes in (({"allow": True}, True), ({"allow": False}, False)):
            target = era.target(address, [], {}) | {"answer": answer}
            seen = era.run({"it": target}, [fetch(web)], tmp_path)["it"]
            assert "failed" not in seen, seen["failed"]
            assert ("marmalade" in str(seen["steps"][0])) is passes, seen
            assert [event[0] for event in seen["heard"]][:1] == ["elicitation"]
            assert "web:fetch" in seen["heard"][0][1]
