from __future__ import annotations

import asyncio
import os
import time

import pytest

from awf.domain.tool import CallContext, ToolFailure
from awf.infrastructure.builtin_tools import BuiltinTools
from awf.infrastructure.processes import ProcessRunner

PATIENCE = 30.0
ENVIRONMENT = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8"}


class Bench:
    """The tools on a root of their own, and short words to use them."""

    def __init__(self, root, runner, spool, **options):
        self.root = root
        self.runner = runner
        self.spool = spool
        self.environment = options.pop("environment", ENVIRONMENT)
        self.tools = BuiltinTools(
            str(root),
            runner,
            environment=self.environment,
            spool=options.pop("made_spool", str(spool)),
            **options,
        )
        self.progress = []

    def again(self, **options):
        root = options.pop("root", self.root)
        return Bench(root, self.runner, self.spool, **options)

    async def call(self, name, **arguments):
        context = CallContext(call_id="1", progress=lambda *told: self.progress.append(told))
        result = await self.tools.call_tool(name, arguments, context)
        for block in result.content:
            str(block).encode("utf-8")  # nothing that no wire can carry
        return result

    async def text(self, name, **arguments):
        result = await self.call(name, **arguments)
        assert not result.is_error, result.text
        return result.text

    async def fails(self, code, name, **arguments):
        with pytest.raises(ToolFailure) as caught:
            await self.call(name, **arguments)
        assert caught.value.code == code, caught.value.message
        caught.value.message.encode("utf-8")
        return caught.value.message

    def write(self, name, content=""):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content)
        return path

    def names(self):
        """Everything below the root, so that a test sees what else was left there."""
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*"))


@pytest.fixture
async def runner():
    runner = ProcessRunner(grace=0.3)
    yield runner
    await runner.close()


@pytest.fixture
async def bench(tmp_path, runner):
    root = tmp_path / "root"
    root.mkdir()
    return Bench(root, runner, tmp_path / "spool")


@pytest.fixture
def outside(tmp_path):
    """A folder with a secret beside the root."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text("top secret\n")
    return folder


@pytest.fixture
def permissions_count(tmp_path):
    """Skips where they do not, as for root."""
    probe = tmp_path / "probe"
    probe.write_text("")
    probe.chmod(0)
    if os.access(probe, os.R_OK):
        pytest.skip("this user may read and write everything")


@pytest.fixture(name="until")
def _until():
    async def until(check):
        end = time.monotonic() + PATIENCE
        while not (found := check()):
            assert time.monotonic() < end, "this did not come true in time"
            await asyncio.sleep(0.005)
        return found

    return until
