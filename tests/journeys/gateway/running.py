"""Gateways and servers as processes of their own, on the loopback interface, and the certainty that none outlives a test."""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import psutil

from awf.testing import peers
from awf.testing.round_robin import RoundRobin

T = TypeVar("T")
HERE = Path(__file__).parent
AWF = [sys.executable, "-m", "awf"]
LISTENING = re.compile(r"^listening on (http://\S+)/mcp$", re.MULTILINE)
SETTLED = re.compile(r"^\d+ tools of \d+ servers$", re.MULTILINE)
MARK = "AWF_GATEWAY_JOURNEY"
PATIENCE = 60.0


def until(holds: Callable[[], T], what: str) -> T:
    end = time.monotonic() + PATIENCE
    while not (found := holds()):
        assert time.monotonic() < end, f"{what} did not come true in time"
        time.sleep(0.02)
    return found


@dataclass(frozen=True)
class Stage:
    """A folder for everything that is started, and a mark by which it is found again."""

    folder: Path
    mark: str = field(default_factory=lambda: secrets.token_hex(8))
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the person who runs the tests."""
        own = {"AWF_STORAGE": str(self.folder / "storage"), "TMPDIR": str(self.folder), MARK: self.mark}
        return {**peers.peer_environment(self.folder / "home"), **own, **self.more}

    # -- what can be started -----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def started(self, argv: Sequence[str], name: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
        """A process, and the file with everything it says."""
        said = self.folder / f"{name}.said"
        with said.open("wb") as sink:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                env=self.environment,
                cwd=self.folder,
            )
        try:
            yield process, said
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()

    def config(self, name: str, **content: Any) -> Path:
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps(content), encoding="utf-8")
        return file

    def stdio(self, config: Path) -> list[str]:
        """What a client starts to have a gateway of its own."""
        return [*AWF, "gateway", "serve", "--config", str(config), "--stdio"]

    @contextlib.contextmanager
    def gateways(self, config: Path) -> Iterator[str]:
        """The address of a balancer that sends each request to the next of two gateways."""
        with contextlib.ExitStack() as stack:
            addresses = [stack.enter_context(self.gateway(config, name)) for name in ("one", "other")]
            proxy = stack.enter_context(RoundRobin([int(one.rpartition(":")[2]) for one in addresses]))
            yield f"http://127.0.0.1:{proxy.port}"
            assert {one.server for one in proxy.passed} == {0, 1}

    @contextlib.contextmanager
    def gateway(self, config: Path, name: str = "gateway") -> Iterator[str]:
        """Its address, without a path. In the end it has to leave in peace when it is told to."""
        argv = [*AWF, "gateway", "serve", "--config", str(config), "--port", "0"]
        with self.started(argv, f"{name}-{config.stem}") as (process, said):

            def settled() -> re.Match[str] | None:
                text = said.read_text(encoding="utf-8", errors="replace")
                assert process.poll() is None, f"the gateway ended with {process.returncode}: {text}"
                return LISTENING.search(text) if SETTLED.search(text) else None

            found = until(settled, "a gateway that is ready")
            assert found is not None
            yield found[1]
            process.terminate()
            told = said.read_text(encoding="utf-8", errors="replace")
            assert process.wait(PATIENCE) == 128 + signal.SIGTERM, told
            assert "Traceback" not in told, told

    @contextlib.contextmanager
    def http_server(self, argv: Sequence[str], name: str) -> Iterator[str]:
        """The address of a server that is told its port."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with self.started([*argv, str(port)], name) as (process, said):

            def reached() -> bool:
                assert process.poll() is None, said.read_text(encoding="utf-8", errors="replace")
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    return True
                return False

            until(reached, f"{name} that listens")
            yield f"http://127.0.0.1:{port}/mcp"

    # -- what is left --------------------------------------------------------------------------------------------

    def processes(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                alive = process.status() != psutil.STATUS_ZOMBIE
                if alive and process.environ().get(MARK) == self.mark:
                    found.append(process)
        return found

    def nothing_is_left(self) -> None:
        try:
            until(lambda: not self.processes(), "the end of everything that was started")
        finally:
            for process in self.processes():
                with contextlib.suppress(psutil.Error):
                    process.kill()


def received(file: Path) -> list[Any]:
    """The whole lines of a file that servers append to; each is JSON."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return [json.loads(line) for line in text.splitlines()]
