"""A loopback server that answers from a scenario and keeps all it is asked."""

from __future__ import annotations

import json
import sys
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from awf.testing.fake_models.handler import Handler

if TYPE_CHECKING:
    import os

    from awf.testing.fake_models.scenario import Scenario

__all__ = ["FakeModelServer"]


class FakeModelServer:
    """A context manager.

    with FakeModelServer(Scenario.load("read.json")) as fake:
        run_agent(base_url=fake.url)
        assert fake.tools_seen() == {"mcp__awf-proxy__Read"}
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        log_path: str | os.PathLike[str] | None = None,
    ) -> None:
        self.scenario = scenario
        self.log_path = Path(log_path) if log_path else None
        self.requests: list[dict[str, Any]] = []
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self._server = _Server(self, host, port)
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://{self._server.server_address[0]!s}:{self.port}"

    def start(self) -> FakeModelServer:
        self._thread = threading.Thread(
            target=self._server.serve_forever, daemon=True, kwargs={"poll_interval": 0.05}
        )
        self._thread.start()
        return self

    def stop(self) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        if self._thread:
            self._thread.join(5)

    __enter__ = start

    def __exit__(self, *_: object) -> None:
        self.stop()

    # -- what was asked ---------------------------------------------------------------------------------------------

    def model_requests(self, *, side: bool = False) -> list[dict[str, Any]]:
        """Requests to the model, without those on the side (titles and such) unless asked for."""
        with self.lock:
            asked = [entry for entry in self.requests if entry["kind"] == "model"]
        return [entry for entry in asked if side or entry["script"] != "side"]

    def tools_seen(self) -> set[str]:
        """Names of all tools that were offered to the model, other than on the side."""
        return {name for entry in self.model_requests() for name in entry["tools"]}

    def tool_results(self) -> list[str]:
        """Texts of the tool results in the last request, other than on the side."""
        asked = self.model_requests()
        return list(asked[-1]["tool_results"]) if asked else []

    def record(self, entry: dict[str, Any]) -> None:
        with self.lock:
            entry = {"seq": len(self.requests), "time": round(time.time(), 3), **entry}
            self.requests.append(entry)
            if self.log_path:
                with self.log_path.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(entry) + "\n")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, fake: FakeModelServer, host: str, port: int) -> None:
        self.fake = fake
        super().__init__((host, port), Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):  # a client that was killed is no news
            super().handle_error(request, client_address)
