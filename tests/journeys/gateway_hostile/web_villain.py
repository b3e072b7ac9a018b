"""A web server that answers MCP requests as a test tells it to, in a thread of the test."""

from __future__ import annotations

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOOLS = [
    {"name": "echo", "inputSchema": {"type": "object"}},
    {"name": "other", "inputSchema": {"type": "object"}},
]


class WebVillain:
    """Speaks 2025-11-25 with sessions. `on_call` may take the answer to a call, or to anything, into its own hands."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/mcp"
        self.port = port
        self.seen: list[tuple[str, str]] = []  # HTTP method, MCP method
        self.headers: list[dict[str, str]] = []
        self.sessions = 0
        self.tools: list[Any] = TOOLS
        self.answer: Callable[[BaseHTTPRequestHandler, dict[str, Any]], bool] = lambda _handler, _message: (
            False
        )
        self.forgotten: set[str] = set()
        self.let_go = threading.Event()  # ends what hangs
        self.close_door: Callable[[], None] = lambda: None  # nobody new can come in

    def count(self, method: str) -> int:
        return sum(1 for _, one in self.seen if one == method)

    def take(self, handler: BaseHTTPRequestHandler) -> None:
        size = int(handler.headers.get("Content-Length") or 0)
        message = json.loads(handler.rfile.read(size)) if size else {}
        self.seen.append((handler.command, message.get("method", "")))
        self.headers.append({name.lower(): value for name, value in handler.headers.items()})
        if self.answer(handler, message):
            return
        if handler.command != "POST":
            reply(handler, 405)
        elif handler.headers.get("Mcp-Session-Id") in self.forgotten:
            reply(handler, 404, b"session not found")
        elif "id" not in message:
            reply(handler, 202)
        else:
            self._request(handler, message)

    def _request(self, handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        method, more = message["method"], {}
        if method == "initialize":
            self.sessions += 1
            more = {"Mcp-Session-Id": f"session-{self.sessions}"}
            result: dict[str, Any] = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "web", "version": "1"},
            }
        elif method == "tools/list":
            result = {"tools": self.tools}
        elif method == "tools/call":
            given = message["params"]["arguments"]
            result = {"content": [{"type": "text", "text": given.get("text", "done")}]}
        else:
            error = {"code": -32601, "message": f"no {method}"}
            reply_json(handler, {"jsonrpc": "2.0", "id": message["id"], "error": error})
            return
        reply_json(handler, {"jsonrpc": "2.0", "id": message["id"], "result": result}, **more)


def reply(handler: BaseHTTPRequestHandler, status: int, body: bytes = b"", **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def reply_json(handler: BaseHTTPRequestHandler, message: Any, **headers: str) -> None:
    reply(handler, 200, json.dumps(message).encode(), **{"Content-Type": "application/json", **headers})


def stream(handler: BaseHTTPRequestHandler) -> None:
    """Begin one without an end."""
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.close_connection = True


@contextlib.contextmanager
def web_villain() -> Iterator[WebVillain]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _take(self) -> None:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                villain.take(self)

        do_GET = do_POST = do_DELETE = _take  # as the library wants it

        def log_message(self, *_: object) -> None:
            """Nobody wants to read it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    villain = WebVillain(server.server_address[1])
    villain.close_door = server.socket.close
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield villain
    finally:
        villain.let_go.set()
        server.shutdown()
        thread.join()
        server.server_close()
