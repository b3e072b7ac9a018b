from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path

import msgspec
import pytest

from awf.domain.errors import AwfError, InvalidWorkflowError
from awf.infrastructure.json_schemas.schemas import RustJsonSchemas
from awf.infrastructure.plugins.connection import load_grpc
from awf.infrastructure.plugins.host import PluginHost
from awf.infrastructure.plugins.restarts import RestartBudget
from awf.infrastructure.plugins.surroundings import Patience
from awf.infrastructure.processes import ProcessRunner
from awf.infrastructure.yaml_files.nodes import parse_yaml
from awf.infrastructure.yaml_files.reader import BAD, Reader
from awf.testing.descendants import processes_below

SAMPLE = str(Path(__file__).with_name("sample_plugin.py"))
PATIENCE = 30.0
GRACE = 0.5


def read_record(path, record):
    """As the real reader does it, in short."""
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        return None
    document, problems = parse_yaml(path, data)
    if [problem.code for problem in problems] == ["WORKFLOW.PARSE.MISSING_FIELD"]:
        return record()
    value = BAD
    if document.root is not None:
        reader = Reader()
        value = reader.record(record, document.root, ())
        problems += [document.locate(problem) for problem in reader.problems]
    if value is BAD or problems:
        raise InvalidWorkflowError(problems)
    return value


class Project:
    """A project folder with plugins, and a host that is closed at the end of the test."""

    def __init__(self, folder):
        self.folder = folder
        self.notes = folder / "notes"
        self.environment = {**os.environ, "NOTES": str(self.notes)}
        self.runner = ProcessRunner(GRACE)
        self.hosts = []
        (folder / ".awf" / "plugins").mkdir(parents=True)

    def write(self, path, text):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def declare(self, **plugins):
        entries = {
            name: {
                "command": [sys.executable, SAMPLE],
                **entry,
                "env": {"NAME": name, **entry.get("env", {})},
            }
            for name, entry in plugins.items()
        }
        self.write(".awf/plugins.yaml", json.dumps({"plugins": entries}))

    def host(self, *, patience=None, budget=None, folders=None, version="0.1.0", environment=None):
        host = PluginHost(
            read=read_record,
            file=str(self.folder / ".awf" / "plugins.yaml"),
            folders=folders or [str(self.folder / ".awf" / "plugins")],
            project=str(self.folder),
            runner=self.runner,
            environment=environment or self.environment,
            problem_with=RustJsonSchemas().problem_with,
            version=version,
            patience=patience or Patience(start=PATIENCE),
            budget=budget or RestartBudget(first_pause=0.0),
        )
        self.hosts.append(host)
        return host

    def sample(self, *, host=None, **entry):
        """A host with the one plugin `sample`."""
        self.declare(sample=entry)
        return self.host(**(host or {}))

    def noted(self, beginning=""):
        lines = self.notes.read_text(encoding="utf-8").splitlines() if self.notes.exists() else []
        return [line[len(beginning) :].strip() for line in lines if line.startswith(beginning)]

    def events(self):
        return [msgspec.json.decode(line) for line in self.noted("event ")]

    async def close(self):
        for host in self.hosts:
            await host.close()


@pytest.fixture(scope="session", autouse=True)
def grpc_is_warm():
    """gRPC keeps a thread and some sockets for the life of the process, from its first channel on."""

    async def warm_up():
        grpc = load_grpc()
        async with grpc.aio.insecure_channel("unix:/dev/null/none") as channel:
            with pytest.raises(grpc.aio.AioRpcError):
                await channel.unary_unary("/none/none")(b"", timeout=5)

    asyncio.run(warm_up())


@pytest.fixture
async def project(tmp_path):
    """After the test nothing of any plugin may be left: no process, no folder."""
    before = {child.pid for child in processes_below()}
    project = Project(tmp_path)
    folders, make = [], project.runner.scratch
    project.runner.scratch = lambda: folders.append(make()) or folders[-1]
    project.folders = folders
    yield project
    await project.close()
    assert [folder for folder in folders if os.path.exists(folder)] == []
    await project.runner.close()
    assert {child.pid for child in processes_below()} - before == set()


@pytest.fixture
def until():
    async def wait_until(check):
        """Wait until it is so; fail when it does not come true."""
        end = time.monotonic() + PATIENCE
        while not (found := check()):
            assert time.monotonic() < end, "this did not come true in time"
            await asyncio.sleep(0.005)
        return found

    return wait_until


@pytest.fixture
def fails():
    async def failing(awaitable, code, *words):
        with pytest.raises(AwfError) as caught:
            await awaitable
        assert caught.value.code == code, caught.value.message
        for word in words:
            assert word in f"{caught.value.message} {caught.value.hint}"
        return caught.value

    return failing
