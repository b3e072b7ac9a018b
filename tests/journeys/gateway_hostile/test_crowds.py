"""Many at once: streams, sessions, requests in one write, processes."""

from __future__ import annotations

import json
import resource

import pytest

KB = 1000
MANY = 1000


@pytest.fixture
def house(opened, stage):
    return opened({"mcpServers": {"bad": stage.villain()}})


@pytest.fixture(autouse=True)
def enough_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4 * MANY:
        pytest.skip("too few descriptors are allowed here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4 * MANY), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_thousand_idle_sessions_cost_less_than_60_kb_each_and_are_given_back(house, stage, request):
    for _ in range(50):  # what is paid once
        house.client.session().delete()
    before = house.memory()
    sessions = [house.client.session() for _ in range(MANY)]
    each = (house.memory() - before) / MANY
    request.node.user_properties.append(("bytes_per_idle_session", each))
    assert each <= 60 * KB
    assert house.client.metric("sessions") == MANY
    house.is_well()
    for session in sessions:
        assert session.delete().status == 204
    stage.until(house.client.idle, "quiet")


def test_a_thousand_idle_streams_cost_less_than_60_kb_each_and_are_given_back(house, stage, request):
    house.is_well()
    before, descriptors = house.memory(), house.descriptors()
    streams = []
    try:
        for _ in range(MANY):
            session = house.client.session()
            streams.append((session, session.listen()))
        for _, stream in streams:
            stream.until(b"\r\n\r\n")
        each = (house.memory() - before) / MANY
        request.node.user_properties.append(("bytes_per_idle_stream", each))
        assert house.client.metric("streams") == MANY
        assert each <= 60 * KB
        house.is_well()
    finally:
        for session, stream in streams:
            stream.close()
            session.delete()
    stage.until(house.client.idle, "quiet")
    stage.until(lambda: house.descriptors() <= descriptors + 1, "as many descriptors as before")


def test_a_thousand_listeners_of_the_newer_era_lock_nobody_out(house, stage):
    """They wait for news; that is no work."""
    house.is_well()
    descriptors = house.descriptors()
    body, headers = stage.modern_request(
        "subscriptions/listen", {"notifications": {"toolsListChanged": True}}
    )
    data = json.dumps(body).encode()
    streams = [house.client.begun("POST", "/mcp", data, headers) for _ in range(MANY)]
    try:
        for stream in streams:
            stream.until(b"acknowledged")
        house.is_well()
    finally:
        for stream in streams:
            stream.close()
    stage.until(house.client.idle, "quiet")
    stage.until(lambda: house.descriptors() <= descriptors + 1, "as many descriptors as before")


@pytest.mark.parametrize("era", ["newer", "older"])
def test_clients_with_ever_new_abilities_do_not_start_ever_more_processes(house, stage, era):
    for number in range(40):
        abilities = {"elicitation": {}, f"invented-{number}": {}}
        if era == "newer":
            answer = house.client.call("echo", {"text": "x"}, capabilities=abilities)
        else:
            session = house.client.session(capabilities=abilities)
            answer = session.call("echo", {"text": "x"})
            assert session.delete().status == 204
        assert answer.text == "x"
    stage.until(lambda: len(house.villains()) <= 8, f"few processes instead of {len(house.villains())}")


def test_ten_thousand_requests_in_one_write_are_answered_in_order(house):
    """Over TCP, one after the other on one connection."""
    pipelined(house, 10_000)
    house.is_well()


def test_ten_thousand_requests_in_one_write_over_a_unix_socket(opened, stage, journey):
    path = str(journey.project / "door")
    house = opened({"mcpServers": {"bad": stage.villain()}}, "--unix", path)
    pipelined(house, 10_000)
    house.is_well()
    assert (journey.project / "door").stat().st_mode & 0o077 == 0


def pipelined(house, count):
    session = house.client.session()
    data = bytearray()
    for number in range(count):
        body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}).encode()
        last = "Connection: close\r\n" if number == count - 1 else ""
        data += (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{house.client.port}\r\nMcp-Session-Id: {session.id}\r\n"
            f"{last}Content-Length: {len(body)}\r\n\r\n"
        ).encode() + body
    with house.client.connect() as plug:
        import threading

        writing = threading.Thread(target=plug.sendall, args=(bytes(data),))
        writing.start()
        answer = b"".join(iter(lambda: plug.recv(1 << 20), b""))
        writing.join()
    wanted = [b'"id":%d,' % number for number in range(count)]
    at = 0
    for one in wanted:
        at = answer.find(one, at)
        assert at >= 0, one
    assert answer.count(b"HTTP/1.1 200 ") == count
    assert session.delete().status == 204


def test_two_hundred_calls_at_once_are_all_answered_with_their_own_answer(house, stage):
    calls = {
        f"text-{number}": stage.in_background(
            lambda n=number: house.client.call("echo", {"text": f"text-{n}"})
        )
        for number in range(200)
    }
    assert all(call.result(stage.PATIENCE).text == text for text, call in calls.items())


def test_thousands_of_small_calls_do_not_grow_the_gateway(house):
    """Growth by call would show."""
    import http.client

    body, headers = _echo(house)
    connection = http.client.HTTPConnection("127.0.0.1", house.client.port, timeout=60)

    def rounds(count):
        for _ in range(count):
            connection.request("POST", "/mcp", body, headers)
            answer = connection.getresponse()
            assert answer.status == 200
            answer.read()

    rounds(1500)
    before = house.memory()
    rounds(5000)
    connection.close()
    assert house.memory() - before < 3_000_000  # 600 bytes a call


def _echo(house):
    import sys

    stage = sys.modules["gateway_hostile_stage"]
    body, headers = stage.modern_request("tools/call", {"name": "echo", "arguments": {"text": "x"}})
    return json.dumps(body).encode(), {**headers, "Content-Type": "application/json", "Accept": stage.BOTH}


@pytest.mark.parametrize("names", ["tools", "methods"])
def test_invented_names_do_not_pile_up_in_the_metrics(house, names):
    session = house.client.session()
    size = len(house.client.get("/metrics").body)
    for number in range(300):
        if names == "tools":
            session.call(f"invented-{number}")
        else:
            session.request(f"invented/{number}")
    assert len(house.client.get("/metrics").body) < size + 2000
    assert session.delete().status == 204
