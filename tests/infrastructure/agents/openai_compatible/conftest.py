"""An API whose every byte a test decides, tools in memory, and one call of the agent."""

from __future__ import annotations

import asyncio
import json
import socket
from dataclasses import dataclass, field

import pytest

from awf.application.tools.proxy import ProxyTools
from awf.application.tools.router import Observers, ToolRouter
from awf.domain.agent import AgentRequest, TextDelta, Thought, ToolFinished, ToolStarted
from awf.domain.redaction import Masker
from awf.infrastructure.agents.openai_compatible.provider import OpenAICompatibleAgent
from awf.infrastructure.http_client import LeanHttpClient
from awf.infrastructure.json_schemas.schemas import RustJsonSchemas
from awf.infrastructure.telemetry.tracing import NoTracer
from awf.testing.loopback import Loopback
from awf.testing.memory_tools import MemoryTools, object_schema


def piece(delta=None, finish=None, **more):
    """One piece of a streamed answer."""
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more}


def events(*values, end=b"data: [DONE]\n\n"):
    return b"".join(b"data: %s\n\n" % json.dumps(value).encode() for value in values) + end


def said(text="Hello."):
    return events(piece({"role": "assistant", "content": text}), piece(finish="stop"))


def answer(body=b"", status=200, kind="text/event-stream", length=None, **headers):
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    lines = {"Content-Type": kind, "Content-Length": len(body) if length is None else length, **named}
    head = "".join(f"{key}: {value}\r\n" for key, value in lines.items())
    return f"HTTP/1.1 {status} Whatever\r\n{head}\r\n".encode() + body


@dataclass
class Received:
    target: str
    headers: dict[str, str]
    body: dict
    gone: asyncio.Event = field(default_factory=asyncio.Event)


class OddApi(Loopback):
    """Answers requests one after the other. An answer shorter than its length hangs up; `silence` says nothing more."""

    def __init__(self, *answers: bytes, silence: bool = False):
        super().__init__()
        self.answers = list(answers)
        self.requests: list[Received] = []
        self.connections = 0
        self._silence = silence

    async def __aenter__(self):
        await super().__aenter__()
        self.url += "/v1"
        return self

    async def serve(self, reader, writer):
        self.connections += 1
        while received := await self._receive(reader):
            self.requests.append(received)
            data = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            writer.write(data)
            await writer.drain()
            if self._silence:
                await reader.read(1)
                received.gone.set()
                return
            if _is_cut(data):
                return

    async def _receive(self, reader):
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
        except asyncio.IncompleteReadError:
            return None
        first, *lines = head.strip().split("\r\n")
        headers = {key.lower(): value for key, _, value in (line.partition(": ") for line in lines)}
        body = await reader.readexactly(int(headers["content-length"]))
        return Received(first.split(" ")[1], headers, json.loads(body))


def _is_cut(data):
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
    return not lengths or int(lengths[0].split(b":")[1]) > len(body)


class Shown(list):
    def __call__(self, event):
        self.append(event)

    @property
    def text(self):
        return "".join(event.text for event in self if isinstance(event, TextDelta))

    @property
    def thoughts(self):
        return "".join(event.text for event in self if isinstance(event, Thought))

    @property
    def started(self):
        return [event for event in self if isinstance(event, ToolStarted)]

    @property
    def finished(self):
        return [event for event in self if isinstance(event, ToolFinished)]


class Pauses(list):
    """Instead of waiting between attempts."""

    async def __call__(self, seconds):
        self.append(seconds)


@pytest.fixture
def wire():
    """What answers are made of."""

    class Wire:
        pass

    for made in (piece, events, said, answer):
        setattr(Wire, made.__name__, staticmethod(made))
    Wire.Api = OddApi
    return Wire


@pytest.fixture
def shown():
    return Shown()


@pytest.fixture
def pauses():
    return Pauses()


@pytest.fixture
def agent(pauses):
    return OpenAICompatibleAgent(LeanHttpClient, pauses)


@pytest.fixture
def memory():
    """Tools: Read gives what is in `files`, Bash says what it was told to run."""
    tools = MemoryTools()
    tools.files = {"note.txt": "xyzzy"}
    tools.add("Read", lambda given, _: tools.files[given["file_path"]], object_schema(file_path="string"))
    tools.add("Bash", lambda given, _: f"ran {given['command']}", object_schema(command="string"))
    return tools


@pytest.fixture
def equip():
    """A step's tools over providers."""

    async def made(*providers, intercepts=True):
        observers = Observers(tracer=NoTracer(), masker=Masker(), step="work", path="work")
        router = await ToolRouter.open(providers, RustJsonSchemas(), observers)
        return ProxyTools(router, None, intercepts=intercepts)

    return made


@pytest.fixture
def ask(agent, shown):
    """One call of the agent."""

    async def call(
        url, prompt="go", *, tools=None, session=None, system_prompt="", output_schema=None, **options
    ):
        request = AgentRequest(
            run_id="run-1",
            step="work",
            path="work",
            prompt=prompt,
            system_prompt=system_prompt,
            options={"model": "fake-model", "base_url": url, **options},
            session=session,
            output_schema=output_schema,
            tools=tools,
        )
        assert list(agent.check_options(request.options)) == []
        async with asyncio.timeout(60):
            return await agent.run(request, shown)

    return call


@pytest.fixture
def unused_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]
