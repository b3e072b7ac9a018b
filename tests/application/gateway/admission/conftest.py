"""Requests as the server would hand them over, and a door to send them to."""

from __future__ import annotations

import asyncio
import json

import pytest

from awf.application.gateway.admission import Admission
from awf.domain.gateway_file import Listen

HERE = "127.0.0.1:8931"


class Request:
    def __init__(self, method="POST", path="/mcp", client="127.0.0.1", query=None, host=HERE, **headers):
        self.method, self.path, self.client = method, path, client
        self.query = query or {}
        named = {} if host is None else {"host": host}
        self.headers = named | {name.replace("_", "-"): value for name, value in headers.items()}
        self.body = b""
        self.gone = asyncio.Event()


@pytest.fixture(scope="session")
def asks():
    return Request


@pytest.fixture(scope="session")
def door():
    """A function that gives a door with these settings."""

    def make(addresses=(HERE,), verifier=None, now=lambda: 0.0, naming_key=b"", **settings):
        return Admission(Listen(**settings), addresses, verifier, now, naming_key=naming_key)

    return make


@pytest.fixture(scope="session")
def error_in():
    """What a refusal says: its status, its code and its text."""

    def read(reply):
        message = json.loads(reply.body)
        assert message["jsonrpc"] == "2.0"
        assert message["id"] is None
        assert message["error"]["code"] == -32600
        assert ("Content-Type", "application/json") in reply.headers
        return reply.status, message["error"]["data"]["code"], message["error"]["message"]

    return read
