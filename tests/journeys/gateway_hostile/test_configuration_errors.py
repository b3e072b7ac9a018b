"""Files that are wrong: every error has its place, says what to do, and ends with status 1. Nothing is served."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import textwrap

import pytest

HELLO = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{}}}'


@pytest.fixture(params=["serve", "serve --stdio", "tools", "call"])
def told(request, journey, stage):
    """What a command says to a configuration. `VILLAIN` in it stands for a server."""

    def tell(text):
        here = json.dumps(stage.villain())
        name = journey.write("gateway.yaml", textwrap.dedent(text).replace("VILLAIN", here))
        more = {"serve": ("--port", "0"), "call": ("echo", "{}")}.get(request.param, ())
        with held_input(request.param == "serve --stdio") as stdin:
            return journey.awf("gateway", *request.param.split(), "--config", name, *more, stdin=stdin)

    return tell


@contextlib.contextmanager
def held_input(open_end):
    """The client of standard streams has said hello, and waits. Servers are looked at when somebody is there."""
    reading, writing = os.pipe()
    os.write(writing, HELLO + b"\n")
    try:
        yield reading if open_end else subprocess.DEVNULL
    finally:
        os.close(reading)
        os.close(writing)


def located(told, line, code, *words):
    assert told.status == 1, told.stderr
    assert re.search(rf"^gateway\.yaml:{line}:\d+: error {code}$", told.stderr, re.MULTILINE), told.stderr
    for word in words:
        assert word in told.stderr
    assert "Traceback" not in told.stderr
    assert all(json.loads(line)["jsonrpc"] for line in told.stdout.splitlines())  # nothing but the protocol


def test_an_override_for_an_unknown_server(told):
    text = """\
    mcpServers:
      weather: VILLAIN
    overrides:
      "wether:echo": {rename: x}
    """
    located(told(text), 4, "USER.GATEWAY.UNKNOWN_SERVER", "did you mean “weather”")


def test_an_override_for_an_unknown_tool(told):
    text = """\
    mcpServers:
      weather: VILLAIN
    overrides:
      "weather:ecko": {rename: x}
    """
    located(told(text), 4, "USER.GATEWAY.UNKNOWN_TOOL", "echo")


def test_a_hidden_field_that_does_not_exist(told):
    text = """\
    mcpServers:
      weather: VILLAIN
    overrides:
      "weather:echo":
        hide_fields: [tokn]
    """
    located(told(text), 5, "USER.GATEWAY.UNKNOWN_FIELD", "token")


def test_two_tools_with_one_name(told):
    text = """\
    mcpServers:
      weather: VILLAIN
    overrides:
      "weather:echo": {rename: same}
      "weather:hang": {rename: same}
    """
    result = told(text)
    assert result.status == 1
    assert "USER.GATEWAY.NAME_COLLISION" in result.stderr
    assert "gateway.yaml:" in result.stderr
    assert "same" in result.stderr


def test_a_hidden_required_field_without_a_value(journey, stage):
    tools = [
        {
            "name": "t",
            "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        }
    ]
    journey.write("tools.json", json.dumps(tools))
    config = {
        "mcpServers": {"s": stage.villain(str(journey.project / "tools.json"))},
        "overrides": {"s:t": {"hide_fields": ["a"]}},
    }
    name = journey.write("gateway.yaml", json.dumps(config, indent=1))
    result = journey.awf("gateway", "serve", "--config", name, "--port", "0")
    assert result.status == 1
    assert "gateway.yaml:" in result.stderr
    assert "default" in result.stderr
    assert "Traceback" not in result.stderr


def test_an_unknown_key(told):
    text = """\
    mcpServers:
      weather:
        comand: x
    """
    located(told(text), 3, "USER.GATEWAY.INVALID_FILE", "did you mean", "command")


def test_a_reference_to_a_variable_that_is_not_set(told):
    text = """\
    mcpServers:
      weather: {command: x, env: {KEY: "${env:NOT_SET_ANYWHERE}"}}
    """
    result = told(text)
    assert result.status == 1
    assert "gateway.yaml:2:" in result.stderr
    assert "NOT_SET_ANYWHERE" in result.stderr


def test_a_token_in_the_file_itself_is_refused_and_not_shown(told):
    text = """\
    mcpServers:
      weather: VILLAIN
    listen:
      tokens: [hunter2hunter2]
    """
    result = told(text)
    located(result, 4, "USER.GATEWAY.OPEN_DOOR")


def test_all_errors_of_a_file_are_told_at_once(told):
    text = """\
    mcpServers:
      weather: {}
      other: {command: x, url: "http://x"}
    listen:
      port: 99999
      rate: -1
    """
    result = told(text)
    assert result.status == 1
    assert result.stderr.count("error USER.GATEWAY.") == 4


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "5",
        "null",
        "mcpServers: []",
        "mcpServers: {a: 5}",
        "mcpServers: {a: {command: []}}",
        "{",
        "\t",
        "a: b: c",
    ],
)
def test_files_that_are_no_configuration(told, text):
    result = told(text)
    assert result.status == 1, result.stderr
    assert "gateway.yaml" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_file_that_is_not_there(journey):
    journey.awf("gateway", "serve", "--config", "nowhere.yaml").one_error("USER.INPUT.MISSING_FILE")
    journey.awf("gateway", "serve").one_error("USER.INPUT.MISSING_FILE")


def test_a_folder_instead_of_a_file(journey):
    told = journey.awf("gateway", "serve", "--config", ".")
    assert told.status in {1, 4}
    assert "Traceback" not in told.stderr
