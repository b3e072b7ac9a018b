"""A gateway as a process of its own, and clients that are as rude as they like."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import signal
import socket
import sys
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Self

MODERN = "2026-07-28"
LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
META = "io.modelcontextprotocol/"
PATIENCE = 60.0
BOTH = "application/json, text/event-stream"
VILLAIN = str(Path(__file__).with_name("villain.py"))
SETTLED = re.compile(r"^\d+ tools of \d+ servers$", re.MULTILINE)


def until(check: Callable[[], Any], what: str = "this", patience: float = PATIENCE) -> Any:
    end = time.monotonic() + patience
    while not (found := check()):
        assert time.monotonic() < end, f"{what} did not come true in time"
        time.sleep(0.01)
    return found


def in_background(work: Callable[[], Any]) -> Future[Any]:
    """A thread of its own for each: a pool would wait for those that hang."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as reason:  # whoever waits for it is told
            future.set_exception(reason)

    threading.Thread(target=run, daemon=True).start()
    return future


def villain(*manner: str, **fields: Any) -> dict[str, Any]:
    """The configuration of one."""
    return {"command": sys.executable, "args": ["-S", "-E", VILLAIN, *manner], "timeout": "60s", **fields}


def events_in(body: bytes) -> list[dict[str, str]]:
    found = []
    for block in body.decode().split("\n\n"):
        pairs = [line.partition(":")[::2] for line in block.splitlines() if line and not line.startswith(":")]
        if pairs:
            found.append({name: value.removeprefix(" ") for name, value in pairs})
    return found


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def messages(self) -> list[dict[str, Any]]:
        """Everything it holds, be it one document or a stream."""
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            return [json.loads(event["data"]) for event in events_in(self.body) if event.get("data")]
        found = self.json() if self.body else []
        return found if isinstance(found, list) else [found]

    @property
    def last(self) -> dict[str, Any]:
        """The answer itself; what was said before it comes first."""
        return self.messages()[-1]

    @property
    def error(self) -> dict[str, Any]:
        last = self.last
        assert "error" in last, last
        return dict(last["error"])

    @property
    def result(self) -> dict[str, Any]:
        last = self.last
        assert "result" in last, last
        return dict(last["result"])

    @property
    def text(self) -> str:
        return "".join(block.get("text", "") for block in self.result["content"])


class Client:
    """Speaks HTTP to one gateway; a connection for each request, unless said otherwise."""

    def __init__(self, port: int, *, unix: str = "", headers: Mapping[str, str] | None = None) -> None:
        self.port = port
        self.unix = unix
        self.always = dict(headers or {})

    def connect(self, timeout: float = PATIENCE) -> socket.socket:
        if self.unix:
            plug = socket.socket(socket.AF_UNIX)
            plug.settimeout(timeout)
            plug.connect(self.unix)
            return plug
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def send(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.sock = self.connect()
        try:
            connection.request(method, path, body or None, {**self.always, **(headers or {})})
            answer = connection.getresponse()
            fields = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, fields, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", path, headers=_named(headers))

    def post(self, body: Any, path: str = "/mcp", headers: Mapping[str, str] | None = None) -> Answer:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.send(
            "POST", path, data, {"Content-Type": "application/json", "Accept": BOTH, **(headers or {})}
        )

    # The newer era

    def modern(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        path: str = "/mcp",
        headers: Mapping[str, str] | None = None,
        number: Any = 1,
        capabilities: dict[str, Any] | None = None,
    ) -> Answer:
        body, fields = modern_request(method, params, number=number, capabilities=capabilities)
        return self.post(body, path, {**fields, **(headers or {})})

    def call(self, tool: str, arguments: dict[str, Any] | None = None, **options: Any) -> Answer:
        return self.modern("tools/call", {"name": tool, "arguments": arguments or {}}, **options)

    def tools(self, path: str = "/mcp") -> list[str]:
        return [tool["name"] for tool in self.modern("tools/list", path=path).result["tools"]]

    # The older one

    def session(
        self, version: str = LEGACY[-1], path: str = "/mcp", capabilities: dict[str, Any] | None = None
    ) -> Session:
        params = {
            "protocolVersion": version,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "rude", "version": "1"},
        }
        answer = self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}, path)
        assert answer.status == 200, answer.body
        return Session(self, answer.headers["mcp-session-id"], version, path)

    # Without manners

    def raw(self, data: bytes, *, half_close: bool = False) -> bytes:
        """Everything that comes back, until the other side ends it."""
        with self.connect() as plug:
            plug.sendall(data)
            if half_close:
                plug.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: plug.recv(65536), b""))

    def begun(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Stream:
        """Send a request, and look at the answer as it comes."""
        fields = {
            "Host": f"127.0.0.1:{self.port}",
            "Accept": BOTH,
            "Connection": "close",
            **self.always,
            **(headers or {}),
        }
        if body:
            fields |= {"Content-Length": str(len(body)), "Content-Type": "application/json"}
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(
            f"{key}: {value}\r\n" for key, value in fields.items()
        )
        plug = self.connect()
        plug.sendall(head.encode() + b"\r\n" + body)
        return Stream(plug)

    def metric(self, name: str) -> float:
        text = self.get("/metrics").body.decode()
        return float(re.search(rf"^awf_gateway_{name} (\S+)$", text, re.MULTILINE)[1])

    def idle(self) -> bool:
        """Nobody is there, and nothing is being worked on."""
        return all(self.metric(name) == 0 for name in ("in_flight", "streams", "sessions"))

    def servers(self) -> dict[str, dict[str, Any]]:
        return {one["name"]: one for one in self.get("/api/status").json()["servers"]}


@dataclass(frozen=True)
class Session:
    client: Client
    id: str
    version: str
    path: str = "/mcp"

    @property
    def headers(self) -> dict[str, str]:
        return {"Mcp-Session-Id": self.id, "MCP-Protocol-Version": self.version}

    def post(self, body: Any, headers: Mapping[str, str] | None = None) -> Answer:
        return self.client.post(body, self.path, {**self.headers, **(headers or {})})

    def request(self, method: str, params: dict[str, Any] | None = None, number: Any = 1) -> Answer:
        return self.post({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}})

    def call(
        self, tool: str, arguments: dict[str, Any] | None = None, number: Any = 1, **params: Any
    ) -> Answer:
        return self.request("tools/call", {"name": tool, "arguments": arguments or {}, **params}, number)

    def notify(self, method: str, params: dict[str, Any] | None = None) -> Answer:
        return self.post({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def delete(self) -> Answer:
        return self.client.send("DELETE", self.path, headers=self.headers)

    def begun(self, method: str, params: dict[str, Any], number: Any = 1) -> Stream:
        body = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()
        return self.client.begun("POST", self.path, body, self.headers)

    def listen(self, last_event: str = "") -> Stream:
        resumed = {"Last-Event-ID": last_event} if last_event else {}
        return self.client.begun("GET", self.path, headers={**self.headers, **resumed})


class Stream:
    """The bytes of one answer as they come, with all that HTTP puts around them."""

    def __init__(self, plug: socket.socket) -> None:
        self._plug = plug
        self.data = b""

    def until(self, wanted: bytes) -> bytes:
        while wanted not in self.data:
            more = self._plug.recv(65536)
            assert more, f"it ended without {wanted!r}: {self.data[-2000:]!r}"
            self.data += more
        return self.data

    def rest(self) -> bytes:
        """Until the other side ends it."""
        with contextlib.suppress(ConnectionResetError):
            while more := self._plug.recv(65536):
                self.data += more
        return self.data

    def event_ids(self) -> list[str]:
        return re.findall(r"^id: (\S+)$", self.data.decode(), re.MULTILINE)

    def close(self) -> None:
        self._plug.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def modern_request(
    method: str,
    params: dict[str, Any] | None = None,
    *,
    number: Any = 1,
    capabilities: dict[str, Any] | None = None,
) -> tuple[dict[str, Any], dict[str, str]]:
    """A message of the newer era and the headers that go with it."""
    params = dict(params or {})
    own = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": capabilities or {}}
    params["_meta"] = {**own, **params.get("_meta", {})}
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
    name = params.get("uri") if method == "resources/read" else params.get("name")
    if isinstance(name, str):
        headers["Mcp-Name"] = name
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}, headers


def _named(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


class House:
    """One gateway that serves over HTTP."""

    def __init__(
        self,
        journey: Any,
        config: dict[str, Any],
        *options: str,
        settled: bool = True,
        log: str = "warning",
        place: str = "gateway.yaml",
    ) -> None:
        self.journey = journey
        if log:
            journey.environment["AWF_LOG_LEVEL"] = log
        self.journal = journey.root / "journal"
        journey.environment["VILLAIN_JOURNAL"] = str(self.journal)
        self.config = journey.project / place
        self.config.parent.mkdir(exist_ok=True)
        self.configure(config)
        self.unix = options[options.index("--unix") + 1] if "--unix" in options else ""
        door = () if self.unix else ("--port", "0")
        self.running = journey.start("gateway", "serve", "--config", str(self.config), *door, *options)
        self.client = Client(self._port(), unix=self.unix)
        if settled:
            until(lambda: SETTLED.search(self.said) or self._must_live(), "the first look at the servers")

    def _must_live(self) -> None:
        assert self.running.alive, self.said

    def _port(self) -> int:
        def look() -> int:
            found = re.search(
                r"listening on (?:http://127\.0\.0\.1:(\d+)/mcp|unix:.*)$", self.said, re.MULTILINE
            )
            self._must_live()
            return int(found[1] or 1) if found else 0

        return int(until(look, "the address"))

    def configure(self, config: dict[str, Any] | str | bytes) -> None:
        """JSON is YAML, too. Written beside and moved, so that nobody reads half of it."""
        text = config if isinstance(config, str | bytes) else json.dumps(config)
        new = self.config.with_suffix(".new")
        new.write_bytes(text if isinstance(text, bytes) else text.encode())
        new.replace(self.config)

    @property
    def said(self) -> str:
        """On standard error."""
        return self.running.err.read_text(encoding="utf-8", errors="replace")

    @property
    def noted(self) -> list[str]:
        """By the villains."""
        return self.journal.read_text().splitlines() if self.journal.exists() else []

    def until_noted(self, line: str, times: int = 1) -> None:
        until(lambda: self.noted.count(line) >= times, f"{line!r}, {times} times, in {self.noted[-20:]}")

    def until_said(self, text: str, times: int = 1) -> None:
        until(lambda: self.said.count(text) >= times, f"{text!r} in {self.said[-2000:]}")

    @property
    def process(self) -> psutil.Process:
        return psutil.Process(self.running.pid)

    def villains(self) -> list[psutil.Process]:
        found = []
        for process in self.process.children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if VILLAIN in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def memory(self) -> int:
        return int(self.process.memory_info().rss)

    def descriptors(self) -> int:
        return int(self.process.num_fds())

    def is_well(self, tool: str = "echo") -> None:
        """It answers, in both eras."""
        assert self.client.call(tool, {"text": "still here"}).text == "still here"
        session = self.client.session()
        assert session.call(tool, {"text": "still here"}).text == "still here"
        assert session.delete().status == 204

    def reload(self) -> None:
        self.running.send(signal.SIGHUP)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """It leaves in good order."""
        if self.running.alive:
            self.running.send(number)
        told = self.running.wait()
        assert told.status == 128 + number, self.said
        assert "Traceback" not in self.said, self.said
        assert "Task was destroyed" not in self.said, self.said
        assert "never retrieved" not in self.said, self.said


@contextlib.contextmanager
def opened(journey: Any, config: dict[str, Any], *options: str, **manners: Any) -> Iterator[House]:
    house = House(journey, config, *options, **manners)
    yield house
    house.stop()
