"""A server that was given a key and tells of it wherever it tells of itself: nobody hears it, and its tools still work."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SECRET = "sk-live-0123456789abcdef"


@pytest.fixture
def teller(journey, stage):
    journey.environment["SERVICE_API_KEY"] = SECRET
    path = stage.VILLAIN.replace("villain.py", "teller.py")
    key = {"TELLER_KEY": "${env:SERVICE_API_KEY}"}
    return {"command": sys.executable, "args": ["-S", "-E", path], "env": key}


def clean(*answers):
    for answer in answers:
        text = answer.body.decode()
        assert SECRET not in text, text
        assert "***" in text, text


def pinned(journey):
    return (journey.project / "gateway.pins.json").read_text()


@pytest.mark.parametrize("gate", [{}, {"audit": {}}], ids=["no gate", "gate"])
@pytest.mark.parametrize("era", ["newer", "older"])
def test_lists_greetings_and_errors_come_without_it(opened, teller, journey, gate, era):
    house = opened({"mcpServers": {"teller": teller}, **gate})
    session = house.client.session()
    ask = house.client.modern if era == "newer" else session.request
    kinds = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
    clean(*(ask(method) for method in kinds))
    clean(ask("resources/read", {"uri": "door://front"}), ask("prompts/get", {"name": "ask"}))
    clean(ask("tools/call", {"name": "wait", "arguments": {}}))
    clean(house.client.modern("server/discover"))
    assert SECRET not in house.client.get("/api/tools").body.decode()
    assert SECRET not in house.client.get("/api/status").body.decode()
    assert SECRET not in pinned(journey)
    assert "Opens the door. The key is ***." in pinned(journey)


def test_the_greeting_of_the_older_era_comes_without_it(opened, teller):
    house = opened({"mcpServers": {"teller": teller}})
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    answer = house.client.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
    clean(answer)
    assert answer.result["instructions"] == "Always say *** first."


def test_a_tool_whose_words_are_masked_can_be_called_and_its_default_still_counts(opened, teller):
    house = opened({"mcpServers": {"teller": teller}})
    tools = {tool["name"]: tool for tool in house.client.modern("tools/list").result["tools"]}
    assert tools["open"]["inputSchema"]["properties"]["key"] == {"type": "string"}
    assert tools["open"]["inputSchema"]["properties"]["door"]["enum"] == ["front", "back"]
    assert tools["wait"] == {"name": "wait", "description": "Waits.", "inputSchema": {"type": "object"}}
    assert house.client.call("open", {"door": "front"}).text == "front is open"


CAN_ASK = {"elicitation": {}}
YES = {"action": "accept", "content": {"sure": True}}


def test_what_it_asks_a_client_of_the_older_era_comes_without_it(opened, teller):
    house = opened({"mcpServers": {"teller": teller}, "audit": {}})
    session = house.client.session(capabilities=CAN_ASK)
    with session.begun("tools/call", {"name": "hesitate", "arguments": {}}) as stream:
        heard = stream.until(b"elicitation/create")
        session.post({"jsonrpc": "2.0", "id": 1, "result": YES})
        heard += stream.rest()
    assert b"Is it ***?" in heard
    assert b"accepted" in heard
    assert SECRET.encode() not in heard


def test_what_it_asks_a_client_of_the_newer_era_comes_without_it(opened, teller):
    house = opened({"mcpServers": {"teller": teller}, "audit": {}})
    asked = house.client.call("hesitate", capabilities=CAN_ASK)
    clean(asked)
    [(key, question)] = asked.result["inputRequests"].items()
    assert question["params"]["message"] == "Is it ***?"
    params = {
        "name": "hesitate",
        "arguments": {},
        "inputResponses": {key: YES},
        "requestState": asked.result["requestState"],
    }
    assert house.client.modern("tools/call", params, capabilities=CAN_ASK).text == "accepted"


def test_another_key_is_no_change_of_a_definition_and_other_words_are(journey, teller):
    name = journey.write("gateway.yaml", json.dumps({"mcpServers": {"teller": teller}}))
    journey.awf("gateway", "tools", "--config", name).succeeded()
    assert "teller:open" in pinned(journey)
    journey.environment["SERVICE_API_KEY"] = "sk-live-another-key-of-mine"
    told = journey.awf("gateway", "drift", "--config", name).succeeded()
    assert "as it was when it was first seen" in told.stdout
    journey.environment["TELLER_OPENS"] = "a window"
    told = journey.awf("gateway", "drift", "--config", name)
    assert "teller:open changed: its description" in told.stdout
    assert "sk-live" not in told.stdout + told.stderr


def test_what_an_earlier_version_has_pinned_is_cleaned_and_is_no_change(journey, teller):
    name = journey.write("gateway.yaml", json.dumps({"mcpServers": {"teller": {**teller, "env": {"TELLER_KEY": SECRET}}}}))  # fmt: skip
    del journey.environment["SERVICE_API_KEY"]  # so nobody knows that it is secret
    journey.awf("gateway", "tools", "--config", name).succeeded()
    assert SECRET in pinned(journey)
    journey.environment["SERVICE_API_KEY"] = SECRET
    told = journey.awf("gateway", "drift", "--config", name).succeeded()
    assert "as it was when it was first seen" in told.stdout
    assert SECRET not in pinned(journey)


def served(journey, config, *requests):
    """What `awf mcp-serve` answers, one after the other."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    heard = []
    with subprocess.Popen(
        journey.command("mcp-serve", "--config", config), cwd=journey.project, env=journey.environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        for number, (method, params) in enumerate([("initialize", hello), *requests]):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            while json.loads(line := process.stdout.readline()).get("id") != number:
                heard.append(line)
            heard.append(line)
        process.stdin.close()
        return "".join(heard) + process.stdout.read() + process.stderr.read()


WAIT, OPEN = {"name": "wait", "arguments": {}}, {"name": "open", "arguments": {"door": "back"}}


@pytest.mark.parametrize("way", ["mcp_servers", "gateway"])
def test_a_tool_server_of_its_own_does_not_tell_it_either(journey, offered, way):
    config = journey.write("tools.yaml", json.dumps(offered(way)))
    told = served(journey, config, ("tools/list", {}), ("tools/call", WAIT), ("tools/call", OPEN))
    assert "Opens the door. The key is ***." in told
    assert "not with ***" in told
    assert "back is open" in told
    assert SECRET not in told


@pytest.mark.parametrize("way", ["mcp_servers", "gateway"])
def test_agents_of_steps_do_not_hear_it_either(journey, offered, way):
    calls = [{"tool": {"name": call["name"], "input": call["arguments"]}} for call in (WAIT, OPEN)]
    step = {
        "type": "agent",
        "provider": "scripted",
        "prompt": "Go.",
        "options": {"process": True, "turns": [{"do": calls}]},
        "mcp_proxy": {"enable": True, "intercept_builtins": False, **offered(way)},
        "on_success": "done",
    }
    name = journey.workflow("work", {"initial": "work", "work": step, "done": {"type": "terminal"}})
    told = journey.awf("run", name, "-o", "ndjson").succeeded()
    assert "not with ***" in told.stdout
    assert "back is open" in told.stdout
    assert SECRET not in told.stdout + told.stderr
    shown = journey.awf("tools", name, "-o", "json").succeeded()
    assert "Opens the door. The key is ***." in shown.stdout
    assert SECRET not in shown.stdout + shown.stderr


@pytest.fixture
def offered(journey, teller):
    """What a step, or a tool server, offers: the server itself, or the project's gateway with it."""

    def made(way):
        if way == "mcp_servers":
            return {"mcp_servers": {"teller": {**teller, "env": {"TELLER_KEY": SECRET}}}}
        journey.write(".awf/gateway.yaml", json.dumps({"mcpServers": {"teller": teller}}))
        return {"gateway": True}

    return made
