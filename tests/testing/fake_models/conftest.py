from __future__ import annotations

import json
import urllib.request

import pytest

from awf.testing.fake_models import FakeModelServer, Scenario

CALL_THEN_TEXT = [
    {
        "thinking": "hm",
        "text": "Reading.",
        "chunk": 4,
        "tool_calls": [{"tool": "Read", "args": {"file_path": "a.txt"}}],
    },
    {"text": "It says {{tool_result}}"},
]


def post(url, body, *, headers=None) -> str:
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json", **(headers or {})}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.read().decode()


@pytest.fixture
def ask():
    """POST and read a whole JSON answer."""
    return lambda url, body, **more: json.loads(post(url, body, **more))


@pytest.fixture
def stream():
    """POST and read the data of a stream of events."""

    def read(url, body):
        lines = [line.removeprefix("data: ") for line in post(url, body).splitlines() if line[:6] == "data: "]
        return [line if line == "[DONE]" else json.loads(line) for line in lines]

    return read


@pytest.fixture
def serve():
    """Start servers on turns of one script whose prompt is "go"; they end with the test."""
    running = []

    def start(turns, **script):
        scenario = Scenario.from_dict({"scripts": [{"name": "s", "prompt": "go", "turns": turns, **script}]})
        running.append(FakeModelServer(scenario).start())
        return running[-1]

    yield start
    for fake in running:
        fake.stop()


@pytest.fixture
def fake(serve):
    return serve(CALL_THEN_TEXT)
