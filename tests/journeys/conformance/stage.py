"""The fixture, the gateway in front of it, and the processes they run in."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from awf.testing.round_robin import RoundRobin

FIXTURE = [sys.executable, str(Path(__file__).with_name("fixture"))]
AWF = [sys.executable, "-m", "awf"]
LISTENING = re.compile(r"^listening on (http://\S+)$", re.MULTILINE)
PATIENCE = 60.0
# Gateways look once a second, begin the stream of a silent call after two, and end it 4 to 5 seconds later: 6 to 8 after the
# call. Who came back is sent away again no sooner than 10 after it. The fixture's silent tool answers in between, at 9.
QUIET = "4s"


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Of everything that is started: nothing of the person who runs the tests."""
    home = folder / "home"
    home.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "AWF_STORAGE": str(folder / "storage"),
        "PYTHONDONTWRITEBYTECODE": "1",
        **more,
    }


@contextlib.contextmanager
def listening(argv: Sequence[str], folder: Path, name: str, **more: str) -> Iterator[str]:
    """A server that says on its standard error where it listens. The address; in the end it has to leave in peace."""
    errors = folder / f"{name}.err"
    with errors.open("wb") as err:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=err,
            stderr=err,
            env=environment(folder, **more),
            cwd=folder,
        )
    try:
        yield _address(process, errors)
        process.terminate()
        assert process.wait(PATIENCE) in {0, 130, 143}, errors.read_text(encoding="utf-8", errors="replace")
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _address(process: subprocess.Popen[bytes], errors: Path) -> str:
    end = time.monotonic() + PATIENCE
    while not (found := LISTENING.search(said := errors.read_text(encoding="utf-8", errors="replace"))):
        assert process.poll() is None, f"{process.args} ended with {process.returncode}: {said}"
        assert time.monotonic() < end, f"{process.args} does not listen: {said}"
        time.sleep(0.02)
    # The suite wants to see a name that it knows to be this machine.
    return found[1].replace("127.0.0.1", "localhost")


def fixture_alone(folder: Path, way: str) -> contextlib.AbstractContextManager[str]:
    """It gives plain answers where it can (`plain`), or answers all requests of the older era with `streams`."""
    flags = ["--plain"] if way == "plain" else []
    return listening([*FIXTURE, "--port", "0", *flags], folder, "fixture")


def gateway(folder: Path, server: dict[str, Any], **more: Any) -> contextlib.AbstractContextManager[str]:
    file = folder / "gateway.json"
    file.write_text(json.dumps({"mcpServers": {"fixture": server}, **more}), encoding="utf-8")
    return listening([*AWF, "gateway", "serve", "--config", str(file), "--port", "0"], folder, "gateway")


@contextlib.contextmanager
def behind_two_gateways(folder: Path, way: str, database: str) -> Iterator[str]:
    """The address of a balancer that sends each request to the next of two gateways over one database."""
    with contextlib.ExitStack() as stack:
        listen: dict[str, Any] = {"allowed_hosts": ["127.0.0.1", "localhost"]}
        if way == "stdio":
            server = {"command": FIXTURE[0], "args": [*FIXTURE[1:], "--stdio"]}
            listen["quiet"] = QUIET
        else:
            server = {"url": stack.enter_context(fixture_alone(folder, way))}
        file = folder / "gateway.json"
        file.write_text(json.dumps({"mcpServers": {"fixture": server}, "listen": listen}), encoding="utf-8")
        argv = [*AWF, "gateway", "serve", "--config", str(file), "--port", "0"]
        ports = []
        for name in ("one", "other"):
            url = stack.enter_context(listening(argv, folder, name, AWF_DATABASE_URL=database))
            ports.append(int(url.rpartition(":")[2].partition("/")[0]))
        proxy = stack.enter_context(RoundRobin(ports))
        yield f"http://localhost:{proxy.port}/mcp"
        assert {one.server for one in proxy.passed} == {0, 1}


@contextlib.contextmanager
def behind_gateway(folder: Path, way: str) -> Iterator[str]:
    """The address of a gateway with nothing but the fixture behind it: over `stdio`, or as it is alone."""
    with contextlib.ExitStack() as stack:
        if way == "stdio":
            server = {"command": FIXTURE[0], "args": [*FIXTURE[1:], "--stdio"]}
            # Pipes have no streams that end in the middle of a call; the gateway has to end its own.
            yield stack.enter_context(gateway(folder, server, listen={"quiet": QUIET}))
        else:
            url = stack.enter_context(fixture_alone(folder, way))
            yield stack.enter_context(gateway(folder, {"url": url}))
