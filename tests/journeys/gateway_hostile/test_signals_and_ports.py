"""The gateway is told to stop in the middle of something, or cannot begin."""

from __future__ import annotations

import json
import signal
import socket

import pytest


def started(journey, stage, **keys):
    return stage.House(journey, {"mcpServers": {"bad": stage.villain(**keys)}})


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_call_that_ends_soon_is_still_answered(journey, stage, number):
    house = started(journey, stage)
    session = house.client.session(capabilities={"elicitation": {}})
    ask = {"name": "ask", "arguments": {"method": "x/y", "patience": 1}}
    call = stage.in_background(lambda: session.request("tools/call", ask))
    house.until_noted("called ask")
    house.stop(number)
    assert call.exception(stage.PATIENCE) is None or isinstance(call.exception(), ConnectionError)


def test_a_call_that_never_ends_does_not_keep_the_gateway_for_ever(journey, stage):
    house = started(journey, stage)
    calls = [stage.in_background(lambda: house.client.call("hang")) for _ in range(5)]
    house.until_noted("called hang", 5)
    house.stop()
    for call in calls:  # an error, or the end of the connection, but nobody is left waiting
        call.exception(stage.PATIENCE)
    stage.until(lambda: not journey.processes(), "the end of all processes")


def test_streams_and_listeners_end_with_the_gateway(journey, stage):
    house = started(journey, stage)
    session = house.client.session()
    body, headers = stage.modern_request(
        "subscriptions/listen", {"notifications": {"toolsListChanged": True}}
    )
    with (
        session.listen() as older,
        house.client.begun("POST", "/mcp", json.dumps(body).encode(), headers) as newer,
        house.client.begun("GET", "/sse") as oldest,
    ):
        older.until(b"\r\n\r\n")
        newer.until(b"acknowledged")
        oldest.until(b"session_id=")
        house.stop()
        for stream in (older, newer, oldest):
            stream.rest()


def test_the_page_does_not_keep_the_gateway_from_stopping(journey, stage):
    """Its stream is ended in good order: with the last chunk, and not cut off."""
    house = started(journey, stage)
    with house.client.begun("GET", "/api/events") as page:
        page.until(b"\r\n\r\n")
        house.stop()
        assert page.rest().endswith(b"\r\n0\r\n\r\n")


def test_whoever_asks_twice_gets_it_the_hard_way_and_nothing_is_left(journey, stage):
    house = started(journey, stage)
    stage.in_background(lambda: house.client.call("hang"))
    house.until_noted("called hang")
    house.running.send(signal.SIGTERM)
    house.running.send(signal.SIGTERM)
    assert house.running.wait().status in {-signal.SIGTERM, 128 + signal.SIGTERM}
    stage.until(lambda: not journey.processes(), "the end of all processes")


def test_a_server_that_ignores_everything_is_ended_with_the_gateway(journey, stage):
    script = (
        "import signal, sys, time; signal.signal(15, signal.SIG_IGN); [time.sleep(1) for _ in range(600)]"
    )
    config = {
        "mcpServers": {"bad": {"command": stage.sys.executable, "args": ["-c", script], "timeout": "1s"}}
    }
    house = stage.House(journey, config)
    house.stop()
    stage.until(lambda: not journey.processes(), "the end of all processes")


def cannot_begin(journey, stage, *options, config=None):
    name = journey.write("gateway.json", json.dumps(config or {"mcpServers": {"bad": stage.villain()}}))
    return journey.awf("gateway", "serve", "--config", name, *options)


def test_a_port_in_use_is_told(journey, stage):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        told = cannot_begin(journey, stage, "--port", port)
    told.one_error("SYSTEM.IO.LISTEN_FAILED")
    assert port in told.stderr


@pytest.mark.parametrize("place", ["no/such/folder/socket", "x" * 200, "."])
def test_a_place_where_no_socket_can_be_is_told(journey, stage, place):
    cannot_begin(journey, stage, "--unix", place).one_error("SYSTEM.IO.LISTEN_FAILED")


def test_a_file_in_the_place_of_the_socket_is_not_overwritten(journey, stage):
    journey.write("precious", "do not lose this")
    cannot_begin(journey, stage, "--unix", "precious").one_error("SYSTEM.IO.LISTEN_FAILED")
    assert (journey.project / "precious").read_text() == "do not lose this"


def test_a_socket_on_which_another_gateway_listens_is_left_to_it(opened, journey, stage):
    path = str(journey.project / "door")
    house = opened({"mcpServers": {"bad": stage.villain()}}, "--unix", path)
    cannot_begin(journey, stage, "--unix", path).one_error("SYSTEM.IO.LISTEN_FAILED")
    house.is_well()


def test_a_socket_that_a_killed_gateway_left_behind_is_taken(opened, journey, stage):
    path = str(journey.project / "door")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(path)
    house = opened({"mcpServers": {"bad": stage.villain()}}, "--unix", path)
    house.is_well()


@pytest.mark.parametrize("host", ["256.1.1.1", "no-such-host.invalid", "127.0.0.1/8"])
def test_a_host_that_is_none_is_told(journey, stage, host):
    told = cannot_begin(journey, stage, "--host", host, "--port", "0")
    assert told.status in {1, 4}
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize(
    "options",
    [("--stdio", "--unix", "x"), ("--stdio", "--port", "1"), ("--port", "99999"), ("--profile", "x")],
)
def test_options_that_do_not_go_together_are_told(journey, stage, options):
    told = cannot_begin(journey, stage, *options)
    assert told.status != 0
    assert "Traceback" not in told.stderr
    assert told.stderr.strip()


def test_a_profile_that_does_not_exist_is_told_to_whoever_starts_the_gateway(journey, stage):
    told = cannot_begin(journey, stage, "--stdio", "--profile", "none")
    assert told.status == 1
    assert "none" in told.stderr
    assert "Traceback" not in told.stderr
