"""Looking at this machine and this project for `awf doctor`. What it means is said in `application.doctor`."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from awf.application.doctor.agents import AgentFacts, agent_findings, signed_in_by
from awf.application.doctor.findings import Finding, in_order
from awf.application.doctor.gateways import gateway_findings
from awf.application.doctor.machine import (
    ExtraFacts,
    FolderFacts,
    SandboxFacts,
    StoreFacts,
    TerminalFacts,
    extra_findings,
    folder_finding,
    python_finding,
    ripgrep_finding,
    sandbox_findings,
    store_finding,
    terminal_finding,
)
from awf.application.doctor.plugins import plugin_findings
from awf.application.doctor.settings import config_findings, variable_findings
from awf.domain.errors import AwfError, InvalidWorkflowError
from awf.domain.own_variables import handed_on

if TYPE_CHECKING:
    from collections.abc import Mapping

    from awf.bootstrap import App
    from awf.domain.ports.plugins import DeclaredPlugin, PluginFacts
    from awf.domain.problem import Problem

__all__ = ["examine"]

_PATIENCE = 5.0


def examine(app: App, *, deep: bool) -> list[Finding]:
    declared, broken = _declared(app)
    asked = _asked(app, declared) if deep else {}
    wrong = _configuration(app)
    return in_order([
        python_finding(tuple(sys.version_info[:3]), app.version),
        *extra_findings(_extras(app, len(declared), configured=not wrong)),
        *agent_findings(_agents(app)),
        ripgrep_finding(*_ripgrep(app.environment)),
        *plugin_findings(declared, broken, asked),
        *config_findings(_config_files(app), wrong),
        *variable_findings(app.environment),
        store_finding(_store(app, configured=not wrong)),
        *gateway_findings(_gateways(app, configured=not wrong)),
        *map(folder_finding, _folders(app)),
        *sandbox_findings(_sandbox(app)),
        terminal_finding(_terminal(app.environment)),
    ])  # fmt: skip


# -- agents, tools and plugins -------------------------------------------------------------------------------------------


def _agents(app: App) -> list[AgentFacts]:
    return [
        AgentFacts(
            name=one.name,
            path=one.path,
            trouble=one.trouble,
            hint=one.hint,
            version=one.version,
            proven=one.proven,
            proven_from=one.proven_from,
            proven_to=one.proven_to,
            signed_in_by=signed_in_by(one.name, app.environment, os.path.exists),
        )
        for one in app.programs.survey(lambda: app.runner, handed_on(app.environment), app.cwd)
    ]


def _ripgrep(environment: Mapping[str, str]) -> tuple[str, str]:
    """Where it is, in the order in which the tools look for it, and its version."""
    import sysconfig

    beside = (sysconfig.get_path("scripts"), os.path.dirname(sys.executable))
    places = [_path(environment), *beside]
    path = next((found for place in places if (found := shutil.which("rg", path=place))), "")
    if not path:
        return "", ""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run([path, "--version"], capture_output=True, timeout=_PATIENCE, check=True)
        return path, said.stdout.decode("utf-8", "replace").split("\n", 1)[0].removeprefix("ripgrep ")
    return path, ""


def _declared(app: App) -> tuple[Mapping[str, DeclaredPlugin], list[Problem]]:
    places = app.places
    if not any(map(os.path.exists, [places.plugin_file, *places.plugin_dirs])):
        return {}, []  # most projects have none, and need not load what would look for them
    try:
        return app.plugins.declared(), []
    except AwfError as error:
        return {}, _problems(error)


def _asked(app: App, declared: Mapping[str, DeclaredPlugin]) -> Mapping[str, PluginFacts]:
    if not declared:
        return {}
    import asyncio

    from awf.bootstrap import App

    async def ask() -> Mapping[str, PluginFacts]:
        asking = App(cwd=app.cwd, environment=app.environment, flags=app.flags)
        try:
            return await asking.plugins.facts(declared)
        finally:
            await asking.close()

    return asyncio.run(ask())


def _extras(app: App, plugins: int, *, configured: bool) -> ExtraFacts:
    endpoint = app.settings.telemetry_endpoint.value if configured else ""
    return ExtraFacts(
        otel=_has("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
        otel_endpoint=endpoint or "",
        grpc=_has("grpc", "google.protobuf"),
        plugins=plugins,
        postgres=_has("psycopg", "dbos"),
        database=bool(configured and app.settings.database_url.value),
    )


def _has(*modules: str) -> bool:
    import importlib.util

    try:
        return all(importlib.util.find_spec(module) for module in modules)
    except ModuleNotFoundError:  # a parent of it is not here
        return False


# -- settings and the store ----------------------------------------------------------------------------------------------


def _configuration(app: App) -> list[Problem]:
    try:
        app.settings  # noqa: B018  reading it is the check
    except AwfError as error:
        return _problems(error)
    return []


def _problems(error: AwfError) -> list[Problem]:
    from awf.domain.problem import Problem

    if isinstance(error, InvalidWorkflowError):
        return list(error.problems)
    return [Problem(code=error.code, message=error.message, hint=error.hint)]


def _config_files(app: App) -> list[str]:
    places = app.places
    chosen = app.environment.get("AWF_CONFIG_PATH") or os.path.join(places.project, "config.yaml")
    paths = [chosen, os.path.join(places.config_home, "config.yaml")]
    return [path for path in paths if os.path.isfile(path)]


def _store(app: App, *, configured: bool) -> StoreFacts:
    """One that exists is opened as every command opens it; one that does not is not made."""
    if not configured:
        return StoreFacts(folder="", exists=False, trouble="not looked at: the settings cannot be read")
    if app.settings.database_url.value:
        return _shared_store(app)
    folder = os.path.join(app.cwd, app.settings.storage.value)
    file = os.path.join(folder, "awf.db")
    if not os.path.exists(file):
        return _future_store(folder)
    try:
        (layout,) = app.database.row("PRAGMA user_version") or (0,)  # the file of this machine
    except AwfError as error:
        return StoreFacts(folder=folder, exists=True, trouble=error.message, hint=error.hint)
    finally:
        if "database" in app.__dict__:
            app.database.close()
    size = sum(os.path.getsize(path) for end in ("", "-wal") if os.path.exists(path := file + end))
    return StoreFacts(folder=folder, exists=True, size=size, room=_room(folder), layout=int(layout))


def _shared_store(app: App) -> StoreFacts:
    """The database is looked at, never changed: one that is empty stays so."""
    url = app.settings.database_url.value
    try:
        facts = app.look_at_database(url)
    except AwfError as error:
        return StoreFacts(folder="", exists=True, trouble=error.message, hint=error.hint)
    return StoreFacts(
        folder=facts.place,
        exists=facts.layout > 0,
        size=facts.size,
        layout=facts.layout,
        skew=facts.skew,
        hears=facts.hears,
    )


def _gateways(app: App, *, configured: bool) -> dict[str, str]:
    """Those that share the database, and whether a way leads there from here."""
    url = app.settings.database_url.value if configured else None
    if not url:
        return {}
    from awf.bootstrap.gateways import gateways_of

    with contextlib.suppress(AwfError):  # what is wrong with the database is told already
        return {one: _way_to(one) for one in gateways_of(url)}
    return {}


def _way_to(url: str) -> str:
    """Why nobody answers there; empty when somebody does."""
    import socket
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        with socket.create_connection((parts.hostname or "", port), _PATIENCE):
            return ""
    except OSError as error:
        return (error.strerror or str(error)).lower()


def _future_store(folder: str) -> StoreFacts:
    parent = _nearest(folder)
    if os.path.isdir(parent) and os.access(parent, os.W_OK | os.X_OK):
        return StoreFacts(folder=folder, exists=False, room=_room(parent))
    return StoreFacts(
        folder=folder,
        exists=False,
        trouble=f"{folder} cannot be made: {parent} is not a directory that can be written",
        hint="Choose another directory with --storage DIR or AWF_STORAGE.",
    )


def _nearest(path: str) -> str:
    """The path, or the first of its parents that exists."""
    while not os.path.lexists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    return path


def _room(folder: str) -> int | None:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


# -- the machine ---------------------------------------------------------------------------------------------------------


def _path(environment: Mapping[str, str]) -> str:
    return environment.get("PATH", os.defpath)


def _folders(app: App) -> list[FolderFacts]:
    import tempfile

    try:
        temporary = tempfile.gettempdir()  # writes a file to find out
    except OSError:
        temporary = ""
    cache = app.places.cache_home
    parent = _nearest(cache)
    usable = os.path.isdir(parent) and os.access(parent, os.W_OK | os.X_OK)
    return [
        FolderFacts(name="temporary files", path=temporary, writable=bool(temporary), needed=True, variable="TMPDIR"),
        FolderFacts(name="cache", path=cache, writable=usable, needed=False, variable="XDG_CACHE_HOME"),
    ]  # fmt: skip


def _sandbox(app: App) -> SandboxFacts:
    found = app.sandbox_facts()
    return SandboxFacts(
        bubblewrap=found.bubblewrap,
        trouble=found.bubblewrap_trouble,
        landlock=found.landlock,
        control_groups=found.control_groups,
        seccomp=found.seccomp,
    )


def _terminal(environment: Mapping[str, str]) -> TerminalFacts:
    return TerminalFacts(
        is_terminal=sys.stdout.isatty(),
        kind=environment.get("TERM", ""),
        encoding=getattr(sys.stdout, "encoding", "") or "",
        columns=shutil.get_terminal_size().columns,
        colour="NO_COLOR" not in environment,
    )
