"""An authorization server, as a module of keys and tokens and as a real one on loopback."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from awf.domain.ports.http_server import HttpReply
from awf.infrastructure.http_client import LeanHttpClient
from awf.infrastructure.http_server import LeanHttpServer
from awf.infrastructure.oauth_tokens import JwtVerifier, KeyRing


@pytest.fixture(scope="session")
def issuing():
    known = "awf_tests_issuing"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, Path(__file__).with_name("issuing.py"))
        module = importlib.util.module_from_spec(spec)
        sys.modules[known] = module
        spec.loader.exec_module(module)
    return sys.modules[known]


class KeySource:
    """Keys that a test changes, and a clock that it moves. An exception in place of keys is raised."""

    def __init__(self, document):
        self.document = document
        self.fetches = 0
        self.ticks = 1000.0

    async def fetch(self):
        self.fetches += 1
        if isinstance(self.document, Exception):
            raise self.document
        return self.document


@pytest.fixture(scope="session")
def trusting(issuing):
    """A function that gives a verifier that knows these keys, and where they come from."""

    def make(*keys, now=issuing.NOW):
        source = KeySource(issuing.key_set(*keys))
        clock = now if callable(now) else lambda: now
        ring = KeyRing(source.fetch, lambda: source.ticks)
        return JwtVerifier(issuing.ISSUER, issuing.AUDIENCE, ring, clock), source

    return make


class Site:
    """A web server that gives these documents, by path: a value as JSON, or a whole answer."""

    def __init__(self):
        self.documents = {}
        self.asked = Counter()
        self.server = LeanHttpServer(self)
        self.url = ""

    async def __call__(self, request):
        self.asked[request.path] += 1
        found = self.documents.get(request.path)
        if found is None:
            return HttpReply(404)
        return found if isinstance(found, HttpReply) else HttpReply(body=json.dumps(found).encode())


@pytest.fixture
async def site():
    made = Site()
    made.url = f"http://127.0.0.1:{await made.server.listen_tcp('127.0.0.1', 0)}"
    yield made
    await made.server.close(0.0)


@pytest.fixture
async def http():
    client = LeanHttpClient()
    yield client
    await client.close()
