"""One HTTP connection to the fake model."""

from __future__ import annotations

import json
import time
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, cast

from awf.testing.fake_models.request_body import request_body
from awf.testing.fake_models.scenario import Scenario, ScenarioError
from awf.testing.fake_models.wires import wire_for

if TYPE_CHECKING:
    from awf.testing.fake_models.conversation import Asked, Reply
    from awf.testing.fake_models.server import FakeModelServer
    from awf.testing.fake_models.wires import Wire

__all__ = ["Handler"]

_SECRET = {"authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie", "proxy-authorization"}
_NOT_FOUND = {"error": {"message": "not found", "type": "not_found_error"}}
_MODEL = {
    "id": "fake-model",
    "type": "model",
    "object": "model",
    "display_name": "Fake",
    "created": 0,
    "owned_by": "fake",
}
_MODELS = {"object": "list", "data": [_MODEL], "models": [], "has_more": False}
_BEAT = 0.5


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def fake(self) -> FakeModelServer:
        return cast("FakeModelServer", self.server.fake)  # type: ignore[attr-defined]  # our server's own

    @property
    def bare_path(self) -> str:
        return self.path.split("?", 1)[0]

    def log_message(self, *_: object) -> None:
        """Requests are kept by the server; standard error stays quiet."""

    # -- requests ---------------------------------------------------------------------------------------------------

    def do_HEAD(self) -> None:
        self._json(200, {})

    def do_GET(self) -> None:
        fake = self.fake
        if self.bare_path == "/__fake__/requests":
            with fake.lock:
                requests = list(fake.requests)
            return self._json(200, requests)
        if self.bare_path == "/__fake__/health":
            return self._json(200, {"ok": True, "scenario": fake.scenario.name})
        fake.record({"kind": "other", "method": "GET", "path": self.path, "headers": self._shown_headers()})
        if self.headers.get("Upgrade", "").lower() == "websocket":
            return self._json(426, {"error": {"message": "no websockets here"}})
        if self.bare_path.rstrip("/").endswith("/models"):
            return self._json(200, _MODELS)
        return self._json(404, _NOT_FOUND)

    def do_DELETE(self) -> None:
        if self.path != "/__fake__/requests":
            return self._json(404, _NOT_FOUND)
        with self.fake.lock:
            self.fake.requests.clear()
        return self._json(200, {"ok": True})

    def do_PUT(self) -> None:
        if self.path != "/__fake__/scenario":
            return self._json(404, _NOT_FOUND)
        try:
            self.fake.scenario = Scenario(json.loads(self._body()))
        except (ScenarioError, json.JSONDecodeError) as error:
            return self._json(400, {"error": {"message": str(error)}})
        return self._json(200, {"ok": True})

    def do_POST(self) -> None:
        raw = self._body()
        try:
            body = json.loads(raw) if raw else {}
        except ValueError:
            body = None
        wire = wire_for(self.path)
        if wire is None or not isinstance(body, dict):
            return self._other(raw, body)
        return self._ask_model(wire, body)

    def _other(self, raw: bytes, body: Any) -> None:
        self.fake.record(
            {
                "kind": "other",
                "method": "POST",
                "path": self.path,
                "headers": self._shown_headers(),
                "body": body,
                "unreadable": body is None,
            }
        )
        tokens = max(1, len(raw) // 4)
        if self.bare_path.endswith("/count_tokens"):
            return self._json(200, {"input_tokens": tokens})
        if self.bare_path.endswith(":countTokens"):
            return self._json(200, {"totalTokens": tokens})
        return self._json(404, _NOT_FOUND)

    def _ask_model(self, wire: Wire, body: dict[str, Any]) -> None:
        asked = wire.parse(body, self.path)
        reply = self.fake.scenario.reply_for(asked)
        self.fake.record(
            {
                "kind": "model",
                "method": "POST",
                "path": self.path,
                "wire": wire.name,
                "model": asked.model,
                "stream": asked.stream,
                "tools": sorted(tool.full_name for tool in asked.tools),
                "script": reply.script,
                "turn": reply.turn,
                "calls": [call.name for call in reply.calls],
                "tool_results": [result.text for message in asked.messages for result in message.results],
                "headers": self._shown_headers(),
                "body": body,
            }
        )
        try:
            self._reply(wire, asked, reply)
        except (BrokenPipeError, ConnectionResetError):
            self.fake.record({"kind": "gone", "path": self.path, "script": reply.script, "turn": reply.turn})
            self.close_connection = True

    def _body(self) -> bytes:
        return request_body(self.headers, self.rfile)

    def _shown_headers(self) -> dict[str, str]:
        names = {name.lower(): value for name, value in self.headers.items()}
        return {name: "<redacted>" if name in _SECRET else value for name, value in names.items()}

    # -- replies ----------------------------------------------------------------------------------------------------

    def _reply(self, wire: Wire, asked: Asked, reply: Reply) -> None:
        if reply.error:
            status = int(reply.error.get("status", 500))
            self._json(status, wire.error(reply.error), reply.error.get("headers"))
        elif asked.stream:
            self._stream(wire, asked, reply)
        else:
            self._pause(reply.hang_s)
            self._json(200, wire.whole(asked, reply))

    def _stream(self, wire: Wire, asked: Asked, reply: Reply) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        for number, (kind, data) in enumerate(wire.events(asked, reply)):
            if reply.drop_after_chunks is not None and number >= reply.drop_after_chunks:
                self.close_connection = True
                self.connection.close()
                return
            text = data if isinstance(data, str) else json.dumps(data)
            self._chunk(((f"event: {kind}\n" if kind else "") + f"data: {text}\n\n").encode())
            if number == 0:
                self._pause(reply.hang_s, wire.beat)
            self._pause(reply.delay_s, wire.beat)
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _pause(self, seconds: float, beat: bytes = b"") -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self.fake.stopping.wait(min(left, _BEAT)):
                return
            if beat and seconds > 1:  # shows whether the client has gone
                self._chunk(beat)

    def _json(self, status: int, data: Any, headers: dict[str, str] | None = None) -> None:
        raw = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        for name, value in (headers or {}).items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)
