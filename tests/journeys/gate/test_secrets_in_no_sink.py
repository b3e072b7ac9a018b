"""A known secret goes through the gate in every spelling and every place. Afterwards it is nowhere: every byte is looked at."""

from __future__ import annotations

import base64
import json
import random
import re
import sys
from urllib.parse import quote

import pytest

pytestmark = pytest.mark.journey
ALPHABET = 'abcXYZ019/+="\\ é☂%&~'
FORMS = {"elicitation": {}}
SAY = """import json, sys
said = json.load(open("spelled.json"))[int(sys.argv[1])]
print("\\n".join([said] * int(sys.argv[2])))
"""


def secret_of(seed: int) -> str:
    chosen = random.Random(seed)
    return "s3" + "".join(chosen.choice(ALPHABET) for _ in range(18)) + "x9"


def spelled(secret: str) -> list[str]:
    raw, once = secret.encode(), json.dumps(secret)[1:-1]
    url = quote(secret, safe="")
    small = re.sub("%..", lambda found: found[0].lower(), url)
    texts = [
        secret, once, json.dumps(secret, ensure_ascii=False)[1:-1], json.dumps(once)[1:-1], url, small, raw.hex(),
        raw.hex().upper(), base64.b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode(),
        base64.b64encode(raw).decode().rstrip("="),
    ]  # fmt: skip
    return list(dict.fromkeys(texts))


def found_in(data: bytes, secret: str) -> list[str]:
    """Spellings in it; those that this very data had to be written in (JSON) are among them."""
    return [one for one in spelled(secret) if one.encode() in data]


def everything_stored(journey) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in journey.storage.rglob("*") if path.is_file()}


def is_nowhere(secret, **sinks):
    for name, data in sinks.items():
        for where, content in data.items() if isinstance(data, dict) else ((name, data),):
            found = found_in(content, secret)
            at = content.find(found[0].encode()) if found else 0
            assert not found, f"{where}: {content[max(0, at - 200) : at + 60]!r}"


@pytest.mark.parametrize("seed", [1, 2])
def test_a_gateway_shows_and_keeps_a_secret_nowhere(opened, journey, noted, person, collector, stage, seed):
    secret = secret_of(seed)
    endpoint, spans = collector
    journey.environment |= {
        "SERVICE_API_KEY": secret, "AWF_LOG_LEVEL": "debug", "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
    }  # fmt: skip
    files = sys.modules["journeys_gate_files"]
    server = {**files.OFFICE, "env": {"KEY": "${env:SERVICE_API_KEY}"}}
    rule = {"id": "sum", "action": "file.write", "when": "int(arguments.text) > 3", "decision": "deny"}
    house = opened(
        mcpServers={"office": server},
        limits={"max_output_bytes": 300},
        approvals={"wait": "50ms"},
        policy={"defaults": {"fallback": "allow"}, "rules": [rule]},
    )
    answers = []
    for one in spelled(secret):
        given = {"text": one, "at": {one: [one]}}
        answers += [house.client.call(tool, given) for tool in ("look", "write", "mail", "fetch")]
        answers += [
            house.client.session().call(f"no {one}", given),
            house.client.call("mail", {"text": f"{one} more"}, capabilities=FORMS),
            house.client.call("look", {"text": f"{one} " * 200}),  # too long: it is put aside
            house.client.session().call("mail", {"text": one}),
        ]
    pages = b"".join(
        house.client.get(path).body for path in ("/api/status", "/api/tools", "/api/calls", "/metrics")
    )
    shown = journey.awf("gateway", "approvals", "-o", "json").succeeded()
    listed = journey.awf("audit", "list", "-o", "json", "--kind", "any", "--limit", "100000").succeeded()
    house.stop()
    assert len(noted("look")) > 10
    assert len(listed.json()) > 50
    assert any("awf://artifact/" in answer.body.decode() for answer in answers)
    is_nowhere(
        secret,
        stored=everything_stored(journey),
        said=house.said.encode(),
        pages=pages,
        approvals=shown.out,
        audit=listed.out,
        answers=b"\n".join(
            answer.body for answer in answers if answer.status == 200 and b'"error"' not in answer.body
        ),
        spans=repr(spans).encode(),
    )


def test_a_run_shows_and_keeps_a_secret_nowhere(journey, collector):
    secret = secret_of(3)
    endpoint, spans = collector
    journey.environment |= {
        "SERVICE_TOKEN": secret, "AWF_LOG_LEVEL": "debug", "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint,
    }  # fmt: skip
    file = {
        "policy": {"defaults": {"fallback": "allow"}},
        "limits": {"max_output_bytes": 400},
        "approvals": {"wait": "50ms", "valid": "500ms"},
        "overrides": {"builtin:Write": {"requires_confirmation": True}},
    }
    journey.write(".awf/gateway.yaml", json.dumps(file))
    journey.write("say.py", SAY)
    journey.write("spelled.json", json.dumps(spelled(secret)))
    calls = [
        {"tool": {"name": "Bash", "input": {"command": f"{sys.executable} say.py {number} {times}"}}}
        for number in range(len(spelled(secret)))
        for times in (1, 300)  # 300: too long, so it is put aside
    ]
    calls += [
        {"tool": {"name": "Read", "input": {"file_path": "spelled.json"}}},
        {"tool": {"name": "Write", "input": {"file_path": "x", "content": "y"}}},
    ]
    state = {
        "type": "agent", "provider": "scripted", "prompt": "Go.", "mcp_proxy": {"enable": True},
        "options": {"process": True, "turns": [{"do": calls}]}, "on_success": "done",
    }  # fmt: skip
    name = journey.workflow("work", {"initial": "work", "work": state, "done": {"type": "terminal"}})
    told = journey.awf("run", name, "-o", "ndjson", "--no-input")
    finished = [event for event in told.events() if event["type"] == "tool.call.finished"]
    assert len(finished) == len(calls)
    assert "***" in told.stdout
    assert [event for event in finished if "awf://artifact/" in event["output"]]
    history = journey.awf("logs", "last").out + journey.awf("show", "last", "-o", "json").out
    is_nowhere(
        secret,
        stored=everything_stored(journey),
        told=told.out,
        said=told.err,
        history=history,
        spans=repr(spans).encode(),
    )
