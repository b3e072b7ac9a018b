"""What a server was given under the name of a secret is known at every door: nobody is told it, and it is stored nowhere."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from awf.gateway import ToolGateway

pytestmark = pytest.mark.journey
SECRET = "zebra-umbrella-4711"
TELLER = {"command": sys.executable, "args": ["-S", "-E", str(Path(__file__).with_name("teller.py"))]}
ASK = {"id": "ask", "action": "*", "when": "has(arguments.text)", "decision": "allow_with_confirm"}
GATE = {
    "policy": {"defaults": {"fallback": "allow"}, "rules": [ASK]},
    "audit": {},
    "limits": {"max_output_bytes": 300},
    "approvals": {"wait": "50ms"},
    "overrides": {},
}
CALLS = [
    ("tell", {}),
    ("tell", {"times": 100}),  # too long: it is put aside
    ("tell", {"wrong": True}),
    (f"no {SECRET}", {}),
    ("tell", {"text": f"it is {SECRET}"}),  # a person is asked
]
SHELL = ("Bash", {"command": "echo the key is $KB_KEY"})


def through_mcp_serve(journey, **_):
    journey.write(".awf/gateway.yaml", json.dumps(GATE))
    server = {**TELLER, "env": {"API_KEY": "${env:KB_KEY}"}}
    config = journey.write("ms.json", json.dumps({"mcp_servers": {"kb": server}}))
    asked = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name, "arguments": given}}
        for number, (name, given) in enumerate([*CALLS, SHELL])
    ]
    journey.write("asked", "".join(json.dumps(one) + "\n" for one in asked))
    with (journey.project / "asked").open("rb") as requests:
        told = journey.awf("mcp-serve", "--config", config, stdin=requests).succeeded()
    assert len(told.out.splitlines()) == len(asked)
    return told.out + told.err


def through_the_gateway(journey, opened, **_):
    server = {**TELLER, "env": {"API_KEY": "${env:KB_KEY}"}}
    house = opened(**{**GATE, "mcpServers": {"kb": server}})
    answers = b"\n".join(house.client.call(name, given).body for name, given in CALLS)
    pages = b"".join(house.client.get(path).body for path in ("/api/calls", "/api/tools", "/api/status"))
    house.stop()
    return answers + pages + house.said.encode()


def through_a_tool_gateway(journey, monkeypatch, **_):
    monkeypatch.setenv("KB_KEY", SECRET)
    tool = {"name": "tell", "description": "Tell.", "inputSchema": {"type": "object"}}
    tool["annotations"] = {"policyAction": "connector.read"}
    manifest = {"serverId": "kb", "name": "kb", "version": "1", "tools": [tool]}
    server = {"serverId": "kb", "transport": "stdio", "manifest": manifest, **TELLER}
    with ToolGateway(storage=str(journey.storage), workspace=str(journey.project), config=GATE) as gateway:
        gateway.registerServer({**server, "env": {"API_KEY": "${env:KB_KEY}"}})
        grant = {"capability": "connector.read", "expiresAt": "2999-01-01T00:00:00Z"}
        given = [gateway.grantCapability(grant)]
        results = [
            gateway.callTool({"toolId": f"kb:{name}", "arguments": arguments, "grantIds": given})
            for name, arguments in CALLS
        ]
    return json.dumps(results).encode()


def through_a_step(journey, **_):
    journey.write(".awf/gateway.yaml", json.dumps(GATE))
    server = {**TELLER, "env": {"API_KEY": "{{ env.KB_KEY }}"}}
    calls = [{"tool": {"name": name, "input": given}} for name, given in [*CALLS, SHELL]]
    # A workflow is kept as it is written.
    calls = json.loads(json.dumps(calls).replace(SECRET, "{{ env.KB_KEY }}"))
    state = {
        "type": "agent", "provider": "scripted", "prompt": "Go.", "on_success": "done",
        "options": {"process": True, "turns": [{"do": calls}]},
        "mcp_proxy": {"enable": True, "mcp_servers": {"kb": server}},
    }  # fmt: skip
    name = journey.workflow("work", {"initial": "work", "work": state, "done": {"type": "terminal"}})
    told = journey.awf("run", name, "-o", "ndjson", "--no-input")
    assert len([one for one in told.events() if one["type"] == "tool.call.finished"]) == len(calls)
    return told.out + told.err + journey.awf("logs", "last").out + journey.awf("show", "last").out


DOORS = [through_mcp_serve, through_the_gateway, through_a_tool_gateway, through_a_step]


@pytest.mark.parametrize("through", DOORS, ids=lambda door: door.__name__)
def test_a_secret_of_a_server_is_told_and_kept_nowhere(through, journey, opened, monkeypatch):
    journey.environment["KB_KEY"] = SECRET
    journey.environment["AWF_LOG_LEVEL"] = "debug"

    shown = through(journey, opened=opened, monkeypatch=monkeypatch)

    questions = journey.awf("gateway", "approvals").succeeded().out
    assert b"the key is ***" in shown
    assert b"no ***" in shown
    assert b"awf://artifact/" in shown
    stored = {str(path): path.read_bytes() for path in journey.storage.rglob("*") if path.is_file()}
    assert any(b"the key is ***" in content for name, content in stored.items() if "artifacts" in name)
    assert any(b"it is ***" in content for name, content in stored.items() if "gate" in name)
    secret = SECRET.encode()
    assert secret not in shown
    assert secret not in questions
    assert [name for name, content in stored.items() if secret in content] == []
