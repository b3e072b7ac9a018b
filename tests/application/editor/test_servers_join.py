"""The MCP servers of an editor are at the service of every agent step."""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from awf.testing.editor_desk import a_conversation, a_workflow, an_agent

SERVER = """
import json, sys
name = sys.argv[1]
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    asked = message["method"]
    if asked == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": name, "version": "1"}}
    elif asked == "tools/list":
        schema = {"type": "object", "properties": {"who": {"type": "string"}}}
        result = {"tools": [{"name": "greet", "description": "Greets", "inputSchema": schema}]}
    elif asked == "tools/call":
        who = message["params"]["arguments"].get("who", "you")
        result = {"content": [{"type": "text", "text": f"{name} greets {who}"}]}
    else:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}}) + "\\n")
        sys.stdout.flush()
        continue
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\\n")
    sys.stdout.flush()
"""

TOOL = "greet"


def stdio(desk, name: str, voice: str = "") -> dict:
    file = desk.write("./server.py", SERVER)
    return {"name": name, "command": sys.executable, "args": [str(file), voice or name], "env": []}


def greeting(tool: str = TOOL, **given) -> dict:
    return {"tool": {"name": tool, "input": given}}


def outputs(desk) -> str:
    return str([call.get("content") for call in desk.editor.calls.values()])


@pytest.mark.parametrize("process", [False, True])
@pytest.mark.parametrize("proxy", [None, {"enable": True}])
async def test_a_server_of_the_editor_is_offered_to_agents(desk, proxy, process):
    more = {"mcp_proxy": proxy} if proxy else {}
    desk.write(
        "it",
        a_workflow({"one": an_agent(greeting(who="Ada"), "Done.", options={"process": process}, **more)}),
    )
    session = await desk.new([stdio(desk, "editor")])
    reply = await desk.say(session, "/it")
    assert reply.meta["status"] == "completed", desk.editor.text
    assert "editor greets Ada" in outputs(desk)
    assert desk.editor.unfinished == []


class Web(BaseHTTPRequestHandler):
    """An MCP server over HTTP that knows its callers by a header."""

    seen: list[str]

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).seen.append(self.headers.get("Authorization", ""))
        schema = {"type": "object", "properties": {"who": {"type": "string"}}}
        results = {
            "initialize": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "web", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "greet", "inputSchema": schema}]},
            "tools/call": {"content": [{"type": "text", "text": "the web greets"}]},
        }
        if "id" not in message:
            self._answer(202, b"")
        elif message["method"] in results:
            self._answer(200, _rpc(message, result=results[message["method"]]))
        else:
            self._answer(200, _rpc(message, error={"code": -32601, "message": "no"}))

    def do_GET(self) -> None:
        self._answer(405, b"")

    do_DELETE = do_GET

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Not on the terminal of the tests."""


def _rpc(message: dict, **outcome: dict) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}).encode()


@pytest.fixture
def web():
    Web.seen = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Web)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("proxy", [None, {"enable": True}])
async def test_a_server_of_the_editor_on_the_web_is_offered_to_agents(desk, web, proxy):
    more = {"mcp_proxy": proxy} if proxy else {}
    desk.write("it", a_workflow({"one": an_agent(greeting(who="Ada"), **more)}))
    headers = [{"name": "Authorization", "value": "Bearer 0123456789"}]
    session = await desk.new([{"type": "http", "name": "web", "url": web, "headers": headers}])
    reply = await desk.say(session, "/it")
    assert reply.meta["status"] == "completed", desk.editor.text
    assert "the web greets" in outputs(desk)
    assert set(Web.seen) == {"Bearer 0123456789"}


async def test_a_session_without_servers_has_none(desk):
    desk.write("it", a_workflow({"one": an_agent(greeting(who="Ada"), mcp_proxy={"enable": True})}))
    with_one, without = await desk.new([stdio(desk, "editor")]), await desk.new()
    await desk.say(with_one, "/it")
    assert "editor greets Ada" in outputs(desk)
    desk.editor.forget()
    await desk.say(without, "/it")
    assert "editor greets" not in outputs(desk)


async def test_under_one_name_the_server_of_the_editor_counts(desk):
    own = stdio(desk, "kb", "workflow")
    proxy = {"enable": True, "mcp_servers": {"kb": {"command": own["command"], "args": own["args"]}}}
    desk.write("it", a_workflow({"one": an_agent(greeting(who="Ada"), mcp_proxy=proxy)}))
    alone = await desk.new()
    assert (await desk.say(alone, "/it")).meta["status"] == "completed", desk.editor.text
    assert "workflow greets Ada" in outputs(desk)
    desk.editor.forget()
    joined = await desk.new([stdio(desk, "kb", "editor")])
    await desk.say(joined, "/it")
    assert "editor greets Ada" in outputs(desk)
    assert "workflow greets" not in outputs(desk)


async def test_both_servers_are_there_under_two_names(desk):
    own = stdio(desk, "kb", "workflow")
    proxy = {"enable": True, "mcp_servers": {"kb": {"command": own["command"], "args": own["args"]}}}
    both = [greeting("kb__greet", who="Ada"), greeting("mine__greet", who="Bob")]
    desk.write("it", a_workflow({"one": an_agent(*both, mcp_proxy=proxy)}))
    session = await desk.new([stdio(desk, "mine", "editor")])
    reply = await desk.say(session, "/it")
    assert reply.meta["status"] == "completed", desk.editor.text
    assert "workflow greets Ada" in outputs(desk)
    assert "editor greets Bob" in outputs(desk)


async def test_a_server_that_cannot_start_is_warned_of_and_the_step_still_runs(desk):
    desk.write("it", a_workflow({"one": an_agent(greeting(who="Ada"), {"say": "Done."})}))
    broken = {"name": "broken", "command": "/no/such/program", "args": [], "env": []}
    session = await desk.new([broken, stdio(desk, "editor")])
    reply = await desk.say(session, "/it")
    assert reply.meta["status"] == "completed", desk.editor.text
    assert "'broken'" in desk.editor.text
    assert "editor greets Ada" in outputs(desk)


async def test_a_server_joins_every_turn_of_a_conversation_also_after_a_restart(desk):
    turns = [{"do": [greeting(who="Ada")]}, {"do": [greeting(who="Bob")]}, {"do": [greeting(who="Cleo")]}]
    desk.write("talk", a_workflow({"talk": a_conversation(*turns)}))
    session = await desk.new([stdio(desk, "editor")])
    await desk.say(session, "/talk")
    assert "editor greets Ada" in outputs(desk)
    await desk.say(session, "more")
    assert "editor greets Bob" in outputs(desk)
    await desk.restart()
    await desk.resume(session, [stdio(desk, "editor", "another")])
    await desk.say(session, "more")
    assert "another greets Cleo" in outputs(desk)


async def test_loading_an_open_session_takes_its_new_servers(desk):
    desk.write("it", a_workflow({"one": an_agent(greeting(who="Ada"))}))
    session = await desk.new()
    await desk.load(session, [stdio(desk, "editor")])
    await desk.say(session, "/it")
    assert "editor greets Ada" in outputs(desk)


async def test_no_server_is_started_before_a_step_needs_it(desk):
    entry = stdio(desk, "editor")
    marked = desk.write("./marked.py", "open('started', 'w').close()\n" + SERVER)
    entry["args"][0] = str(marked)
    desk.write("it", a_workflow({"one": an_agent("Hello.")}))
    session = await desk.new([entry])
    await desk.say(session, "/workflows")
    assert not (desk.folder / "started").exists()
    await desk.say(session, "/it")
    assert (desk.folder / "started").exists()
