"""Which agent programs are here. Nothing is started when everything about them is known from before."""

from __future__ import annotations

import shutil
import tempfile
from typing import TYPE_CHECKING

import msgspec

from awf.domain.agent import AgentFailure
from awf.infrastructure.agents.cli.dialect import WritesAtHome
from awf.infrastructure.agents.cli.known import DIALECTS, dialect
from awf.infrastructure.agents.cli.shapes import is_proven, version_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from awf.domain.ports.command_runner import CommandRunner
    from awf.infrastructure.agents.cli.dialect import Dialect
    from awf.infrastructure.agents.cli.programs import Programs
    from awf.infrastructure.agents.cli.shapes import Version

__all__ = ["Installed", "survey"]


class Installed(msgspec.Struct, frozen=True, kw_only=True):
    name: str  # of the provider
    program: str
    path: str = ""  # empty: it is not here
    trouble: str = ""  # why it cannot be used
    hint: str = ""
    version: str = ""
    proven: bool = False  # isolation was proven for this version
    proven_from: str = ""
    proven_to: str = ""


def survey(
    programs: Programs, runner: Callable[[], CommandRunner], env: Mapping[str, str], cwd: str
) -> list[Installed]:
    found = [_found(programs, dialect(name), env, cwd) for name in DIALECTS]
    unknown = [one.path for _, one in found if one.path and programs.kept_version(one.path) is None]
    if unknown:
        _ask(programs, runner, [about for about, one in found if one.path in unknown], env, cwd)
    return [_with_version(one, programs, about) for about, one in found]


def _found(programs: Programs, about: Dialect, env: Mapping[str, str], cwd: str) -> tuple[Dialect, Installed]:
    lowest, highest = (version_text(version) for version in about.proven)
    plain = Installed(name=about.name, program=about.program, proven_from=lowest, proven_to=highest)
    try:
        path = programs.find(about.program, env, about, cwd=cwd)
    except AgentFailure as failure:
        return about, msgspec.structs.replace(plain, trouble=failure.message, hint=failure.hint)
    return about, msgspec.structs.replace(plain, path=path)


def _with_version(one: Installed, programs: Programs, about: Dialect) -> Installed:
    if not one.path:
        return one
    version: Version = programs.kept_version(one.path) or ()
    return msgspec.structs.replace(
        one, version=version_text(version), proven=is_proven(version, about.proven)
    )


def _ask(
    programs: Programs,
    runner: Callable[[], CommandRunner],
    dialects: list[Dialect],
    env: Mapping[str, str],
    cwd: str,
) -> None:
    """All at once: each takes as long as its start. What they write at home goes into a folder that is thrown away."""
    import asyncio

    home = tempfile.mkdtemp(prefix="awf-")

    async def ask(about: Dialect, running: CommandRunner) -> None:
        elsewhere = {about.home_variable: home} if isinstance(about, WritesAtHome) else {}
        path = programs.find(about.program, env, about, cwd=cwd)
        await programs.version(path, running, {**env, **elsewhere})

    async def ask_all() -> None:
        running = runner()
        try:
            await asyncio.gather(*(ask(about, running) for about in dialects))
        finally:
            await running.close()

    try:
        asyncio.run(ask_all())
    finally:
        shutil.rmtree(home, ignore_errors=True)
