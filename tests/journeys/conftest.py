"""What the journeys share. Test modules are imported by path, so the harness is loaded here and handed out."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest


def _load(name: str):
    known = f"journeys_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, Path(__file__).with_name(f"{name}.py"))
        module = importlib.util.module_from_spec(spec)
        sys.modules[known] = module
        spec.loader.exec_module(module)
    return sys.modules[known]


harness = _load("harness")


@pytest.fixture
def journey(tmp_path):
    """A person's folders and the command in them. In the end nothing may be left running or lying about."""
    here = harness.Journey(tmp_path)
    try:
        yield here
        here.nothing_is_left()
    finally:
        here.clean_up()


@pytest.fixture(name="until")
def _until():
    return harness.until


@pytest.fixture
def collector():
    """An OTLP endpoint on the loopback interface; the spans it has received."""
    otlp = pytest.importorskip(
        "opentelemetry.proto.collector.trace.v1.trace_service_pb2", reason="the otel extra is not installed"
    )
    spans: list[Any] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            request = otlp.ExportTraceServiceRequest.FromString(body)
            spans.extend(
                span
                for resource in request.resource_spans
                for scope in resource.scope_spans
                for span in scope.spans
            )
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", spans
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def small_disk(tmp_path):
    """A function that gives a folder on a disk of its own, of the size given."""
    mounted = []

    def make(size: str, *, read_only: bool = False, at: Path | None = None) -> Path:
        folder = at or tmp_path / f"disk-{len(mounted)}"
        folder.mkdir(exist_ok=at is not None)
        options = f"size={size},mode=0700,uid={os.getuid()}" + (",ro" if read_only else "")
        command = ["mount", "-t", "tmpfs", "-o", options, "journey", str(folder)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            pytest.skip("there is no mount command here")
        if done.returncode:
            pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
        mounted.append(folder)
        return folder

    yield make
    for folder in mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)
