"""The weather example: what its page says is so, with and without the official SDK, and its agent knows nothing of overrides."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from awf.testing import peers

pytestmark = pytest.mark.journey

running = sys.modules["journeys_gateway_running"]
PROJECT = Path(__file__).parents[3]
EXAMPLE = PROJECT / "examples" / "sidecar-weather"
README = (EXAMPLE / "README.md").read_text(encoding="utf-8")
CONFIG = EXAMPLE / "sidecar_config.json"
SHOWN = re.search(r"^\$ awf run .*\n((?:the .*\n)+)", README, re.MULTILINE)[1]
SECONDS = 120


def run(argv, stage, **options):
    done = subprocess.run(
        argv, env=stage.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS,
        check=False, **{"cwd": PROJECT, **options},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_one_command_shows_both_sides(stage):
    assert run([sys.executable, "examples/sidecar-weather/demo.py"], stage) == SHOWN


def test_the_demo_can_be_started_from_anywhere_and_leaves_nothing(stage, tmp_path):
    before = sorted(EXAMPLE.iterdir())
    shown = run([sys.executable, str(EXAMPLE / "demo.py"), "Bergen"], stage, cwd=tmp_path)
    assert shown.splitlines()[-1] == "the agent reads     Bergen: 13 °C, cloudy"
    assert (list(tmp_path.iterdir()), sorted(EXAMPLE.iterdir())) == ([], before)
    stage.nothing_is_left()


def test_the_demo_finds_awf_on_the_path_when_its_python_has_none(stage, tmp_path):
    """As it is with the Python of the system."""
    found = tmp_path / "bin" / "awf"
    found.parent.mkdir()
    found.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m awf "$@"\n', encoding="utf-8")
    found.chmod(0o755)
    path = os.pathsep.join([str(found.parent), stage.environment["PATH"]])
    bare = peers.requested(lambda: peers.python_peer("mcp==2.3.0"))
    stage = running.Stage(stage.folder, more={"PATH": path})
    assert run([bare, str(EXAMPLE / "demo.py")], stage) == SHOWN


def test_the_configuration_has_the_form_of_the_sidecar_text():
    config = json.loads(CONFIG.read_text(encoding="utf-8"))
    assert set(config) == {"mcpServers", "overrides"}
    assert set(config["mcpServers"]["weather"]) == {"command", "args", "env"}
    assert config["overrides"] == {
        "weather:fetch_forecast": {
            "rename": "get_weather",
            "description": "Get the weather for a city",
            "hide_fields": ["station_id", "debug_mode"],
            "defaults": {"station_id": "12345", "units": "metric"},
        }
    }


def test_the_agent_on_the_official_sdk_works_and_has_no_override_logic(stage):
    agent = EXAMPLE / "agent.py"
    overridden = ("station", "debug", "units", "metric", "12345", "fetch_forecast", "override", "default")
    assert not [word for word in overridden if word in agent.read_text(encoding="utf-8").lower()]
    python = peers.requested(lambda: peers.python_peer("mcp==2.3.0"))
    config = json.loads(CONFIG.read_text(encoding="utf-8"))
    config["mcpServers"]["weather"]["cwd"] = str(EXAMPLE)

    with stage.gateway(stage.config("weather", **config)) as address:
        said = run([python, str(agent), f"{address}/mcp", "Bergen"], stage)

    assert said.splitlines() == ["get_weather(city): Get the weather for a city", "Bergen: 13 °C, cloudy"]


def test_the_commands_for_a_look_from_the_shell_work(stage):
    commands = re.findall(r"^awf (gateway (?:tools|call) .*)$", README, re.MULTILINE)
    tools, call = (
        run(["sh", "-c", f'"{sys.executable}" -m awf {one}'], stage, cwd=EXAMPLE) for one in commands
    )
    assert "get_weather(city*)" in tools
    assert call == "Bergen: 13 °C, cloudy\n"


def test_what_the_gateway_puts_in_cannot_be_chosen_by_the_agent(stage):
    call = [sys.executable, "-m", "awf", "gateway", "call", "--config", str(CONFIG), "get_weather"]
    done = subprocess.run(
        [*call, '{"city": "Oslo", "station_id": "1"}'], cwd=EXAMPLE, env=stage.environment, capture_output=True,
        text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "station_id" in done.stdout + done.stderr
    assert "°C" not in done.stdout
