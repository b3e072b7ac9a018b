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
    import asyncio
    from collections.abc import Callable, Mapping, Sequence

    from awf.domain.ports.command_runner import CommandRunner, Stream
    from awf.infrastructure.agents.cli.dialect import Dialect
    from awf.infrastructure.agents.cli.shapes import Version
    from awf.infrastructure.agents.cli.survey import Installed

__all__ = ["Programs", "parse_version"]

_VERSION = re.compile(rb"(\d+)\.(\d+)(?:\.(\d+))?")
_PATIENCE = 30.0
_MOST_PRINTED = 32 << 20
_WORDS_KEPT = 4000


def parse_version(said: bytes) -> Version:
    found = _VERSION.search(said)
    return tuple(int(part) for part in found.groups() if part is not None) if found else ()


class Programs:
    """`cache` is a folder; what is in it can be thrown away at any time. `patience` is for questions to a program."""

    def __init__(self, cache: str, *, patience: float = _PATIENCE) -> None:
        self.cache = cache
        self._patience = patience
        self._versions: dict[str, Version] = {}
        self._asking: dict[str, asyncio.Lock] = {}

    def find(self, name: str, env: Mapping[str, str], dialect: Dialect, *, cwd: str = "") -> str:
        """The path of a program, absolute: it may be started from another folder."""
        if os.sep in name:
            found = os.path.join(cwd, os.path.expanduser(name))
            wrong = _unusable(found)
        else:
            on_path = shutil.which(name, path=env.get("PATH", os.defpath))
            found, wrong = on_path or "", "" if on_path else _hidden(name, env.get("PATH", os.defpath))
        if wrong:
            raise AgentFailure(
                f"The program of {dialect.name}, {name}, {wrong}.",
                code="EXECUTION.AGENT.NOT_FOUND",
                retryable=False,
                hint=f"Make it executable: chmod +x {name}"
                if wrong.startswith(_NOT_EXECUTABLE)
                else dialect.install_hint,
            )
        return os.path.abspath(found)

    def kept_version(self, program: str) -> Version | None:
        """What is known of it without asking; None: it has to be asked."""
        key = _fingerprint(program)
        if key not in self._versions:
            known = self._kept().get(key)
            if not (isinstance(known, list) and all(isinstance(part, int) for part in known)):
                return None
            self._versions[key] = tuple(known)
        return self._versions[key]

    async def version(self, program: str, runner: CommandRunner, env: Mapping[str, str]) -> Version:
        """Empty where it cannot be told; that is no reason not to use the program."""
        import asyncio

        known = self.kept_version(program)
        if known is not None:
            return known
        key = _fingerprint(program)
        async with self._asking.setdefault(key, asyncio.Lock()):  # steps that start together ask once
            known = self.kept_version(program)
            if known is None:
                said = b""
                with contextlib.suppress(AwfError, AgentFailure):
                    said = await self.ask(runner, program, ["--version"], env)
                known = parse_version(said)
                self._versions[key] = known
                if known:
                    self._keep(key, known)
        return known

    def survey(
        self, runner: Callable[[], CommandRunner], env: Mapping[str, str], cwd: str
    ) -> list[Installed]:
        """Every agent that is a program: whether it is there, and which one. For people who ask; not for runs."""
        from awf.infrastructure.agents.cli.survey import survey

        return survey(self, runner, env, cwd)

    async def ask(
        self, runner: CommandRunner, program: str, arguments: Sequence[str], env: Mapping[str, str]
    ) -> bytes:
        """What the program prints. Raises `AgentFailure` when it fails."""
        asked = " ".join((os.path.basename(program), *arguments))
        printed, said = bytearray(), bytearray()

        def take(stream: Stream, chunk: bytes) -> None:
            if stream == "stderr":
                said.extend(chunk)
                del said[:-_WORDS_KEPT]
            elif len(printed) + len(chunk) > _MOST_PRINTED:
                raise AgentFailure(f"`{asked}` printed more than can be an answer.")
            else:
                printed.extend(chunk)

        command = Command(argv=(program, *arguments), cwd="/", env=dict(env), timeout=self._patience)
        outcome = await runner.run(command, take)
        if outcome.timed_out:
            raise AgentFailure(f"`{asked}` did not end within {self._patience:g} s.")
        if outcome.exit_code:
            words = said.decode("utf-8", "replace").strip()[-300:]
            raise AgentFailure(f"`{asked}` failed with exit code {outcome.exit_code}: {words}")
        return bytes(printed)

    def _file(self) -> str:
        return os.path.join(self.cache, "agent-versions.json")

    def _kept(self) -> dict[str, Any]:
        try:
            with open(self._file(), encoding="utf-8") as stream:
                kept = json.load(stream)
        except (OSError, ValueError, RecursionError):
            return {}
        return kept if isinstance(kept, dict) else {}

    def _keep(self, key: str, version: Version) -> None:
        program = key.rsplit(":", 2)[0]
        others = {other: kept for other, kept in self._kept().items() if other.rsplit(":", 2)[0] != program}
        with contextlib.suppress(OSError):  # it is only a cache
            os.makedirs(self.cache, exist_ok=True)
            temporary = f"{self._file()}.{os.getpid()}"
            with open(temporary, "w", encoding="utf-8") as stream:
                json.dump({**others, key: version}, stream)
            os.replace(temporary, self._file())


_NOT_EXECUTABLE = "may not be executed"


def _unusable(path: str) -> str:
    if not os.path.exists(path):
        return "does not exist"
    if not os.path.isfile(path):
        return "is no file"
    return "" if os.access(path, os.X_OK) else _NOT_EXECUTABLE


def _hidden(name: str, path: str) -> str:
    """Why it is not found: a file of that name that may not be executed is worth telling."""
    places = [os.path.join(folder, name) for folder in path.split(os.pathsep) if folder]
    found = next((place for place in places if os.path.isfile(place)), "")
    return f"{_NOT_EXECUTABLE}: {found}" if found else "is not on the PATH"


def _fingerprint(program: str) -> str:
    """Changes when the program does: links are followed, for package managers put links on the PATH."""
    real = os.path.realpath(program)
    try:
        facts = os.stat(real)
    except OSError:  # gone since it was found; starting it will tell
        return f"{real}:0:0"
    return f"{real}:{facts.st_mtime_ns}:{facts.st_size}"
