"""Where agent programs are and which version they have. What takes long to find out is kept, as long as the file is the same."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from typing import TYPE_CHECKING, Any

from awf.domain.agent import AgentFailure
from awf.domain.errors import AwfError
from awf.domain.ports.command_runner import Command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from awf.domain.ports.command_runner import CommandRunner
    from awf.infrastructure.agents.cli.dialect import Dialect
    from awf.infrastructure.agents.cli.shapes import Version

__all__ = ["Programs", "parse_version"]

_VERSION = re.compile(rb"(\d+)\.(\d+)(?:\.(\d+))?")
_PATIENCE = 30.0


def parse_version(said: bytes) -> Version:
    found = _VERSION.search(said)
    return tuple(int(part) for part in found.groups() if part is not None) if found else ()


class Programs:
    """`cache` is a folder; what is in it can be thrown away at any time."""

    def __init__(self, cache: str) -> None:
        self.cache = cache
        self._versions: dict[str, Version] = {}

    def find(self, name: str, env: Mapping[str, str], dialect: Dialect) -> str:
        found = shutil.which(name, path=env.get("PATH", os.defpath))
        if found is None:
            raise AgentFailure(
                f"The program of {dialect.name}, {name}, is not on the PATH.",
                code="EXECUTION.AGENT.NOT_FOUND",
                retryable=False,
                hint=dialect.install_hint,
            )
        return found

    async def version(self, program: str, runner: CommandRunner, env: Mapping[str, str]) -> Version:
        """Empty where it cannot be told; that is no reason not to use the program."""
        key = _fingerprint(program)
        if key not in self._versions:
            known = self._kept().get(key)
            if known is None:
                said = b""
                with contextlib.suppress(AwfError, AgentFailure):
                    said = await self.ask(runner, program, ["--version"], env)
                known = list(parse_version(said))
                if known:
                    self._keep(key, known)
            self._versions[key] = tuple(known)
        return self._versions[key]

    async def ask(
        self, runner: CommandRunner, program: str, arguments: Sequence[str], env: Mapping[str, str]
    ) -> bytes:
        """What the program prints. Raises `AgentFailure` when it fails."""
        printed, said = bytearray(), bytearray()
        command = Command(argv=(program, *arguments), cwd="/", env=dict(env), timeout=_PATIENCE)
        outcome = await runner.run(
            command, lambda stream, chunk: (printed if stream == "stdout" else said).extend(chunk)
        )
        if outcome.exit_code:
            words = said.decode("utf-8", "replace").strip()[-300:]
            asked = " ".join((os.path.basename(program), *arguments))
            raise AgentFailure(f"`{asked}` failed with exit code {outcome.exit_code}: {words}")
        return bytes(printed)

    def _file(self) -> str:
        return os.path.join(self.cache, "agent-versions.json")

    def _kept(self) -> dict[str, Any]:
        try:
            with open(self._file(), encoding="utf-8") as stream:
                kept = json.load(stream)
        except (OSError, ValueError):
            return {}
        return kept if isinstance(kept, dict) else {}

    def _keep(self, key: str, version: list[int]) -> None:
        with contextlib.suppress(OSError):  # it is only a cache
            os.makedirs(self.cache, exist_ok=True)
            temporary = f"{self._file()}.{os.getpid()}"
            with open(temporary, "w", encoding="utf-8") as stream:
                json.dump({**self._kept(), key: version}, stream)
            os.replace(temporary, self._file())


def _fingerprint(program: str) -> str:
    """Changes when the program does: links are followed, for package managers put links on the PATH."""
    real = os.path.realpath(program)
    facts = os.stat(real)
    return f"{real}:{facts.st_mtime_ns}:{facts.st_size}"
