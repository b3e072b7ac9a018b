"""Which plugins there are: the project's `plugins.yaml` first, then plugin folders in their order."""

from __future__ import annotations

import os
import re
import shlex
import sys
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from awf.domain.errors import InvalidWorkflowError
from awf.domain.plugin_file import PluginEvents, PluginManifest, PluginsFile
from awf.domain.ports.plugins import DeclaredPlugin
from awf.domain.problem import Place, Problem
from awf.domain.shape import Record
from awf.infrastructure.plugins.declaration import Declaration
from awf.infrastructure.plugins.patterns import is_pattern
from awf.infrastructure.plugins.versions import is_constraint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from awf.domain.plugin_file import PluginEntry

__all__ = ["Found", "ReadFile", "find_plugins"]

MANIFEST = "plugin.yaml"
TIMEOUT = 30.0  # of one call, in seconds
_NAME = re.compile(r"[a-z][a-z0-9_-]*")
_CODE = "USER.CONFIG.INVALID"


R = TypeVar("R", bound=Record)


class ReadFile(Protocol):
    def __call__(self, path: str, record: type[R], /) -> R | None:
        """The file as a record; None when there is no file. Raises `AwfError` with everything wrong with it."""
        ...


class Found(msgspec.Struct, frozen=True):
    plugins: dict[str, Declaration]
    disabled: dict[str, str]  # name → the file that says so


class _Problems:
    """Everything wrong with one file, told at once."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._found: list[Problem] = []

    def note(self, message: str, *path: str, hint: str = "") -> None:
        self._found.append(
            Problem(code=_CODE, message=message, path=path, place=Place(_short(self.file)), hint=hint)
        )

    def tell(self) -> None:
        if self._found:
            raise InvalidWorkflowError(self._found)


def find_plugins(read: ReadFile, file: str, folders: Sequence[str], project: str) -> Found:
    """Read every declaration. `file` is the project's, `project` the folder its relative paths start from."""
    entries = (read(file, PluginsFile) or PluginsFile()).plugins
    disabled = {name: file for name, entry in entries.items() if not entry.enabled}
    from_folders = _from_folders(read, folders)
    problems = _Problems(file)
    plugins = {name: found for name, found in from_folders.items() if name not in entries}
    for name, entry in entries.items():
        made = _from_entry(problems, name, entry, from_folders.get(name), project)
        if made is not None and entry.enabled:
            plugins[name] = made
    problems.tell()
    return Found({name: _placed(plugins[name], project) for name in sorted(plugins)}, disabled)


def _placed(found: Declaration, project: str) -> Declaration:
    """It runs in its folder and is told the project: nobody knows from which of them a path in a call goes."""
    folders = tuple(dict.fromkeys((found.cwd, project)))
    return msgspec.structs.replace(found, shown=msgspec.structs.replace(found.shown, folders=folders))


def _from_folders(read: ReadFile, folders: Sequence[str]) -> dict[str, Declaration]:
    plugins: dict[str, Declaration] = {}
    for folder in _plugin_folders(folders):
        file = os.path.join(folder, MANIFEST)
        manifest = read(file, PluginManifest)
        if manifest is None:
            continue
        made = _from_manifest(manifest, folder)
        plugins.setdefault(made.name, made)
    return plugins


def _plugin_folders(folders: Sequence[str]) -> Iterator[str]:
    for parent in folders:
        try:
            names = sorted(os.listdir(parent))
        except OSError:
            continue  # most projects have no such folder
        for name in names:
            if os.path.isfile(os.path.join(parent, name, MANIFEST)):
                yield os.path.join(parent, name)


def _from_manifest(manifest: PluginManifest, folder: str) -> Declaration:
    problems = _Problems(os.path.join(folder, MANIFEST))
    name = manifest.name or os.path.basename(folder)
    _check_name(problems, name, "name")
    _check_events(problems, manifest.events)
    _check_defaults(problems, manifest)
    if manifest.awf_version and not is_constraint(manifest.awf_version):
        problems.note(
            f"'{manifest.awf_version}' is not a version constraint.",
            "awf_version",
            hint="Write it like >=0.1, <2 or ^1.2.",
        )
    argv = _program(problems, manifest.command, manifest.module, ())
    if manifest.command is None and manifest.module is None:
        argv = (os.path.join(folder, f"awf-plugin-{os.path.basename(folder)}"),)
        if not os.path.exists(argv[0]):
            problems.note(
                f"The plugin '{name}' has no program: neither `command` nor `module`, and no file "
                f"{os.path.basename(argv[0])} beside it.",
                hint=f"Put the executable at {_short(argv[0])}, or name it with `command`.",
            )
    problems.tell()
    return Declaration(
        shown=_shown(name, problems.file, manifest, version=manifest.version),
        argv=argv,
        cwd=folder,
        config_keys=manifest.config,
        awf_version=manifest.awf_version,
        timeout=manifest.timeout or TIMEOUT,
    )


def _from_entry(
    problems: _Problems, name: str, entry: PluginEntry, folder: Declaration | None, project: str
) -> Declaration | None:
    at = ("plugins", name)
    _check_name(problems, name, *at)
    _check_events(problems, entry.events, *at)
    argv = _program(problems, entry.command, entry.module, at)
    if argv:
        return Declaration(
            shown=_shown(name, problems.file, entry),
            argv=(*argv, *entry.args),
            cwd=_folder(project, entry.cwd),
            env=entry.env,
            config=entry.config,
            timeout=entry.timeout or TIMEOUT,
        )
    if folder is not None:
        return _set_up(folder, entry, project)
    if entry.enabled and entry.command is None and entry.module is None:
        problems.note(
            f"The plugin '{name}' says neither `command` nor `module`, and no plugin folder has that name.",
            *at,
            hint="Add command: [PROGRAM, ARGUMENT…] or module: PYTHON.MODULE.",
        )
    return None


def _set_up(found: Declaration, entry: PluginEntry, project: str) -> Declaration:
    """A plugin folder as the project wants it: what the entry says wins."""
    given = {name: getattr(entry, name) for name in ("description", "capabilities") if getattr(entry, name)}
    if entry.events != PluginEvents():
        given |= {"subscribe": tuple(entry.events.subscribe), "emit": tuple(entry.events.emit)}
    if "capabilities" in given:
        given["capabilities"] = tuple(given["capabilities"])
    return msgspec.structs.replace(
        found,
        shown=msgspec.structs.replace(found.shown, **given),
        argv=(*found.argv, *entry.args),
        cwd=found.cwd if entry.cwd is None else _folder(project, entry.cwd),
        env=entry.env,
        config=entry.config,
        timeout=entry.timeout or found.timeout,
    )


def _shown(name: str, origin: str, said: PluginEntry | PluginManifest, version: str = "") -> DeclaredPlugin:
    return DeclaredPlugin(
        name=name,
        origin=_short(origin),
        description=said.description,
        version=version,
        capabilities=tuple(said.capabilities),
        subscribe=tuple(said.events.subscribe),
        emit=tuple(said.events.emit),
    )


def _program(
    problems: _Problems, command: list[str] | str | None, module: str | None, at: tuple[str, ...]
) -> tuple[str, ...]:
    if command is not None and module is not None:
        problems.note("`command` and `module` are given; one of them starts the plugin.", *at, "module")
        return ()
    if module is not None:
        if not all(part.isidentifier() for part in module.split(".")):
            problems.note(
                f"'{module}' is not the name of a Python module.",
                *at,
                "module",
                hint="Write it like package.module.",
            )
            return ()
        return (sys.executable, "-m", module)
    if command is None:
        return ()
    try:
        argv = tuple(shlex.split(command) if isinstance(command, str) else command)
    except ValueError as error:
        problems.note(
            f"The command cannot be read: {str(error).lower()}.", *at, "command", hint="Write it as a list."
        )
        return ()
    if not argv or not argv[0]:
        problems.note("The command is empty.", *at, "command", hint="Write [PROGRAM, ARGUMENT…].")
        return ()
    return (os.path.expanduser(argv[0]), *argv[1:])


def _folder(project: str, cwd: str | None) -> str:
    return os.path.join(project, os.path.expanduser(cwd)) if cwd else project


def _check_name(problems: _Problems, name: str, *at: str) -> None:
    if not _NAME.fullmatch(name):
        problems.note(
            f"'{name}' is not a usable name for a plugin.",
            *at,
            hint="Use lower-case letters, digits, - and _, beginning with a letter.",
        )


def _check_events(problems: _Problems, events: PluginEvents, *at: str) -> None:
    for key, patterns in (("subscribe", events.subscribe), ("emit", events.emit)):
        for pattern in patterns:
            if not is_pattern(pattern):
                problems.note(
                    f"'{pattern}' is not an event type.",
                    *at,
                    "events",
                    key,
                    hint="Write step.failed, step.* for one part of any name, or * for all.",
                )


def _check_defaults(problems: _Problems, manifest: PluginManifest) -> None:
    from awf.infrastructure.plugins.config_values import misfit

    for name, key in (manifest.config or {}).items():
        wrong = [misfit(msgspec.structs.replace(key, enum=None), value) for value in key.enum or ()]
        if key.default is not None:
            wrong.append(misfit(key, key.default))
        for reason in filter(None, wrong):
            problems.note(f"The config key '{name}' contradicts itself: {reason}.", "config", name)


def _short(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
