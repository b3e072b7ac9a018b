"""A client on standard streams leaves by closing them. What it waits for is still finished, what only it could end is not waited for."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from awf.testing import peers

pytestmark = pytest.mark.journey

running = sys.modules["journeys_gateway_running"]
EXAMPLE = Path(__file__).parents[3] / "examples" / "sidecar-weather"
SOON = 20  # seconds; calls that are being finished have 30, and leaving takes less than one
RESERVED = "io.modelcontextprotocol/"
NEWER = {"_meta": {f"{RESERVED}protocolVersion": "2026-07-28", f"{RESERVED}clientCapabilities": {}}}
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {}},
    "clientInfo": {"name": "hand", "version": "1"},
}


class Lines:
    """The smallest client."""

    def __init__(self, process):
        self._process = process

    def say(self, **message):
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()

    def hear(self):
        return json.loads(self._process.stdout.readline())

    def leave(self):
        """What it says to somebody who will not answer, and how it ends."""
        out, _ = self._process.communicate(timeout=SOON)
        return [json.loads(line) for line in out.splitlines()], self._process.returncode


@pytest.fixture
def lines(stage):
    @contextlib.contextmanager
    def begin(config):
        pipe, said = subprocess.PIPE, (stage.folder / f"{config.stem}.said").open("wb")
        with (
            said,
            subprocess.Popen(
                stage.stdio(config), stdin=pipe, stdout=pipe, stderr=said, env=stage.environment
            ) as process,
        ):
            try:
                yield Lines(process)
            finally:
                process.kill()
        stage.nothing_is_left()

    return begin


@pytest.fixture
def weather(stage):
    config = json.loads((EXAMPLE / "sidecar_config.json").read_text(encoding="utf-8"))
    config["mcpServers"]["weather"]["cwd"] = str(EXAMPLE)
    return stage.config("weather", **config)


def test_a_call_of_a_client_that_says_nothing_more_is_answered(lines, weather):
    with lines(weather) as client:
        call = {"name": "get_weather", "arguments": {"city": "Oslo"}, **NEWER}
        client.say(id=1, method="tools/call", params=call)
        (answer,), status = client.leave()
    assert answer["result"]["content"][0]["text"] == "Oslo: 13 °C, sun and wind"
    assert status == 0


def test_a_subscription_does_not_keep_the_gateway(lines, weather):
    with lines(weather) as client:
        wanted = {"notifications": {"toolsListChanged": True}, **NEWER}
        client.say(id="ears", method="subscriptions/listen", params=wanted)
        assert client.hear()["method"] == "notifications/subscriptions/acknowledged"
        _, status = client.leave()
    assert status == 0


def test_a_question_that_nobody_can_answer_does_not_keep_the_gateway(lines, stage):
    python = peers.requested(lambda: peers.python_peer("mcp==1.30.0"))
    server = {"command": python, "args": [str(running.HERE / "servers" / "rich_v1.py"), "stdio"]}
    with lines(stage.config("asking", mcpServers={"rich": server})) as client:
        client.say(id=1, method="initialize", params=HELLO)
        assert "result" in client.hear()
        client.say(method="notifications/initialized")
        client.say(id=2, method="tools/call", params={"name": "ask_name", "arguments": {"greeting": "Hello"}})
        assert client.hear()["method"] == "elicitation/create"
        _, status = client.leave()
    assert status == 0
