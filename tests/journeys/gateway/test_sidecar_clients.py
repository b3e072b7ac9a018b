"""The sidecar's own integration test, over real sockets and pipes, with every client that people use.

A server requires an argument that the agent must not know. The client sees the sanitized signature, calls without the
hidden argument, and the server receives it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

# The first one to come here on a machine installs the clients.
pytestmark = [pytest.mark.journey, pytest.mark.timeout(600)]

running = sys.modules["journeys_gateway_running"]
EXAMPLE = Path(__file__).parents[3] / "examples" / "sidecar-weather"
STEPS = [{"do": "list_tools"}, {"do": "call", "name": "get_weather", "arguments": {"city": "Oslo"}}]


@pytest.fixture(scope="module")
def log(stage):
    return stage.folder / "received"


@pytest.fixture(scope="module")
def sidecar(stage, log):
    """The example's configuration and server, as they are, in a gateway that all clients share."""
    config = json.loads((EXAMPLE / "sidecar_config.json").read_text(encoding="utf-8"))
    server = config["mcpServers"]["weather"]
    server |= {"cwd": str(EXAMPLE), "env": {**server["env"], "WEATHER_LOG": str(log)}}
    file = stage.config("sidecar", **config)
    with stage.gateway(file) as address:
        yield address, stage.stdio(file)


def test_a_client_sees_a_clean_signature_and_the_server_receives_what_was_hidden(
    client, sidecar, stage, log, tmp_path
):
    address, command = sidecar
    log.unlink(missing_ok=True)
    target = client.target(address, command, stage.environment)

    seen = client.run({"sidecar": target}, STEPS, tmp_path)["sidecar"]

    assert "failed" not in seen, seen["failed"]
    assert seen["protocol"] == client.protocol
    (tool,), result = seen["steps"]
    assert (tool["name"], tool["description"]) == ("get_weather", "Get the weather for a city")
    assert list(tool["inputSchema"]["properties"]) == ["city"]
    assert tool["inputSchema"]["required"] == ["city"]
    assert "station" not in json.dumps(tool)
    assert result["content"] == [{"type": "text", "text": "Oslo: 13 °C, sun and wind"}]
    assert running.received(log) == [{"city": "Oslo", "station_id": "12345", "units": "metric"}]
